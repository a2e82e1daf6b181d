"""Small recovery problems and the fits that hostile cases are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from weightlift import activations, recover
from weightlift.activations import Activation, custom
from weightlift.errors import ArgumentError, WeightliftError
from weightlift.identifiability import count_parameters
from weightlift.network import Network
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.refinement.variable_projection import Hidden, Model, variable_projection
from weightlift.risk import Students
from weightlift.samples import open as open_samples

Fit = Callable[..., Network]
Function = Callable[[np.ndarray], np.ndarray]
Law = Callable[[int, np.random.Generator], np.ndarray]
HOMOGENEOUS = ("relu", "squared_relu", "leaky_relu")
SMOOTH = ("tanh", "sigmoid", "erf", "softplus")
EASY = 3.0  # rows a parameter


@dataclass(frozen=True)
class Case:
    """Data, the network to be certified, and the truth that the certificate does not see."""

    X: np.ndarray
    y: np.ndarray
    network: Network
    truth: Network | Function
    law: Callable[[int, np.random.Generator], np.ndarray]  # fresh inputs
    bias: bool = False
    offset: bool = False
    weight: np.ndarray | None = None
    heldout: tuple[np.ndarray, np.ndarray] | None = None
    easy: bool = False
    forbidden: bool = False  # may never be certified, right or wrong
    centred: bool = True  # errors have mean zero given x, as a noisy certificate supposes; rounding and outliers have not
    reflected: bool = False  # the network's function is the truth's with other units: EXACT would be false


@dataclass(frozen=True)
class Shape:
    """A random problem's shape."""

    d: int
    k: int
    activation: Any
    bias: bool
    offset: bool
    p: int = field(default=0)

    @classmethod
    def draw(cls, rng: np.random.Generator, *, names: tuple[str, ...] = HOMOGENEOUS + SMOOTH, k: int | None = None) -> Shape:
        d, k = int(rng.integers(2, 11)), int(rng.integers(1, 4)) if k is None else k
        name = names[int(rng.integers(len(names)))]
        activation = activations.get(name, slope=0.1) if name == "leaky_relu" else activations.get(name)
        bias, offset = bool(rng.integers(2)), bool(rng.integers(4) == 0)
        net = Network(np.ones((d, k)), activation=activation)
        return cls(d, k, activation, bias, offset, count_parameters(net, bias=bias, offset=offset))


def teacher(shape: Shape, rng: np.random.Generator) -> Network:
    """Directions at an angle of at least 0.3 to each other, sizes in [½, 3/2], biases in [−1, 1]."""
    while True:
        W = rng.standard_normal((shape.d, shape.k))
        W /= np.linalg.norm(W, axis=0)
        gram = np.abs(W.T @ W) - np.eye(shape.k)
        if gram.max() < np.cos(0.3):
            break
    size = rng.uniform(0.5, 1.5, shape.k) if shape.activation.degree else rng.uniform(0.8, 2.0, shape.k)
    a = rng.choice([-1.0, 1.0], shape.k) * rng.uniform(0.5, 1.5, shape.k)
    b = rng.uniform(-1, 1, shape.k) if shape.bias else None
    return Network(W * size, a, b, float(rng.normal()) if shape.offset else 0.0, shape.activation)


def gaussian(d: int) -> Callable[[int, np.random.Generator], np.ndarray]:
    return lambda n, rng: rng.standard_normal((n, d))


def portfolio(
    X: np.ndarray,
    y: np.ndarray,
    n_units: int,
    activation: Any,
    bias: bool = False,
    offset: bool = False,
    *,
    weight: np.ndarray | None = None,
    starts: int = 12,
    iterations: int = 60,
    ridge: float = 0.0,
    rng: int | np.random.Generator = 0,
) -> Network:
    """The best of a batch of random starts: right or wrong, as it happens."""
    rng = np.random.default_rng(rng)
    d = X.shape[1]
    scale = np.maximum(X.std(axis=0), 1e-3)[:, None, None]
    W = rng.standard_normal((d, starts, n_units)) / np.sqrt(d) * 1.5 / scale
    a = rng.choice([-1.0, 1.0], (starts, n_units)) * max(float(np.std(y)), 1e-3)
    b = rng.uniform(-1, 1, (starts, n_units)) if bias else np.zeros((starts, n_units))
    c = np.full(starts, float(y.mean()) if offset else 0.0)
    free = "W" + ("" if activation.degree else "a") + ("b" if bias else "") + ("c" if offset else "")
    students = Students(W, a, b, c, activation)
    samples = open_samples(X, y, sample_weight=weight)
    try:
        coarse = gauss_newton(samples, students, free=free, iterations=iterations, ridge=ridge).network
    except np.linalg.LinAlgError:
        return students.network(0)
    return refined(X, y, coarse, bias, offset, weight=weight, ridge=ridge)


def recovered(
    X: np.ndarray,
    y: np.ndarray,
    n_units: int,
    activation: Any,
    bias: bool = False,
    offset: bool = False,
    *,
    weight: np.ndarray | None = None,
    ridge: float = 0.0,
    rng: int | np.random.Generator = 0,
    **options: Any,
) -> Network:
    """What `recover` returns within a small budget; a penalty, or rows it refuses, go to the portfolio."""
    try:
        if ridge:
            raise ArgumentError("recover knows no penalty.")
        found = recover(
            X, y, n_units=n_units, activation=activation, bias=bias, offset=offset, sample_weight=weight, max_work=600, rng=rng
        )
    except WeightliftError:
        return portfolio(X, y, n_units, activation, bias, offset, weight=weight, ridge=ridge, rng=rng, **options)
    return found.network


