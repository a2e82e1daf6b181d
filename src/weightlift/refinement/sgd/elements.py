"""φ and φ′ over vectors, in loops that the compiler turns into SIMD instructions, to rounding in float32 and float64.

A library's tanh or exp is called one number at a time; here they are polynomials and bit patterns, eight or sixteen numbers
an instruction. With n = round(u/log 2) and f = u − n log 2, |f| ≤ log(2)/2,

    e^u = 2ⁿ e^f,   e^u − 1 = 2ⁿ(e^f − 1) + (2ⁿ − 1),   e^f − 1 by its Taylor series to rounding,
    tanh|z| = −t/(t + 2),  tanh′ = 4e^{−2|z|}/(t + 2)²  with t = e^{−2|z|} − 1,
    log(1 + e) = 2 artanh(e/(2 + e)) by its series, e ≤ 1,
    erf by its Maclaurin series below 1, and 1 − e^{−z²} erfcx(z) above, erfcx a Chebyshev series in (z − 2.5)/(z + 2.5);
    sine and cosine alone are the library's.

Every exponential is of a number ≤ 0, so that nothing overflows and tails keep their relative accuracy.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# The compiler infers the types of its functions.

from __future__ import annotations

import math
from typing import Any

import numba as nb
import numpy as np
from numba import njit
from numba.extending import overload

from weightlift import activations
from weightlift.activations import Activation
from weightlift.activations.piecewise import PiecewisePolynomial
from weightlift.activations.stretching import unstretched

PIECEWISE, TANH, SIGMOID, SOFTPLUS, ERF, GELU, SILU, ELU, SINE = range(9)
KINDS = dict(zip(("tanh", "sigmoid", "softplus", "erf", "gelu", "silu", "elu", "sine"), range(1, 9), strict=True))
PART = 8  # terms of a series in one loop
TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
ROOT_HALF, BELL = math.sqrt(0.5), 1 / math.sqrt(2 * math.pi)
CENTER, ONE = 2.5, 6.0  # erf(6) rounds to 1, and the series of erfcx between 1 and 6 is in (z − 2.5)/(z + 2.5)

# Without reassociation, which would merge the two parts of log 2; without checks of divisors, which hinder vectors.
ELEMENT = {"fastmath": {"contract"}, "error_model": "numpy", "forceinline": True}
LOOP = {"fastmath": {"contract", "reassoc", "nsz", "arcp"}, "error_model": "numpy", "nogil": True}

# A kind, and the coefficients (2, degree + 1) of a piecewise polynomial, else the factor of z and the parameters, (1, …).
Compiled = tuple[int, np.ndarray]


def compiled(activation: Activation, dtype: Any) -> Compiled | None:
    """What `evaluate` needs to know of φ, or None where there is no element: then NumPy computes it."""
    base, factor = unstretched(activation)
    if isinstance(base.rule, PiecewisePolynomial):
        sides = np.array([base.rule.left, base.rule.right])
        return PIECEWISE, (sides * factor ** np.arange(sides.shape[1])).astype(dtype)
    if base.name not in KINDS or activations.get(base.name, **dict(base.parameters)) != base:
        return None
    return KINDS[base.name], np.array([[factor, *(value for _, value in base.parameters)]], dtype)


def program(function: Any) -> Any:
    """Compiled when it is first called, and kept on disk where there is a folder that can be written."""
    try:
        return njit(cache=True, **LOOP)(function)
    except RuntimeError:
        return njit(**LOOP)(function)


def part(function: Any) -> Any:
    """Compiled into the program that calls it. Left to itself, the compiler would make a copy beside the program's own, with
    other roundings; a new process would then run the one, and a process that finds the program on disk the other."""
    return njit(forceinline=True, **LOOP)(function)


@part
def evaluate(kind, coefficients, z, value, slope):  # noqa: C901  (a branch for each kind)
    """value = φ(z) and slope = φ′(z), vectors of one length and dtype."""
    factor = coefficients[0, 0]
    if kind == PIECEWISE:
        piecewise(coefficients, z, value, slope)
    elif kind == TANH:
        for i in range(z.size):
            value[i], derivative = tanh(factor * z[i])
            slope[i] = factor * derivative
    elif kind == SIGMOID:
        for i in range(z.size):
            value[i], derivative = sigmoid(factor * z[i])
            slope[i] = factor * derivative
    elif kind == SOFTPLUS:
        for i in range(z.size):
            value[i], derivative = softplus(factor * z[i])
            slope[i] = factor * derivative
    elif kind == ERF:
        for i in range(z.size):
            value[i], derivative = erf(factor * z[i])
            slope[i] = factor * derivative
    elif kind == GELU:
        for i in range(z.size):
            value[i], derivative = gelu(factor * z[i])
            slope[i] = factor * derivative
    elif kind == SILU:
        for i in range(z.size):
            value[i], derivative = silu(factor * z[i])
            slope[i] = factor * derivative
    elif kind == ELU:
        for i in range(z.size):
            value[i], derivative = elu(factor * z[i], coefficients[0, 1])
            slope[i] = factor * derivative
    else:
        for i in range(z.size):
            value[i], slope[i] = np.sin(factor * z[i]), factor * np.cos(factor * z[i])


@part
def piecewise(coefficients, z, value, slope):
    """Horner's rule for φ and φ′ together; z ≤ 0 takes the left coefficients, so that φ′ is the left derivative."""
    zero = z.dtype.type(0)
    value[:] = zero
    slope[:] = zero
    for n in range(coefficients.shape[1] - 1, -1, -1):
        left, right = coefficients[0, n], coefficients[1, n]
        for i in range(z.size):
            slope[i] = slope[i] * z[i] + value[i]
            value[i] = value[i] * z[i] + (right if z[i] > zero else left)


