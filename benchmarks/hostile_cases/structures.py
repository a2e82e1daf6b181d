"""Hostile cases where the truth is at the edge of the class or outside: depth, other units, few inputs, extreme sizes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.hostile_cases.problems import (
    HOMOGENEOUS,
    SMOOTH,
    Case,
    Fit,
    Shape,
    analytic,
    case,
    join,
    jointly,
    nearby,
    noisy_rows,
    refined,
    shaped,
    teacher,
)
from weightlift.identifiability import reflect
from weightlift.network import Network
from weightlift.refinement.variable_projection import Model


def deeper(rng: np.random.Generator, fit: Fit) -> Case:
    """Two hidden layers; the second may be on at nearly every row."""
    shape = replace(Shape.draw(rng, names=("relu", "leaky_relu", "tanh", "softplus"), k=int(rng.integers(2, 4))), bias=True)
    first, width = teacher(replace(shape, offset=False), rng), int(rng.integers(1, 3))
    U, v, u = rng.standard_normal((shape.k, width)), rng.uniform(-1, 4, width), rng.choice([-1.0, 1.0], width)

    def truth(X: np.ndarray) -> np.ndarray:
        return np.asarray(shape.activation(shape.activation(X @ first.W + first.b) @ U + v) @ u)

    X = rng.standard_normal((int(rng.uniform(3, 40) * shape.p) + 20, shape.d))
    clean = truth(X)
    sigma = float(rng.choice([0.0, 1e-4, 1e-2, 0.1])) * np.std(clean)
    y = clean + sigma * rng.standard_normal(len(X))
    net = fit(X, y, shape.k + int(rng.integers(3)), shape.activation, True, True, rng=rng)
    return case(X, y, net, truth, replace(shape, offset=True))


def mixed_activations(rng: np.random.Generator, fit: Fit) -> Case:
    """Beside units of one φ the truth has one of another, of any size."""
    shape = Shape.draw(rng)
    own, other = teacher(shape, rng), teacher(replace(Shape.draw(rng, k=1), d=shape.d, offset=False), rng)
    amount = 10 ** rng.uniform(-6, 0)

    def truth(X: np.ndarray) -> np.ndarray:
        return np.asarray(own.predict(X) + amount * other.predict(X))

    X = rng.standard_normal((int(rng.uniform(4, 60) * shape.p) + 40, shape.d))
    clean = truth(X)
    sigma = 0.0 if rng.integers(3) == 0 else float(np.std(clean) * 10 ** rng.uniform(-4, -0.5))
    y = clean + sigma * rng.standard_normal(len(X))
    extra = replace(teacher(replace(shape, k=1), rng), c=0.0)
    start = own if rng.integers(2) else join(own, replace(extra, a=amount * extra.a))
    return case(X, y, refined(X, y, start, shape.bias, shape.offset), truth, shape)


def quantised_weights(rng: np.random.Generator, fit: Fit) -> Case:
    """Weights that are multiples of a power of two, often more units than inputs: relations that generic ones do not have."""
    shape = Shape.draw(rng, k=int(rng.integers(2, 5)))
    step, d = 2.0 ** -int(rng.integers(0, 4)), int(rng.integers(1, 5))
    W = np.clip(np.round(rng.standard_normal((d, shape.k)) / step) * step, -2.0, 2.0)
    W[0] = np.where(np.abs(W).max(axis=0) > 0, W[0], step)
    b = np.round(rng.standard_normal(shape.k) / step) * step if shape.bias else None
    truth = Network(W, rng.choice([-1.0, 1.0], shape.k), b, 0.5 * shape.offset, shape.activation)
    shape = shaped(shape, truth)
    X, y, _ = noisy_rows(truth, shape, rng)
    if rng.integers(2):
        return case(X, y, fit(X, y, shape.k, shape.activation, shape.bias, shape.offset, rng=rng), truth, shape)
    turned = rng.integers(0, 2, shape.k).astype(bool)
    start = reflect(truth, turned, offset=shape.offset) if shape.activation.reflection is not None else truth
    return case(X, y, refined(X, y, start, shape.bias, shape.offset), truth, shape)


def low_dimension(rng: np.random.Generator, fit: Fit) -> Case:
    """One or two inputs, every φ: all units are parallel, or many nearly so."""
    shape = Shape.draw(rng, names=(*HOMOGENEOUS, *SMOOTH, "absolute", "gelu", "silu", "elu", "sine"), k=int(rng.integers(1, 5)))
    b = rng.standard_normal(shape.k) if shape.bias else None
    W = rng.standard_normal((int(rng.integers(1, 3)), shape.k)) * 10 ** rng.uniform(-0.5, 0.5)
    truth = Network(W, rng.standard_normal(shape.k), b, float(shape.offset), shape.activation)
    shape = shaped(shape, truth)
    X, y, _ = noisy_rows(truth, shape, rng)
    start = fit(X, y, shape.k, shape.activation, shape.bias, shape.offset, rng=rng) if rng.integers(3) else truth
    return case(X, y, refined(X, y, start, shape.bias, shape.offset), truth, shape)


def custom_activation(rng: np.random.Generator, fit: Fit) -> Case:
    """A φ of the user's own, declared analytic."""
    shape = replace(Shape.draw(rng, names=("tanh",)), activation=analytic(int(rng.integers(5))))
    truth = teacher(shape, rng)
    X, y, _ = noisy_rows(truth, shape, rng)
    start = fit(X, y, shape.k, shape.activation, shape.bias, shape.offset, rng=rng) if rng.integers(2) else truth
    return case(X, y, refined(X, y, start, shape.bias, shape.offset), truth, shape)


