"""Several outputs and a linear part fitted jointly, all that is linear projected out  [Golub & Pereyra 1973; Kaufman 1975].

Model   Y ≈ F β,   F = [φ(XW + b), X, 1]   (X and 1 where V and c are free),   β = (A, V, c) at its least squares F⁺Y.
Step    only W and b move. With G the derivatives φ′(zᵢ) x̃_p and P the projector on the columns of F, Kaufman's Jacobian of the
        residuals R = Y − Fβ is −(I − P) G Aᵀ, hence

            JᵀJ = (Gᵀ(I − P)G) ∘ (AAᵀ ⊗ 11ᵀ),      Jᵀr = (GᵀR) ∘ A, summed over the outputs,

        so that a row costs the same for every number of outputs m. Gᵀ(I − P)G = GᵀG − GᵀF (FᵀF)⁻¹ FᵀG.
Damping Levenberg–Marquardt, several dampings at once; each start keeps the candidate with the least risk.
Cost    three passes a step: GᵀG by pairs O(n d² S k²/2), then FᵀF and the risk of the candidates O(n d S k + n S k m). Large
        systems that are well damped are solved by products with J and Jᵀ [projected_products].
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from weightlift.activations import Activation
from weightlift.errors import ArgumentError, ShapeError
from weightlift.namespaces import Array, array_namespace, as_like, from_numpy, matmul_transposed, solve, to_numpy
from weightlift.network import Network
from weightlift.refinement.gauss_newton import NEAR_ROUNDING, TIE, TINY, RefinementEnding, _damped_steps, _endings, rounding
from weightlift.refinement.limits import LIMITS
from weightlift.refinement.normal_equations import _jacobian_gram, _pair_products, _spread
from weightlift.refinement.projected_products import product_steps
from weightlift.samples import Block, Samples, Sums
from weightlift.samples.protocol import check_source


@dataclass(frozen=True)
class Model:
    """Which parts a network has beside W and A: biases, a linear part, an offset."""

    bias: bool = True
    linear: bool = False
    offset: bool = False

    def inputs(self, d: int) -> int:
        """Coordinates of a unit.

        d  inputs
        """
        return d + self.bias

    def features(self, d: int, k: int) -> int:
        """Columns of F for k units of d inputs."""
        return k + d * self.linear + self.offset

    def beside(self, X: Array) -> Array:
        """The columns of F beside the units: X and 1 where they are wanted, (m, 0) where neither is."""
        xp = array_namespace(X)
        one = xp.ones((X.shape[0], 1), dtype=X.dtype, device=X.device)
        return xp.concat([X if self.linear else X[:, :0], one if self.offset else one[:, :0]], axis=1)


@dataclass(frozen=True, eq=False)
class Hidden:
    """S hidden layers of one shape: W (d, S, k), b (S, k), one φ."""

    W: Array
    b: Array
    activation: Activation

    @classmethod
    def of(cls, *networks: Network) -> Hidden:
        W, b = np.stack([net.W for net in networks], axis=1), np.stack([net.b for net in networks])
        return cls(W, b, networks[0].activation)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(d, S, k)."""
        d, S, k = self.W.shape
        return int(d), int(S), int(k)

    def like(self, X: Array) -> Hidden:
        return replace(self, W=as_like(self.W, X), b=as_like(self.b, X))

    def take(self, index: np.ndarray) -> Hidden:
        xp, places = array_namespace(self.W), from_numpy(index, like=self.W)
        return replace(self, W=xp.take(self.W, places, axis=1), b=xp.take(self.b, places, axis=0))

    @property
    def lengths(self) -> Array:
        """(S, k) of (wᵢ, bᵢ)."""
        xp = array_namespace(self.W)
        return xp.sqrt(xp.sum(self.W**2, axis=0) + self.b**2 + TINY)

    def on_spheres(self) -> Hidden:
        """Every (wᵢ, bᵢ) at length one; sizes belong to A."""
        return replace(self, W=self.W / self.lengths, b=self.b / self.lengths)

    def preactivations(self, X: Array) -> Array:
        """z (m, S, k)."""
        xp = array_namespace(X)
        d, S, k = self.shape
        return xp.reshape(xp.matmul(X, xp.reshape(self.W, (d, S * k))), (X.shape[0], S, k)) + self.b


