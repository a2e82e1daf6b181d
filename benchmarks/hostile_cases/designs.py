"""Hostile cases where rows are designed, stored or weighted: flats, clusters, grids, levels, replicates, quantised targets."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from benchmarks.hostile_cases.problems import Case, Fit, Shape, case, join, nearby, noisy_rows, refined, shaped, teacher
from weightlift.network import Network


def flats(rng: np.random.Generator, fit: Fit) -> Case:
    """One input at a time, or two planes, along the axes or not: two units may exchange what they are on one of them."""
    shape = replace(Shape.draw(rng, names=("relu", "squared_relu", "tanh", "sigmoid", "softplus")), offset=False)
    d, common, scans = int(rng.integers(2, 5)), int(rng.integers(3)), bool(rng.integers(2))
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0] if rng.integers(2) else np.eye(d)
    base = rng.standard_normal(d) * shape.bias

    def law(n: int, rng: np.random.Generator) -> np.ndarray:
        Z, at = 2.0 * rng.standard_normal((n, d)), rng.integers(d, size=n)
        if scans:
            Z *= np.arange(d) == at[:, None]
        else:
            Z[at % 2 == 0, -1], Z[at % 2 == 1, 0] = 0.0, 0.0
        return np.asarray((Z + base) @ Q)

    U, rest = rng.standard_normal((d, 2)), rng.standard_normal((d, common))
    if not scans:
        U[1:-1] = U[1:-1, :1]
    a = np.append(np.ones(2), rng.standard_normal(common))
    b = np.append(np.full(2, rng.standard_normal()), rng.standard_normal(common)) * shape.bias
    one, two = (
        Network(Q.T @ (W := np.hstack([V, rest])), a, b - base @ W, 0.0, shape.activation)
        for V in (U, np.vstack([U[:-1], U[-1:, ::-1]]))
    )
    shape = shaped(shape, one)
    X, y, _ = noisy_rows(one, shape, rng, law=law)
    start = two if rng.integers(2) else fit(X, y, shape.k, shape.activation, shape.bias, False, rng=rng)
    return case(X, y, refined(X, y, start, shape.bias, False), one, shape, law=law)


def clusters(rng: np.random.Generator, fit: Fit) -> Case:
    """Rows in a few tight groups: on each of them the network is nearly one polynomial."""
    shape = Shape.draw(rng, k=int(rng.integers(1, 4)))
    shape = replace(shape, d=int(rng.integers(1, 4)))
    truth = Network(
        rng.standard_normal((shape.d, shape.k)),
        rng.choice([-1.0, 1.0], shape.k),
        rng.standard_normal(shape.k) if shape.bias else None,
        0.5 * shape.offset,
        shape.activation,
    )
    shape = shaped(shape, truth)
    centres = 1.5 * rng.standard_normal((int(rng.integers(2, 13)), shape.d))
    spread = 10 ** rng.uniform(-4, -0.5)

    def law(n: int, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(centres[rng.integers(len(centres), size=n)] + spread * rng.standard_normal((n, shape.d)))

    X, y, _ = noisy_rows(truth, shape, rng, law=law)
    return case(X, y, fit(X, y, shape.k, shape.activation, shape.bias, shape.offset, rng=rng), truth, shape, law=law)


def mixed_columns(rng: np.random.Generator, fit: Fit) -> Case:
    """Binary, counted, one-hot or rarely used columns beside continuous ones; units may differ along these alone."""
    shape = replace(Shape.draw(rng, k=int(rng.integers(2, 4))), bias=True)
    smooth, kinds = int(rng.integers(1, 4)), rng.integers(4, size=int(rng.integers(1, 3)))

    def law(n: int, rng: np.random.Generator) -> np.ndarray:
        columns = [rng.standard_normal((n, smooth))]
        for kind in kinds:
            if kind == 0:
                columns.append(rng.integers(0, 2, (n, 1)).astype(float))
            elif kind == 1:
                columns.append(rng.poisson(2.0, (n, 1)).astype(float))
            elif kind == 2:
                columns.append(np.eye(3)[rng.integers(0, 3, n), :2])
            else:
                columns.append(rng.standard_normal((n, 1)) * (rng.random((n, 1)) < 0.1))
        return np.hstack(columns)

    d = law(1, rng).shape[1]
    W = rng.standard_normal((d, shape.k))
    if rng.integers(2):
        W[:smooth, :2] = W[:smooth, :1]
    b = rng.standard_normal(shape.k)
    truth = Network(W, rng.choice([-1.0, 1.0], shape.k), b, 0.5 * shape.offset, shape.activation)
    truth = replace(truth, a=np.append(truth.a[:1], truth.a[:-1]))
    shape = shaped(shape, truth)
    X, y, _ = noisy_rows(truth, shape, rng, law=law)
    start, how = truth, int(rng.integers(3))
    if how == 0:
        start = fit(X, y, shape.k, shape.activation, True, shape.offset, rng=rng)
    elif how == 1:
        other, at = W.copy(), int(rng.integers(smooth, d))
        other[at, :2] = (b[:2] + W[at, :2])[::-1] - b[:2]
        start = replace(truth, W=other)
    return case(X, y, refined(X, y, start, True, shape.offset), truth, shape, law=law)


def grids(rng: np.random.Generator, fit: Fit) -> Case:
    """A full factorial design of three to twelve levels, exact or with the least jitter."""
    shape = Shape.draw(rng, k=int(rng.integers(1, 4)))
    d, levels = int(rng.integers(1, 4)), int(rng.integers(3, 13))
    axis = np.linspace(-2.0, 2.0, levels) + 0.1
    jitter = float(rng.choice([0.0, 1e-12, 1e-3]))

    def law(n: int, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(rng.choice(axis, (n, d)) + jitter * rng.standard_normal((n, d)))

    b = rng.standard_normal(shape.k) if shape.bias else None
    W, a = rng.standard_normal((d, shape.k)), rng.choice([-1.0, 1.0], shape.k)
    truth = Network(W, a, b, 0.5 * shape.offset, shape.activation)
    shape = shaped(shape, truth)
    X = np.array(list(itertools.product(axis, repeat=d)))
    X = X + jitter * rng.standard_normal(X.shape)
    clean = truth.predict(X)
    y = clean + float(rng.choice([0.0, 0.0, 1e-3])) * np.std(clean) * rng.standard_normal(len(X))
    return case(X, y, fit(X, y, shape.k, shape.activation, shape.bias, shape.offset, rng=rng), truth, shape, law=law)


def manifolds(rng: np.random.Generator, fit: Fit) -> Case:
    """Rows on a sphere, a curve or a simplex, or lagged values of one series: no density."""
    shape = Shape.draw(rng, k=int(rng.integers(1, 4)))
    shape = replace(shape, d=int(rng.integers(2, 6)))
    kind = int(rng.integers(4))

    def law(n: int, rng: np.random.Generator) -> np.ndarray:
        Z = rng.standard_normal((n, shape.d))
        if kind == 0:
            return np.asarray(np.sqrt(shape.d) * Z / np.linalg.norm(Z, axis=1, keepdims=True))
        if kind == 1:
            return np.asarray(np.sin(Z[:, :1] * np.arange(1, shape.d + 1) + np.arange(shape.d)))
        if kind == 2:
            return np.asarray(np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True))
        series = rng.standard_normal(n + shape.d)
        return np.lib.stride_tricks.sliding_window_view(series, shape.d)[:n].copy()

    truth = teacher(shape, rng)
    shape = shaped(shape, truth)
    X, y, _ = noisy_rows(truth, shape, rng, law=law)
    start = nearby(truth, 1e-2, rng, shape)
    start = start if rng.integers(2) else fit(X, y, shape.k, shape.activation, shape.bias, shape.offset, rng=rng)
    return case(X, y, refined(X, y, start, shape.bias, shape.offset), truth, shape, law=law)


def replicates(rng: np.random.Generator, fit: Fit) -> Case:
    """Each input several times, each time with its own error."""
    shape = Shape.draw(rng)
    truth = teacher(shape, rng)
    times = int(rng.integers(2, 11))
    X = np.repeat(rng.standard_normal((int(rng.uniform(0.5, 6) * shape.p) + 4, shape.d)), times, axis=0)
    clean = truth.predict(X)
    y = clean + float(rng.choice([0.0, 1e-3, 0.05])) * np.std(clean) * rng.standard_normal(len(X))
    start = truth if rng.integers(2) else fit(X, y, shape.k, shape.activation, shape.bias, shape.offset, rng=rng)
    return case(X, y, refined(X, y, start, shape.bias, shape.offset), truth, shape)


def extreme_weights(rng: np.random.Generator, fit: Fit) -> Case:
    """Weights that leave rows out, hardly count them, let a few decide, or are right or wrong about the errors' sizes."""
    shape = Shape.draw(rng)
    truth = teacher(shape, rng)
    X, y, sigma = noisy_rows(truth, shape, rng)
    n, kind = len(X), int(rng.integers(5))
    w, bad = np.ones(n), rng.random(n) < 0.1
    if kind <= 1:
        w[bad] = 0.0 if kind == 0 else 10 ** rng.uniform(-20, -6)
        y = y + bad * np.std(y) * rng.standard_normal(n)
    elif kind == 2:
        w = 10 ** rng.uniform(-8, 8, n)
    elif kind == 3:
        w = np.where(rng.permutation(n) < shape.p + int(rng.integers(12)), 10 ** rng.uniform(2, 10), 1.0)
    else:
        size = np.exp(rng.standard_normal(n))
        w = size ** -rng.choice([2.0, -2.0])
        y = truth.predict(X) + sigma * size * rng.standard_normal(n)
    start = fit(X, y, shape.k, shape.activation, shape.bias, shape.offset, weight=w, rng=rng) if rng.integers(2) else truth
    return case(X, y, refined(X, y, start, shape.bias, shape.offset, weight=w), truth, shape, weight=w)


