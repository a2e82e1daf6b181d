"""Constructions in which rows leave a second network, or nearly do: instances for `benchmarks.rivals_attack`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from weightlift import Network, activations, samples
from weightlift.activations import custom
from weightlift.certificate import certify
from weightlift.certificate.standard import Standard
from weightlift.identifiability import reflect, rows_needed
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.refinement.variable_projection import Model, variable_projection
from weightlift.risk import Students

CENTRES = np.array([[-0.994, -1.352, 0.779], [1.282, -1.81, 1.308], [-0.837, -0.737, -0.322], [-0.605, 1.202, 0.934]])
ONE, TWO = np.eye(3), 0.5 * np.array([[-1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [1.0, 1.0, 1.0]])


@dataclass(frozen=True, eq=False)
class Instance:
    """Rows with two networks or more: the first is the truth, all agree with it on the rows."""

    X: np.ndarray
    networks: tuple[Network, ...]
    kind: str = "rivals"  # or "fits": others may be the truth again; "assumed": an assumption is broken; "noisy"; "copies"
    options: dict[str, Any] = field(default_factory=dict)
    breaks: str = ""  # the words of the assumption that is broken
    noise: np.ndarray | float = 0.0  # added to the truth's values; the truth itself is not certified then


def twins(rng: np.random.Generator) -> Instance:
    """Four clusters, three units and their rotated twins, beside 0 to 27 common ones."""
    common, d = int(rng.choice([0, 2, 6, 11, 14, 20, 27])), int(rng.integers(3, 13))
    k = common + 3
    wide = np.append(np.full(3, 0.015), np.full(d - 3, 1.0))
    X = np.repeat(np.hstack([CENTRES, np.zeros((4, d - 3))]), 10 * k, axis=0)
    X = X + wide * rng.standard_normal(X.shape)
    units = rng.standard_normal((d, common)) * np.where(np.arange(d) < 3, rng.choice([0.0, 1.0]), 1.0)[:, None]
    a = np.append(np.ones(3), rng.choice([-1.0, 1.0], common))
    pad = np.zeros((d - 3, 3))
    return Instance(X, tuple(Network(np.hstack([np.vstack([W, pad]), units]), a) for W in (ONE, TWO)))


def mirrored(rng: np.random.Generator) -> Instance:
    """Rows x and −x, sigmoid or softplus without biases: 22 rows are 12 or 14 equations for 12 parameters."""
    activation = str(rng.choice(["sigmoid", "softplus"]))
    truth = Network(rng.standard_normal((3, 3)), rng.standard_normal(3), activation=activation)
    X = rng.standard_normal((11, 3))
    X = np.vstack([X, -X])
    return Instance(X, (truth, *interpolating(truth, X, rng, "Wa")), "fits")


def few_rows(rng: np.random.Generator) -> Instance:
    """Every network that random starts find on one to two rows a parameter."""
    d, k = int(rng.integers(1, 4)), int(rng.integers(2, 4))
    activation = str(rng.choice(["relu", "leaky_relu", "absolute", "tanh", "squared_relu"]))
    truth = Network(rng.standard_normal((d, k)), rng.choice([-1.0, 1.0], k), activation=activation)
    p = d * k if truth.activation.degree else (d + 1) * k
    X = rng.standard_normal((p + int(rng.integers(1, p + 9)), d))
    return Instance(X, (truth, *interpolating(truth, X, rng, "W" if truth.activation.degree else "Wa")), "fits")


def few_levels(rng: np.random.Generator) -> Instance:
    """Inputs of two or three levels each, and every network that random starts find there."""
    d, k = int(rng.integers(2, 5)), 2
    activation = str(rng.choice(["relu", "tanh", "softplus", "absolute"]))
    levels = np.array([[-1.0, 1.0], [0.0, 1.0]][int(rng.integers(2))] + ([2.0] if rng.random() < 0.3 else []))
    X = np.array(list(itertools.product(levels, repeat=d)))
    truth = Network(rng.integers(-2, 3, (d, k)) + 0.5, rng.choice([-1.0, 1.0], k), activation=activation)
    X = np.repeat(X, 3, axis=0)
    return Instance(X, (truth, *interpolating(truth, X, rng, "W" if truth.activation.degree else "Wa")), "fits")


def exchanged(rng: np.random.Generator) -> Instance:
    """Two units that differ along a binary column alone, and the same with their halves exchanged, beside common ones."""
    activation = str(rng.choice(["relu", "leaky_relu", "squared_relu", "absolute", "tanh", "sigmoid", "softplus"]))
    d, common = int(rng.integers(2, 7)), int(rng.integers(0, 4))
    X = np.column_stack([2.0 * rng.standard_normal((60 * (common + 3), d)), rng.integers(0, 2, 60 * (common + 3))])
    w, b, u = rng.standard_normal(d), rng.standard_normal(2), rng.standard_normal(2)
    W = np.hstack([np.column_stack([[*w, u[0]], [*w, u[1]]]), rng.standard_normal((d + 1, common))])
    a, biases = np.append([1.0, 1.0], rng.choice([-1.0, 1.0], common)), np.append(b, rng.standard_normal(common))
    one = Network(W, a, biases, 0.0, activation)
    swapped = one.W.copy()
    swapped[-1, :2] = (b + u)[::-1] - b
    return Instance(X, (one, replace(one, W=swapped)))


def quantised(rng: np.random.Generator) -> Instance:
    """Integer weights, more units than inputs, in one or two dimensions."""
    d, k = int(rng.integers(1, 3)), int(rng.integers(2, 5))
    truth = Network(rng.integers(-3, 4, (d, k)) + 0.0, rng.choice([-1.0, 1.0], k), rng.integers(-2, 3, k) / 2.0)
    if not np.abs(truth.W).max(axis=0).all():
        truth = replace(truth, W=truth.W + 1.0 * (np.abs(truth.W).max(axis=0) == 0))
    X = rng.standard_normal((4 * (d + 1) * k, d))
    return Instance(X, (truth, *interpolating(truth, X, rng, "Wb")), "fits", {"bias": True})


def silent(rng: np.random.Generator) -> Instance:
    """A dead or an always-on unit: another one in its place agrees on every row."""
    d, k = int(rng.integers(2, 7)), int(rng.integers(2, 6))
    X = rng.standard_normal((40 * (d + 1) * k, d))
    W, b = rng.standard_normal((d, k)), 0.3 * rng.standard_normal(k)
    b[0] = -10.0 * np.linalg.norm(W[:, 0])
    one = Network(W, rng.choice([-1.0, 1.0], k), b)
    other = W.copy()
    other[:, 0] = -other[:, 0]
    return Instance(X, (one, replace(one, W=other)))


def flats(rng: np.random.Generator) -> Instance:
    """One input at a time, or two planes, along the axes or not: two units exchange what they are on one of them."""
    return on_flats(rng, int(rng.integers(2, 6)), 60)


def high_flats(rng: np.random.Generator) -> Instance:
    """The same of many inputs, on ten rows a parameter."""
    return on_flats(rng, int(rng.integers(8, 31)), 10)


def scarce_flats(rng: np.random.Generator) -> Instance:
    """The same on two to four rows a parameter, often fewer than a quadric has coefficients."""
    return on_flats(rng, int(rng.integers(8, 31)), int(rng.integers(2, 5)))


def on_flats(rng: np.random.Generator, d: int, ratio: int) -> Instance:
    """Rows with two networks that agree on the flats."""
    activation = str(rng.choice(["relu", "leaky_relu", "squared_relu", "absolute", "tanh", "sigmoid", "softplus"]))
    common, scans, bias = int(rng.integers(0, 4)), bool(rng.integers(2)), bool(rng.integers(2))
    n = ratio * (common + 2) * (d + 2)
    Z, at = 2.0 * rng.standard_normal((n, d)), rng.integers(d, size=n)
    if scans:
        Z *= np.arange(d) == at[:, None]
    else:
        Z[at % 2 == 0, -1], Z[at % 2 == 1, 0] = 0.0, 0.0
    U, base = rng.standard_normal((d, 2)) * np.sqrt(2.0 / d), rng.standard_normal(d) * bias
    if not scans:
        U[1:-1] = U[1:-1, :1]
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0] if rng.integers(2) else np.eye(d)
    rest, a = rng.standard_normal((d, common)) * np.sqrt(2.0 / d), np.append(np.ones(2), rng.standard_normal(common))
    b = np.append(np.full(2, rng.standard_normal()), rng.standard_normal(common)) * bias
    nets = tuple(
        Network(Q.T @ (W := np.hstack([V, rest])), a, b - base @ W, 0.0, activation)
        for V in (U, np.vstack([U[:-1], U[-1:, ::-1]]))
    )
    return Instance((Z + base) @ Q, nets, options={"bias": bias})


def beside_linear_ones(rng: np.random.Generator) -> Instance:
    """Two units that are on at every row take up the linear function by which a third one's reflection differs."""
    activation = str(rng.choice(["relu", "leaky_relu"]))
    d, common = int(rng.integers(2, 6)), int(rng.integers(0, 3))
    W, b = rng.standard_normal((d, 3 + common)), 0.3 * rng.standard_normal(3 + common)
    X = rng.standard_normal((60 * W.size, d))
    b[:2] = 2.0 * np.abs(X @ W).max() * (1 + d)
    one = Network(W, np.append([1.0, -1.0, 1.0], rng.choice([-1.0, 1.0], common)), b, 0.0, activation)
    slope = 1.0 - float(one.activation(np.array(-1.0)))  # φ(z) = φ(−z) + slope · z
    other, biases = W.copy(), b.copy()
    for i, share in ((0, 0.5), (1, -0.5), (2, -2.0 / slope)):
        other[:, i] += share * slope * W[:, 2]
        biases[i] += share * slope * b[2]
    return Instance(X, (one, replace(one, W=other, b=biases)), options={"bias": True})


