"""Hostile cases where the data are unusual: outliers, copies, weights, rounding, inputs and noise of other laws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.hostile_cases.problems import Case, Fit, Function, Shape, case, nearby, noise_for, noisy_rows, refined, teacher
from weightlift.identifiability import count_parameters
from weightlift.network import Network


def outliers(rng: np.random.Generator, fit: Fit) -> Case:
    shape = Shape.draw(rng)
    truth = teacher(shape, rng)
    X, y, sigma = noisy_rows(truth, shape, rng)
    count = int(rng.choice([1, 2, 5, max(1, len(X) // 20)]))
    rows = rng.choice(len(X), count, replace=False)
    size = max(sigma, 1e-8 * np.std(y)) * 10 ** rng.uniform(0.3, 4)
    y = y.copy()
    y[rows] += size * (1.0 if rng.integers(2) else rng.choice([-1.0, 1.0], count))
    if rng.integers(3) == 0:
        X = X.copy()
        X[rows] *= 10 ** rng.uniform(0, 3)
    start = truth if rng.integers(2) else fit(X, y, shape.k, shape.activation, shape.bias, shape.offset, rng=rng)
    return case(X, y, refined(X, y, start, shape.bias, shape.offset), truth, shape, centred=False)


def rank_deficient(rng: np.random.Generator, fit: Fit) -> Case:
    shape = replace(Shape.draw(rng), d=int(rng.integers(3, 9)))
    truth = teacher(shape, rng)
    shape = replace(shape, p=count_parameters(truth, bias=shape.bias, offset=shape.offset))
    kind, mix = int(rng.integers(4)), rng.standard_normal((shape.d, shape.d - 1))
    spread = 0.0 if rng.integers(2) else 10 ** rng.uniform(-14, -2)

    def law(n: int, rng: np.random.Generator) -> np.ndarray:
        X = rng.standard_normal((n, shape.d))
        if kind == 0:
            X[:, -1] = 1.0 + spread * X[:, -1]
        elif kind == 1:
            X[:, -1] = X[:, 0] + spread * X[:, -1]
        elif kind == 2:
            X[:, -1] = spread * X[:, -1]
        else:
            X = X[:, 1:] @ mix.T + spread * X
        return X

    X, y, _ = noisy_rows(truth, shape, rng, law=law)
    start = nearby(truth, 1e-2, rng, shape) if rng.integers(2) else truth
    return case(X, y, refined(X, y, start, shape.bias, shape.offset), truth, shape, law=law)


def other_inputs(rng: np.random.Generator, fit: Fit) -> Case:
    shape = Shape.draw(rng)
    truth = teacher(shape, rng)
    kind, scales = int(rng.integers(8)), 10 ** rng.uniform(-2, 2, shape.d)

    def law(n: int, rng: np.random.Generator) -> np.ndarray:
        Z = rng.standard_normal((n, shape.d))
        if kind == 0:
            return rng.uniform(-1.7, 1.7, (n, shape.d))
        if kind == 1:
            return rng.standard_t(3, (n, shape.d))
        if kind == 2:
            return rng.choice([-1.0, 1.0], (n, shape.d))
        if kind == 3:
            return rng.integers(-2, 3, (n, shape.d)).astype(float)
        if kind == 4:
            return Z + rng.choice([-2.0, 2.0], (n, 1))
        if kind == 5:
            return np.abs(Z) + 0.5
        if kind == 6:
            return Z * scales
        return np.exp(0.7 * Z)

    if kind == 6:
        truth = replace(truth, W=truth.W / scales[:, None])
    X, y, _ = noisy_rows(truth, shape, rng, law=law)
    start = nearby(truth, 1e-2, rng, shape) if rng.integers(2) else None
    net = fit(X, y, shape.k, shape.activation, shape.bias, shape.offset, rng=rng) if start is None else start
    return case(X, y, refined(X, y, net, shape.bias, shape.offset), truth, shape, law=law)


def other_noise(rng: np.random.Generator, fit: Fit) -> Case:
    shape = Shape.draw(rng)
    truth = teacher(shape, rng)
    X = rng.standard_normal((int(rng.uniform(6, 60) * shape.p) + 50, shape.d))
    clean = truth.predict(X)
    kind, n = int(rng.integers(6)), len(X)
    noise = [
        np.abs(X[:, 0]) * rng.standard_normal(n),
        np.exp(0.5 * X[:, -1]) * rng.standard_normal(n),
        rng.standard_t(3, n),
        rng.laplace(size=n),
        rng.choice([-1.0, 1.0], n),
        rng.exponential(size=n) - 1.0,
    ][kind]
    y = clean + noise_for(clean, rng, low=-3, high=-0.3) * noise
    return case(X, y, refined(X, y, truth, shape.bias, shape.offset), truth, shape)


def constant_target(rng: np.random.Generator, fit: Fit) -> Case:
    shape = Shape.draw(rng)
    value = float(rng.choice([0.0, 1.0, -3.7]))
    X = rng.standard_normal((6 * shape.p + 20, shape.d))
    y = np.full(len(X), value) + float(rng.choice([0.0, 1e-3])) * rng.standard_normal(len(X))
    net = fit(X, y, shape.k, shape.activation, shape.bias, shape.offset, rng=rng)
    flat = Network(np.zeros((shape.d, 1)), [0.0], None, value, shape.activation)
    return case(X, y, net, flat, shape, forbidden=True)


def rounded_target(rng: np.random.Generator, fit: Fit) -> Case:
    shape = Shape.draw(rng)
    truth = teacher(shape, rng)
    X = rng.standard_normal((int(rng.uniform(4, 60) * shape.p) + 40, shape.d))
    clean = truth.predict(X)
    digits = int(rng.integers(0, 8))
    y = clean.astype(np.float32).astype(float) if digits == 7 else np.round(clean, digits)
    return case(X, y, refined(X, y, truth, shape.bias, shape.offset), truth, shape, centred=False)


def float32_data(rng: np.random.Generator, fit: Fit) -> Case:
    shape = Shape.draw(rng)
    truth = teacher(shape, rng)
    X = rng.standard_normal((int(rng.uniform(4, 20) * shape.p) + 40, shape.d)).astype(np.float32)
    y = truth.predict(X) if rng.integers(2) else truth.predict(X.astype(float)).astype(np.float32)
    net = refined(X.astype(float), y.astype(float), truth, shape.bias, shape.offset)
    return case(X, y, net, truth, shape)


def copied_rows(rng: np.random.Generator, fit: Fit) -> Case:
    """Fewer distinct rows than it seems: copies, copies that differ in the last digit, bootstrap samples."""
    shape = Shape.draw(rng)
    truth = teacher(shape, rng)
    kind = int(rng.integers(3))
    if kind == 2:
        X, y, _ = noisy_rows(truth, shape, rng)
        rows = rng.integers(len(X), size=len(X))
        X, y = X[rows], y[rows]
        net = refined(X, y, truth, shape.bias, shape.offset)
        return case(X, y, net, truth, shape)
    distinct = max(3, shape.p - int(rng.integers(0, 3)))
    X = rng.standard_normal((distinct, shape.d))
    y = truth.predict(X) + float(rng.choice([0.0, 0.3])) * rng.standard_normal(distinct)
    times = int(rng.integers(3, 12))
    X, y = np.tile(X, (times, 1)), np.tile(y, times)
    if kind == 1:
        X = X * (1.0 + 2.2e-16 * rng.integers(-1, 2, X.shape))
    net = fit(X, y, shape.k, shape.activation, shape.bias, shape.offset, rng=rng)
    return case(X, y, net, truth, shape, forbidden=True)


def weighted_rows(rng: np.random.Generator, fit: Fit) -> Case:
    shape = Shape.draw(rng)
    truth = teacher(shape, rng)
    X, y, _ = noisy_rows(truth, shape, rng)
    n, kind = len(X), int(rng.integers(4))
    w = [
        (rng.uniform(size=n) < 0.7).astype(float),
        rng.integers(1, 6, n).astype(float),
        10 ** rng.uniform(-3, 3, n),
        (np.arange(n) < shape.p - int(rng.integers(0, 3))).astype(float),
    ][kind]
    if kind == 3 and w.sum() < 2:
        w[:2] = 1.0
    if kind == 0:
        y = np.where(w > 0, y, 1e3)
    start = fit(X, y, shape.k, shape.activation, shape.bias, shape.offset, weight=w, rng=rng) if kind == 3 else truth
    net = refined(X, y, start, shape.bias, shape.offset, weight=w)
    return case(X, y, net, truth, shape, weight=w, forbidden=kind == 3)


def discrete_weights(rng: np.random.Generator, fit: Fit) -> Case:
    """Integer weights on integer inputs: coincidences that generic data do not have."""
    shape = Shape.draw(rng, names=("relu", "squared_relu", "absolute"))
    W = rng.integers(-2, 3, (shape.d, shape.k)).astype(float)
    W[rng.integers(shape.d), :] = 1.0
    b = rng.integers(-2, 3, shape.k).astype(float) if shape.bias else None
    truth = Network(W, rng.choice([-2.0, -1.0, 1.0, 2.0], shape.k), b, 0.0, shape.activation)
    levels = int(rng.integers(2, 4))

    def law(n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.integers(0, levels, (n, shape.d)).astype(float)

    X = law(int(rng.uniform(3, 20) * shape.p) + 20, rng)
    y = truth.predict(X)
    net = fit(X, y, shape.k, shape.activation, shape.bias, False, rng=rng)
    return case(X, y, net, truth, replace(shape, offset=False), law=law)


def pure_noise(rng: np.random.Generator, fit: Fit) -> Case:
    shape = Shape.draw(rng)
    X = rng.standard_normal((int(rng.uniform(2, 30) * shape.p) + 20, shape.d))
    y = rng.standard_normal(len(X))
    net = fit(X, y, shape.k, shape.activation, shape.bias, shape.offset, rng=rng)
    flat = Network(np.zeros((shape.d, 1)), [0.0], None, 0.0, shape.activation)
    return case(X, y, net, flat, shape, forbidden=True)


def no_network(rng: np.random.Generator, fit: Fit) -> Case:
    shape = replace(Shape.draw(rng), d=int(rng.integers(2, 6)))
    truth = teacher(shape, rng)
    shape = replace(shape, p=count_parameters(truth, bias=shape.bias, offset=shape.offset))
    amount = 10 ** rng.uniform(-5, 0.5)
    extra: Function = [
        lambda X: np.sin(3 * X[:, 0]),
        lambda X: X[:, 0] * X[:, 1],
        lambda X: np.maximum(X[:, 0], X[:, 1]),
        lambda X: (X[:, 0] > 0.5).astype(float),
        lambda X: np.cos(5 * X[:, 0] * X[:, 1]),
        lambda X: np.exp(-((X**2).sum(axis=1))),
    ][int(rng.integers(6))]

    def target(X: np.ndarray) -> np.ndarray:
        return np.asarray(truth.predict(X) + amount * extra(X))

    X = rng.standard_normal((int(rng.uniform(5, 60) * shape.p) + 50, shape.d))
    clean = target(X)
    sigma = 0.0 if rng.integers(3) == 0 else noise_for(clean, rng, low=-4, high=-0.3)
    y = clean + sigma * rng.standard_normal(len(X))
    return case(X, y, refined(X, y, truth, shape.bias, shape.offset), target, shape)