def quantised_targets(rng: np.random.Generator, fit: Fit) -> Case:
    """Targets on another grid than the decimal one, cut off, of few significant digits, of half precision, or clipped."""
    shape = Shape.draw(rng)
    truth = teacher(shape, rng)
    X = rng.standard_normal((int(rng.uniform(4, 60) * shape.p) + 40, shape.d))
    y, kind = truth.predict(X), int(rng.integers(6))
    step = 10 ** rng.uniform(-7, -0.5)
    if kind == 0:
        y = np.round(y * 2.0 ** (m := int(rng.integers(2, 20)))) / 2.0**m
    elif kind == 1:
        y = np.floor(y * 10.0 ** (m := int(rng.integers(1, 7)))) / 10.0**m
    elif kind == 2:
        y = step * np.round(y / step)
    elif kind == 3:
        y = y.astype(np.float16).astype(float)
    elif kind == 4:
        y = np.array([float(f"{v:.{int(rng.integers(1, 7))}g}") for v in y])
    else:
        low, high = np.quantile(y, [share := rng.uniform(0, 0.05), 1 - share])
        y = np.clip(y, low, high)
    start = truth if rng.integers(2) else fit(X, y, shape.k, shape.activation, shape.bias, shape.offset, rng=rng)
    return case(X, y, refined(X, y, start, shape.bias, shape.offset), truth, shape, centred=False)