def aliased(rng: np.random.Generator) -> Instance:
    """Sines of whole numbers, or of another lattice: w and w + 2π/h have the same values there."""
    d, k, bias = int(rng.integers(2, 5)), int(rng.integers(1, 4)), bool(rng.integers(2))
    step = float(rng.choice([1.0, 0.5, 0.1]))
    X = rng.standard_normal((40 * (d + 2) * k, d))
    X[:, 0] = step * rng.integers(-int(rng.integers(8, 60)), 60, len(X))
    one = Network(rng.standard_normal((d, k)), rng.standard_normal(k), 0.5 * rng.standard_normal(k) * bias, 0.0, "sine")
    other = one.W.copy()
    other[0, 0] += 2 * np.pi / step
    return Instance(X, (one, replace(one, W=other)), options={"bias": bias})


def unconfirmed(rng: np.random.Generator) -> Instance:
    """A step left of three rows or right of them, beside a unit that they then place: equations as many as unknowns.

    v = s (1.2 − a) + a tanh(wx + b), s = ±1; artanh((v + 1.2 − a)/a) is linear in x for a root a of its second difference.
    """
    step, size = rng.uniform(0.25, 0.45), float(rng.choice([1e-3, 1e-2]))
    z, x = -0.5 + step * np.arange(3), size * np.arange(-1.0, 2.0)
    v = 0.2 + np.tanh(z)
    low = 0.5 * (v.max() + 1.2)
    a = brentq(lambda a: np.arctanh((v + 1.2 - a) / a) @ [1.0, -2.0, 1.0], low * (1 + 1e-9), 9.0, xtol=1e-15, rtol=1e-14)
    nets = []
    for weight, here, side in ((1.0, z, 1.0), (a, np.arctanh((v + 1.2 - a) / a), -1.0)):
        w, b = np.polyfit(x, here, 1)
        nets.append(Network([[w, 3e3]], [weight, 1.2 - weight], [b, side * 1.5e3], 0.0, "tanh"))
    far = rng.uniform(1.0, 3.0, 40) * rng.choice([-1.0, 1.0], 40)
    return Instance(np.append(far, x)[:, None], tuple(nets), options={"bias": True})


def reflected_flats(rng: np.random.Generator) -> Instance:
    """One input at a time, rotated or not, and an even φ: the signs of a unit's weights are each its own."""
    d, k = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    Z = np.zeros((40 * d * k, d))
    Z[np.arange(len(Z)), rng.integers(d, size=len(Z))] = rng.standard_normal(len(Z))
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0] if rng.random() < 0.5 else np.eye(d)
    W, a = rng.standard_normal((d, k)), rng.uniform(0.5, 1.5, k)
    other = W.copy()
    other[0, 0] *= -1.0
    lorentz = custom(
        "lorentz", lambda z: 1 / (1 + z * z), lambda z: -2 * z / (1 + z * z) ** 2, reflection=(1, ()), analytic=True
    )
    activation = lorentz if rng.random() < 0.7 else "absolute"
    return Instance(Z @ Q, tuple(Network(Q.T @ V, a, None, 0.0, activation) for V in (W, other)))