@dataclass(frozen=True, eq=False)
class JointFit:
    """Hidden layers with their projected β (S, features, m), for each the risk ½ E ‖r‖² and why it ended."""

    hidden: Hidden
    beta: np.ndarray
    model: Model
    risks: np.ndarray  # (S,)
    endings: tuple[RefinementEnding, ...]
    iterations: int
    single: bool  # y is (n,)

    @property
    def best(self) -> int:
        return int(np.argmin(self.risks))

    @property
    def network(self) -> Network:
        """The best start's network."""
        return self.network_of(self.best)

    def network_of(self, start: int) -> Network:
        """What became of the start of that number."""
        d, _, k = self.hidden.shape
        W, b = to_numpy(self.hidden.W)[:, start], to_numpy(self.hidden.b)[start]
        beta = self.beta[start][:, 0] if self.single else self.beta[start]
        V = beta[k : k + d] if self.model.linear else None
        return Network(W, beta[:k], b, beta[-1] if self.model.offset else 0.0, self.hidden.activation, V)


def variable_projection(
    samples: Samples,
    start: Network | Hidden,
    model: Model,
    *,
    iterations: int = 100,
    tol: float = 1e-9,
    damping: float = LIMITS.first_damping,
    unit: bool = False,
    first: bool = False,
    deadline: float = math.inf,
) -> JointFit:
    """Minimise ½ E ‖r‖² over W, b (where model.bias) and all that is linear; endings as in `gauss_newton`.

    unit: keep every (wᵢ, bᵢ) at length one, for homogeneous φ. first: end all starts once one of them is exact.
    deadline: a moment of time.perf_counter after which no further step begins.

    samples     rows, as `samples.open` gives them
    start       one network, or a batch of hidden layers
    iterations  steps at most
    tol         relative decrease of the risk below which a step is the last
    damping     of the first step, of the diagonal of JᵀJ

    >>> import weightlift as wl
    >>> truth = wl.teachers.several(wl.teachers.biased(6, 2, activation="tanh", rng=0), 3, linear=True, rng=1)
    >>> X, Y = wl.draw(truth, 60, rng=2)
    >>> near = replace(truth, W=truth.W + 0.1)
    >>> fit = variable_projection(wl.samples.open(X, Y), near, Model(bias=True, linear=True))
    >>> fit.endings[0].name, fit.network.equivalent(truth)
    ('EXACT', True)
    """
    hidden = _placed(samples, start)
    d, S, _ = hidden.shape
    hidden = hidden.on_spheres() if unit else hidden
    beta, gram = _projected(samples, hidden, model)
    risks, scale = _risks(samples, hidden, beta, model)
    dampings = damping + 0.0 * risks
    floor, history = rounding(d) * scale, [risks]
    endings = np.full(S, None, dtype=object)
    endings[risks <= floor] = RefinementEnding.EXACT
    step = 0
    while (active := np.flatnonzero([e is None for e in endings])).size and step < iterations:
        if time.perf_counter() >= deadline:
            break
        step += 1
        part = hidden.take(active)
        factors = dampings[active][:, None] * np.array(LIMITS.factors)
        steps = _steps(samples, part, beta[active], gram[active], model, factors)
        moved = _moved(part, steps, model)
        moved = moved.on_spheres() if unit else moved
        found_beta, found_gram = _projected(samples, moved, model)
        found = _risks(samples, moved, found_beta, model)[0].reshape(len(LIMITS.factors), len(active))
        best = np.argmin(found, axis=0)
        flat = best * len(active) + np.arange(len(active))
        value = found[best, np.arange(len(active))]
        better = value <= (1.0 + TIE) * risks[active]
        won, chosen = active[better], flat[better]
        if won.size:
            hidden = _put(hidden, moved.take(chosen), won)
            beta[won], gram[won] = found_beta[chosen], found_gram[chosen]
        before, risks = risks, risks.copy()
        risks[won] = value[better]
        followed = np.where(better, factors[np.arange(len(active)), best], 64.0 * dampings[active])
        dampings[active] = np.clip(followed, LIMITS.least_damping, 10 * LIMITS.largest_damping)
        history.append(risks)
        earlier = history[-1 - LIMITS.window] if len(history) > LIMITS.window else np.full(S, np.inf)
        endings[active] = _endings(before[active], risks[active], earlier[active], dampings[active], floor, scale, tol)
        if first and RefinementEnding.EXACT in endings:
            break
    endings[[e is None for e in endings]] = RefinementEnding.ITERATIONS
    fit = JointFit(hidden, beta, model, risks, tuple(endings), step, samples.n_outputs is None)
    return fit if time.perf_counter() >= deadline else _with_last_steps(samples, fit, gram, floor, scale, unit)