def steep_units(rng: np.random.Generator, fit: Fit) -> Case:
    """Saturated units, nearly steps: J vanishes on most rows."""
    shape = Shape.draw(rng, names=("tanh", "sigmoid", "erf", "softplus"))
    truth = teacher(shape, rng)
    scale = 10 ** (rng.uniform(0, 4) * (rng.random(shape.k) < 0.7))
    truth = replace(truth, W=truth.W * scale, b=truth.b * scale)
    X, y, _ = noisy_rows(truth, shape, rng)
    start = nearby(truth, 10 ** rng.uniform(-4, -1), rng, shape) if rng.integers(2) else truth
    return case(X, y, refined(X, y, start, shape.bias, shape.offset), truth, shape)


def tiny_units(rng: np.random.Generator, fit: Fit) -> Case:
    """Output weights down to rounding errors of the others; the network may have another unit in their place."""
    shape = Shape.draw(rng, k=int(rng.integers(2, 4)))
    truth = teacher(shape, rng)
    a = truth.a * 10 ** (-rng.uniform(2, 15) * (np.arange(shape.k) == 0))
    truth = replace(truth, a=a)
    X, y, _ = noisy_rows(truth, shape, rng)
    start = truth
    if rng.integers(2):
        other = teacher(shape, rng)
        start = replace(truth, W=np.column_stack([other.W[:, :1], truth.W[:, 1:]]))
    return case(X, y, refined(X, y, start, shape.bias, shape.offset), truth, shape)


def nearly_silent(rng: np.random.Generator, fit: Fit) -> Case:
    """A kinked unit that a counted few of the rows, or all but those, switch on; perhaps with another one in its place."""
    shape = replace(Shape.draw(rng, names=HOMOGENEOUS), bias=True)
    truth = teacher(shape, rng)
    shape = shaped(shape, truth)
    X = rng.standard_normal((int(rng.uniform(3, 40) * shape.p) + 20, shape.d))
    z = np.sort(X @ truth.W[:, 0])
    count = int(rng.integers(0, 3 * shape.d))
    edge = float(z[-count - 1] + z[-count]) / 2 if count else float(z[-1]) + 0.1
    sign = rng.choice([-1.0, 1.0])
    truth = replace(truth, W=truth.W * np.where(np.arange(shape.k) == 0, sign, 1.0), b=np.append(-sign * edge, truth.b[1:]))
    clean = truth.predict(X)
    y = clean + float(rng.choice([0.0, 0.0, 1e-3])) * np.std(clean) * rng.standard_normal(len(X))
    size = 10 ** rng.uniform(-6, 0)
    W, b = truth.W.copy(), truth.b.copy()
    W[:, 0] += size * rng.standard_normal(shape.d) * np.linalg.norm(W[:, 0])
    b[0] += size * rng.standard_normal()
    return case(X, y, refined(X, y, replace(truth, W=W, b=b), shape.bias, shape.offset), truth, shape)