@njit(**ELEMENT)
def tanh(z):
    T = type(z)  # a bare literal would turn float32 into float64
    power, rest = exp_parts(T(-2) * abs(z))
    small = power * rest
    t = small + (power - T(1))
    q = T(1) / (t + T(2))
    size = -t * q
    return size if z > T(0) else -size, T(4) * (power + small) * q * q


@njit(**ELEMENT)
def sigmoid(z):
    T = type(z)
    power, rest = exp_parts(-abs(z))
    e = power + power * rest
    q = T(1) / (T(1) + e)
    return (q if z > T(0) else e * q), e * q * q


@njit(**ELEMENT)
def softplus(z):
    T = type(z)
    power, rest = exp_parts(-abs(z))
    e = power + power * rest
    q = T(1) / (T(1) + e)
    s = e / (T(2) + e)
    return (z if z > T(0) else T(0)) + s * artanh_series(s * s), (q if z > T(0) else e * q)


@njit(**ELEMENT)
def erf(z):
    T = type(z)
    size = abs(z)
    square = size * size
    power, rest = exp_parts(-square)
    bell = power + power * rest
    near = size * erf_series(square if size < T(1) else T(1))
    far = size if size < T(ONE) else T(ONE)
    far = T(1) - bell * erfcx_series((far - T(CENTER)) / (far + T(CENTER)))
    value = near if size < T(1) else far
    return (value if z > T(0) else -value), T(TWO_OVER_ROOT_PI) * bell


@njit(**ELEMENT)
def gelu(z):
    """zΦ(z), Φ(z) = ½ erfc(−z/√2): the small side is computed, the large one is what is left of 1; 1e-18 is lost below −8.5."""
    T = type(z)
    size = T(ROOT_HALF) * abs(z)
    square = size * size
    power, rest = exp_parts(-square)
    bell = power + power * rest
    near = T(1) - size * erf_series(square if size < T(1) else T(1))
    far = size if size < T(ONE) else T(ONE)
    far = bell * erfcx_series((far - T(CENTER)) / (far + T(CENTER)))
    small = T(0.5) * (near if size < T(1) else far)
    below = T(1) - small if z > T(0) else small
    return z * below, below + T(BELL) * z * bell


