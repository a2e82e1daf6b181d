"""Units that exchange their places on a part of the rows: rivals of inputs that lie on two hyperplanes.

Let two units have equal output weights, and e be an affine function that on every row is 0 or h = zᵢ − zⱼ. Then zᵢ − e and
zⱼ + e are on every row zᵢ and zⱼ in one order or the other: two other units with the same sum. It takes rows that lie on the
two hyperplanes e = 0 and e = h, as those of a binary column do, and units that differ along it alone. Where
φ(−z) = ±φ(z) + p(z) the same holds with h = zᵢ + zⱼ, and for even φ with h = 2zᵢ, up to what p adds. Rows where odd φ cancel,
zᵢ = −zⱼ, allow any e.

Then e (h − e), a quadratic function, vanishes on the rows; if no such function does, there is no exchange. Else v = e/h has
entries 0 and 1 alone, and lies in the space of affine functions over h: its r = d + 1 coordinates at pivot rows are bits, and
2ʳ trials find every e. Bits are taken for such within a tolerance that noise in h needs; a refit decides.
Cost  one pass; O(d⁴) for each of some d² rows, or k² 2ʳ products with a few hundred rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from weightlift.evidence.gauge import Gauge
from weightlift.evidence.rows import rounded_keys
from weightlift.namespaces import array_namespace, from_numpy, to_numpy
from weightlift.network import Network
from weightlift.samples import Block, Samples, Sums

ROWS = 1024  # that are looked at
MOST_BITS = 14
MOST_RIVALS, MOST_OF_A_PAIR = 32, 4
SUSPECT = 0.25  # how far from 0 and 1 a bit may be
EQUAL = 0.1  # relative difference of output weights that may be equal
CANCEL = 1e-2  # relative size of zᵢ + zⱼ that may be zero
FLAT = 1e-3  # least singular value of the quadratic functions, beside the largest, that counts as vanishing


@dataclass(frozen=True)
class SomeRows:
    """`ROWS` different inputs of positive weight, those with the least hashes: keys (m,) and X (m, d)."""

    floats_per_row: int = 8

    def __call__(self, block: Block) -> Sums:
        xp = array_namespace(block.X)
        rows = np.arange(block.y.shape[0]) if block.w is None else np.flatnonzero(to_numpy(block.w) > 0)
        keys, first = np.unique(rounded_keys(block, False), return_index=True)
        some = xp.take(block.X, from_numpy(rows[first[:ROWS]], like=block.X), axis=0)
        return keys[:ROWS], to_numpy(xp.astype(some, xp.float64))

    def merge(self, left: Sums, right: Sums) -> Sums:
        keys, X = (np.concatenate(pair) for pair in zip(left, right, strict=True))
        keys, first = np.unique(keys, return_index=True)
        return keys[:ROWS], X[first[:ROWS]]


def some_inputs(samples: Samples) -> np.ndarray:
    """(m, d) at most `ROWS` of the different inputs, each as likely to be among them."""
    return np.asarray(samples.fold(SomeRows())[1])


def exchanged(X: np.ndarray, gauge: Gauge) -> list[Network]:
    """Networks whose units have exchanged places on some of the inputs X (m, d), to be refitted."""
    net = gauge.network
    inputs = np.hstack([X, np.ones((len(X), 1))]) if gauge.free.b else X
    scale = np.sqrt(np.mean(inputs**2, axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    told_apart = np.full(inputs.shape[1], True) if inputs.shape[1] <= MOST_BITS else discrete(inputs)
    if not told_apart.any() or not _quadric(inputs / scale):
        return []
    Z = X @ net.W + net.b
    found: list[tuple[float, Network]] = []
    for i, j, sign in _pairs(net):
        bound = ~_cancelling(net, Z[:, i], sign * Z[:, j])
        for error, e in _parts(inputs[bound] / scale, (Z[:, i] - sign * Z[:, j])[bound], told_apart):
            found.append((error, _with_exchange(net, i, j, sign, e / scale, biased=gauge.free.b)))
    found.sort(key=lambda pair: pair[0])
    return [rival for _, rival in found[:MOST_RIVALS]]


def _quadric(inputs: np.ndarray) -> bool:
    """Whether a quadratic function may vanish on the rows: it does, nearly, or there are too few of them to say."""
    V = _independent(inputs)
    upper = np.triu_indices(V.shape[1])
    if 3 * len(upper[0]) > 2 * len(V):
        return True
    products = V[:, upper[0]] * V[:, upper[1]]
    norms = np.maximum(np.linalg.norm(products, axis=0), np.finfo(float).tiny)
    values = np.linalg.svd(products / norms, compute_uv=False)
    return bool(values[-1] <= FLAT * values[0])


def _independent(inputs: np.ndarray) -> np.ndarray:
    """An orthonormal basis (rows, r) of the columns, root mean square one."""
    U, s, _ = np.linalg.svd(inputs, full_matrices=False)
    return np.asarray(U[:, s > 1e-9 * s[0]] * np.sqrt(len(inputs)))


def _pairs(net: Network) -> Iterator[tuple[int, int, int]]:
    """Pairs of units, and signs, whose output weights allow an exchange."""
    reflection = net.activation.reflection
    sizes = {1: 1.0} if reflection is None else {1: 1.0, -1: float(reflection[0])}
    for i, j in itertools.combinations(range(net.n_units), 2):
        for sign, factor in sizes.items():
            if abs(net.a[j] - factor * net.a[i]) <= EQUAL * abs(net.a[i]):
                yield i, j, sign
    if net.activation.parity == "even":
        yield from ((i, i, -1) for i in range(net.n_units))


def _cancelling(net: Network, z: np.ndarray, other: np.ndarray) -> np.ndarray:
    """(rows,) where two units that are each other's opposite add up to a constant, as zᵢ − e and zⱼ + e do for any e."""
    reflection = net.activation.reflection
    if reflection is None or reflection[0] != -1 or len(reflection[1]) > 1:
        return np.zeros(len(z), dtype=bool)
    return np.asarray(np.abs(z + other) <= CANCEL * np.sqrt(np.mean(z**2 + other**2)))


