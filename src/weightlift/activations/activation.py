"""An activation φ with what the algorithms ask of it: derivatives, kinks, symmetries, and Gaussian integrals.

With z ~ N(0, 1), He_j the probabilists' Hermite polynomials and h_j = He_j/√j!,

    hermite(j)  E φ(σz+b) He_j(z)        hermite_normalized(J)  E φ(σz+b) h_j(z), all j ≤ J
    gamma(j)    γ_j(σ) = E φ(σz) zʲ      m(j)     m_j(σ) = E φ(σz) He_j(z)          [zhong2017, Def. 5.1]
    alpha(q)    α_q(σ) = E φ′(σz) z^q    beta(q)  β_q(σ) = E φ′(σz)² z^q            [zhong2017, Property 3.2]
    rho         ρ(σ) = min{β₀−α₀²−α₁², β₂−α₁²−α₂², α₀α₂−α₁²}                         [zhong2017, Property 3.2]

Scales σ ≥ 0 and offsets b are numbers or arrays, broadcast. Each integral is a closed form where there is one, else a
quadrature split at the kinks. Relative accuracy is 1e-12 in the catalogue up to order 32 (of the coefficient's size
nearby where it changes sign with b); custom activations keep 1e-12 of σ (E φ′²)^½ for the orders k ≥ 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from weightlift.activations.quadrature import Function, Quadrature, root_factorial
from weightlift.errors import ArgumentError, NotFiniteError
from weightlift.namespaces import FADING, Array, is_array, to_numpy

Reflection = tuple[int, tuple[float, ...]]
ClosedForm = Callable[[int, Any, Any], Any]  # (order, scale, offset) -> E φ(σz+b) He_order(z)


@dataclass(frozen=True)
class Names:
    """What other tools call φ; "" where they lack it."""

    sklearn: str = ""  # the `activation` of MLPRegressor
    torch: str = ""  # the class of torch.nn
    onnx: str = ""  # the operator
    options: tuple[tuple[str, str, str], ...] = ()  # (our parameter, torch.nn's, the operator's)
    told: tuple[tuple[str, Any], ...] = ()  # what torch's class is told beside


@dataclass(frozen=True)
class Activation:
    """φ of one real variable, applied elementwise to arrays of any namespace.

    scale   σ > 0, of any shape
    offset  b, of any shape that goes with it

    >>> from weightlift import activations
    >>> relu = activations.get("relu")
    >>> relu(-2.0), relu.derivative(np.array([0.0, 3.0])), relu.degree
    (np.float64(0.0), array([0., 1.]), 1.0)
    >>> float(relu.m(2, 3.0) * np.sqrt(2 * np.pi))          # m₂(σ) = σ/√(2π)
    3.0
    """

    name: str
    value: Function
    derivative: Function  # left derivative at kinks
    second_derivative: Function  # almost everywhere
    kinks: tuple[float, ...] = ()  # where φ′ or φ″ is not continuous
    jumps: tuple[float, ...] = ()  # φ′(kink+) − φ′(kink−): the Dirac weights of φ″
    degree: float | None = None  # φ(tz) = t^degree φ(z) for t > 0
    reflection: Reflection | None = None  # (s, (p₀, …, p_n)), p_n ≠ 0: φ(−z) = s φ(z) + Σ p_j zʲ
    repeats: tuple[float, int] | None = None  # (T, s), s = ±1: φ(z + T) = s φ(z) for the least T > 0; None: for none is known
    analytic: bool = False  # real-analytic on all of R
    uniqueness: str = ""  # why irreducible networks with one function have the same units, with its source; "": not known
    turns: tuple[float, ...] | None = None  # φ′ is monotone between these, and beyond; None: not known
    parameters: tuple[tuple[str, Any], ...] = ()  # with the name, what identifies it in a file
    names: Names = field(default=Names(), repr=False)
    closed_form: ClosedForm | None = field(default=None, repr=False)
    integrals: Quadrature | None = field(default=None, repr=False)  # a better rule than quadrature, if there is one

    def __post_init__(self) -> None:
        if self.reflection is not None:  # a symmetry of φ is told by the polynomial's length
            s, polynomial = self.reflection
            degree = max((j for j, p in enumerate(polynomial) if p), default=-1)
            object.__setattr__(self, "reflection", (s, tuple(polynomial[: degree + 1])))

    def __call__(self, z: Array) -> Array:
        return self.value(z if is_array(z) else np.asarray(z, dtype=float)[()])

    def __repr__(self) -> str:
        arguments = "".join(f", {key}={value!r}" for key, value in self.parameters if key != "factor")
        return f"Activation({self.name!r}{arguments})"

    @property
    def rule(self) -> Quadrature:
        """How the Gaussian integrals are computed."""
        return Quadrature(self.value, self.derivative, self.kinks) if self.integrals is None else self.integrals

    @property
    def polynomial(self) -> bool:
        """Whether φ is one of the catalogue's polynomials, scaled or not."""
        return self.rule.polynomial

    @property
    def parity(self) -> Literal["even", "odd"] | None:
        if self.reflection is None or self.reflection[1]:
            return None
        return "even" if self.reflection[0] == 1 else "odd"

    def hermite(self, order: int, scale: Any = 1.0, offset: Any = 0.0) -> np.ndarray:
        """E φ(σz+b) He_order(z), of the shape to which scale and offset broadcast.

        order  of the polynomial
        """
        coefficients = self.hermites(order, scale, offset)
        return np.asarray(coefficients[-1])

    def hermites(self, max_order: int, scale: Any = 1.0, offset: Any = 0.0) -> np.ndarray:
        """E φ(σz+b) He_k(z) for k = 0 … max_order along the first axis; σ is scale, b is offset."""
        normalized = self.hermite_normalized(max_order, scale, offset)
        roots = np.array([root_factorial(k) for k in range(max_order + 1)])
        return np.asarray(normalized * roots.reshape(-1, *(1,) * (normalized.ndim - 1)))

    @FADING
    def hermite_normalized(self, max_order: int, scale: Any = 1.0, offset: Any = 0.0) -> np.ndarray:
        """E φ(σz+b) h_k(z), h_k = He_k/√k!, for k = 0 … max_order along the first axis; none exceeds (E φ²)^½.

        σ is scale, b is offset.
        """
        max_order = _order(max_order, "max_order")
        scale, offset = np.broadcast_arrays(_scales(scale), _reals(offset, "offset"))
        sigma, b = scale.ravel(), offset.ravel()
        coefficients = np.zeros((max_order + 1, sigma.size))
        still = sigma == 0.0
        coefficients[0, still] = self.value(b[still])
        moving = np.flatnonzero(~still)
        if moving.size:
            coefficients[:, moving] = self.rule.hermites(max_order, sigma[moving], b[moving])
        centred = np.flatnonzero(~still & (b == 0.0))
        if self.reflection is not None and centred.size:
            for k in range(max_order + 1):
                if (-1) ** k != self.reflection[0]:
                    coefficients[k, centred] = _reflected(self.reflection, k, sigma[centred])
        coefficients += 0.0  # −0 becomes 0
        return coefficients.reshape(max_order + 1, *scale.shape)

    def m(self, j: int, scale: Any = 1.0) -> np.ndarray:
        """m_j(σ) = E φ(σz) He_j(z)  [zhong2017, Def. 5.1].

        j      the order
        scale  σ, one or many
        """
        return np.asarray(self.hermites(j, scale)[-1])

    def gamma(self, j: int, scale: Any = 1.0) -> np.ndarray:
        """γ_j(σ) = E φ(σz) zʲ = Σ_i j!/(2ⁱ i! (j−2i)!) m_{j−2i}(σ), σ the scale  [zhong2017, Def. 5.1]."""
        m = self.hermites(_order(j, "j"), scale)
        total = m[j]
        for i in range(1, j // 2 + 1):
            pairings = math.factorial(j) // (2**i * math.factorial(i) * math.factorial(j - 2 * i))
            total = total + float(pairings) * m[j - 2 * i]
        return np.asarray(total)

    def alpha(self, q: int, scale: Any = 1.0) -> np.ndarray:
        """α_q(σ) = E φ′(σz) z^q, σ the scale  [zhong2017, Property 3.2]."""
        return self._derivative_moment(1, _order(q, "q"), _scales(scale))

    def beta(self, q: int, scale: Any = 1.0) -> np.ndarray:
        """β_q(σ) = E φ′(σz)² z^q, σ the scale  [zhong2017, Property 3.2]."""
        return self._derivative_moment(2, _order(q, "q"), _scales(scale))

    @FADING
    def rho(self, scale: Any = 1.0) -> np.ndarray:
        """ρ(σ) = min{β₀−α₀²−α₁², β₂−α₁²−α₂², α₀α₂−α₁²}, positive for a non-linear φ; σ is scale  [zhong2017, Property 3.2]."""
        sigma = _scales(scale)
        alpha = np.stack([self._derivative_moment(1, q, sigma) for q in range(3)])
        terms = np.zeros((3, *sigma.shape))  # at σ = 0, φ′ is a constant and the first two vanish
        moving = sigma > 0.0
        if np.any(moving):
            terms[:2, moving] = self.rule.nonlinearity(sigma[moving], alpha[:, moving])
        terms[2] = alpha[0] * alpha[2] - alpha[1] ** 2
        return np.asarray(np.min(terms, axis=0))[()]

    @FADING
    def _derivative_moment(self, power: int, q: int, sigma: np.ndarray) -> np.ndarray:
        moments = np.full(sigma.shape, float(self.derivative(np.zeros(1))[0]) ** power * _normal_moment(q))
        moving = sigma > 0.0
        if np.any(moving):
            exact = None if self.reflection is None else _reflected_slope(self.reflection, power, q, sigma[moving])
            moments[moving] = self.rule.derivative_moment(power, q, sigma[moving]) if exact is None else exact
        return moments[()]


def _reflected(reflection: Reflection, k: int, sigma: np.ndarray) -> np.ndarray:
    """E φ(σz) h_k(z) where the parity of h_k is not s: φ(−z) = s φ(z) + p(z) leaves ½ (−1)ᵏ E p(σz) h_k(z), exactly.

    E zʲ He_k(z) = j!/(2ⁱ i!) with i = (j−k)/2 a non-negative integer, else 0.
    """
    total = np.zeros_like(sigma)
    if k >= len(reflection[1]):
        return total
    for j, p in enumerate(reflection[1]):
        if j >= k and (j - k) % 2 == 0:
            i = (j - k) // 2
            total = total + p * sigma**j * (math.factorial(j) / (2**i * math.factorial(i)))
    return np.asarray(0.5 * (-1) ** k / root_factorial(k) * total)


def _reflected_slope(reflection: Reflection, power: int, q: int, sigma: np.ndarray) -> np.ndarray | None:
    """E φ′(σz)^power z^q where φ′(−z) = −s φ′(z) − p′(z) fixes it: −½ (−1)^q E p′(σz) z^q for power 1 and s = (−1)^q."""
    sign, polynomial = reflection
    if power == 1 and (-1) ** q == sign:
        slopes = [j * p * sigma ** (j - 1) * _normal_moment(j - 1 + q) for j, p in enumerate(polynomial) if j]
        return np.asarray(-0.5 * sign * sum(slopes, np.zeros_like(sigma)))
    if power == 2 and q % 2 and not any(polynomial[1:]):
        return np.zeros_like(sigma)
    return None


def _normal_moment(q: int) -> float:
    return 0.0 if q % 2 else float(math.prod(range(1, q, 2)))


def _order(order: int, name: str) -> int:
    if isinstance(order, bool) or not isinstance(order, (int, np.integer)) or order < 0:
        raise ArgumentError(f"{name} must be a non-negative integer, not {order!r}.")
    return int(order)


def _scales(scale: Any) -> np.ndarray:
    sigma = _reals(scale, "scale")
    if np.any(sigma < 0.0):
        raise ArgumentError(f"scale must not be negative; found {sigma.min():g}. It is the length of a weight vector.")
    return sigma


def _reals(values: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(to_numpy(values) if is_array(values) else values)
        if np.iscomplexobj(array):
            raise NotFiniteError(f"{name} is complex; pass real numbers.")
        array = array.astype(float)
    except (TypeError, ValueError) as error:
        if isinstance(error, NotFiniteError):
            raise
        raise ArgumentError(f"{name} must be a number or an array of numbers, not {values!r}.") from error
    if not np.all(np.isfinite(array)):
        raise NotFiniteError(f"{name} holds NaN or infinity; pass finite numbers.")
    return array