@njit(**ELEMENT)
def silu(z):
    s, slope = sigmoid(z)
    return z * s, s + z * slope


@njit(**ELEMENT)
def elu(z, alpha):
    T = type(z)
    power, rest = exp_parts(z if z < T(0) else T(0))
    small = power * rest
    return z if z > T(0) else alpha * (small + (power - T(1))), T(1) if z > T(0) else alpha * (power + small)


def exp_parts(u):
    """2ⁿ and e^f − 1 with u = n log 2 + f, for u ≤ 0."""


def artanh_series(s):
    """2 artanh(√s)/√s = 2 Σ sᵏ/(2k + 1), for s ≤ 1/9."""


def erf_series(s):
    """erf(√s)/√s = (2/√π) Σ (−s)ᵏ/(k! (2k + 1)), for s ≤ 1."""


def erfcx_series(t):
    """e^{z²} erfc(z) with t = (z − 2.5)/(z + 2.5), for 1 ≤ z ≤ 6, as a polynomial in t."""


@overload(exp_parts, jit_options=ELEMENT)
def _exp_parts(u):
    T = _scalar(u)
    double = T is np.float64
    per_log2, low = T(1 / math.log(2)), T(-708.0 if double else -87.0)
    high_part = T(0.6931471803691238 if double else 0.693359375)  # with so few bits that n times it is exact
    low_part = T(1.9082149292705877e-10 if double else math.log(2) - 0.693359375)
    bits, bias, shift = (np.int64, np.int64(1023), np.int64(52)) if double else (np.int32, np.int32(127), np.int32(23))
    series = _horner([1 / math.factorial(k) for k in range(2, 14 if double else 8)], T)

    def parts(u):
        u = u if u > low else low
        n = np.rint(u * per_log2)
        f = (u - n * high_part) - n * low_part
        return bits((bits(np.int32(n)) + bias) << shift).view(T), f + f * f * series(f)

    return parts


@overload(artanh_series, jit_options=ELEMENT)
def _artanh_series(s):
    T = _scalar(s)
    series = _horner([2 / (2 * k + 1) for k in range(17 if T is np.float64 else 8)], T)
    return lambda s: series(s)


@overload(erf_series, jit_options=ELEMENT)
def _erf_series(s):
    T = _scalar(s)
    terms = range(20 if T is np.float64 else 11)
    series = _horner([TWO_OVER_ROOT_PI * (-1) ** k / (math.factorial(k) * (2 * k + 1)) for k in terms], T)
    return lambda s: series(s)


@overload(erfcx_series, jit_options=ELEMENT)
def _erfcx_series(t):
    from scipy.special import erfcx

    T = _scalar(t)
    low, high = (1 - CENTER) / (1 + CENTER), (ONE - CENTER) / (ONE + CENTER)
    degree = 18 if T is np.float64 else 8
    fit = np.polynomial.Chebyshev.interpolate(lambda t: erfcx(CENTER * (1 + t) / (1 - t)), degree, domain=[low, high])
    series = _horner(fit.convert(kind=np.polynomial.Polynomial, domain=[-1, 1]).coef.tolist(), T)
    return lambda t: series(t)


def _scalar(z: Any) -> Any:
    return np.float32 if z == nb.float32 else np.float64


def _horner(coefficients: list[float], T: Any) -> Any:
    """x ↦ Σ cₖ xᵏ, in parts that are short enough for the compiler to unroll."""
    if len(coefficients) > PART:
        low, high = _horner(coefficients[:PART], T), _horner(coefficients[PART:], T)

        @njit(**ELEMENT)
        def joined(x):
            return low(x) + x**PART * high(x)

        return joined

    zero, constants = T(0), tuple(T(c) for c in reversed(coefficients))

    @njit(**ELEMENT)
    def series(x):
        total = zero
        for c in constants:
            total = c + x * total
        return total

    return series