def output_losses(samples: Samples, network: Network, model: Model) -> np.ndarray:
    """(k,) by how much ½ E ‖r‖² rises without a unit, A, V and c at their least squares: ‖aᵢ‖²/(2 (FᵀF)⁻¹ᵢᵢ)."""
    beta, gram = _projected(samples, _placed(samples, network), model)
    inverse = _inverse_root_diagonal(gram)
    scaled = np.linalg.pinv(gram[0] * inverse[0][:, None] * inverse[0], rcond=LIMITS.guard, hermitian=True)
    k = network.n_units
    diagonal = np.diagonal(scaled)[:k] * inverse[0, :k] ** 2
    # a column that others span has no inverse of its own: what it adds is nothing
    spanned = np.diagonal(scaled @ (gram[0] * inverse[0][:, None] * inverse[0]))[:k] < 1 - LIMITS.spanned
    loss = 0.5 * np.sum(beta[0, :k] ** 2, axis=1) / np.maximum(diagonal, TINY)
    return np.asarray(np.where(spanned, 0.0, loss))


def _placed(samples: Samples, start: Network | Hidden) -> Hidden:
    """The start beside the rows, in float64."""
    check_source(samples)
    if not isinstance(start, Network | Hidden):
        raise ArgumentError(f"start must be a Network or a batch of hidden layers, not {type(start).__name__}.")
    hidden = Hidden.of(start) if isinstance(start, Network) else start
    if hidden.shape[0] != samples.d:
        raise ShapeError(f"start has {hidden.shape[0]} inputs and the data {samples.d}; they must agree.")
    return hidden.like(samples.xp.zeros((1,), dtype=samples.xp.float64, device=samples.device))


def _projected(samples: Samples, hidden: Hidden, model: Model) -> tuple[np.ndarray, np.ndarray]:
    """β (S, f, m) at its least squares, and FᵀF (S, f, f) with unit diagonal scale; what the guard bends is refined away."""
    features = Features(hidden, model)
    sums = tuple(to_numpy(s) for s in samples.mean(features))
    gram, target = features.gram(sums), features.target(sums)
    inverse = _inverse_root_diagonal(gram)
    scaled = gram * inverse[:, :, None] * inverse[:, None, :] + LIMITS.guard * np.eye(gram.shape[1])
    beta = inverse[:, :, None] * solve(scaled, inverse[:, :, None] * target)
    rest = target - gram @ beta
    return beta + inverse[:, :, None] * solve(scaled, inverse[:, :, None] * rest), gram


