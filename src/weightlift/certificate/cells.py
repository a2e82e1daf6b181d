"""Other arrangements of kinks that explain the rows: rivals that share none of the units.

On the rows where the units of a kinked φ have the sides B (k bits) f is a polynomial, φ′ = α + (β − α) B piece by piece.
If another network fits all rows, its own bits B′ give the same polynomials. Let C have a row for every pattern of bits that
occurs and a column for every unit, with a column of ones where α ≠ 0 or c is free. Where the units' polynomials are
independent, C and C′ have the same column space: each column of B′ is a vector of it with entries 0 and 1 alone. Its
coordinates at r = rank C pivot rows are bits, so that 2ʳ trials find all of them. Inputs in general position leave the
columns of B and, with the ones, their complements; inputs in a few clusters may leave more. For φ of degree one or two each
choice of k columns that carries the same functions, with kinks on the right side of the rows, is a rival.
Cost  one pass, and 2ʳ products with at most `MOST_CELLS` rows.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from weightlift.evidence.gauge import Gauge
from weightlift.namespaces import array_namespace, to_numpy
from weightlift.network import Network
from weightlift.risk import Students
from weightlift.samples import Block, Samples, Sums

MOST_CELLS = 512
MOST_BITS = 16
MOST_CHOICES, MOST_RIVALS = 5_000, 64  # of columns, and those whose kinks lie where they should
MOST_REFLECTED = 8  # units of which every set is reflected
PLENTY = 3  # cells a unit, or three quarters of all there can be, that a second arrangement is not thought to survive
TOLERANCE = 1e-7
SQUARE = 1e-2  # relative size of the other eigenvalues of a quadratic form that may be a square; a refit decides


@dataclass(frozen=True, eq=False)
class Cells:
    """The sides that units take, packed in bytes, (cells, ⌈k/8⌉), and a row of each cell (cells, d); `MOST_CELLS` at most."""

    network: Network

    @property
    def floats_per_row(self) -> int:
        return 4 * self.network.n_units + self.network.n_inputs

    def __call__(self, block: Block) -> Sums:
        xp = array_namespace(block.X)
        students = Students.of(self.network).like(block.X)
        z = to_numpy(students.preactivations(block.X))[:, 0, :]
        X = to_numpy(xp.astype(block.X, xp.float64))
        used = slice(None) if block.w is None else to_numpy(block.w) > 0
        return _first_of_each(np.packbits(z[used] > self.network.activation.kinks[0], axis=1), X[used])

    def merge(self, left: Sums, right: Sums) -> Sums:
        return _first_of_each(*(np.concatenate(pair) for pair in zip(left, right, strict=True)))


def _first_of_each(packed: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    cells, first = np.unique(packed, axis=0, return_index=True)
    return cells[:MOST_CELLS], X[first[:MOST_CELLS]]


def other_arrangements(samples: Samples, gauge: Gauge, tolerance: float = TOLERANCE) -> list[Network] | None:
    """Networks with other kinks that may explain the rows, to be refitted; None where there may be some that are not found.

    tolerance: relative precision of the units, within which polynomials count as the same.
    """
    net = gauge.network
    k = net.n_units
    if len(net.activation.kinks) != 1:
        return []
    packed, X = samples.fold(Cells(net))
    if not len(X):
        return None
    B = np.unpackbits(packed, axis=1, count=k).astype(float)
    ones = gauge.free.c or _left_slope(net) != 0.0
    C = np.hstack([B, np.ones((len(B), 1))]) if ones else B
    units = _polynomials(net)
    independent = np.linalg.matrix_rank(units) == k
    if not independent or C.shape[1] > MOST_BITS:
        enough = min(PLENTY * k, math.ceil(0.75 * _most_cells(k, net.n_inputs, gauge.free.b)), MOST_CELLS)
        return [] if len(B) >= enough else None
    choices = _choices(B, _binary_vectors(C))
    if choices == []:
        return []
    if choices is None or net.activation.degree not in (1, 2):
        return None
    return _rivals(gauge, B, choices, units, X, tolerance)


def _polynomials(net: Network) -> np.ndarray:
    """(m, k) coefficients of each unit's polynomial, the constant last: of a z, or of a z² for degree two."""
    V = np.vstack([net.W, net.b])
    if net.activation.degree != 2:
        return np.asarray(net.a * V) if net.activation.degree == 1 else V
    upper = np.triu_indices(len(V))
    return np.asarray(net.a * V[upper[0]] * V[upper[1]])


def _units(theta: np.ndarray, d: int, degree: int) -> tuple[np.ndarray, np.ndarray] | None:
    """V (k, d + 1) and signs s with polynomials s ⟨V, (x, 1)⟩^degree, V up to sign; None if they are no squares.

    For a(⟨w, x⟩ + b)² the quadratic part gives w and the linear one b; the constant may stand in c.
    """
    if degree == 1:
        return theta, np.ones(len(theta))
    upper = np.triu_indices(d + 1)
    M = np.zeros((len(theta), d + 1, d + 1))
    M[:, upper[0], upper[1]] = theta
    M = (M + M.transpose(0, 2, 1)) / 2
    V, signs = np.zeros((len(theta), d + 1)), np.ones(len(theta))
    for i, form in enumerate(M):
        values, vectors = np.linalg.eigh(form[:d, :d])
        last = int(np.argmax(np.abs(values)))
        size = abs(float(values[last]))
        if np.abs(np.delete(values, last)).max(initial=0.0) > SQUARE * size or not size:
            return None
        w, signs[i] = math.sqrt(size) * vectors[:, last], math.copysign(1.0, values[last])
        V[i] = np.append(w, signs[i] * (form[:d, d] @ w) / size)
    return V, signs


