"""Constructions in which rows leave a second network: no certificate may call either the only one.

    python -m benchmarks.rivals_attack --instances 50                 every construction, a table
    python -m benchmarks.rivals_attack twins mirrored --instances 500 --jobs 8

An instance gives rows, and networks that agree with the truth on all of them. A certificate is false when it is EXACT for one
of them and a unit of the truth lies outside its stated precision, or when rows are known to leave a second network and a unit
in which the two differ is certified. Constructions that break an assumption which no row can show (`zero_set`, `one_unit_more`,
`offset_withheld`) are counted apart: there the assumption must stand in the headline, and is false otherwise. `split` is noisy:
a unit that the rows do not show is missing, and the truth's others must be within the wider regions. `held_out_copies` is
false if rows that were fitted count as held out. Controls should be certified.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import multiprocessing
import sys
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq
from threadpoolctl import threadpool_limits

from weightlift import Network, samples
from weightlift.activations import custom
from weightlift.certificate import Certificate, certify
from weightlift.errors import WeightliftError
from weightlift.refinement.gauss_newton import gauss_newton
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
    makers, m = (twins, exchanged, flats, mirrored, few_levels, silent), int(rng.integers(1, 3))
    instance = makers[int(rng.integers(len(makers) if m == 2 else 3))](rng)
    linear, u = m == 1, np.array([1.0, -0.7])

    def widened(net: Network) -> Network:
        V = np.ones(net.n_inputs) if linear else None
        return Network(net.W, net.a if m == 1 else np.outer(net.a, u), net.b, net.c if m == 1 else net.c * u, net.activation, V)

    return replace(instance, networks=tuple(widened(net) for net in instance.networks))


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
        beside_linear_ones,
        aliased,
        unconfirmed,
        reflected_flats,
        beside_outputs,
        held_out_copies,
        split,
        zero_set,
        one_unit_more,
        offset_withheld,
        control,
    )
}


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


def judged(name: str, seed: int) -> Counter[str]:
    """How the certificates of one instance came out."""
    rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
    told: Counter[str] = Counter()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        instance = CONSTRUCTIONS[name](rng)
        truth = instance.networks[0]
        y = truth.predict(instance.X) + instance.noise
        for net in instance.networks[instance.kind == "noisy" :]:
            if np.any(net.c) and instance.options.get("offset") is False:
                continue
            try:
                certificate = certify(net, instance.X, y, **instance.options)
            except WeightliftError:
                told["refused"] += 1
                continue
            except Exception as error:
                print(f"{name} {seed}: {error!r}", file=sys.stderr, flush=True)
                told["error"] += 1
                continue
            told[verdict(instance, net, certificate)] += 1
            told["proved"] += certificate.proved
    return told


def verdict(instance: Instance, net: Network, certificate: Certificate) -> str:
    """Refused, right, false, or true but for an assumption that no row can show."""
    if instance.kind == "copies":
        return "FALSE" if certificate.heldout_rows or certificate.disagreement is not None else "right"
    if instance.kind == "rivals":
        others = [other for other in instance.networks if other is not net]
        differ = np.any([_moved(net, other) for other in others], axis=0)
        return "FALSE" if differ[list(certificate.certified_units)].any() else "refused"
    if not certificate:
        return "refused"
    if instance.kind == "assumed":
        return "assumed" if instance.breaks in certificate.headline else "FALSE"
    return "right" if certificate.locate(instance.networks[0])[0].all() else "FALSE"


def _moved(net: Network, other: Network) -> np.ndarray:
    """(k,) units that the other network does not have in the same place."""
    gaps = np.abs(net.W - other.W).max(axis=0) + np.abs(net.b - other.b)
    return np.asarray(gaps > 1e-6 * np.abs(net.W).max())


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(CONSTRUCTIONS))
    parser.add_argument("--instances", type=int, default=20)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--limit", type=float, default=np.inf, help="seconds a construction, after which no more are waited for"
    )
    options = parser.parse_args(arguments)
    print("| construction | instances | false | right | of them proved | assumption broken | refused | errors | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    false = 0
    for name in options.names:
        began = time.perf_counter()
        each = dict(told_of(name, range(options.start, options.start + options.instances), options.jobs, options.limit))
        told = sum(each.values(), Counter())
        false += told["FALSE"]
        columns = [told[c] for c in ("FALSE", "right", "proved", "assumed", "refused", "error")]
        cells = [name, len(each), *columns, f"{time.perf_counter() - began:.0f}"]
        print("| " + " | ".join(str(c) for c in cells) + " |", flush=True)
        if wrong := sorted(seed for seed, counts in each.items() if counts["FALSE"]):
            print(f"false in {name}: {wrong[:40]}", file=sys.stderr, flush=True)
    return int(false > 0)


def told_of(name: str, seeds: range, jobs: int, limit: float) -> Iterator[tuple[int, Counter[str]]]:
    """Seeds and what came of them, until the time is over."""
    began = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(jobs) if jobs > 1 else nullcontext() as pool:
        run = functools.partial(_numbered, name)
        for found in map(run, seeds) if pool is None else pool.imap_unordered(run, seeds):
            yield found
            if time.perf_counter() - began > limit:
                return


def _numbered(name: str, seed: int) -> tuple[int, Counter[str]]:
    return seed, judged(name, seed)


if __name__ == "__main__":
    raise SystemExit(main())