def beside_outputs(rng: np.random.Generator) -> Instance:
    """One of the constructions with a second, proportional output, or beside a linear part."""
    makers, m = (twins, exchanged, flats, mirrored, few_levels, silent, unconfirmed), int(rng.integers(1, 3))
    instance = makers[int(rng.integers(len(makers) if m == 2 else 3))](rng)
    return replace(instance, networks=tuple(_widened(net, linear=m == 1) for net in instance.networks))


def repeating_outputs(rng: np.random.Generator) -> Instance:
    """Waves on a lattice, waves that repeat, or reflections that vanish together, with such outputs or beside a linear part."""
    makers = aliased, rotated_lattice, slow_wave, shifted_waves, squared_relations
    instance, linear = makers[int(rng.integers(len(makers)))](rng), bool(rng.integers(2))
    return replace(instance, networks=tuple(_widened(net, linear=linear) for net in instance.networks))


def _widened(net: Network, *, linear: bool) -> Network:
    if linear:
        return replace(net, V=np.ones(net.n_inputs))
    u = np.array([1.0, -0.7])
    return Network(net.W, np.outer(net.a, u), net.b, net.c * u, net.activation)


def flats_of_outputs(rng: np.random.Generator) -> Instance:
    """Two units alike at every output, on lines or two planes, on fewer rows than one output needs; some are held out."""
    d, common, m = int(rng.integers(3, 7)), int(rng.integers(1, 5)), int(rng.integers(2, 6))
    activation = str(rng.choice(["relu", "leaky_relu", "squared_relu", "absolute", "tanh", "softplus"]))
    bias, scans = bool(rng.integers(2)), bool(rng.integers(2))
    needed = rows_needed(d, common + 2, min(common + 1, m), activations.get(activation), bias=bias)
    n = int(needed * rng.uniform(1.0, 4.0)) + 3
    Z, base = _on_few(rng, n, d, scans=scans), rng.standard_normal(d) * bias
    U, rest = rng.standard_normal((d, 2)) * np.sqrt(2.0 / d), rng.standard_normal((d, common)) * np.sqrt(2.0 / d)
    if not scans:
        U[1:-1] = U[1:-1, :1]
    b = np.append(np.full(2, rng.standard_normal()), rng.standard_normal(common)) * bias
    A, Q = rng.standard_normal((common + 2, m)), np.linalg.qr(rng.standard_normal((d, d)))[0]
    A[1] = A[0]
    one, two = (
        Network(Q.T @ (W := np.hstack([V, rest])), A, b - base @ W, np.zeros(m), activation)
        for V in (U, np.vstack([U[:-1], U[-1:, ::-1]]))
    )
    options: dict[str, Any] = {"bias": bias}
    if rng.integers(2):
        held = (_on_few(rng, 20, d, scans=scans) + base) @ Q
        options["heldout"] = held, one.predict(held)
    return Instance((Z + base) @ Q, (one, two), options=options)


def _on_few(rng: np.random.Generator, n: int, d: int, *, scans: bool) -> np.ndarray:
    """Rows on the axes, or on two planes."""
    Z = 2.0 * rng.standard_normal((n, d))
    if scans:
        return Z * (np.arange(d) == np.arange(n)[:, None] % d)
    Z[::2, -1], Z[1::2, 0] = 0.0, 0.0
    return Z


def linear_pairs(rng: np.random.Generator) -> Instance:
    """Two opposite units of opposite sizes are linear, whichever they are, and undo the reflection of some others."""
    activation = str(rng.choice(["softplus", "gelu", "silu", "relu", "leaky_relu"]))
    d, k, bias = int(rng.integers(1, 5)), int(rng.integers(1, 4)), bool(rng.integers(2))
    W, w, a, size = rng.standard_normal((d, k)), rng.standard_normal(d), rng.choice([-1.0, 1.0], k), rng.uniform(0.5, 1.5)
    b, shift, flips = rng.standard_normal(k) * bias, rng.standard_normal() * bias, rng.random(k) < 0.6
    nets = []
    for turned in (np.zeros(k, dtype=bool), flips | (np.arange(k) == 0)):
        u, t = w + W[:, turned] @ a[turned] / size, shift + float(b[turned] @ a[turned]) / size
        signs = np.where(turned, -1.0, 1.0)
        pair = np.append(a, [size, -size])
        nets.append(Network(np.column_stack([W * signs, u, -u]), pair, np.append(b * signs, [t, -t]), 0.0, activation))
    X = rng.standard_normal((int(rng.choice([12, 40])) * (k + 2) * (d + 2), d))
    return Instance(X, tuple(nets), options={"bias": bias})


def spare_units(rng: np.random.Generator) -> Instance:
    """Nearly doubled, cancelling or constant units beside one that may as well be two, 10⁻¹⁰ apart, or beside a faint one."""
    return _with_spare(rng, (-14.0, -8.0), (-12.0, -9.0))


def spare_rounded(rng: np.random.Generator) -> Instance:
    """The same of rounded targets, the two as far apart as these do not show, or farther."""
    places = int(rng.integers(2, 9))
    instance = _with_spare(rng, (-places - 4.0, -places / 2), (-places, -places / 2 - 0.5))
    values = instance.networks[0].predict(instance.X)
    return replace(instance, kind="noisy", noise=np.round(values, places) - values)


def _with_spare(rng: np.random.Generator, gaps: tuple[float, float], apart: tuple[float, float]) -> Instance:
    """gaps, apart: decades of the distances of the two that are nearly one, and of the two that are fitted by one."""
    activation = str(rng.choice(["tanh", "softplus", "erf", "silu", "relu"]))
    d, k = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    X = rng.standard_normal((40 * (d + 2) * (k + 2), d))
    W, a, b = rng.standard_normal((d, k)), rng.choice([-1.0, 1.0], k) * rng.uniform(0.5, 1.5, k), rng.uniform(-1, 1, k)
    v, size, gap = rng.standard_normal(d), rng.uniform(0.2, 1.5), 10 ** rng.uniform(*gaps)
    pairs = ([v, (1.0 + gap) * v], [size, -size]), ([v, (1.0 + gap) * v], [size, size]), ([gap * v], [size])
    more, sizes = pairs[int(rng.integers(3))]
    fit = Network(np.column_stack([W, *more]), np.append(a, sizes), np.append(b, np.full(len(more), 0.3)), 0.0, activation)
    e, part = 10 ** rng.uniform(*apart) * rng.standard_normal(d), rng.uniform(0.2, 0.8)
    halves = [W[:, 0] + (1 - part) * e, W[:, 0] - part * e]
    kept = slice(k, k + 1) if sizes[-1] > 0 and len(more) == 2 else slice(k, k)  # the double, as one unit
    truth = Network(
        np.column_stack([*halves, W[:, 1:], fit.W[:, kept]]),
        np.concatenate([[part * a[0], (1 - part) * a[0]], a[1:], 2 * fit.a[kept]]),
        np.concatenate([[b[0], b[0]], b[1:], fit.b[kept]]),
        float(size * fit.activation(np.array(0.3))) if len(more) == 1 else 0.0,
        activation,
    )
    return Instance(X, (truth, fit), "fits", {"bias": True, "offset": True})


