"""The papers' own learners: an initial network, then gradient descent  [zhong2017, Alg. 2; zhang2019, Alg. 1].

Model   y = Σᵢ aᵢ φ(⟨wᵢ, x⟩) + ε, x Gaussian. zhong2017: φ homogeneous, aᵢ = ±1, no noise; zhang2019: φ = ReLU, aᵢ = 1.
Inputs  the preset "paper" takes x ~ N(0, I) as it is; "default" estimates mean μ and covariance S, works on S^{-1/2} x, where a
        bias-free network stays bias-free, centres the rows for the moments alone, and undoes S in what it returns.
Needs   for the tensor start k ≤ d, independent wᵢ, and φ with M3 or M4 ≠ 0.
Cost    of the start, see `tensor_init`; then O(n d k) a step. `recover` is faster by far, and knows whether it succeeded.

The three approaches of [zhong2017, Fig. 1(c)], squared ReLU, step = 0.02:
    I    initialization="tensor"                                      v and W from moments; descent on W, v fixed
    II   initialization="random", output_weights="free" or "signs"    v and W random; descent on both, "signs" keeps v = ±1
    III  initialization=gaussian_init(d, k, φ, output_weights=v)      v known and fixed, W random
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weightlift.activations import Activation, get
from weightlift.arguments import count, generator
from weightlift.errors import ArgumentError, NotGaussianWarning, ShapeError, warn
from weightlift.initialization import TensorInit, gaussian_init, tensor_init
from weightlift.matching import Match, match
from weightlift.moments.gaussianity import gaussianity
from weightlift.network import Network
from weightlift.refinement import Descent, gradient_descent
from weightlift.samples import Samples, Scaling, Standardized, Whitening
from weightlift.samples import open as open_samples
from weightlift.samples.standardization import has_mean

PRESETS = ("default", "paper")
LEVEL = 6.0  # standard deviations above which a covariance is not that of N(0, I)


@dataclass(frozen=True)
class Learned:
    """The network that was learned, where the descent began, and how it went; both networks are those of the raw inputs."""

    network: Network
    start: Network
    tensor: TensorInit | None  # the evidence behind a start from moments, in whitened inputs
    descent: Descent  # in whitened inputs

    def errors(self, truth: Network) -> tuple[Match, Match]:
        """The start and the network against the truth: `max_error` [zhong2017, §7], `frobenius_error` [zhang2019, §6]."""
        return match(self.start, truth), match(self.network, truth)


def learn_1nn(
    X: Any,
    y: Any = None,
    *,
    n_units: int,
    activation: Activation | str,
    preset: str = "default",
    initialization: str | Network = "tensor",
    output_weights: str = "fixed",
    step: float | str = "curvature",
    iterations: int = 1000,
    tol: float = 0.0,
    resample: bool | int = False,
    rng: np.random.Generator | int = 0,
) -> Learned:
    """LEARNING1NN  [zhong2017, Alg. 2]; X may be any `Samples`, then y is None.

    preset: the moments' (see `tensor_init`), and what is done to the inputs. step: η, or "theory" or "curvature" (see
    `gradient_descent`). resample: True takes every step on rows of its own, as the theorem has it; a number q takes q parts in
    turn; False takes all steps on all rows, as the paper's experiments do. The descent ends early at a risk of tol · ½ E y².

    >>> import weightlift as wl
    >>> truth = wl.teachers.conditioned(10, 3, activation="squared_relu", rng=0)
    >>> X, y = wl.draw(truth, 3000, rng=0)
    >>> learned = learn_1nn(X, y, n_units=3, activation="squared_relu", preset="paper", tol=1e-16)
    >>> start, end = learned.errors(truth)
    >>> start.max_error > 0.1, end.max_error < 1e-6
    (True, True)
    """
    _check(preset, initialization, iterations)
    activation, rng = get(activation), generator(rng)
    rows = _standardized(open_samples(X, y), preset, moments=initialization == "tensor")
    if not isinstance(resample, bool | int | np.integer) or resample < 0:
        raise ArgumentError(f"resample must be True, False or a number of parts, not {resample!r}.")
    q = iterations if resample is True else int(resample)
    S0, S = _partition(rows.rows, q, rng)  #                                          S₀, S₁, …, S_q ← PARTITION(S, q + 1)
    start, tensor = _initialization(rows, S0, n_units, activation, preset, initialization, bool(q), rng)  # W⁽⁰⁾, v⁽⁰⁾
    descent = gradient_descent(  #                                                     W ← W − η ∇f̂_{S_t}(W)
        S, start, step=step, iterations=iterations, tol=tol, output_weights=output_weights, parts=q or None, rng=rng
    )
    return Learned(rows.undo(descent.network), rows.undo(start), tensor, descent)


def learn_relu(
    X: Any,
    y: Any = None,
    *,
    n_units: int,
    preset: str = "default",
    initialization: str | Network = "tensor",
    step: float | str = "curvature",
    iterations: int = 1000,
    tol: float = 0.0,
    rng: np.random.Generator | int = 0,
) -> Learned:
    """Gradient descent for ReLU units with output weights 1, all rows in every step  [zhang2019, Alg. 1].

    step: η (the paper's experiments have 0.5, which diverges from K ≈ 15 on), "curvature", 1/λ_max(JᵀJ) at the start, or
    "theory", 1/(κK²) with κ of the start: Theorem 4.2's without its constant.

    >>> import weightlift as wl
    >>> truth = wl.teachers.conditioned(10, 3, signs=False, activation="relu", rng=0)
    >>> X, y = wl.draw(truth, 3000, noise_std=0.1, rng=0)
    >>> learn_relu(X, y, n_units=3, step=0.5).errors(truth)[1].relative_frobenius_error < 0.02
    True
    """
    _check(preset, initialization, iterations)
    activation, rng = get("relu"), generator(rng)
    rows = _standardized(open_samples(X, y), preset, moments=initialization == "tensor")
    found, tensor = _initialization(rows, rows.rows, n_units, activation, preset, initialization, False, rng)
    start = _with_unit_weights(found, initialization)
    eta = 1 / (np.linalg.cond(start.W) * n_units**2) if step == "theory" else step
    descent = gradient_descent(rows.rows, start, step=eta, iterations=iterations, tol=tol)
    return Learned(rows.undo(descent.network), rows.undo(start), tensor, descent)


def _standardized(rows: Samples, preset: str, *, moments: bool) -> Standardized:
    """Inputs made standard for the default preset; inputs that moments cannot use are warned of."""
    if rows.n_outputs is not None:
        raise ShapeError(f"y has {rows.n_outputs} columns; this algorithm is for one target: pass one column, y[:, i].")
    if preset == "paper":
        if moments:
            _check_standard(rows)
        return Standardized.unchanged(rows)
    found = Standardized.of(rows, centred=False)
    if moments:
        gaussianity(found.rows.map(Scaling.shift(found.mean))).warn()
    return found


def _check_standard(rows: Samples) -> None:
    """Warn of inputs that are not Gaussian, and of those that are not N(0, I)."""
    found, d, n = Whitening.estimated(rows), rows.d, rows.n
    gaussianity(rows.map(found)).warn()
    if has_mean(found.mean, n) or n * np.sum((found.covariance - np.eye(d)) ** 2) > (d + LEVEL * 2) * (d + 1):
        warn(
            "the inputs are not N(0, I), which preset='paper' takes for granted; preset='default' estimates their mean and "
            "covariance.",
            NotGaussianWarning,
        )


def _partition(samples: Samples, parts: int, rng: np.random.Generator) -> tuple[Samples, Samples]:
    """S₀ and the union of S₁, …, S_q, all parts of equal size; all rows twice where there is no resampling."""
    if not parts:
        return samples, samples
    share = 1 / (parts + 1)
    first, rest = samples.split(share, 1 - share, seed=int(rng.integers(2**31)))
    return first.persist(), rest.persist()


def _initialization(
    rows: Standardized,
    samples: Samples,
    k: int,
    activation: Activation,
    preset: str,
    initialization: str | Network,
    split: bool,
    rng: np.random.Generator,
) -> tuple[Network, TensorInit | None]:
    """INITIALIZATION(S₀) [zhong2017, Alg. 1], with v = ±1 for homogeneous φ; a Gaussian W and v; or the network given."""
    if isinstance(initialization, Network):
        if initialization.W.shape != (samples.d, k) or initialization.activation != activation:
            found = f"{initialization.n_inputs} inputs, {initialization.n_units} units of {initialization.activation.name}"
            raise ShapeError(f"initialization has {found}; the problem {samples.d}, {k} of {activation.name}.")
        return rows.on_network(initialization), None
    if initialization == "random":
        return gaussian_init(samples.d, k, activation, rng=rng), None
    centred = replace(rows, rows=samples).centred
    tensor = tensor_init(centred, k, activation, preset=preset, split=split, center=rows.center, rng=rng)
    start = replace(tensor.network, b=np.zeros(k))
    return (start if activation.degree is None else start.absorbed()), tensor


def _with_unit_weights(start: Network, initialization: str | Network) -> Network:
    """a = 1. Moments give the sign of a and that of a w̄; where a is known, w ← a w keeps the latter."""
    if isinstance(initialization, Network) and np.any(start.a != 1.0):
        raise ArgumentError("initialization must have output weights 1, as the model has; use learn_1nn for others.")
    return replace(start, W=start.W * start.a if initialization == "tensor" else start.W, a=np.ones(start.n_units))


def _check(preset: str, initialization: str | Network, iterations: int) -> None:
    if preset not in PRESETS:
        raise ArgumentError(f"preset must be one of {PRESETS}, not {preset!r}.")
    if not isinstance(initialization, Network) and initialization not in ("tensor", "random"):
        raise ArgumentError(f"initialization must be 'tensor', 'random' or a Network, not {initialization!r}.")
    count("iterations", iterations)
