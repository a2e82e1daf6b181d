"""The activations known by name, their scaled versions φ(cz), and their form in files.

    relu max(z, 0)     leaky_relu(slope)     squared_relu max(z, 0)²     absolute |z|     linear z     quadratic z²
    polynomial(coefficients) Σ cⱼzʲ     sigmoid 1/(1+e⁻ᶻ)     tanh     erf (2/√π) ∫₀ᶻ e^{−t²} dt     softplus log(1+eᶻ)

scikit-learn's "identity" and "logistic" are understood; "tanh(2.5x)" or "tanh(5x/2)" is a scaled version.
"""

from __future__ import annotations

import difflib
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from weightlift.activations import analytic, functions
from weightlift.activations.activation import Activation, ClosedForm, Reflection
from weightlift.activations.piecewise import PiecewisePolynomial
from weightlift.activations.quadrature import Function, Quadrature
from weightlift.errors import ActivationError
from weightlift.namespaces import Array

# Why the function determines the units, up to order and reflections:
KINKS = "each unit breaks a derivative of f along a hyperplane of its own [awasthi2021, Thm 3.4]"
SIGMOIDS = "irreducible networks with one function differ by order and signs alone [sussmann1992]"
RAMPS = "the derivative is a sigmoid, and networks of sigmoids are unique [sussmann1992]"
BELLS = "the derivatives are Gaussians, independent where centres or widths differ [albertini1993]"

SCALED_NAME = re.compile(r"(?P<base>\w+)\((?P<factor>[^x/()]+)x(?:/(?P<divisor>[^x/()]+))?\)")


