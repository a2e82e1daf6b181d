"""Hostile cases where the network is wrong, nearly right, or not the only one. Each takes a generator and a fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.hostile_cases.problems import (
    Case,
    Fit,
    Shape,
    case,
    in_reach,
    join,
    nearby,
    noise_for,
    noisy_rows,
    portfolio,
    refined,
    rows_for,
    teacher,
)
from weightlift import activations
from weightlift.identifiability import count_parameters, reflect, twin
from weightlift.network import Network


def easy_exact(rng: np.random.Generator, fit: Fit) -> Case:
    shape = Shape.draw(rng)
    truth = teacher(shape, rng)
    X = rng.standard_normal((rows_for(shape, rng, noisy=False), shape.d))
    y = truth.predict(X)
    net = refined(X, y, nearby(truth, 0.02, rng, shape), shape.bias, shape.offset)
    return case(X, y, net, truth, shape, easy=in_reach(truth, X, shape))


def easy_noise(rng: np.random.Generator, fit: Fit) -> Case:
    shape = Shape.draw(rng, names=("relu", "squared_relu", "leaky_relu", "tanh", "sigmoid", "erf"))
    truth = teacher(shape, rng)
    X = rng.standard_normal((rows_for(shape, rng, noisy=True), shape.d))
    clean = truth.predict(X)
    sigma = noise_for(clean, rng, low=-4.0, high=-1.5)
    y = clean + sigma * rng.standard_normal(len(X))
    net = refined(X, y, truth, shape.bias, shape.offset)
    return case(X, y, net, truth, shape, easy=in_reach(truth, X, shape))


def searched_exact(rng: np.random.Generator, fit: Fit) -> Case:
    shape = Shape.draw(rng)
    truth = teacher(shape, rng)
    n = int(rng.uniform(1.1, 6.0) * shape.p) + 3
    X = rng.standard_normal((n, shape.d))
    y = truth.predict(X)
    return case(X, y, fit(X, y, shape.k, shape.activation, shape.bias, shape.offset, rng=rng), truth, shape)


def searched_noise(rng: np.random.Generator, fit: Fit) -> Case:
    shape = Shape.draw(rng)
    truth = teacher(shape, rng)
    X = rng.standard_normal((int(rng.uniform(3, 60) * shape.p) + 30, shape.d))
    clean = truth.predict(X)
    y = clean + noise_for(clean, rng, low=-4, high=0.5) * rng.standard_normal(len(X))
    return case(X, y, fit(X, y, shape.k, shape.activation, shape.bias, shape.offset, rng=rng), truth, shape)


def single_start(rng: np.random.Generator, fit: Fit) -> Case:
    """A local minimum, more often than not."""
    shape = Shape.draw(rng, k=int(rng.integers(2, 4)))
    truth = teacher(shape, rng)
    X = rng.standard_normal((int(rng.uniform(3, 40) * shape.p) + 30, shape.d))
    clean = truth.predict(X)
    sigma = 0.0 if rng.integers(3) == 0 else noise_for(clean, rng, low=-3, high=0.3)
    y = clean + sigma * rng.standard_normal(len(X))
    net = portfolio(X, y, shape.k, shape.activation, shape.bias, shape.offset, starts=1, rng=rng)
    return case(X, y, net, truth, shape)


def too_narrow(rng: np.random.Generator, fit: Fit) -> Case:
    shape = Shape.draw(rng, k=int(rng.integers(2, 4)))
    truth = teacher(shape, rng)
    X, y, _ = noisy_rows(truth, shape, rng)
    net = fit(X, y, shape.k - 1, shape.activation, shape.bias, shape.offset, rng=rng)
    return case(X, y, net, truth, shape)


def too_wide(rng: np.random.Generator, fit: Fit) -> Case:
    shape = Shape.draw(rng, k=int(rng.integers(1, 3)))
    truth = teacher(shape, rng)
    X, y, _ = noisy_rows(truth, shape, rng)
    net = fit(X, y, shape.k + 1, shape.activation, shape.bias, shape.offset, rng=rng)
    return case(X, y, net, truth, shape)


def small_extra_unit(rng: np.random.Generator, fit: Fit) -> Case:
    """The truth has one unit more, of any size."""
    shape = Shape.draw(rng, k=int(rng.integers(2, 4)))
    truth = teacher(shape, rng)
    a = truth.a.copy()
    a[-1] *= 10 ** rng.uniform(-5, 0)
    truth = replace(truth, a=a)
    X, y, _ = noisy_rows(truth, shape, rng)
    start = replace(truth, W=truth.W[:, :-1], a=a[:-1], b=truth.b[:-1])
    return case(X, y, refined(X, y, start, shape.bias, shape.offset), truth, shape)


def spurious_unit(rng: np.random.Generator, fit: Fit) -> Case:
    """The right network and one more unit, refined."""
    shape = Shape.draw(rng, k=int(rng.integers(1, 3)))
    truth = teacher(shape, rng)
    X, y, _ = noisy_rows(truth, shape, rng)
    extra = teacher(replace(shape, k=1), rng)
    size = 10 ** rng.uniform(-12, 0)
    wide = join(truth, replace(extra, a=size * extra.a))
    net = refined(X, y, wide, shape.bias, shape.offset) if rng.integers(2) else wide
    return case(X, y, net, truth, shape)


def other_activation(rng: np.random.Generator, fit: Fit) -> Case:
    pairs = [
        ("relu", "softplus"), ("relu", "leaky_relu"), ("leaky_relu", "relu"), ("tanh", "erf"), ("erf", "tanh"),
        ("sigmoid", "tanh"), ("squared_relu", "relu"), ("relu", "squared_relu"), ("relu", "tanh"), ("softplus", "relu"),
        ("absolute", "relu"), ("quadratic", "squared_relu"), ("linear", "relu"), ("tanh", "relu"),
    ]  # fmt: skip
    mine, theirs = pairs[int(rng.integers(len(pairs)))]
    shape = Shape.draw(rng, names=(theirs,))
    truth = teacher(shape, rng)
    X, y, _ = noisy_rows(truth, shape, rng)
    phi = activations.get(mine)
    width = max(1, shape.k + int(rng.integers(-1, 2)))
    if mine in ("absolute", "quadratic", "linear") and rng.integers(2):
        shape = replace(shape, bias=False)
    net = fit(X, y, width, phi, shape.bias, shape.offset, rng=rng)
    return case(X, y, net, truth.predict, shape)


def perturbed(rng: np.random.Generator, fit: Fit) -> Case:
    shape = Shape.draw(rng)
    truth = teacher(shape, rng)
    X, y, _ = noisy_rows(truth, shape, rng)
    net = nearby(truth, 10 ** rng.uniform(-16, -0.5), rng, shape)
    return case(X, y, net, truth, shape)


def early_stopped(rng: np.random.Generator, fit: Fit) -> Case:
    shape = Shape.draw(rng)
    truth = teacher(shape, rng)
    X, y, _ = noisy_rows(truth, shape, rng)
    start = nearby(truth, 10 ** rng.uniform(-2, -0.3), rng, shape)
    net = refined(X, y, start, shape.bias, shape.offset, iterations=int(rng.integers(1, 8)))
    return case(X, y, net, truth, shape)


def interpolating(rng: np.random.Generator, fit: Fit) -> Case:
    """As many parameters as rows, or a few less; targets of noise or of another network."""
    shape = Shape.draw(rng)
    truth = teacher(replace(shape, k=int(rng.integers(1, 4))), rng)
    n = max(4, shape.p + int(rng.integers(-4, 16)))
    X = rng.standard_normal((n, shape.d))
    y = truth.predict(X) if rng.integers(2) else rng.standard_normal(n)
    net = fit(X, y, shape.k, shape.activation, shape.bias, shape.offset, rng=rng)
    return case(X, y, net, truth, shape, forbidden=n <= shape.p)


def wide_interpolating(rng: np.random.Generator, fit: Fit) -> Case:
    """A narrow truth fitted by a width that leaves few rows over."""
    shape = Shape.draw(rng, k=1)
    truth = teacher(shape, rng)
    wide = replace(shape, k=3)
    p = count_parameters(Network(np.ones((shape.d, 3)), activation=shape.activation), bias=shape.bias, offset=shape.offset)
    n = max(4, p + int(rng.integers(-5, 40)))
    X = rng.standard_normal((n, shape.d))
    y = truth.predict(X) + (0.0 if rng.integers(2) else 1e-6) * rng.standard_normal(n)
    net = fit(X, y, wide.k, shape.activation, shape.bias, shape.offset, rng=rng)
    return case(X, y, net, truth, shape, forbidden=n <= p)


def duplicate_units(rng: np.random.Generator, fit: Fit) -> Case:
    """The network, or the truth, has a unit twice, nearly or exactly."""
    shape = Shape.draw(rng, k=2)
    truth = teacher(shape, rng)
    gap = 0.0 if rng.integers(2) else 10 ** rng.uniform(-15, -1)
    share = rng.uniform(0.1, 0.9)
    W = np.column_stack([truth.W, truth.W[:, -1] + gap * rng.standard_normal(shape.d)])
    a = np.append(truth.a, truth.a[-1] * share)
    a[-2] *= 1 - share
    split = replace(truth, W=W, a=a, b=np.append(truth.b, truth.b[-1]))
    if rng.integers(2):
        X, y, _ = noisy_rows(truth, shape, rng)
        return case(X, y, split, truth, shape)
    X, y, _ = noisy_rows(split, shape, rng)
    net = refined(X, y, truth if rng.integers(2) else split, shape.bias, shape.offset)
    return case(X, y, net, split, shape)


def antiparallel_units(rng: np.random.Generator, fit: Fit) -> Case:
    shape = Shape.draw(rng, k=int(rng.integers(1, 3)), names=("relu", "leaky_relu", "squared_relu", "softplus", "tanh"))
    half = teacher(shape, rng)
    b = -half.b[:1] if rng.integers(2) else half.b[:1]
    opposite = replace(half, W=-half.W[:, :1], a=half.a[:1] * rng.choice([1.0, -1.0, 0.5]), b=b, c=0.0)
    truth = join(half, opposite)
    X, y, _ = noisy_rows(truth, shape, rng)
    start = truth if rng.integers(2) else reflect(truth, rng.integers(0, 2, truth.n_units).astype(bool), offset=shape.offset)
    net = refined(X, y, nearby(start, 1e-3, rng, shape), shape.bias, shape.offset)
    return case(X, y, net, truth, shape)


def twins(rng: np.random.Generator, fit: Fit) -> Case:
    """Two networks with one function and different units."""
    shape = Shape.draw(rng, k=3, names=("relu", "leaky_relu", "softplus"))
    d = int(rng.integers(2, 6))
    W = rng.standard_normal((d, 3))
    W[:, 2] = -(W[:, 0] + W[:, 1])
    b = np.zeros(3)
    if shape.bias:
        b = rng.uniform(-0.5, 0.5, 3)
        b[2] = -(b[0] + b[1])
    gap = 0.0 if rng.integers(2) else 10 ** rng.uniform(-14, -0.5)
    W[:, 2] += gap * rng.standard_normal(d)
    truth = Network(W, np.ones(3), b, 0.0, shape.activation)
    shape = replace(shape, d=d, offset=False, p=count_parameters(truth, bias=shape.bias))
    X, y, _ = noisy_rows(truth, shape, rng)
    net = reflect(truth, np.ones(3, dtype=bool), offset=False) if rng.integers(2) else truth
    return case(X, y, refined(X, y, net, shape.bias, False), truth, shape)


def library_twins(rng: np.random.Generator, fit: Fit) -> Case:
    shape = Shape.draw(rng, k=3, names=("relu",))
    d = int(rng.integers(2, 4))
    base = replace(teacher(replace(shape, d=d, k=3, offset=False, bias=False), rng))
    base = replace(base, W=np.column_stack([base.W[:, :2], base.W[:, :2] @ rng.uniform(0.3, 1.0, 2)]))
    one, other = twin(base)[:2]
    shape = replace(shape, d=d, bias=False, offset=False, p=count_parameters(one))
    X, y, _ = noisy_rows(one, shape, rng)
    return case(X, y, refined(X, y, other, False, False), one, shape)


def flipped_start(rng: np.random.Generator, fit: Fit) -> Case:
    """The minimum next to the truth with reflected units: the commonest wrong fit."""
    shape = Shape.draw(rng, names=("relu", "leaky_relu", "squared_relu", "softplus"))
    truth = teacher(shape, rng)
    X = rng.standard_normal((int(rng.uniform(4, 60) * shape.p) + 30, shape.d))
    clean = truth.predict(X)
    y = clean + noise_for(clean, rng, low=-3, high=0.5) * rng.standard_normal(len(X))
    flips = rng.integers(0, 2, shape.k).astype(bool)
    flips[0] = True
    return case(X, y, refined(X, y, reflect(truth, flips, offset=shape.offset), shape.bias, shape.offset), truth, shape)


def unreached_unit(rng: np.random.Generator, fit: Fit) -> Case:
    """A unit that few rows, or all but few, activate."""
    shape = replace(Shape.draw(rng, names=("relu", "leaky_relu", "squared_relu")), bias=True)
    truth = teacher(shape, rng)
    b = truth.b.copy()
    b[-1] = rng.choice([-1.0, 1.0]) * rng.uniform(1.5, 6.0) * np.linalg.norm(truth.W[:, -1])
    truth = replace(truth, b=b)
    shape = replace(shape, p=count_parameters(truth, bias=True, offset=shape.offset))
    X, y, _ = noisy_rows(truth, shape, rng)
    choice = int(rng.integers(3))
    if choice == 0:
        net = refined(X, y, nearby(truth, 0.1, rng, shape), True, shape.offset)
    elif choice == 1:
        net = fit(X, y, shape.k, shape.activation, True, shape.offset, rng=rng)
    else:
        net = refined(X, y, reflect(truth, np.arange(shape.k) == shape.k - 1, offset=shape.offset), True, shape.offset)
    return case(X, y, net, truth, shape)


def close_units(rng: np.random.Generator, fit: Fit) -> Case:
    shape = Shape.draw(rng, k=2)
    truth = teacher(shape, rng)
    angle = 10 ** rng.uniform(-6, -0.3)
    direction = rng.standard_normal(shape.d)
    W = np.column_stack([truth.W[:, 0], truth.W[:, 0] + angle * direction])
    b = np.array([truth.b[0], truth.b[0] + angle * rng.normal()]) if shape.bias else None
    truth = replace(truth, W=W, b=b)
    X, y, _ = noisy_rows(truth, shape, rng)
    start = truth if rng.integers(2) else nearby(truth, angle, rng, shape)
    return case(X, y, refined(X, y, start, shape.bias, shape.offset), truth, shape)


def nearly_linear(rng: np.random.Generator, fit: Fit) -> Case:
    """Units whose sizes are hardly determined: a tanh that sees small inputs, or saturates."""
    shape = Shape.draw(rng, names=("tanh", "sigmoid", "erf", "softplus"))
    truth = teacher(shape, rng)
    W, factor = truth.W.copy(), 10 ** rng.uniform(-4, 1.5)
    W[:, 0] *= factor
    a = truth.a.copy()
    a[0] /= min(1.0, factor)
    truth = replace(truth, W=W, a=a)
    X, y, _ = noisy_rows(truth, shape, rng)
    return case(X, y, refined(X, y, nearby(truth, 1e-3, rng, shape), shape.bias, shape.offset), truth, shape)


def penalised(rng: np.random.Generator, fit: Fit) -> Case:
    shape = Shape.draw(rng)
    truth = teacher(shape, rng)
    X, y, _ = noisy_rows(truth, shape, rng)
    ridge = 10 ** rng.uniform(-8, 0)
    net = refined(X, y, truth, shape.bias, shape.offset, ridge=ridge)
    return case(X, y, net, truth, shape)


def held_out(rng: np.random.Generator, fit: Fit) -> Case:
    """Fitted on a part of the rows, confirmed on the rest; the rest may come from elsewhere."""
    shape = Shape.draw(rng)
    truth = teacher(shape, rng)
    X = rng.standard_normal((int(rng.uniform(1.5, 8) * shape.p) + 20, shape.d))
    fresh = rng.standard_normal((int(rng.integers(2, 200)), shape.d))
    y, z = truth.predict(X), truth.predict(fresh)
    if rng.integers(3) == 0:
        z = z + 10 ** rng.uniform(-13, 0) * (np.arange(len(z)) == 0)
    net = fit(X, y, shape.k, shape.activation, shape.bias, shape.offset, rng=rng)
    return replace(case(X, y, net, truth, shape), heldout=(fresh, z))


def wrong_assumption(rng: np.random.Generator, fit: Fit) -> Case:
    """The truth has biases or an offset that the fit leaves out."""
    shape = replace(Shape.draw(rng), bias=True, offset=True)
    truth = teacher(shape, rng)
    truth = replace(truth, b=truth.b * 10 ** rng.uniform(-4, 0), c=truth.c * 10 ** rng.uniform(-4, 0))
    X, y, _ = noisy_rows(truth, replace(shape, p=count_parameters(truth, bias=True, offset=True)), rng)
    keep = bool(rng.integers(2))
    start = replace(truth, c=0.0) if keep else replace(truth, b=np.zeros(shape.k))
    net = refined(X, y, start, keep, not keep)
    return case(X, y, net, truth.predict, replace(shape, bias=keep, offset=not keep))