def _inverse_root_diagonal(gram: np.ndarray) -> np.ndarray:
    diagonal = np.diagonal(gram, axis1=1, axis2=2)
    largest = diagonal.max(axis=1, keepdims=True, initial=0.0)
    return np.asarray(1 / np.sqrt(np.maximum(diagonal, LIMITS.silent * largest) + TINY))


def _risks(samples: Samples, hidden: Hidden, beta: np.ndarray, model: Model) -> tuple[np.ndarray, float]:
    """½ E ‖r‖² (S,), infinite where it is no number, and ½ E ‖y‖²."""
    risks, scale = (to_numpy(s) for s in samples.mean(JointRisk(hidden, beta, model)))
    return np.where(np.isfinite(risks), risks, np.inf), float(scale)


def _steps(
    samples: Samples, hidden: Hidden, beta: np.ndarray, gram: np.ndarray, model: Model, dampings: np.ndarray
) -> list[np.ndarray]:
    """(JᵀJ + μ D)⁻¹ Jᵀr (S, q k) for every damping, from one pass; large and well damped systems by products."""
    if not JointEquations(hidden, beta, model).large:
        return _factored_steps(samples, hidden, beta, gram, model, dampings)
    steps = []
    for s in range(len(dampings)):
        by = _product_steps if dampings[s].max() >= LIMITS.product_damping else _factored_steps
        steps.append(by(samples, hidden.take(np.array([s])), beta[[s]], gram[[s]], model, dampings[[s]]))
    return [np.concatenate(of_damping) for of_damping in zip(*steps, strict=True)]


def _factored_steps(
    samples: Samples, hidden: Hidden, beta: np.ndarray, gram: np.ndarray, model: Model, dampings: np.ndarray
) -> list[np.ndarray]:
    equations = JointEquations(hidden, beta, model)
    GG, GF, gradient = equations.assembled(tuple(to_numpy(s) for s in samples.mean(equations)))
    A, q = beta[:, : hidden.shape[2]], model.inputs(samples.d)
    H = (GG - GF @ _solved(gram, np.swapaxes(GF, 1, 2))) * np.tile(A @ np.swapaxes(A, 1, 2), (1, q, q))
    return [to_numpy(s) for s in _damped_steps(H, gradient, dampings)]


def _product_steps(
    samples: Samples, hidden: Hidden, beta: np.ndarray, gram: np.ndarray, model: Model, dampings: np.ndarray
) -> list[np.ndarray]:
    equations = JointEquations(hidden, beta, model, squares=False)
    _, GF, gradient = equations.assembled(tuple(to_numpy(s) for s in samples.mean(equations)))
    rest = _solved(gram, np.swapaxes(GF, 1, 2))
    A = beta[0, : hidden.shape[2]]
    return [s[None] for s in product_steps(samples, hidden, A, (GF[0], rest[0]), gradient[0], model, dampings[0])]


def _moved(hidden: Hidden, steps: list[np.ndarray], model: Model) -> Hidden:
    """One layer for every (damping, start), damping the slower index."""
    d, S, k = hidden.shape
    steps = [s.reshape(S, -1, k) for s in steps]
    W = np.concatenate([to_numpy(hidden.W) - np.swapaxes(s[:, :d], 0, 1) for s in steps], axis=1)
    b = np.concatenate([to_numpy(hidden.b) - (s[:, d] if model.bias else 0.0) for s in steps])
    return replace(hidden, W=as_like(W, hidden.W), b=as_like(b, hidden.b))


def _put(hidden: Hidden, part: Hidden, index: np.ndarray) -> Hidden:
    """The layers with those at `index` replaced."""
    W, b = to_numpy(hidden.W).copy(), to_numpy(hidden.b).copy()
    W[:, index], b[index] = to_numpy(part.W), to_numpy(part.b)
    return replace(hidden, W=as_like(W, hidden.W), b=as_like(b, hidden.b))