def refined(
    X: np.ndarray,
    y: np.ndarray,
    start: Network,
    bias: bool,
    offset: bool,
    *,
    weight: np.ndarray | None = None,
    ridge: float = 0.0,
    iterations: int = 60,
) -> Network:
    """The local minimum near a start."""
    free = "W" + ("" if start.activation.degree else "a") + ("b" if bias else "") + ("c" if offset else "")
    samples = open_samples(X, y, sample_weight=weight)
    try:
        return gauss_newton(samples, start, free=free, iterations=iterations, tol=1e-13, ridge=ridge).network
    except np.linalg.LinAlgError:
        return start


def noise_for(y: np.ndarray, rng: np.random.Generator, *, low: float = -8.0, high: float = -0.5) -> float:
    return float(np.std(y) * 10 ** rng.uniform(low, high))


def rows_for(shape: Shape, rng: np.random.Generator, *, noisy: bool) -> int:
    """Comfortable: what an easy case has."""
    if noisy:
        return int(30 * shape.p + 500 + rng.integers(500))
    return int(np.ceil(rng.uniform(EASY, 6.0) * shape.p)) + 12


def case(X: np.ndarray, y: np.ndarray, network: Network, truth: Network | Function, shape: Shape, **rest: Any) -> Case:
    rest.setdefault("law", gaussian(X.shape[1]))
    return Case(X, y, network, truth, bias=shape.bias, offset=shape.offset, **rest)


def noisy_rows(
    truth: Network,
    shape: Shape,
    rng: np.random.Generator,
    *,
    law: Callable[[int, np.random.Generator], np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray, float]:
    """A few to many rows a parameter; one case in three has no noise."""
    n = int(rng.uniform(3, 40) * shape.p) + 20
    X = gaussian(shape.d)(n, rng) if law is None else law(n, rng)
    clean = truth.predict(X)
    sigma = 0.0 if rng.integers(3) == 0 else noise_for(clean, rng, low=-5, high=-0.3)
    return X, clean + sigma * rng.standard_normal(n), sigma


def nearby(net: Network, size: float, rng: np.random.Generator, shape: Shape) -> Network:
    W = net.W + size * np.linalg.norm(net.W, axis=0) * rng.standard_normal(net.W.shape) / np.sqrt(net.n_inputs)
    a = net.a * (1 + size * rng.standard_normal(net.n_units))
    b = net.b + size * rng.standard_normal(net.n_units) if shape.bias else net.b
    return replace(net, W=W, a=a, b=b, c=net.c + size * rng.normal() if shape.offset else net.c)


def join(f: Network, g: Network) -> Network:
    W, a, b = np.column_stack([f.W, g.W]), np.concatenate([f.a, g.a]), np.concatenate([f.b, g.b])
    return replace(f, W=W, a=a, b=b)


def in_reach(truth: Network, X: np.ndarray, shape: Shape) -> bool:
    """Whether every kinked unit has rows to spare on both of its sides, and the units are not nearly linear on them."""
    if not truth.activation.kinks:
        return truth.activation.name != "softplus"
    z = X @ truth.W + truth.b
    minority = np.minimum((z > 0).sum(axis=0), (z <= 0).sum(axis=0))
    return bool(minority.min() >= 2 * (shape.d + 1))


def shaped(shape: Shape, net: Network) -> Shape:
    """The shape with the network's own sizes."""
    p = count_parameters(net, bias=shape.bias, offset=shape.offset)
    return replace(shape, d=net.n_inputs, k=net.n_units, p=p)


def jointly(
    X: np.ndarray, Y: np.ndarray, like: Network, model: Model, rng: np.random.Generator, *, start: Network | None = None
) -> Network:
    """Several outputs or a linear part: the best of eight random starts of the width of `like`, or the minimum near one."""
    (d, k), starts = like.W.shape, 8
    W = rng.standard_normal((d, starts, k)) / np.sqrt(d) * 1.5
    b = rng.uniform(-1, 1, (starts, k)) * model.bias
    hidden = Hidden(W, b, like.activation) if start is None else Hidden.of(start)
    try:
        fit = variable_projection(open_samples(X, Y), hidden, model, iterations=80, unit=bool(like.activation.degree))
    except np.linalg.LinAlgError:
        return like
    return fit.network


@lru_cache(maxsize=8)
def analytic(number: int) -> Activation:
    """Activations that the catalogue does not have; the first has a symmetry that is not declared."""
    odd = -1, ()
    return (
        custom("bump", lambda z: z * np.exp(-z * z / 2), lambda z: (1 - z * z) * np.exp(-z * z / 2), analytic=True),
        custom("arctangent", np.arctan, lambda z: 1 / (1 + z * z), reflection=odd, analytic=True),
        custom("lorentz", lambda z: 1 / (1 + z * z), lambda z: -2 * z / (1 + z * z) ** 2, reflection=(1, ()), analytic=True),
        custom("wave", lambda z: z + np.sin(z), lambda z: 1 + np.cos(z), reflection=odd, analytic=True),
        custom(
            "odd bump", lambda z: z * np.exp(-z * z), lambda z: (1 - 2 * z * z) * np.exp(-z * z), reflection=odd, analytic=True
        ),
    )[number]
