"""Lengths, signs and output weights of units whose directions are known up to sign  [zhong2017, RECMAGSIGN].

Model   T_j = E[y He_j(x)] = Σᵢ ζ_j(i) uᵢ^{⊗j},  ζ_j(i) = aᵢ m_j(‖wᵢ‖) sᵢʲ,  w̄ᵢ = sᵢ uᵢ,  sᵢ = ±1.
Solve   (UᵀU)^{∘j} ζ_j = [E y He_j(⟨uᵢ, x⟩)]ᵢ: least squares on T_j without the tensor (∘j: entrywise power).
Then    homogeneous φ of degree q, aᵢ = ±1, ζ_j = aᵢ m_j(1) ‖wᵢ‖^q sᵢʲ: signs from parity, lengths from size;
        other φ: (‖wᵢ‖, aᵢ) from the ratio of ζ_j's, by Gauss–Newton with m_j′(σ) = (m_{j+2}(σ) + j m_j(σ))/σ.
Needs   independent uᵢ^{⊗j}; x ~ N(0, I); no biases, except those that a known mean ν of the raw inputs causes: in whitened
        inputs a bias-free unit has bias ‖wᵢ‖ βᵢ with βᵢ = ⟨w̄ᵢ, ν⟩ known up to its sign sᵢ.
Cost    one pass O(n d k), then O(k³).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift.activations import Activation
from weightlift.errors import ActivationError
from weightlift.initialization.limits import LIMITS
from weightlift.moments import DirectionalMoments, HermiteMoment, MomentChoice, choose_moments, quadratic_fit
from weightlift.namespaces import to_numpy
from weightlift.network import Network
from weightlift.samples import Residual, Samples

LENGTH_GRID = np.geomspace(0.02, 50.0, 241)  # ‖w‖, white inputs, 3 % apart: Newton steps begin at the best


@dataclass(frozen=True)
class Magnitudes:
    """The network, and the coefficients ζ_j it was read from."""

    network: Network
    zeta: dict[int, np.ndarray]


def magnitudes_and_signs(
    samples: Samples, U: np.ndarray, activation: Activation, *, center: np.ndarray | None = None
) -> Magnitudes:
    """RECMAGSIGN for unit directions U (d, k), in every parity case and for non-homogeneous φ.

    center: ν (d,), the mean of the raw inputs in whitened coordinates; the network has the biases it causes.

    samples     rows, as `samples.open` gives them
    activation  φ, or its name in the catalogue
    """
    choice = choose_moments(activation)
    beta = np.zeros(U.shape[1]) if center is None else center @ U
    plain = activation.degree is not None and not beta.any()
    orders = [j for j in (choice.odd, choice.even) if j is not None] if plain else _informative(choice, bool(beta.any()))
    zeta, spectrum = directional_coefficients(samples, U, tuple(orders))
    if plain:
        signs, a, lengths = _homogeneous(zeta, choice, activation, spectrum)
    else:
        signs, a, lengths = _general(zeta, activation, beta)
    network = Network(U * (signs * lengths), a, signs * lengths * beta, activation=activation)
    return Magnitudes(_with_offset(samples, network), zeta)


def magnitudes_and_signs_by_contraction(
    samples: Samples, V: np.ndarray, U: np.ndarray, activation: Activation, *, rng: np.random.Generator
) -> Magnitudes:
    """The paper's form: one linear system a moment, Σ zᵢ uᵢ = M_{l₁}(I, α, …) and Σ rᵢ uᵢuᵢᵀ = M_{l₂}(V, V, α, …), α random.

    zᵢ = ζ_{l₁}(i) ⟨α, uᵢ⟩^{l₁−1}, rᵢ = ζ_{l₂}(i) ⟨α, uᵢ⟩^{l₂−2}. Homogeneous φ only.
    """
    if activation.degree is None:
        raise ActivationError(f"{activation.name} is not homogeneous; [zhong2017, Thm. 5.6] does not cover it.")
    choice = choose_moments(activation)
    alpha = rng.normal(size=samples.d)
    alpha /= np.linalg.norm(alpha)
    reached = alpha @ U
    zeta = {}
    if choice.odd is not None:
        l1 = choice.odd
        Q1 = to_numpy(samples.mean(HermiteMoment(samples.d, 1, None, l1 - 1, alpha))[0])
        zeta[l1] = np.linalg.lstsq(U, Q1, rcond=None)[0] / reached ** (l1 - 1)
    if choice.even is not None:
        l2 = choice.even
        Q2 = to_numpy(samples.mean(HermiteMoment(samples.d, 2, V, l2 - 2, alpha))[0])
        inside = V.T @ U
        pairs = (inside[:, None, :] * inside[None, :, :]).reshape(-1, U.shape[1])
        zeta[l2] = np.linalg.lstsq(pairs, Q2.reshape(-1), rcond=None)[0] / reached ** (l2 - 2)
    signs, a, lengths = _homogeneous(zeta, choice, activation)
    return Magnitudes(Network(U * (signs * lengths), a, activation=activation), zeta)


def directional_coefficients(
    samples: Samples, U: np.ndarray, orders: tuple[int, ...]
) -> tuple[dict[int, np.ndarray], np.ndarray]:
    """ζ_j for each order, the least-squares coefficients of T_j on {uᵢ^{⊗j}}; and the eigenvalues of T_2 inside span U.

    T_1 and T_2 are those of the least-squares quadratic inside span U, T_3 and T_4 come from its residual: the populations
    are the same, the noise is less.
    """
    Q = np.linalg.qr(U)[0]
    quadratic = quadratic_fit(samples, Q)
    M1, M2 = quadratic.moments
    inside = Q.T @ U
    targets = {1: M1 @ inside, 2: np.sum(inside * (M2 @ inside), axis=0)}
    higher = tuple(j for j in orders if j > 2)
    if higher:
        rest = samples.map(Residual(quadratic)).mean(DirectionalMoments(U, higher))
        targets |= {j: to_numpy(target) for j, target in zip(higher, rest, strict=True)}
    gram = U.T @ U
    zeta = {j: np.linalg.lstsq(gram**j, targets[j], rcond=1e-12)[0] for j in orders}
    return zeta, np.linalg.eigvalsh(M2)


def _homogeneous(
    zeta: dict[int, np.ndarray], choice: MomentChoice, activation: Activation, spectrum: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(s, a, ‖w‖) from ζ_j/m_j(1) = a ‖w‖^q sʲ.

    spectrum: eigenvalues of T_2 = Σ ζ₂(i) uᵢuᵢᵀ inside span U. As many of them have the sign of m₂ as there are positive a
    (Sylvester's law of inertia), however badly the uᵢ are known; the units with the largest ζ₂/m₂ take them.
    """
    m = activation.hermites(max(zeta))
    ratio = {j: z / float(m[j]) for j, z in zeta.items()}
    outer = None if choice.even is None else ratio[choice.even]
    inner = outer if choice.odd is None else ratio[choice.odd]
    assert inner is not None
    if outer is None:  # odd φ: the sign of a is free
        a = np.ones_like(inner)
    elif spectrum is None or choice.even != 2:
        a = _sign(outer)
    else:
        a = _largest(outer, int(np.sum(spectrum * float(m[2]) > 0)))
    s = np.ones_like(a) if choice.odd is None else a * _sign(inner)  # even φ: the direction's sign is free
    assert activation.degree is not None
    return s, a, np.abs(inner) ** (1 / activation.degree)