def several_outputs(rng: np.random.Generator, fit: Fit) -> Case:
    """Two to six outputs, some of which see few of the units; every fit from random starts."""
    shape = Shape.draw(rng, k=int(rng.integers(1, 5)))
    units, m = teacher(shape, rng), int(rng.integers(2, 7))
    A = rng.standard_normal((shape.k, m)) * (rng.random((shape.k, m)) < rng.choice([0.3, 1.0]))
    A[:, 0] = np.where(np.abs(A).max(axis=1) > 0, A[:, 0], 1.0)
    truth = Network(units.W, A, units.b, np.full(m, 0.5 * shape.offset), shape.activation)
    n = int(rng.uniform(1.0, 6.0) * shape.k * (shape.d + 1 + m) / m) + 8
    X = rng.standard_normal((n, shape.d))
    Y = truth.predict(X)
    net = truth if rng.integers(4) == 0 else jointly(X, Y, truth, Model(shape.bias, False, shape.offset), rng)
    return case(X, Y, net, truth, shape)


def linear_part(rng: np.random.Generator, fit: Fit) -> Case:
    """A linear part beside the units, in which always-on ones and reflections vanish."""
    shape = Shape.draw(rng)
    units, m = teacher(shape, rng), int(rng.integers(1, 4))
    a = units.a if m == 1 else rng.standard_normal((shape.k, m))
    V = rng.standard_normal(shape.d) if m == 1 else rng.standard_normal((shape.d, m))
    c = 0.5 * shape.offset if m == 1 else np.full(m, 0.5 * shape.offset)
    truth = Network(units.W, a, units.b, c, shape.activation, V)
    X = rng.standard_normal((int(rng.uniform(1.2, 8.0) * (shape.p + shape.d)) + 8, shape.d))
    Y = truth.predict(X)
    net = truth if rng.integers(4) == 0 else jointly(X, Y, truth, Model(shape.bias, True, shape.offset), rng)
    return case(X, Y, net, truth, shape)


def joint_noise(rng: np.random.Generator, fit: Fit) -> Case:
    """Several outputs or a linear part, errors perhaps dependent; a fit from random starts, or beside the truth."""
    shape = Shape.draw(rng, k=int(rng.integers(1, 4)))
    units, m, linear = teacher(shape, rng), int(rng.integers(1, 5)), bool(rng.integers(2))
    linear = linear or m == 1
    A = units.a if m == 1 else rng.standard_normal((shape.k, m))
    V = (rng.standard_normal(shape.d) if m == 1 else rng.standard_normal((shape.d, m))) if linear else None
    truth = Network(units.W, A, units.b, 0.0 if m == 1 else np.zeros(m), shape.activation, V)
    X = rng.standard_normal((int(rng.uniform(4.0, 40.0) * (shape.p + shape.d)), shape.d))
    Y = truth.predict(X)
    errors = rng.standard_normal(Y.shape) @ (np.eye(m) if rng.integers(2) else rng.standard_normal((m, m))) if m > 1 else None
    errors = rng.standard_normal(Y.shape) if errors is None else errors
    Y = Y + 10 ** rng.uniform(-4, -0.7) * Y.std(axis=0) * errors
    shape = replace(shape, offset=False)
    net = jointly(X, Y, truth, Model(shape.bias, linear), rng, start=truth if rng.integers(2) else None)
    return case(X, Y, net, truth, shape)


def withheld_linear_part(rng: np.random.Generator, fit: Fit) -> Case:
    """The truth has a linear part, the fit units in its place."""
    shape = replace(Shape.draw(rng, names=("relu", "leaky_relu", "softplus", "tanh")), bias=True)
    units, v = teacher(shape, rng), rng.standard_normal(shape.d) * 10 ** rng.uniform(-5, 0)

    def truth(X: np.ndarray) -> np.ndarray:
        return np.asarray(units.predict(X) + X @ v)

    X = rng.standard_normal((int(rng.uniform(4, 40) * shape.p) + 40, shape.d))
    clean = truth(X)
    y = clean + float(rng.choice([0.0, 1e-3, 0.05])) * np.std(clean) * rng.standard_normal(len(X))
    net = fit(X, y, shape.k + int(rng.integers(3)), shape.activation, True, shape.offset, rng=rng)
    return case(X, y, net, truth, shape)