def _with_last_steps(samples: Samples, fit: JointFit, gram: np.ndarray, floor: float, scale: float, unit: bool) -> JointFit:
    """The fit after steps of W, b and β together, as long as one improves it: of most the first ends at rounding."""
    for _ in range(LIMITS.last_steps):
        before, fit = fit, _with_last_step(samples, fit, gram, floor, scale, unit)
        if fit is before:
            break
    return fit


def _with_last_step(samples: Samples, fit: JointFit, gram: np.ndarray, floor: float, scale: float, unit: bool) -> JointFit:
    """The fit after one step of W, b and β together, where it is without noise and has ended above rounding, as `gauss_newton`.

    Kept where it is better. With Q = (FᵀF)⁻¹ the joint normal equations are eliminated by blocks: W and b move by δ as the
    projected ones do, the gradient less what GᵀF Q FᵀR gives, which rounding has left, and β by Q (FᵀR − Fᵀ G (δ ∘ A)).
    """
    model, degree = fit.model, fit.hidden.activation.degree
    close = np.flatnonzero((fit.risks > floor) & (fit.risks <= LIMITS.noiseless * scale))
    if not close.size or not fit.hidden.shape[2] or (unit and degree is None):
        return fit
    hidden, beta, gram = fit.hidden.take(close), fit.beta[close], gram[close]
    d, S, k = hidden.shape
    equations = JointEquations(hidden, beta, model)
    GG, GF, gradient = equations.assembled(tuple(to_numpy(s) for s in samples.mean(equations)))
    FG = np.swapaxes(GF, 1, 2)
    A = np.tile(beta[:, :k], (1, model.inputs(d), 1))  # (S, q k, m): the input is the slower index
    rest = _solved(gram, np.concatenate([to_numpy(s) for s in samples.mean(FeatureResiduals(hidden, beta, model))], axis=1))
    H = (GG - GF @ _solved(gram, FG)) * (A @ np.swapaxes(A, 1, 2))
    left = gradient - np.sum((GF @ rest) * A, axis=2)
    step = to_numpy(_damped_steps(H, left, np.full((S, 1), LIMITS.least_damping))[0])
    moved = _moved(hidden, [step], model)
    beta = beta - rest + _solved(gram, FG @ (step[:, :, None] * A))
    if unit:
        beta[:, :k] *= (to_numpy(moved.lengths) ** degree)[:, :, None]
        moved = moved.on_spheres()
    found, _ = _risks(samples, moved, beta, model)
    better = np.flatnonzero(found < fit.risks[close])
    return _replaced(fit, close[better], moved.take(better), beta[better], found[better], scale) if better.size else fit