def spare_outputs(rng: np.random.Generator) -> Instance:
    """The same with a second, proportional output, or beside a linear part."""
    linear, instance = bool(rng.integers(2)), spare_units(rng)
    return replace(instance, networks=tuple(_widened(net, linear=linear) for net in instance.networks))


def held_out_copies(rng: np.random.Generator) -> Instance:
    """The held-out rows are fitted ones, in another order, copied, or those that a symmetry makes copies."""
    activation = str(rng.choice(["relu", "tanh", "softplus", "absolute"]))
    d, k = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    truth = Network(rng.standard_normal((d, k)), rng.standard_normal(k), activation=activation)
    X = rng.standard_normal((12 * (d + 1) * k + 20, d))
    rows = rng.permutation(len(X))[: max(2, int(rng.integers(1, len(X))))]
    copies = X[rows] * {"relu": rng.uniform(0.5, 2.0), "tanh": -1.0, "absolute": -1.0}.get(activation, 1.0)
    copies = copies if rng.integers(2) else np.repeat(X[rows], 2, axis=0)
    return Instance(X, (truth,), "copies", {"heldout": (copies, truth.predict(copies))})


def split(rng: np.random.Generator) -> Instance:
    """A further unit at 12° to another, two to four times the stated limit, and the least-squares fit without it."""
    activation = str(rng.choice(["relu", "tanh", "squared_relu", "softplus"]))
    d, k, bias = int(rng.integers(3, 7)), int(rng.integers(1, 4)), bool(rng.integers(2))
    W = rng.standard_normal((d, k))
    a, b = rng.choice([-1.0, 1.0], k) * rng.uniform(0.5, 1.5, k), 0.5 * rng.standard_normal(k) * bias
    own = Network(W, a, b, 0.0, activation)
    X = rng.standard_normal((60 * (d + 2) * k, d))
    noise = 0.1 * own.predict(X).std() * rng.standard_normal(len(X))
    free = "W" + "b" * bias + ("" if own.activation.degree else "a")
    fit = gauss_newton(samples.open(X, own.predict(X) + noise), own, free=free, tol=1e-12, iterations=100).network
    limit = certify(fit, X, own.predict(X) + noise, bias=bias).detection_limit or 0.0
    length, across = np.linalg.norm(W[:, 0]), rng.standard_normal(d)
    across -= (across @ W[:, 0]) / length**2 * W[:, 0]
    w = np.cos(np.deg2rad(12)) * W[:, 0] + np.sin(np.deg2rad(12)) * across * length / np.linalg.norm(across)
    part = Network(w[:, None], np.ones(1), b[:1], 0.0, activation)
    size = rng.uniform(2.0, 4.0) * limit / np.sqrt(np.mean(part.predict(X) ** 2))
    truth = Network(np.column_stack([W, w]), np.append(a, rng.choice([-size, size])), np.append(b, b[0]), 0.0, activation)
    fit = gauss_newton(samples.open(X, truth.predict(X) + noise), own, free=free, tol=1e-12, iterations=100).network
    return Instance(X, (truth, fit), "noisy", {"bias": bias}, noise=noise)


def two_for_one(rng: np.random.Generator) -> Instance:
    """Two units at any angle, of one sign or of two, for one of the fit: on clusters and beside little noise or much the rows
    may tell them from one or not."""
    activation = str(rng.choice(["relu", "tanh", "squared_relu", "softplus", "leaky_relu", "sigmoid"]))
    d, k, bias = int(rng.integers(2, 5)), int(rng.integers(1, 4)), bool(rng.integers(2))
    W, a, b = rng.standard_normal((d, k)), rng.choice([-1.0, 1.0], k), 0.5 * rng.standard_normal(k) * bias
    own = Network(W, a, b, 0.0, activation)
    X = rng.standard_normal((60 * (d + 2) * k, d))
    if rng.integers(2):
        centres = 1.5 * rng.standard_normal((int(rng.integers(2, 9)), d))
        X = centres[rng.integers(len(centres), size=len(X))] + 10 ** rng.uniform(-3, -0.5) * X
    angle, share = np.deg2rad(10 ** rng.uniform(-1.5, 1.4)), rng.uniform(-1.0, 0.9)
    across = rng.standard_normal(d)
    across -= (across @ W[:, 0]) / (W[:, 0] @ W[:, 0]) * W[:, 0]
    across *= np.linalg.norm(W[:, 0]) / np.linalg.norm(across)
    tilts = np.tan(angle) * np.array([-share, 1.0 - share])  # first-order terms cancel, and the fit is near `own`
    pair = W[:, :1] + across[:, None] * tilts
    truth = Network(
        np.hstack([pair, W[:, 1:]]),
        np.append(a[0] * np.array([1.0 - share, share]), a[1:]),
        np.append(b[0] * np.ones(2) + bias * 0.5 * tilts, b[1:]),
        0.0,
        activation,
    )
    noise = 10 ** rng.uniform(-6, -1) * truth.predict(X).std() * rng.standard_normal(len(X))
    return Instance(X, (truth, *minima(truth, X, noise, [own], bias)), "noisy", {"bias": bias}, noise=noise)


def zero_set(rng: np.random.Generator) -> Instance:
    """Rows chosen where two networks agree: no check of the rows can see it."""
    d, k = 3, 2
    one, two = (Network(rng.standard_normal((d, k)), rng.standard_normal(k), activation="tanh") for _ in range(2))
    rows = []
    while len(rows) < 40:
        x, v = rng.standard_normal((2, d))
        t = np.linspace(-4.0, 4.0, 201)
        gap = one.predict(x + t[:, None] * v) - two.predict(x + t[:, None] * v)
        for i in np.flatnonzero(gap[:-1] * gap[1:] < 0)[:1]:
            low, high = t[i], t[i + 1]
            for _ in range(60):
                middle = (low + high) / 2
                here = float((one.predict((x + middle * v)[None]) - two.predict((x + middle * v)[None]))[0])
                low, high = (middle, high) if here * gap[i] > 0 else (low, middle)
            rows.append(x + low * v)
    return Instance(np.array(rows), (one, two), "assumed", {}, "drawn from a density")


