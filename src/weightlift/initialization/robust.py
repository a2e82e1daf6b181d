"""The robust stage: which units the data can tell, a linear surrogate of the others, a function of both  [awasthi2021, §5].

Split       G, the recoverable units, and P, the linear-like ones. [awasthi2021, §5(i)] puts |b| < c √log(1/(ε m d B)) into G,
            an order of magnitude: its logarithm is negative as soon as ε m d B > 1. Here a unit (‖w‖ = 1) belongs to G if
            the rows see its kink:
                n Φ(−|b|) ≥ 2 (d + 1)        rows on its emptier side, twice as many as it has parameters, and
                |ζ_2| = |a| φ(b) ≥ 3 standard errors of ζ_2, the coefficient through which T_2 sees it.
            What P loses is known: a unit replaced by its linear part errs by a² ((1 + b²) Φ(−|b|) − |b| φ(b)) ≤ a² e^{−b²/2}/2
            in square.
Surrogate   L_P(x) = (T_0 − Σ_G aᵢ m_0(bᵢ)) + ⟨T_1 − Σ_G aᵢ m_1(bᵢ) wᵢ, x⟩  [awasthi2021, §5(iv)].
Function    truncated least squares on σ(uᵢ), σ(−uᵢ), i ∈ G, and 1, x: neither signs nor P are needed  [awasthi2021, §5(v)].
            Then once more with the tangents σ′(uᵢ)x, σ′(uᵢ) among the features, which turn each unit a little: one step of
            Gauss–Newton.
Network     at most |G| + 2 units  [awasthi2021, Claim D.14].
Cost        O(n (k (d + 2))²) for the tangents, O(n (k + d)²) without.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from weightlift.activations import relu
from weightlift.arguments import generator
from weightlift.errors import ArgumentError
from weightlift.hermite import polynomials
from weightlift.initialization.directions import joint_directions
from weightlift.initialization.limits import LIMITS
from weightlift.initialization.magnitudes import directional_coefficients
from weightlift.initialization.scalars import fitted_scalars
from weightlift.moments import DirectionalMoments, HermiteMoment, remove_linear
from weightlift.namespaces import array_namespace, as_like, matmul_transposed, to_numpy
from weightlift.network import Network
from weightlift.refinement.affine import AffineNetwork, fit_affine, require_relu
from weightlift.refinement.up_to_signs import refine_up_to_signs
from weightlift.samples import Block, Samples, Sums
from weightlift.subspace import SecondMoment, estimate_rank


@dataclass(frozen=True, eq=False)
class Reach:
    """What the rows can tell of given units (‖w‖ = 1)."""

    rows: np.ndarray  # (k,) expected on the emptier side of each kink, n Φ(−|b|)
    least_rows: float  # 2 (d + 1)
    signal: np.ndarray  # (k,) |a| φ(b), the size of the unit in T_2
    noise: np.ndarray  # (k,) its standard error
    largest_bias: float  # |b| with least_rows rows on the emptier side
    loss: np.ndarray  # (k,) root mean square error if the unit is replaced by its linear part

    @property
    def recoverable(self) -> np.ndarray:
        """G, as booleans (k,)."""
        return np.asarray((self.rows >= self.least_rows) & (self.signal >= LIMITS.signal * self.noise) & (self.signal > 0))

    def __str__(self) -> str:
        G = self.recoverable
        reach = f"|b| up to {self.largest_bias:.2f} leaves {self.least_rows:.0f} rows beyond a kink"
        lines = [f"{int(G.sum())} of {len(G)} units are recoverable: {reach}"]
        for i in np.flatnonzero(~G):
            why = f"{self.signal[i]:.2g} in T_2, noise {self.noise[i]:.2g}"
            if self.rows[i] < self.least_rows:
                why = f"{self.rows[i]:.0f} rows beyond its kink"
            lines.append(f"  unit {i} is linear-like: {why}; its linear part errs by {self.loss[i]:.2g}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class RobustFit:
    """The function learned, as a network of at most |G| + 2 units, and what it rests on."""

    function: AffineNetwork  # units of G up to sign, beside an affine function
    reach: Reach
    surrogate: tuple[np.ndarray, float]  # L_P(x) = ⟨v, x⟩ + c
    truncation: float  # rows with a larger feature were left out

    @property
    def network(self) -> Network:
        return self.function.consolidated()


def robust_init(samples: Samples, n_units: int | None = None, *, rng: np.random.Generator | int = 0) -> RobustFit:
    """The robust stage from rows alone, k ≤ d: as many units as T_2 shows above its noise, at most n_units, and their function.

    Their biases come from T_2, T_3 and T_4: T_0 and T_1 hold the linear parts of the units that cannot be seen.

    samples  rows, as `samples.open` gives them
    rng      a seed or a generator
    """
    rng = generator(rng)
    seen = estimate_rank(remove_linear(samples, implicit=samples.d > 500), SecondMoment(), rng=rng).rank
    k = seen if n_units is None else min(seen, n_units)
    if k == 0:
        return _nothing_seen(samples)
    U = joint_directions(samples, k, relu, rng=rng).U
    scalars = fitted_scalars(directional_coefficients(samples, U, (2, 3, 4))[0], relu)
    return robust_fit(samples, Network(U * scalars.xi, scalars.a, scalars.b, activation="relu"))


def robust_fit(samples: Samples, estimate: Network, *, sharpen: bool = True) -> RobustFit:
    """Learn the function from estimates of its ReLU units, up to sign and with or without those that are hardly visible.

    samples   rows, as `samples.open` gives them
    estimate  the units, as `robust_init` or any other start gives them
    sharpen   whether one Gauss–Newton step on the rows improves the units before the last fit

    >>> import weightlift as wl
    >>> truth = Network(np.eye(5)[:, :3], a=[1.0, -1.0, 2.0], b=[0.3, -0.5, 5.0])
    >>> rows = wl.samples.open(*wl.draw(truth, 5000, rng=0))
    >>> found = robust_fit(rows, Network(-truth.W, truth.a, -truth.b))
    >>> found.reach.recoverable, found.network.n_units, float(wl.distance(found.network, truth)) < 1e-3
    (array([ True,  True, False]), 4, True)
    """
    require_relu(estimate)
    units = _unit_norm(estimate)
    reach = reach_of(samples, units)
    G = reach.recoverable
    kept = Network(units.W[:, G], units.a[G], units.b[G], activation="relu") if G.any() else None
    truncation = _truncation(samples, kept)
    function = fit_affine(samples, kept, truncation=truncation)
    if sharpen and kept is not None and math.isfinite(samples.n):
        step = refine_up_to_signs(samples, function, iterations=1).function
        function = fit_affine(samples, step.units, truncation=truncation)
    return RobustFit(function, reach, linear_surrogate(samples, kept), truncation)


def _nothing_seen(samples: Samples) -> RobustFit:
    none = np.zeros(0)
    reach = Reach(none, 2.0 * (samples.d + 1), none, none, largest_bias(samples), none)
    return RobustFit(fit_affine(samples, None), reach, linear_surrogate(samples, None), math.inf)


def reach_of(samples: Samples, units: Network) -> Reach:
    """How many rows and how much of T_2 each unit (‖w‖ = 1) has."""
    from scipy.special import ndtr

    n = samples.n
    b = np.abs(units.b)
    density = np.exp(-(b**2) / 2) / math.sqrt(2 * math.pi)
    rows = np.full(len(b), math.inf) if math.isinf(n) else n * ndtr(-b)
    loss = np.abs(units.a) * np.sqrt(np.maximum((1 + b**2) * ndtr(-b) - b * density, 0.0))
    noise = np.zeros(len(b)) if math.isinf(n) else _second_noise(samples, units.W)
    return Reach(rows, 2.0 * (samples.d + 1), np.abs(units.a) * density, noise, largest_bias(samples), loss)


def largest_bias(samples: Samples) -> float:
    """|b| with 2 (d + 1) rows expected beyond the kink: a unit with a larger one is beyond reach."""
    from scipy.special import ndtri

    return math.inf if math.isinf(samples.n) else float(-ndtri(min(0.5, 2.0 * (samples.d + 1) / samples.n)))


def linear_surrogate(samples: Samples, units: Network | None) -> tuple[np.ndarray, float]:
    """(v, c) of what is affine beyond the given units: T_1 and T_0 without their share."""
    T0 = float(to_numpy(samples.mean(DirectionalMoments(np.eye(samples.d)[:, :1], (0,)))[0])[0])
    T1 = to_numpy(samples.mean(HermiteMoment(samples.d, 1))[0])
    if units is None:
        return T1, T0
    m0, m1 = relu.hermites(1, 1.0, units.b)
    return T1 - units.W @ (units.a * m1), T0 - float(units.a @ m0)


def paper_threshold(accuracy: float, n_units: int, n_inputs: int, bound: float) -> float:
    """√log(1/(ε m d B)) as printed in [awasthi2021, Thm. 3.2], without its constant; NaN where ε m d B > 1: G is then empty.

    >>> paper_threshold(1e-4, 6, 20, 3.0), paper_threshold(0.02, 6, 20, 3.0)
    (1.82324..., nan)
    """
    if not (accuracy > 0 and n_units > 0 and n_inputs > 0 and bound > 0):
        raise ArgumentError("accuracy, n_units, n_inputs and bound must be positive.")
    exponent = -math.log(accuracy * n_units * n_inputs * bound)
    return math.sqrt(exponent) if exponent >= 0 else math.nan


def _unit_norm(network: Network) -> Network:
    """‖wᵢ‖ = 1, order and signs kept."""
    length = np.linalg.norm(network.W, axis=0)
    if not np.all(length > 0):
        raise ArgumentError(f"unit {int(np.argmin(length))} of estimate has weight zero, hence no direction; remove it.")
    return replace(network, W=network.W / length, b=network.b / length, a=network.a * length, c=0.0)


def _truncation(samples: Samples, units: Network | None) -> float:
    """B (B + √(2 log n(k + d))), which hardly a Gaussian row exceeds, B = max(1, |bᵢ|)."""
    if math.isinf(samples.n):
        return math.inf
    B = 1.0 if units is None else max(1.0, float(np.abs(units.b).max()))
    k = 0 if units is None else units.n_units
    return B * (B + math.sqrt(2 * math.log(samples.n * (k + samples.d))))


def _second_noise(samples: Samples, U: np.ndarray) -> np.ndarray:
    """Standard errors of ζ_2 = ((UᵀU)^{∘2})⁻¹ [E r He_2(⟨uᵢ, x⟩)]ᵢ, r the residual of y on [1, x]."""
    residual = remove_linear(samples, implicit=samples.d > 500)
    second = to_numpy(residual.mean(_SecondProducts(U))[0])
    mean = to_numpy(residual.mean(DirectionalMoments(U, (2,)))[0])
    inverse = np.linalg.pinv((U.T @ U) ** 2, rcond=1e-10)
    covariance = inverse @ (second - np.outer(mean, mean)) @ inverse
    return np.asarray(np.sqrt(np.maximum(np.diagonal(covariance), 0.0) / samples.n))


@dataclass(frozen=True, eq=False)
class _SecondProducts:
    """E r² He_2(tᵢ) He_2(tⱼ), t = Uᵀx: (k, k)."""

    U: np.ndarray

    @property
    def floats_per_row(self) -> int:
        return 4 * int(self.U.shape[1])

    def __call__(self, block: Block) -> Sums:
        xp = array_namespace(block.X)
        H = polynomials(2, xp.matmul(block.X, as_like(self.U, block.X)))[2] * block.y[:, None]
        return (matmul_transposed(H, H if block.w is None else block.w[:, None] * H),)