def get(activation: str | Activation, **parameters: Any) -> Activation:
    """The activation of that name; an Activation is returned as it is.

    >>> get("leaky_relu", slope=0.2), get("tanh(5x/2)"), get("identity")
    (Activation('leaky_relu', slope=0.2), Activation('tanh(2.5x)'), Activation('linear'))
    """
    if isinstance(activation, Activation):
        if parameters:
            raise ActivationError(f"parameters {sorted(parameters)} go with a name, not with {activation!r}.")
        return activation
    if not isinstance(activation, str):
        raise ActivationError(f"activation must be a name or an Activation, not {type(activation).__name__}.")
    parameters = dict(parameters)
    name, factor = activation.strip(), parameters.pop("factor", None)
    if (parts := SCALED_NAME.fullmatch(name)) is not None:
        if factor is not None:
            raise ActivationError(f"factor is given twice: in the name {name!r} and as {factor!r}.")
        name, factor = parts["base"], _parsed_factor(activation, parts["factor"], parts["divisor"])
    name = ALIASES.get(name, name)
    if name not in CATALOGUE:
        near = difflib.get_close_matches(name.lower(), [*CATALOGUE, *ALIASES], n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        known = ", ".join(sorted([*CATALOGUE, *ALIASES]))
        raise ActivationError(f"activation {activation!r} is unknown.{hint} Known are {known}; or use `custom`.")
    entry = CATALOGUE[name]
    if isinstance(entry, Activation):
        if parameters:
            raise ActivationError(f"activation {name!r} has no parameters {sorted(parameters)}, only a factor of z.")
    else:
        signature = inspect.signature(entry)
        try:
            signature.bind(**parameters)
        except TypeError as error:
            raise ActivationError(f"activation {name!r}: {error}; its signature is {name}{signature}.") from None
        entry = entry(**parameters)
    return entry if factor is None else scaled(entry, factor)


def scaled(activation: str | Activation, factor: float) -> Activation:
    """φ(factor·z), factor > 0; named like "tanh(2.5x)"."""
    base = get(activation)
    factor = _number(factor, "factor")
    if factor <= 0.0:
        raise ActivationError(f"factor must be positive, not {factor:g}; a sign belongs to the weights.")
    if isinstance(inner := base.value, Scaled):
        base, factor = inner.base, inner.factor * factor
    if factor == 1.0:
        return base
    reflection: Reflection | None = None
    if base.reflection is not None:
        sign, polynomial = base.reflection
        reflection = (sign, tuple(p * factor**j for j, p in enumerate(polynomial)))
    kinks = tuple(kink / factor for kink in base.kinks)
    integrals = ScaledIntegrals(Scaled(base, factor, 0), Scaled(base, factor, 1), kinks, base.rule, factor)
    return Activation(
        name=f"{base.name}({repr(factor).removesuffix('.0')}x)",
        value=integrals.value,
        derivative=integrals.derivative,
        second_derivative=Scaled(base, factor, 2),
        kinks=kinks,
        jumps=tuple(factor * jump for jump in base.jumps),
        degree=base.degree,
        reflection=reflection,
        analytic=base.analytic,
        uniqueness=base.uniqueness,
        parameters=(*base.parameters, ("factor", factor)),
        closed_form=None if base.closed_form is None else integrals,
        integrals=integrals,
    )


def to_json(activation: Activation) -> dict[str, Any]:
    """What identifies an activation of the catalogue in a file, in JSON's types; custom ones are refused.

    >>> to_json(get("tanh(2.5x)"))
    {'name': 'tanh', 'parameters': {'factor': 2.5}}
    """
    parameters = {key: list(value) if isinstance(value, tuple) else value for key, value in activation.parameters}
    name = activation.value.base.name if isinstance(activation.value, Scaled) else activation.name
    if name not in CATALOGUE or get(name, **parameters) != activation:
        raise ActivationError(f"activation {activation.name!r} is custom; only those of the catalogue go to a file.")
    return {"name": name, "parameters": parameters}


def from_json(description: Mapping[str, Any]) -> Activation:
    """The inverse of `to_json`."""
    if not isinstance(description, Mapping) or not isinstance(description.get("name"), str):
        raise ActivationError(f"an activation is described by its name and parameters, not by {description!r}.")
    parameters = description.get("parameters", {})
    if not isinstance(parameters, Mapping) or not all(isinstance(key, str) for key in parameters):
        raise ActivationError(f"the activation's parameters must be a mapping from names, not {parameters!r}.")
    return get(description["name"], **parameters)


def leaky_relu(slope: float = 0.01) -> Activation:
    """z for z > 0, slope·z otherwise; slope ≠ 1."""
    slope = _number(slope, "slope")
    if slope == 1.0:
        raise ActivationError("slope = 1 makes leaky_relu linear; use activations.linear.")
    return _piecewise(
        "leaky_relu",
        (0.0, slope),
        (0.0, 1.0),
        (functions.Leaky(slope), functions.TwoSlopes(slope, 1.0), functions.zero),
        (("slope", slope),),
    )


def polynomial(coefficients: Iterable[float]) -> Activation:
    """Σ_j coefficients[j] zʲ, lowest degree first; trailing zeros are dropped."""
    if isinstance(coefficients, (str, Mapping)) or not isinstance(coefficients, Iterable):
        raise ActivationError(f"coefficients must be a sequence of numbers, lowest degree first, not {coefficients!r}.")
    trimmed = [_number(c, "coefficients") for c in coefficients]
    while trimmed and trimmed[-1] == 0.0:
        trimmed.pop()
    if not trimmed:
        raise ActivationError("coefficients are all zero; a polynomial activation needs a non-zero one.")
    return _polynomial("polynomial", tuple(trimmed), (("coefficients", tuple(trimmed)),))


@dataclass(frozen=True)
class Scaled:
    """The derivative of the given order (0, 1, 2) of z ↦ φ(factor·z)."""

    base: Activation
    factor: float
    order: int

    def __call__(self, z: Array) -> Array:
        function = (self.base.value, self.base.derivative, self.base.second_derivative)[self.order]
        value = function(self.factor * z)
        return self.factor**self.order * value if self.order else value


@dataclass(frozen=True)
class ScaledIntegrals(Quadrature):
    """Those of φ at scale factor·σ and offset factor·b; φ′ brings the factor down."""

    base: Quadrature
    factor: float

    @property
    def polynomial(self) -> bool:
        return self.base.polynomial

    def hermites(self, max_order: int, scale: np.ndarray, offset: np.ndarray) -> np.ndarray:
        return self.base.hermites(max_order, self.factor * scale, self.factor * offset)

    def derivative_moment(self, power: int, q: int, scale: np.ndarray) -> np.ndarray:
        return self.factor**power * self.base.derivative_moment(power, q, self.factor * scale)

    def nonlinearity(self, scale: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        return self.factor**2 * self.base.nonlinearity(self.factor * scale, alpha / self.factor)


def _piecewise(
    name: str,
    left: tuple[float, ...],
    right: tuple[float, ...],
    derivatives: tuple[Function, Function, Function],
    parameters: tuple[tuple[str, Any], ...] = (),
) -> Activation:
    """Σ leftₙ zⁿ for z ≤ 0, Σ rightₙ zⁿ for z > 0: kinks and symmetries follow from the coefficients.

    φ(−z) = s φ(z) + p(z) on both sides needs s = (−1)^{n+1} wherever leftₙ ≠ rightₙ; then pₙ = (−1)ⁿ leftₙ − s rightₙ.
    """
    value, derivative, second_derivative = derivatives
    broken = [n for n, (low, high) in enumerate(zip(left, right, strict=True)) if low != high]
    signs = {(-1) ** (n + 1) for n in broken} or {(-1) ** (len(right) - 1)}
    reflection: Reflection | None = None
    if len(signs) == 1:
        (s,) = signs
        p = [(-1) ** n * low - s * high for n, (low, high) in enumerate(zip(left, right, strict=True))]
        reflection = (s, tuple(c + 0.0 for c in p))
    used = [n for n, pair in enumerate(zip(left, right, strict=True)) if any(pair)]
    kinks = (0.0,) if broken else ()
    integrals = PiecewisePolynomial(value, derivative, kinks, left, right)
    return Activation(
        name,
        value,
        derivative,
        second_derivative,
        kinks=kinks,
        jumps=(right[1] - left[1],) if broken else (),
        degree=float(used[0]) if len(used) == 1 else None,
        reflection=reflection,
        analytic=not broken,
        uniqueness=KINKS if broken else "",
        parameters=parameters,
        closed_form=integrals,
        integrals=integrals,
    )


def _polynomial(name: str, coefficients: tuple[float, ...], parameters: tuple[tuple[str, Any], ...] = ()) -> Activation:
    value = functions.Horner(coefficients)
    slope = value.derivative()
    return _piecewise(name, coefficients, coefficients, (value, slope, slope.derivative()), parameters)


def _smooth(
    name: str,
    family: type[Quadrature],
    derivatives: tuple[Function, Function, Function],
    reflection: Reflection,
    uniqueness: str,
) -> Activation:
    value, derivative, second_derivative = derivatives
    integrals = family(value, derivative, ())
    closed_form: ClosedForm | None = integrals if isinstance(integrals, analytic.Erf) else None
    return Activation(
        name,
        value,
        derivative,
        second_derivative,
        reflection=reflection,
        analytic=True,
        uniqueness=uniqueness,
        closed_form=closed_form,
        integrals=integrals,
    )


def _parsed_factor(name: str, factor: str, divisor: str | None) -> float:
    try:
        return float(factor) / float(divisor if divisor is not None else 1.0)
    except (ValueError, ZeroDivisionError):
        raise ActivationError(f"activation {name!r}: the factor of x must be a number, as in 'tanh(2.5x)'.") from None


def _number(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ActivationError(f"{name} must be a real number, not {value!r}.") from None
    if not math.isfinite(number):
        raise ActivationError(f"{name} must be finite, not {value!r}.")
    return number


relu = _piecewise("relu", (0.0, 0.0), (0.0, 1.0), (functions.relu, functions.step, functions.zero))
squared_relu = _piecewise(
    "squared_relu",
    (0.0, 0.0, 0.0),
    (0.0, 0.0, 1.0),
    (functions.squared_relu, functions.squared_relu_derivative, functions.squared_relu_second_derivative),
)
absolute = _piecewise("absolute", (0.0, -1.0), (0.0, 1.0), (functions.absolute, functions.TwoSlopes(-1.0, 1.0), functions.zero))
linear = _polynomial("linear", (0.0, 1.0))
quadratic = _polynomial("quadratic", (0.0, 0.0, 1.0))
sigmoid = _smooth(
    "sigmoid",
    analytic.Sigmoid,
    (functions.sigmoid, functions.sigmoid_derivative, functions.sigmoid_second_derivative),
    (-1, (1.0,)),
    SIGMOIDS,
)
tanh = _smooth(
    "tanh", analytic.Tanh, (functions.tanh, functions.tanh_derivative, functions.tanh_second_derivative), (-1, ()), SIGMOIDS
)
erf = _smooth("erf", analytic.Erf, (functions.erf, functions.erf_derivative, functions.erf_second_derivative), (-1, ()), BELLS)
softplus = _smooth(
    "softplus",
    analytic.Softplus,
    (functions.softplus, functions.sigmoid, functions.sigmoid_derivative),
    (1, (0.0, -1.0)),
    RAMPS,
)

ALIASES = {"identity": "linear", "logistic": "sigmoid"}
CATALOGUE: dict[str, Activation | Callable[..., Activation]] = {
    "relu": relu,
    "leaky_relu": leaky_relu,
    "squared_relu": squared_relu,
    "absolute": absolute,
    "linear": linear,
    "quadratic": quadratic,
    "polynomial": polynomial,
    "sigmoid": sigmoid,
    "tanh": tanh,
    "erf": erf,
    "softplus": softplus,
}