def one_unit_more(rng: np.random.Generator) -> Instance:
    """The truth has one unit more, and no row lies between two of its kinks."""
    d, k = int(rng.integers(2, 5)), int(rng.integers(2, 4))
    W, a, b = rng.standard_normal((d, k)), np.ones(k), 0.3 * rng.standard_normal(k)
    gap = 0.02
    truth = Network(np.column_stack([W, W[:, 0]]), np.append(a, 1.0), np.append(b, b[0] + gap))
    merged = Network(np.column_stack([2 * W[:, :1], W[:, 1:]]), a, np.append(2 * b[0] + gap, b[1:]))
    X = rng.standard_normal((60 * (d + 1) * k, d))
    z = X @ W[:, 0] + b[0]
    return Instance(X[(z > 0) | (z < -gap)], (truth, merged), "assumed", {"bias": True}, "at most")


def offset_withheld(rng: np.random.Generator) -> Instance:
    """The truth has an offset that the class does not: Σ_F aᵢ(wᵢ, bᵢ) = (0, c) for the reflected units F."""
    d = int(rng.integers(2, 5))
    W = rng.standard_normal((d, 3))
    W[:, 2] = -W[:, 0] - W[:, 1]
    b = 0.3 * rng.standard_normal(3)
    truth = Network(W, np.ones(3), b, -float(b.sum()))
    other = Network(-W, np.ones(3), -b, 0.0)
    return Instance(rng.standard_normal((300, d)), (truth, other), "assumed", {"bias": True, "offset": False}, "without offset")


def control(rng: np.random.Generator) -> Instance:
    """Plain rows, plain networks: to be certified."""
    d, k = int(rng.integers(2, 11)), int(rng.integers(1, 9))
    activation = str(rng.choice(["relu", "leaky_relu", "squared_relu", "absolute", "tanh", "sigmoid", "erf", "softplus"]))
    bias, offset = bool(rng.random() < 0.5), bool(rng.random() < 0.5)
    truth = Network(
        rng.standard_normal((d, k)), rng.standard_normal(k), 0.5 * rng.standard_normal(k) * bias, 0.5 * offset, activation
    )
    return Instance(rng.standard_normal((10 * (d + 2) * k, d)), (truth,), "control", {"bias": bias, "offset": offset})


def rotated_lattice(rng: np.random.Generator) -> Instance:
    """Sines of rows B m, some of m whole: w and w + 2πδ, δ of the dual lattice, though no column is discrete."""
    d, k, bias = int(rng.integers(1, 6)), int(rng.integers(1, 4)), bool(rng.integers(2))
    whole, n = int(rng.integers(1, d + 1)), 30 * (d + 2) * k
    m = np.column_stack([rng.integers(-6, 7, (n, whole)), rng.standard_normal((n, d - whole))])
    B = rng.standard_normal((d, d))
    if rng.random() < 0.5:
        B = np.linalg.qr(B)[0] * rng.uniform(0.2, 1.0, d)
    dual = np.linalg.inv(B).T[:, :whole]
    delta = dual @ np.column_stack([np.eye(whole)[0], rng.integers(-1, 2, (whole, k - 1))])
    one = Network(rng.standard_normal((d, k)), rng.standard_normal(k), 0.5 * rng.standard_normal(k) * bias, 0.0, "sine")
    return Instance(m @ B.T, (one, replace(one, W=one.W + 2 * np.pi * delta)), options={"bias": bias})