def _parts(inputs: np.ndarray, h: np.ndarray, told_apart: np.ndarray) -> list[tuple[float, np.ndarray]]:
    """(relative error, coefficients) of affine functions that are 0 or h on every row, but neither everywhere.

    told_apart: (q,) the columns that e may depend on: all, if they are few; else the discrete ones, whose values are what
    usually cuts rows into hyperplanes. Of too many those are taken that h depends on most.
    """
    size = float(np.sqrt(np.mean(h**2))) if len(h) else 0.0
    large = np.abs(h) > SUSPECT * size
    if not size or large.sum() <= inputs.shape[1]:
        return []
    columns = np.flatnonzero(told_apart)
    if len(columns) > MOST_BITS:
        slopes = np.linalg.lstsq(inputs, h)[0][columns]
        columns = np.sort(columns[np.argsort(-np.abs(slopes), kind="stable")[:MOST_BITS]])
    found = []
    for v in _bits(inputs[np.ix_(large, columns)] / h[large, None]).T:
        if v.all() or not v.any():
            continue
        e = np.linalg.lstsq(inputs[large], v * h[large])[0]
        value = inputs @ e
        error = float(np.sqrt(np.mean(np.minimum(np.abs(value), np.abs(value - h)) ** 2))) / size
        if error <= SUSPECT:
            found.append((error, e))
    return sorted(found, key=lambda pair: pair[0])[:MOST_OF_A_PAIR]


def discrete(inputs: np.ndarray) -> np.ndarray:
    """(d,) columns most of whose values occur more than once."""
    steps = np.diff(np.sort(inputs, axis=0), axis=0) != 0
    return np.asarray(2 * (1 + steps.sum(axis=0)) <= len(inputs))


def _bits(C: np.ndarray) -> np.ndarray:
    """(rows, m) vectors of the column space of C whose entries are 0 or 1 within `SUSPECT`, rounded."""
    Q, R, _ = scipy.linalg.qr(C, mode="economic", pivoting=True)
    r = int(np.count_nonzero(np.abs(np.diagonal(R)) > 1e-9 * abs(R[0, 0])))
    Q = Q[:, :r]
    _, _, pivots = scipy.linalg.qr(Q.T, mode="economic", pivoting=True)
    basis = Q @ np.linalg.inv(Q[pivots[:r]])
    bits = (np.arange(2**r)[:, None] >> np.arange(r) & 1).astype(float)
    for row in basis:
        value = bits @ row
        bits = bits[np.minimum(np.abs(value), np.abs(value - 1.0)) <= SUSPECT]
    return np.asarray(np.rint(basis @ bits.T))


def _with_exchange(net: Network, i: int, j: int, sign: int, e: np.ndarray, *, biased: bool) -> Network:
    """zᵢ − e and zⱼ ± e in place of zᵢ and zⱼ."""
    W, b = net.W.copy(), net.b.copy()
    for unit, change in ((i, -e),) if i == j else ((i, -e), (j, sign * e)):
        W[:, unit] += change[: net.n_inputs]
        b[unit] += change[-1] if biased else 0.0
    return replace(net, W=W, b=b)