def _solved(gram: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(FᵀF)⁻¹ times the right-hand sides, unit diagonal scale and guard as in `_projected`."""
    inverse = _inverse_root_diagonal(gram)[:, :, None]
    scaled = gram * inverse * np.swapaxes(inverse, 1, 2) + LIMITS.guard * np.eye(gram.shape[1])
    return np.asarray(inverse * solve(scaled, inverse * right))


def _replaced(fit: JointFit, index: np.ndarray, hidden: Hidden, beta: np.ndarray, risks: np.ndarray, scale: float) -> JointFit:
    """The fit with the starts at `index` replaced."""
    betas, values, endings = fit.beta.copy(), fit.risks.copy(), np.array(fit.endings, dtype=object)
    betas[index], values[index] = beta, risks
    endings[index[risks <= NEAR_ROUNDING * scale]] = RefinementEnding.EXACT
    return replace(fit, hidden=_put(fit.hidden, hidden, index), beta=betas, risks=values, endings=tuple(endings))


def _targets(y: Array) -> Array:
    """(m, outputs)."""
    return y[:, None] if y.ndim == 1 else y


@dataclass(frozen=True, eq=False)
class Features:
    """ΦᵀZ (S, k, e + m), ΦᵀΦ (S, k, k) and EᵀZ (e, e + m), with E = [X, 1] as the model has it and Z = [E, Y]."""

    hidden: Hidden
    model: Model

    @property
    def floats_per_row(self) -> int:
        d, S, k = self.hidden.shape
        return 4 * S * k + 3 * d

    def __call__(self, block: Block) -> Sums:
        xp, X = array_namespace(block.X), block.X
        hidden = self.hidden.like(X)
        _, S, k = hidden.shape
        E = self.model.beside(X)
        values = hidden.activation(hidden.preactivations(X))
        weighted = values if block.w is None else block.w[:, None, None] * values
        Z = xp.concat([E, _targets(block.y)], axis=1)
        cross = xp.reshape(matmul_transposed(xp.reshape(weighted, (X.shape[0], S * k)), Z), (S, k, Z.shape[1]))
        values, weighted = (xp.permute_dims(v, (1, 0, 2)) for v in (values, weighted))
        beside = matmul_transposed(E if block.w is None else block.w[:, None] * E, Z)
        return cross, xp.matmul(xp.matrix_transpose(weighted), values), beside

    def gram(self, sums: Sums) -> np.ndarray:
        """FᵀF (S, f, f)."""
        cross, units, beside = sums
        S, k, e = len(units), units.shape[1], len(beside)
        gram = np.empty((S, k + e, k + e))
        gram[:, :k, :k], gram[:, :k, k:], gram[:, k:, k:] = units, cross[:, :, :e], beside[:, :e]
        gram[:, k:, :k] = np.swapaxes(cross[:, :, :e], 1, 2)
        return gram

    def target(self, sums: Sums) -> np.ndarray:
        """FᵀY (S, f, m)."""
        cross, _, beside = sums
        S, e = len(cross), len(beside)
        return np.concatenate([cross[:, :, e:], np.broadcast_to(beside[:, e:], (S, *beside[:, e:].shape))], axis=1)


@dataclass(frozen=True, eq=False)
class JointRisk:
    """½ Σ w ‖Y − Fβ‖² (S,), and ½ Σ w ‖y‖²."""

    hidden: Hidden
    beta: Array
    model: Model

    @property
    def floats_per_row(self) -> int:
        d, S, k = self.hidden.shape
        return 3 * S * (k + int(self.beta.shape[2])) + 2 * d

    def __call__(self, block: Block) -> Sums:
        xp = array_namespace(block.X)
        hidden, beta = self.hidden.like(block.X), as_like(self.beta, block.X)
        values = hidden.activation(hidden.preactivations(block.X))
        r, y = _residuals(values, block, beta, self.model), _targets(block.y)
        w = xp.ones_like(block.X[:, 0]) if block.w is None else block.w
        return 0.5 * xp.sum(xp.matmul(r * r, xp.ones_like(y[0, :])) * w, axis=1), 0.5 * xp.sum(w[:, None] * y * y)


@dataclass(frozen=True, eq=False)
class FeatureResiduals:
    """Fᵀ(Fβ − Y): of the units (S, k, m), and of the columns beside them (S, e, m)."""

    hidden: Hidden
    beta: Array
    model: Model

    @property
    def floats_per_row(self) -> int:
        d, S, k = self.hidden.shape
        return 3 * S * (k + int(self.beta.shape[2])) + 2 * d

    def __call__(self, block: Block) -> Sums:
        xp = array_namespace(block.X)
        hidden, beta = self.hidden.like(block.X), as_like(self.beta, block.X)
        values = hidden.activation(hidden.preactivations(block.X))
        r = _residuals(values, block, beta, self.model)
        r = r if block.w is None else block.w[None, :, None] * r
        return xp.matmul(xp.permute_dims(values, (1, 2, 0)), r), xp.matmul(xp.matrix_transpose(self.model.beside(block.X)), r)


def _residuals(values: Array, block: Block, beta: Array, model: Model) -> Array:
    """Fβ − Y (S, m, outputs) from φ(z) (m, S, k)."""
    xp = array_namespace(values)
    k = values.shape[2]
    fitted = xp.matmul(xp.permute_dims(values, (1, 0, 2)), beta[:, :k, :])
    if beta.shape[1] > k:
        fitted = fitted + xp.matmul(model.beside(block.X), beta[:, k:, :])
    return fitted - _targets(block.y)


@dataclass(frozen=True, eq=False)
class JointEquations:
    """GᵀG, where it is wanted, GᵀF and (GᵀR) ∘ A, in a compact form that `assembled` spreads once the rows are summed."""

    hidden: Hidden
    beta: Array
    model: Model
    squares: bool = True  # GᵀG

    @property
    def floats_per_row(self) -> int:
        d, S, k = self.hidden.shape
        q = d + 1
        products = S * q * k if self.large else q * (q + 1) // 2 + S * k * (k + 1)
        return products + S * k * (6 + k)

    @property
    def large(self) -> bool:
        """Whether spreading the pairs' sums would cost more than the sums, which a symmetric product gives at their places."""
        d, _, k = self.hidden.shape
        return self.model.inputs(d) * k >= LIMITS.large_system

    def __call__(self, block: Block) -> Sums:
        """Σ w x̃ ⊗ (D ∘ RAᵀ, D ⊗ φ, D where c is free), Σ w x̃xᵀ ⊗ D where V is free, and Σ w x̃x̃ᵀ ⊗ DDᵀ, by pairs unless
        large."""
        xp, X, model = array_namespace(block.X), block.X, self.model
        hidden, beta = self.hidden.like(X), as_like(self.beta, X)
        _, S, k = hidden.shape
        m = X.shape[0]
        z = hidden.preactivations(X)
        values, D = hidden.activation(z), hidden.activation.derivative(z)
        r = _residuals(values, block, beta, model)
        pull = xp.permute_dims(xp.matmul(r, xp.matrix_transpose(beta[:, :k, :])), (1, 0, 2))  # RAᵀ
        wD = D if block.w is None else block.w[:, None, None] * D
        Xt = xp.concat([X, xp.ones_like(X[:, :1])], axis=1) if model.bias else X
        beside = [pull * wD, xp.reshape(wD[:, :, :, None] * values[:, :, None, :], (m, S, k * k))]
        beside += [wD] if model.offset else []
        columns = sum(v.shape[2] for v in beside)
        products = matmul_transposed(Xt, xp.reshape(xp.concat(beside, axis=2), (m, S * columns)))
        line: Sums = ()
        if model.linear:
            outer = xp.reshape(Xt[:, :, None] * X[:, None, :], (m, Xt.shape[1] * X.shape[1]))
            line = (matmul_transposed(outer, xp.reshape(wD, (m, S * k))),)
        squares: Sums = ()
        if self.squares:
            w = xp.ones_like(X[:, 0]) if block.w is None else block.w
            squares = (_jacobian_gram(Xt, D, w) if self.large else _pair_products(Xt, wD, D),)
        return products, *line, *squares

    def assembled(self, sums: Sums) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """GᵀG (S, qk, qk), GᵀF (S, qk, f), (GᵀR) ∘ A (S, qk); the input is the slower index of qk."""
        d, S, k = self.hidden.shape
        q = self.model.inputs(d)
        product = np.swapaxes(sums[0].reshape(q, S, -1), 0, 1)
        parts = [product[:, :, k : k + k * k].reshape(S, q * k, k)]
        if self.model.linear:
            parts.append(sums[1].reshape(q, d, S, k).transpose(2, 0, 3, 1).reshape(S, q * k, d))
        if self.model.offset:
            parts.append(product[:, :, -k:].reshape(S, q * k, 1))
        GG = np.zeros((S, 0, 0))
        if self.squares:
            GG = sums[-1] if self.large else _spread(sums[-1], q, S, k)
        return GG, np.concatenate(parts, axis=2), product[:, :, :k].reshape(S, q * k)