def on_a_sphere(rng: np.random.Generator) -> Instance:
    """Rows of length one: Σ φ(±⟨u, x⟩) over an orthonormal basis is one for a squared ReLU, whatever the basis."""
    d, common = int(rng.integers(2, 5)), int(rng.integers(0, 3))
    X = rng.standard_normal((40 * (2 * d + common + 1) * (d + 1), d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    W, a = rng.standard_normal((d, common)), np.append(np.ones(2 * d), rng.choice([-1.0, 1.0], common))
    bases = [np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(2)]
    nets = tuple(Network(np.hstack([U, -U, W]), a, None, 0.0, "squared_relu") for U in bases)
    return Instance(X, nets, options={"offset": bool(rng.integers(2))})


def mirrored_others(rng: np.random.Generator) -> Instance:
    """Rows x and −x for every other φ with a reflection, or nearly one."""
    activation = str(rng.choice(["gelu", "silu", "erf", "tanh", "elu", "sine"]))
    truth = Network(rng.standard_normal((3, 3)), rng.standard_normal(3), activation=activation)
    X = rng.standard_normal((11, 3))
    X = np.vstack([X, -X])
    return Instance(X, (truth, *interpolating(truth, X, rng, "Wa")), "fits")


def jittered(rng: np.random.Generator) -> Instance:
    """About as many places as parameters, a dozen rows within 10⁻⁹ to 10⁻¹⁶ of each."""
    d, k = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    activation = str(rng.choice(["relu", "tanh", "sigmoid", "leaky_relu", "softplus", "absolute"]))
    truth = Network(rng.standard_normal((d, k)), rng.standard_normal(k), activation=activation)
    p = d * k if truth.activation.degree else (d + 1) * k
    places = rng.standard_normal((max(2, p + int(rng.integers(-1, 3))), d))
    X = np.repeat(places, 12, axis=0)
    X = X * (1.0 + 10.0 ** -rng.integers(9, 17) * rng.standard_normal(X.shape))
    free = "W" if truth.activation.degree else "Wa"
    return Instance(X, (truth, *interpolating(truth, places, rng, free)), "fits")


def far_away(rng: np.random.Generator) -> Instance:
    """Few rows 10⁴ to 10⁸ away from the origin, where rounding errors hide most of what they say."""
    d, k = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    activation = str(rng.choice(["tanh", "sigmoid", "relu", "softplus"]))
    truth = Network(2 * rng.standard_normal((d, k)), rng.standard_normal(k), rng.standard_normal(k), 0.0, activation)
    p = (d + 1) * k + k * (truth.activation.degree is None)
    X = rng.standard_normal((p + 8 + int(rng.integers(0, 6)), d))
    nets = (truth, *interpolating(truth, X, rng, "Wb" if truth.activation.degree else "Wab", 20))
    shift = 10.0 ** rng.integers(4, 9)
    moved = tuple(replace(net, b=net.b - shift * net.W.sum(axis=0)) for net in nets)
    return Instance(X + shift, moved, "fits", {"bias": True})


def cancelling(rng: np.random.Generator) -> Instance:
    """Two large units that nearly cancel, whose rounding errors hide a small third one."""
    d, activation = int(rng.integers(2, 5)), str(rng.choice(["relu", "tanh", "gelu"]))
    size, apart, small = 10.0 ** rng.integers(2, 7), 10.0 ** -rng.integers(3, 9), 10.0 ** -rng.integers(2, 12)
    w, u, *thirds = rng.standard_normal((4, d))
    nets = tuple(Network(np.column_stack([w, w + apart * u, v]), [size, -size, small], None, 0.0, activation) for v in thirds)
    return Instance(rng.standard_normal((60 * d, d)), nets, "fits")


def squared_relations(rng: np.random.Generator) -> Instance:
    """Squared ReLUs with (x + y)² + (x − y)² = 2x² + 2y², all four reflected, beside common ones."""
    d, common = int(rng.integers(2, 5)), int(rng.integers(0, 3))
    x, y = rng.standard_normal((2, d))
    W, a = np.column_stack([x + y, x - y, x, y]), np.array([1.0, 1.0, -2.0, -2.0])
    V, more = rng.standard_normal((d, common)), rng.choice([-1.0, 1.0], common)
    nets = (Network(np.hstack([s * W, V]), np.append(s * a, more), None, 0.0, "squared_relu") for s in (1.0, -1.0))
    return Instance(rng.standard_normal((40 * (4 + common) * d, d)), tuple(nets))


def slow_wave(rng: np.random.Generator) -> Instance:
    """A φ of the user's own with a period of 7 to 126: a bias is known up to it."""
    s, h, d, k = float(rng.uniform(0.05, 0.9)), float(rng.uniform(0.1, 0.6)), int(rng.integers(2, 4)), int(rng.integers(1, 3))
    wave = custom(
        "waves",
        lambda z: np.sin(s * z) + h * np.cos(2 * s * z),
        lambda z: s * np.cos(s * z) - 2 * s * h * np.sin(2 * s * z),
        analytic=True,
    )
    one = Network(rng.standard_normal((d, k)) / s, rng.standard_normal(k), rng.standard_normal(k), 0.0, wave)
    other = replace(one, b=one.b + 2 * np.pi / s * np.eye(k)[0])
    return Instance(rng.standard_normal((40 * (d + 2) * k, d)), (one, other), options={"bias": True})


def quantised_line(rng: np.random.Generator) -> Instance:
    """One input, kinked units with small whole weights and biases, and every network that random starts find."""
    k, activation = int(rng.integers(2, 5)), str(rng.choice(["relu", "leaky_relu", "absolute", "squared_relu"]))
    W, b = rng.choice([-2.0, -1.0, 1.0, 2.0], (1, k)), rng.integers(-3, 4, k).astype(float)
    truth = Network(W, rng.choice([-1.0, 1.0], k), b, 0.0, activation)
    X = 2 * rng.standard_normal((int(rng.integers(3, 12)) * 2 * k + 10, 1))
    return Instance(X, (truth, *interpolating(truth, X, rng, "Wb", 24)), "fits", {"bias": True})


def faint_weights(rng: np.random.Generator) -> Instance:
    """As many rows as parameters, and forty more whose sample weights are next to nothing."""
    activation = str(rng.choice(["relu", "tanh", "softplus"]))
    truth = Network(rng.standard_normal((2, 2)), rng.standard_normal(2), activation=activation)
    p = 4 if truth.activation.degree else 6
    X = rng.standard_normal((p + int(rng.integers(0, 3)), 2))
    nets = (truth, *interpolating(truth, X, rng, "W" if truth.activation.degree else "Wa"))
    weights = np.append(np.ones(len(X)), np.full(40, 10.0 ** -rng.integers(10, 31)))
    return Instance(np.vstack([X, rng.standard_normal((40, 2))]), nets, "fits", {"sample_weight": weights})


def rotated_grid(rng: np.random.Generator) -> Instance:
    """A small grid in the plane, rotated, and every network that random starts find there."""
    k, size = int(rng.integers(1, 3)), int(rng.integers(2, 5))
    activation = str(rng.choice(["tanh", "sigmoid", "softplus", "relu", "absolute", "gelu"]))
    grid = np.array(list(itertools.product(np.arange(-size, size + 1.0), repeat=2)))
    X = grid @ np.linalg.qr(rng.standard_normal((2, 2)))[0]
    truth = Network(rng.standard_normal((2, k)), rng.standard_normal(k), activation=activation)
    return Instance(X, (truth, *interpolating(truth, X, rng, "W" if truth.activation.degree else "Wa")), "fits")


def rays(rng: np.random.Generator) -> Instance:
    """Rows on two to eight lines through the origin."""
    d, k, lines, bias = int(rng.integers(2, 4)), int(rng.integers(1, 4)), int(rng.integers(2, 9)), bool(rng.integers(2))
    activation = str(rng.choice(["relu", "leaky_relu", "absolute", "tanh", "squared_relu"]))
    n = 60 * k * d
    X = rng.standard_normal((lines, d))[rng.integers(0, lines, n)] * rng.standard_normal((n, 1))
    truth = Network(
        rng.standard_normal((d, k)), rng.choice([-1.0, 1.0], k), rng.standard_normal(k) * bias, activation=activation
    )
    free = "W" + "b" * bias + ("" if truth.activation.degree else "a")
    return Instance(X, (truth, *interpolating(truth, X, rng, free)), "fits", {"bias": bias})


def shifted_waves(rng: np.random.Generator) -> Instance:
    """Sines with biases, and every network that random starts find: sin(z + π) = −sin z is a symmetry, and must be named."""
    d, k = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    truth = Network(rng.standard_normal((d, k)), rng.standard_normal(k), 3.0 * rng.standard_normal(k), 0.0, "sine")
    X = rng.standard_normal((int(rng.integers(2, 6)) * (d + 2) * k + 8, d))
    return Instance(X, (truth, *interpolating(truth, X, rng, "Wab")), "fits", {"bias": True})


def quantised_inputs(rng: np.random.Generator) -> Instance:
    """Whole weights, and inputs that are whole, rounded, discrete in one column, or of a density."""
    d, k, bias = int(rng.integers(2, 5)), int(rng.integers(2, 5)), bool(rng.integers(2))
    activation = str(rng.choice(["relu", "leaky_relu", "absolute", "squared_relu", "tanh", "softplus", "gelu", "sine"]))
    levels = np.arange(-2.0, 3.0) if rng.integers(2) else np.array([-1.0, 1.0])
    W, b = rng.choice(levels, (d, k)), bias * rng.integers(-1, 2, k).astype(float)
    truth = Network(W, rng.choice([-1.0, 1.0], k), b, 0.0, activation)
    n = int(rng.choice([1.3, 2.0, 5.0, 12.0]) * k * (d + 2)) + 8
    X = rng.standard_normal((n, d))
    X = (X, np.round(1.5 * X), np.round(X, 1), np.hstack([rng.integers(0, 3, (n, 1)), X[:, 1:]]))[int(rng.integers(4))]
    free = "W" + "b" * bias + ("" if truth.activation.degree else "a")
    return Instance(X, (truth, *interpolating(truth, X, rng, free)), "fits", {"bias": bias})


def spread_weights(rng: np.random.Generator) -> Instance:
    """Sample weights over one to 25 decades, some of them zero, and every network that random starts find."""
    d, k, bias = int(rng.integers(1, 4)), int(rng.integers(1, 4)), bool(rng.integers(2))
    activation = str(rng.choice(["relu", "leaky_relu", "absolute", "squared_relu", "tanh", "sigmoid", "silu", "erf"]))
    truth = Network(rng.standard_normal((d, k)), rng.standard_normal(k), bias * rng.standard_normal(k), 0.0, activation)
    X = rng.standard_normal((int(rng.choice([1.5, 3.0, 8.0]) * k * (d + 2)) + 8, d))
    weights = 10.0 ** rng.uniform(-rng.choice([1, 4, 12, 25]), 0, len(X)) * (rng.random(len(X)) < rng.choice([0.6, 1.0]))
    weights[0] = 1.0
    free = "W" + "b" * bias + ("" if truth.activation.degree else "a")
    found = interpolating(truth, X[weights > 0], rng, free)
    return Instance(X, (truth, *found), "fits", {"bias": bias, "sample_weight": weights})


def rare_errors(rng: np.random.Generator) -> Instance:
    """Errors on few rows, or of a few sizes far apart, and the minima near the truth and near its reflections."""
    d, k, bias = int(rng.integers(1, 5)), int(rng.integers(2, 5)), bool(rng.integers(2))
    activation = str(rng.choice(["relu", "leaky_relu", "softplus", "tanh", "squared_relu", "sigmoid"]))
    W, b = rng.standard_normal((d, k)), bias * rng.uniform(0.2, 3.0) * rng.standard_normal(k)
    truth = Network(W, rng.choice([-1.0, 1.0], k), b, 0.0, activation)
    n = int(rng.choice([15, 60, 200]) * k * (d + 2))
    X = rng.standard_normal((n, d))
    errors = rng.standard_normal(n)
    if rng.integers(2):
        errors[rng.permutation(n)[int(rng.integers(5, 60)) :]] *= rng.choice([0.0, 1e-3])
    else:
        errors *= np.exp(rng.uniform(1.0, 2.5) * rng.standard_normal(n))
    errors *= rng.choice([0.01, 0.1, 0.5]) * truth.predict(X).std() / max(errors.std(), 1e-300)
    starts = [truth, *(reflect(truth, rng.random(k) < 0.5, offset=False) for _ in range(3))]
    return Instance(X, (truth, *minima(truth, X, errors, starts, bias)), "noisy", {"bias": bias}, noise=errors)


def bent_on_few(rng: np.random.Generator) -> Instance:
    """Units that bend on 2 to 25 rows, with and without errors, and fits of the width or without these units, reflected."""
    d, k, n = int(rng.integers(2, 9)), int(rng.integers(2, 7)), int(10 ** rng.uniform(2.7, 3.8))
    W, few = rng.standard_normal((d, k)), int(rng.integers(1, k))
    b = 0.5 * rng.standard_normal(k)
    b[:few] = norm.ppf(1 - rng.uniform(2, 25, few) / n) * rng.choice([-1, 1], few) * np.linalg.norm(W[:, :few], axis=0)
    truth = Network(W, rng.choice([-1.0, 1.0], k), b, 0.0, "relu")
    X = rng.standard_normal((n, d))
    errors = rng.choice([0.0, 1e-3, 0.05]) * truth.predict(X).std() * rng.standard_normal(n)
    starts = []
    for _ in range(4):
        other = reflect(truth, rng.random(k) < 0.5, offset=False)
        kept = np.sort(rng.permutation(k)[: int(rng.integers(max(1, k - few), k + 1))])
        starts.append(replace(other, W=other.W[:, kept], a=other.a[kept], b=other.b[kept]))
    return Instance(X, (truth, *minima(truth, X, errors, starts, True)), "noisy", {"bias": True}, noise=errors)


def noisy_places(rng: np.random.Generator) -> Instance:
    """Two units that differ little, or much, at the corners of a square or at two levels, and the two in other places."""
    activation = str(rng.choice(["relu", "softplus", "tanh", "sigmoid", "absolute", "squared_relu"]))
    places = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    one, h = 0.6 * rng.standard_normal(3), rng.uniform(0.01, 0.4)
    size = rng.uniform(0.3, 1.2)
    other, e = one + np.array([size - h, size + h, -size]), np.array([-h, h, 0.0])
    v, others = rng.standard_normal(2), int(rng.integers(0, 3))
    W = np.vstack([np.tile(v[:, None], 2), np.stack([one, other])[:, :2].T])
    W, b = np.hstack([W, rng.standard_normal((4, others))]), np.append([one[2], other[2]], rng.standard_normal(others))
    a = np.append([1.0, 1.0], rng.choice([-1.0, 1.0], others))
    truth = Network(W, a, b, 0.0, activation)
    W = W.copy()
    W[2:, 0], W[2:, 1] = (one + e)[:2], (other - e)[:2]
    n = int(rng.choice([60, 150, 400]) * (2 + others))
    X = np.hstack([1.5 * rng.standard_normal((n, 2)), places[rng.integers(4, size=n)]])
    errors = 10 ** rng.uniform(-5, -1) * truth.predict(X).std() * rng.standard_normal(n)
    found = minima(truth, X, errors, [truth, replace(truth, W=W)], True)
    return Instance(X, (truth, *found), "noisy", {"bias": True}, noise=errors)


def unsettled(rng: np.random.Generator) -> Instance:
    """Fits one step from their end, small as f goes: along an input that hardly varies, or beside w where a is small."""
    d, k = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    activation = str(rng.choice(["relu", "squared_relu", "tanh", "sigmoid", "softplus"]))
    spread, step = 10 ** rng.uniform(-8, 0), 10 ** rng.uniform(-14, -9)
    truth = Network(rng.standard_normal((d, k)), rng.choice([-1.0, 1.0], k), rng.uniform(-1, 1, k), 0.0, activation)
    truth = replace(truth, W=10 ** rng.uniform(0, 1) * truth.W, a=truth.a * 10 ** rng.uniform(-6, 0, k))
    X = rng.standard_normal((20 * (d + 2) * k + 60, d))
    X[:, -1] = 1.0 + spread * X[:, -1]
    W, moved = truth.W.copy(), step / spread * rng.standard_normal(k)
    W[-1] += moved
    flat = replace(truth, W=W, b=truth.b - moved)
    small = replace(truth, a=truth.a + step * rng.standard_normal(k))
    return Instance(X, (truth, flat, small), "fits", {"bias": True, "offset": False})


def flat_input(rng: np.random.Generator) -> Instance:
    """Noise beside an input that hardly varies: only b and its weight together are known, and only they are claimed."""
    d, k = int(rng.integers(2, 5)), int(rng.integers(1, 3))
    activation = str(rng.choice(["relu", "squared_relu", "tanh"]))
    truth = Network(1.5 * rng.standard_normal((d, k)), rng.choice([-1.0, 1.0], k), rng.uniform(-0.5, 0.5, k), 0.0, activation)
    X = rng.standard_normal((60 * (d + 2) * k + 60, d))
    X[:, -1] = 1.0 + 10 ** rng.uniform(-10, -4) * X[:, -1]
    errors = 10 ** rng.uniform(-4, -2) * rng.standard_normal(len(X))
    found = minima(truth, X, errors, [truth], True)
    return Instance(X, (truth, *found), "noisy", {"bias": True, "offset": False}, noise=errors)


def flat_outputs(rng: np.random.Generator) -> Instance:
    """The same with several outputs, or beside a linear part; the fit is sought in standard inputs."""
    d, k, m = int(rng.integers(2, 5)), int(rng.integers(1, 3)), int(rng.integers(1, 4))
    activation, linear = str(rng.choice(["relu", "relu", "squared_relu", "absolute", "tanh"])), m == 1
    a, V = rng.choice([-1.0, 1.0], (k, m)) * rng.uniform(0.5, 1.5, (k, m)), rng.standard_normal((d, m)) if linear else None
    truth = Network(1.5 * rng.standard_normal((d, k)), a, rng.uniform(-0.5, 0.5, k), np.zeros(m), activation, V)
    X, spread = rng.standard_normal((60 * (d + 2) * k + 60, d)), 10 ** rng.uniform(-6, -2)
    errors = 10 ** rng.uniform(-4, -1.5) * rng.standard_normal((len(X), m))
    Y = truth.predict(X * np.append(np.ones(d - 1), spread) + np.append(np.zeros(d - 1), 1.0)) + errors
    flat = Standard(np.append(np.zeros(d - 1), 1.0), np.append(np.ones(d - 1), spread))
    model = Model(True, linear, True)
    fit = variable_projection(samples.open(X, Y), flat.network(truth), model, iterations=80, damping=1e-6, tol=1e-14).network
    X[:, -1] = 1.0 + spread * X[:, -1]
    return Instance(X, (truth, flat.undo(fit)), "noisy", {"bias": True, "offset": True}, noise=Y - truth.predict(X))


CONSTRUCTIONS: dict[str, Callable[[np.random.Generator], Instance]] = {
    f.__name__: f
    for f in (
        twins,
        mirrored,
        few_rows,
        few_levels,
        exchanged,
        quantised,
        silent,
        flats,
        high_flats,
        scarce_flats,
        beside_linear_ones,
        aliased,
        unconfirmed,
        reflected_flats,
        beside_outputs,
        repeating_outputs,
        flats_of_outputs,
        rotated_lattice,
        on_a_sphere,
        mirrored_others,
        jittered,
        far_away,
        cancelling,
        squared_relations,
        slow_wave,
        quantised_line,
        faint_weights,
        rotated_grid,
        rays,
        shifted_waves,
        quantised_inputs,
        spread_weights,
        rare_errors,
        bent_on_few,
        noisy_places,
        unsettled,
        flat_input,
        flat_outputs,
        linear_pairs,
        spare_units,
        spare_rounded,
        spare_outputs,
        held_out_copies,
        split,
        two_for_one,
        zero_set,
        one_unit_more,
        offset_withheld,
        control,
    )
}


def minima(truth: Network, X: np.ndarray, errors: np.ndarray, starts: list[Network], bias: bool) -> list[Network]:
    """The different least-squares fits that the starts lead to."""
    free = "W" + "b" * bias + ("" if truth.activation.degree else "a")
    found: list[Network] = []
    for start in starts:
        try:
            fit = gauss_newton(samples.open(X, truth.predict(X) + errors), start, free=free, iterations=200, tol=1e-12).network
        except np.linalg.LinAlgError:
            continue
        if not any(fit.n_units == other.n_units and fit.equivalent(other, 1e-6) for other in found):
            found.append(fit)
    return found


def interpolating(truth: Network, X: np.ndarray, rng: np.random.Generator, free: str, starts: int = 12) -> list[Network]:
    """Networks of the same class that agree with the truth on every row, from random starts."""
    d, k = truth.n_inputs, truth.n_units
    a = rng.standard_normal((starts, k)) if "a" in free else rng.choice([-1.0, 1.0], (starts, k))
    b = rng.standard_normal((starts, k)) * ("b" in free)
    nets = [Network(rng.standard_normal((d, k)), a[i], b[i], 0.0, truth.activation) for i in range(starts)]
    try:
        fit = gauss_newton(samples.open(X, truth.predict(X)), Students.of(*nets), free=free, iterations=150)
    except np.linalg.LinAlgError:
        return []
    found = [fit.students.network(i) for i in range(starts)]
    size = 1e-12 * np.abs(truth.predict(X)).max()
    return [net for net in found if np.abs(net.predict(X) - truth.predict(X)).max() <= size]
