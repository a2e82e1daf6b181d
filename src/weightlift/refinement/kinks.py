"""The last steps of a noisy fit whose φ is linear between kinks: to a minimum that lies on some of them.

For ReLU, leaky ReLU and |z| the risk is a quadratic function of θ = (W, b, c) wherever no row changes side, and with noise its
minimum may lie where rows are on kinks: there Gauss–Newton steps from side to side. With z̃ⱼ = ⟨x̃ⱼ, (w, b)ᵢ⟩ = 0, j ∈ A, the
pairs of a row and a unit that are held on their kinks,

    δ minimises the quadratic under x̃ⱼᵀδ = 0, j ∈ A, and the way along δ ends at the first minimum of the risk on it,

which is at a kink, and then its pair joins A, or before one. Where δ vanishes, Jᵀr + Σ tⱼ vⱼ = 0 has multipliers t, v the part
of a pair in the gradient at slope one; a pair leaves A on the side of slope s where v (s − t) goes downhill, and the minimum is
found when there is none. Every step lowers the risk, and pieces are finitely many (an active-set method [nocedal2006, ch. 16]).
Cost  two passes a step, O(n p²) and O(n d k); fits that Gauss–Newton has left take 5 to 20.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from weightlift.namespaces import array_namespace, as_like, to_numpy
from weightlift.network import Network
from weightlift.refinement.limits import LIMITS
from weightlift.refinement.normal_equations import Free, NormalEquations
from weightlift.risk import Students
from weightlift.samples import Block, Samples, Sums


def along_kinks(
    samples: Samples,
    network: Network,
    *,
    bias: bool,
    offset: bool = False,
    near: float = 0.0,
    iterations: int = LIMITS.kink_steps,
    deadline: float = math.inf,
) -> tuple[Network, int]:
    """A minimum of ½ E r² over W, b and c near the network, and the steps that led to it; other φ are left as they are.

    near: gᵀ(JᵀJ)⁻¹g/σ² a parameter, a squared distance in standard errors, from which there is nothing to be done.
    iterations: steps at most.
    deadline: a moment of time.perf_counter after which no further step begins.

    samples       rows, as `samples.open` gives them
    bias, offset  whether b and c are free
    """
    piecewise_linear = network.activation.degree == 1 and network.activation.kinks == (0.0,)
    if not piecewise_linear or network.a.ndim > 1 or network.V is not None or not iterations:
        return network, 0
    place, step = _Place.of(samples, network, bias, offset), 0
    while step < iterations and time.perf_counter() < deadline:
        released = np.zeros(len(place.pairs))
        delta = place.step(released)
        if -(delta @ place.gradient(released)) <= near * len(delta) * place.square / samples.n:
            break
        if -(delta @ place.gradient(released)) <= LIMITS.kink_gain * place.square:
            released = place.downhill(delta)
            if not released.any():
                break
            delta = place.step(released)
        moved = place.moved(samples, delta, released)
        if moved is None:
            break
        place, step = _Place.of(samples, moved, bias, offset), step + 1
    return place.network, step


@dataclass(frozen=True, eq=False)
class _Place:
    """A network with its quadratic: rows clear of kinks as sums, the others one by one."""

    network: Network
    bias: bool
    offset: bool
    clear: tuple[np.ndarray, np.ndarray, float]  # Jᵀr (p,), JᵀJ (p, p) and Σ w r² of the rows that are clear
    X: np.ndarray  # the others
    r: np.ndarray
    w: np.ndarray
    pairs: np.ndarray  # (m, 2): row of X and unit on its kink

    @classmethod
    def of(cls, samples: Samples, network: Network, bias: bool, offset: bool) -> _Place:
        sides = _Sides(network, bias, offset)
        *sums, X, r, w, z = samples.fold(sides)
        half, gradient, gram = (to_numpy(v)[0] for v in sides.equations.assembled(tuple(sums)))
        pairs = np.argwhere(z == 0.0)
        return cls(network, bias, offset, (gradient, gram, 2.0 * float(half)), X, r, w, pairs)

    @property
    def square(self) -> float:
        return self.clear[2] + float(self.w @ self.r**2)

    @property
    def normals(self) -> np.ndarray:
        """(m, p): x̃ at the coordinates of the pair's unit."""
        k, q = self.network.n_units, self.network.n_inputs + self.bias
        N = np.zeros((len(self.pairs), q, k))
        N[np.arange(len(N)), :, self.pairs[:, 1]] = _inputs(self.X, self.bias)[self.pairs[:, 0]]
        return np.hstack([N.reshape(len(N), q * k), np.zeros((len(N), int(self.offset)))])

    def jacobian(self, released: np.ndarray) -> np.ndarray:
        """(rows, p) of the rows at kinks, their own pairs with the slope of the side ±1 on which they are released, or none."""
        net = self.network
        z = self.X @ net.W + net.b
        D = net.a * net.activation.derivative(z)
        D[self.pairs[:, 0], self.pairs[:, 1]] = net.a[self.pairs[:, 1]] * self.slopes(released)
        return _rows(self.X, D, self.bias, self.offset)

    def slopes(self, sides: np.ndarray) -> np.ndarray:
        return np.where(sides == 0, 0.0, self.network.activation.derivative(np.where(sides == 0, 1.0, sides)))

    def gradient(self, released: np.ndarray) -> np.ndarray:
        return np.asarray(self.clear[0] + self.jacobian(released).T @ (self.w * self.r))

    def gram(self, released: np.ndarray) -> np.ndarray:
        J = self.jacobian(released)
        return np.asarray(self.clear[1] + J.T @ (self.w[:, None] * J))

    def step(self, released: np.ndarray) -> np.ndarray:
        """The least of the quadratic under the constraints of the pairs that are not released."""
        gradient, gram = self.gradient(released), self.gram(released)
        root = np.sqrt(np.maximum(np.diagonal(gram), LIMITS.affine_ridge * np.diagonal(gram).max(initial=0.0)) + 2.0**-1022)
        normals = self.normals[released == 0] / root
        _, sizes, V = np.linalg.svd(normals, full_matrices=len(normals) < len(root))  # V is square; rows may be many
        free = V[int(np.sum(sizes > LIMITS.kink_rank * sizes.max(initial=0.0))) :].T
        inner = free.T @ (gram / np.outer(root, root)) @ free
        target = free.T @ (gradient / root)
        return np.asarray(-free @ np.linalg.lstsq(inner, target, rcond=LIMITS.affine_ridge)[0] / root)

    def downhill(self, delta: np.ndarray) -> np.ndarray:
        """(m,) zero, but for the pair that leaves its kink: the side ±1 to which the risk falls fastest."""
        sides = np.zeros(len(self.pairs))
        if not len(sides):
            return sides
        none = np.zeros(len(sides))
        pull = self.w[self.pairs[:, 0]] * self.r[self.pairs[:, 0]] * self.network.a[self.pairs[:, 1]]  # v = pull · normal
        normals = self.normals
        forces = -np.linalg.lstsq(normals.T, self.gradient(none) + self.gram(none) @ delta, rcond=None)[0]  # t · pull
        rates = np.stack([pull * self.slopes(none + 1.0) - forces, forces - pull * self.slopes(none - 1.0)])
        size = np.abs(pull) + np.abs(forces)
        side, pair = np.unravel_index(np.argmin(rates), rates.shape)
        if rates[side, pair] < -LIMITS.kink_rank * size[pair]:
            sides[pair] = 1.0 - 2.0 * side
        return sides

    def moved(self, samples: Samples, delta: np.ndarray, released: np.ndarray) -> Network | None:
        """The network at the first minimum of the risk along δ; None where rounding leaves no way down."""
        slope, bend = float(self.gradient(released) @ delta), float(delta @ self.gram(released) @ delta)
        if not slope < 0:
            return None
        net, dW, db, dc = self.network, *self._parts(delta)
        direction = Network(dW, net.a, db, dc, net.activation)
        r, w, z, v = (to_numpy(part) for part in samples.fold(_Crossing(net, direction)))
        own, turn = self.X @ net.W + net.b, self.X @ dW + db
        own[self.pairs[:, 0], self.pairs[:, 1]] = 0.0
        rows, units = self.pairs[released == 0].T
        turn[rows, units] = 0.0
        crossing = (own * (own + turn) < 0).any(axis=1)
        r, w = np.append(r, self.r[crossing]), np.append(w, self.w[crossing])
        z, v = np.vstack([z, own[crossing]]), np.vstack([v, turn[crossing]])
        t = first_minimum(net, r, w, z, v, dc, slope, bend)
        W, b = net.W + t * dW, net.b + t * db
        return replace(net, W=W, b=b, c=net.c + t * dc) if t > 0 else None

    def _parts(self, delta: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        d, k = self.network.W.shape
        units = delta[: (d + self.bias) * k].reshape(d + self.bias, k)
        return units[:d], units[d] if self.bias else np.zeros(k), float(delta[-1]) if self.offset else 0.0


def first_minimum(
    net: Network, r: np.ndarray, w: np.ndarray, z: np.ndarray, v: np.ndarray, dc: float, slope: float, bend: float
) -> float:
    """The least t in (0, 1] at which ½ Σ w r(t)² has a minimum, 1 if there is none.

    slope + t·bend is its derivative if no row changed side; r, w (m,), z, v (m, k) are those of the rows that do, ż = v.
    """
    phi, a = net.activation, net.a
    with np.errstate(divide="ignore", invalid="ignore"):
        at = np.where(z * (z + v) < 0, -z / v, np.inf)
    ends = np.unique(np.append(np.sort(at[at < 1.0])[: LIMITS.kink_crossings], 1.0))
    if at[at < 1.0].size > LIMITS.kink_crossings:
        ends = ends[:-1]
    side = np.where(z == 0, v, z)
    speed = (phi.derivative(side) * v) @ a + dc

    def derivative(t: float, after: float) -> float:
        """At t, with the sides just after it, or just before."""
        beyond = (at < t) | ((at == t) & (after > 0))
        D = phi.derivative(np.where(beyond, -side, side))
        there, velocity = r + (phi(z + t * v) - phi(z)) @ a + t * dc, (D * v) @ a + dc
        return slope + t * bend + float(w @ (there * velocity - (r + t * speed) * speed))

    last, rate = 0.0, slope
    for end in ends:
        before = derivative(float(end), -1.0)
        if before >= 0:
            return float(last + (end - last) * rate / (rate - before))
        last, rate = float(end), derivative(float(end), 1.0)
        if rate >= 0:
            return last
    return last


def _inputs(X: np.ndarray, bias: bool) -> np.ndarray:
    return np.hstack([X, np.ones((len(X), 1))]) if bias else X


def _rows(X: np.ndarray, D: np.ndarray, bias: bool, offset: bool) -> np.ndarray:
    """Rows of J (m, p): D ⊗ x̃ with the input as the slower index, then c."""
    inputs = _inputs(X, bias)
    J = (inputs[:, :, None] * D[:, None, :]).reshape(len(X), inputs.shape[1] * D.shape[1])
    return np.hstack([J, np.ones((len(X), int(offset)))])


@dataclass(frozen=True, eq=False)
class _Sides:
    """The normal equations of the rows clear of kinks; of the others X, r, w and z, zero where it is on a kink."""

    network: Network
    bias: bool
    offset: bool

    @property
    def equations(self) -> NormalEquations:
        return NormalEquations(Students.of(self.network), Free(b=self.bias, c=self.offset))

    @property
    def floats_per_row(self) -> int:
        return self.equations.floats_per_row + 6 * self.network.n_units + 2 * self.network.n_inputs

    def __call__(self, block: Block) -> Sums:
        xp, net = array_namespace(block.X), self.network
        X, r, z, w = _evaluated(block, net)
        size = xp.matmul(xp.abs(X), as_like(np.abs(net.W), X)) + as_like(np.abs(net.b), X)
        near = xp.abs(z) <= LIMITS.on_kink * size
        on = xp.any(near, axis=1) & (w > 0)
        clear = replace(block, X=X, y=xp.astype(block.y, xp.float64, copy=False), w=xp.where(on, xp.zeros_like(w), w))
        at = to_numpy(on)
        ours = (to_numpy(v)[at] for v in (X, r, w, xp.where(near, xp.zeros_like(z), z)))
        return *self.equations(clear), *ours

    def merge(self, left: Sums, right: Sums) -> Sums:
        sums = (a + b for a, b in zip(left[:-4], right[:-4], strict=True))
        return *sums, *(np.concatenate(pair) for pair in zip(left[-4:], right[-4:], strict=True))


@dataclass(frozen=True, eq=False)
class _Crossing:
    """r, w (m,), z and its change v (m, k) of the rows clear of kinks that change side on the way."""

    network: Network
    direction: Network

    @property
    def floats_per_row(self) -> int:
        return 6 * self.network.n_units + 2 * self.network.n_inputs

    def __call__(self, block: Block) -> Sums:
        xp, net = array_namespace(block.X), self.network
        X, r, z, w = _evaluated(block, net)
        size = xp.matmul(xp.abs(X), as_like(np.abs(net.W), X)) + as_like(np.abs(net.b), X)
        v = xp.matmul(X, as_like(self.direction.W, X)) + as_like(self.direction.b, X)
        clear = xp.all(xp.abs(z) > LIMITS.on_kink * size, axis=1) & (w > 0)
        at = to_numpy(clear & xp.any(z * (z + v) < 0, axis=1))
        return tuple(to_numpy(part)[at] for part in (r, w, z, v))

    def merge(self, left: Sums, right: Sums) -> Sums:
        return tuple(np.concatenate(pair) for pair in zip(left, right, strict=True))


def _evaluated(block: Block, net: Network) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X, r, z (m, k) and w in double precision."""
    xp = array_namespace(block.X)
    X, y = xp.astype(block.X, xp.float64, copy=False), xp.astype(block.y, xp.float64, copy=False)
    students = Students.of(net).like(X)
    z = students.preactivations(X)
    r = students.residuals(students.activation(z), y)[:, 0]
    w = xp.ones_like(y) if block.w is None else xp.astype(block.w, xp.float64, copy=False)
    return X, r, z[:, 0, :], w