def spurious_other_noise(rng: np.random.Generator, fit: Fit) -> Case:
    """One unit too many, fitted to errors of other laws: heavy-tailed, skewed, discrete, or of a size that depends on x."""
    shape = Shape.draw(rng, k=int(rng.integers(1, 3)))
    truth = teacher(shape, rng)
    X = rng.standard_normal((int(rng.uniform(8, 60) * shape.p) + 60, shape.d))
    clean, n = truth.predict(X), len(X)
    errors = (
        rng.standard_t(float(rng.choice([3.0, 5.0])), n),
        rng.exponential(size=n) - 1.0,
        np.abs(X[:, 0]) * rng.standard_normal(n),
        np.exp(X[:, 0] - 1.0) * rng.standard_normal(n),
        rng.choice([-1.0, 1.0], n),
        (rng.random(n) < 0.05) * rng.standard_normal(n) * 5.0 + 0.2 * rng.standard_normal(n),
    )[int(rng.integers(6))]
    y = clean + np.std(clean) * 10 ** rng.uniform(-3, -0.3) * errors
    extra = teacher(replace(shape, k=1, offset=False), rng)
    start = join(truth, replace(extra, a=0.3 * extra.a)) if rng.integers(2) else None
    if start is None:
        start = fit(X, y, shape.k + 1, shape.activation, shape.bias, shape.offset, rng=rng)
    return case(X, y, refined(X, y, start, shape.bias, shape.offset), truth, shape)