def _informative(choice: MomentChoice, shifted: bool) -> list[int]:
    return [j for j in (1, 2, 3, 4) if shifted or choice.nonzero[j]]


def _general(
    zeta: dict[int, np.ndarray], activation: Activation, beta: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(s, a, ‖w‖) minimising Σ_j (ζ_j − a sʲ m_j(σ, sσβ))²/j!, a solved for, σ on a grid and then polished.

    For odd φ and β = 0 this is m₃(σ)/m₁(σ) = ζ₃/ζ₁, whose left side falls strictly for tanh, sigmoid and erf. For homogeneous φ
    σ stays 1: a carries the size.
    """
    orders = np.array(sorted(zeta))
    weights = np.array([1 / math.sqrt(math.factorial(j)) for j in orders])
    target = weights[:, None] * np.stack([zeta[j] for j in orders])  # (J, k)
    lengths = LENGTH_GRID if activation.degree is None else np.ones(1)
    parities = np.array([1.0, -1.0])
    offsets = parities[:, None, None] * lengths[None, :, None] * beta  # (2, G, k)
    moments = activation.hermites(max(orders), lengths[None, :, None], offsets)[orders]  # (J, 2, G, k)
    shapes = weights[:, None, None, None] * moments * parities[None, :, None, None] ** orders[:, None, None, None]
    inner = np.sum(shapes * target[:, None, None, :], axis=0)
    explained = inner**2 / np.maximum(np.sum(shapes**2, axis=0), np.finfo(float).tiny)
    best = np.argmax(explained.reshape(-1, target.shape[1]), axis=0)
    s, sigma = parities[best // len(lengths)], lengths[best % len(lengths)]
    if activation.degree is not None:
        chosen = np.arange(len(s))
        top, bottom = (v.reshape(-1, len(s))[best, chosen] for v in (inner, np.sum(shapes**2, axis=0)))
        return s, top / bottom, sigma
    return (s, *_polish(target, weights, orders, s, sigma, activation, beta))


def _polish(
    target: np.ndarray,
    weights: np.ndarray,
    orders: np.ndarray,
    s: np.ndarray,
    sigma: np.ndarray,
    activation: Activation,
    beta: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Gauss–Newton in (a, log σ) for all units at once; (a, σ)."""
    scale = weights[:, None] * s[None, :] ** orders[:, None]
    for _ in range(LIMITS.magnitude_steps):
        m = activation.hermites(max(orders) + 2, sigma, s * sigma * beta)
        shape = scale * m[orders]
        # σ ∂σ m_j(σ, sσβ) = m_{j+2} + j m_j + sβ m_{j+1}
        slope = scale * (m[orders + 2] + orders[:, None] * m[orders] + s * beta * m[orders + 1])
        a = np.sum(shape * target, axis=0) / np.sum(shape**2, axis=0)
        residual = target - a * shape
        tangent = a * (slope - shape * np.sum(shape * slope, axis=0) / np.sum(shape**2, axis=0))
        step = np.sum(tangent * residual, axis=0) / np.maximum(np.sum(tangent**2, axis=0), np.finfo(float).tiny)
        step = np.clip(step, -0.3, 0.3)
        sigma = np.clip(sigma * np.exp(step), LENGTH_GRID[0] / 2, 2 * LENGTH_GRID[-1])
        if np.abs(step).max() < 1e-14:
            break
    return a, sigma


def _with_offset(samples: Samples, network: Network) -> Network:
    """For φ(−z) = −φ(z) + p₀ with p₀ ≠ 0 (sigmoid) signs are known up to a constant: c = E y − Σ aᵢ m₀(‖wᵢ‖) carries it."""
    reflection = network.activation.reflection
    if reflection is None or reflection[0] > 0 or len(reflection[1]) != 1 or reflection[1][0] == 0:
        return network
    mean = float(to_numpy(samples.mean(DirectionalMoments(network.W[:, :1], (0,)))[0])[0])
    constant = float(network.a @ network.activation.hermite(0, np.linalg.norm(network.W, axis=0), network.b))
    return Network(network.W, network.a, network.b, mean - constant, network.activation)


def _largest(values: np.ndarray, count: int) -> np.ndarray:
    """1 for the `count` largest values, −1 for the others."""
    signs = np.full(len(values), -1.0)
    signs[np.argsort(-values)[:count]] = 1.0
    return signs


def _sign(values: np.ndarray) -> np.ndarray:
    return np.where(values < 0, -1.0, 1.0)