def _choices(B: np.ndarray, columns: np.ndarray) -> list[np.ndarray] | None:
    """The matrices A, other than B, that k of these columns make; reflections of B alone where no column is new."""
    k = B.shape[1]
    columns = columns[:, columns.any(axis=0)]
    own = {column.tobytes() for column in (B.T > 0)}
    known = own | {column.tobytes() for column in (B.T == 0)} | {np.ones(len(B), dtype=bool).tobytes()}
    keys = [column.tobytes() for column in (columns.T > 0)]
    if any(key not in known for key in keys):
        if math.comb(len(keys), k) > MOST_CHOICES:
            return None
        chosen = [c for c in itertools.combinations(range(len(keys)), k) if {keys[i] for i in c} != own]
        return [columns[:, c] for c in chosen]
    flippable = np.array([(column == 0).tobytes() in keys for column in B.T])
    if not flippable.any() or k > MOST_REFLECTED:
        return []
    flips = (np.arange(1, 2**k)[:, None] >> np.arange(k) & 1).astype(bool)
    return [np.where(flip, 1.0 - B, B) for flip in flips if not (flip & ~flippable).any()]


def _most_cells(k: int, d: int, biased: bool) -> int:
    """Into how many cells k hyperplanes in general position cut Rᵈ; those without biases meet in 0  [Schläfli's count]."""
    if biased:
        return sum(math.comb(k, i) for i in range(d + 1))
    return 2 * sum(math.comb(k - 1, i) for i in range(d))


def _left_slope(network: Network) -> float:
    kink = network.activation.kinks[0]
    return float(network.activation.derivative(np.array([kink - 1.0]))[0])


def _binary_vectors(C: np.ndarray) -> np.ndarray:
    """(cells, m) all vectors of the column space of C with entries 0 and 1."""
    Q, R, _ = scipy.linalg.qr(C, mode="economic", pivoting=True)
    r = int(np.count_nonzero(np.abs(np.diagonal(R)) > 1e-9 * abs(R[0, 0])))
    Q = Q[:, :r]
    _, _, pivots = scipy.linalg.qr(Q.T, mode="economic", pivoting=True)
    basis = Q @ np.linalg.inv(Q[pivots[:r]])  # (cells, r), the identity at the pivots
    bits = (np.arange(2**r)[:, None] >> np.arange(r) & 1).astype(float)  # (2ʳ, r)
    for row in basis:
        value = bits @ row
        bits = bits[np.minimum(np.abs(value), np.abs(value - 1.0)) <= TOLERANCE]
    return np.asarray(np.rint(basis @ bits.T))


def _rivals(
    gauge: Gauge, B: np.ndarray, choices: list[np.ndarray], units: np.ndarray, X: np.ndarray, tolerance: float
) -> list[Network] | None:
    """The choices A that carry the same affine functions with kinks where A has its steps.

    Cell by cell f is S_B Θ + 1 (0, c), φ = α z^q or β z^q, S_B = α + (β − α) B, and Θ (k, m) the units' polynomials, the
    constant last; so is the rival, with S_A and Θ′. For q = 2 each of them must be the square of an affine function.
    """
    net = gauge.network
    degree = int(net.activation.degree or 1)
    left, right = (float(v) for v in net.activation(np.array([-1.0, 1.0])))
    alpha, step = left * (-1) ** degree, right - left * (-1) ** degree
    target = (alpha + step * B) @ units.T
    size = tolerance * float(np.abs(target).max() + abs(net.c))
    inputs = np.hstack([X, np.ones((len(X), 1))])
    found = []
    for A in choices:
        S = alpha + step * A
        if np.linalg.matrix_rank(S) < S.shape[1]:
            continue
        theta, c = np.linalg.lstsq(S, target)[0], net.c
        if gauge.free.c and gauge.free.b:  # without biases all constants are c
            with_c = np.linalg.lstsq(np.hstack([S, np.ones((len(S), 1))]), target[:, -1] + net.c)[0]
            theta[:, -1], c = with_c[:-1], float(with_c[-1])
        rest = S @ theta - target
        rest[:, -1] += c - net.c
        if np.abs(rest).max() > size:
            continue
        squares = _units(theta, net.n_inputs, degree)
        if squares is None:
            continue
        V, signs = squares
        value = (inputs @ V.T) * (2.0 * A - 1.0)  # of one sign, a's for degree one: z > 0 where A = 1, z < 0 where A = 0
        side = np.where(value.sum(axis=0) < 0, -1.0, 1.0)
        if (side * value).min() >= -tolerance * np.abs(value).max():
            b = V[:, -1] * side if gauge.free.b else None
            found.append(Network(V[:, :-1].T * side, side if degree == 1 else signs, b, c, net.activation))
    return found if len(found) <= MOST_RIVALS else None

