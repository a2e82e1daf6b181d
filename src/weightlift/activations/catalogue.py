"""The activations known by name. An entry is all that the package knows of φ: what runs, stores or exports it asks the entry.

    relu max(z, 0)     leaky_relu(slope)     squared_relu max(z, 0)²     absolute |z|     linear z     quadratic z²
    polynomial(coefficients) Σ cⱼzʲ     sigmoid 1/(1+e⁻ᶻ)     tanh     erf (2/√π) ∫₀ᶻ e^{−t²} dt     softplus log(1+eᶻ)
    gelu zΦ(z)     silu z/(1+e⁻ᶻ)     elu(alpha) z for z > 0, alpha(eᶻ−1) otherwise     sine sin z

Names of scikit-learn, PyTorch and ONNX are understood ("logistic", "LeakyReLU", "Sin"); "tanh(2.5x)" or "tanh(5x/2)" is a
scaled version.

Why the function determines the units, up to order and reflections (`uniqueness`), with units of one direction in t = ⟨w,x⟩/‖w‖:
the kinks of the piecewise polynomials, the theorem for tanh, and independence of the units' derivatives for the rest. SiLU has
simple poles with residues iπ/w at wt + b = iπ(2m+1); those nearest the real axis, at one centre −b/w, belong to the unit with
the largest |w|, so that no others cancel them. GELU″ is a polynomial times a Gaussian of centre −b/w and width 1/|w|. What is
not known: the sine repeats, so that b is known up to 2π at most, and two units of one w are one of another phase; ELU is
neither analytic nor piecewise polynomial, so that no theorem says how many rows exclude other units.
"""

from __future__ import annotations

import difflib
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from weightlift.activations import functions, gaussian, logistic
from weightlift.activations.activation import Activation, Names, Reflection
from weightlift.activations.exponential import ExponentialLinear
from weightlift.activations.limits import LIMITS
from weightlift.activations.piecewise import PiecewisePolynomial
from weightlift.activations.quadrature import Function, Quadrature
from weightlift.activations.stretching import stretched, unstretched
from weightlift.errors import ActivationError

KINKS = "each unit breaks a derivative of f along a hyperplane of its own [awasthi2021, Thm 3.4]"
SIGMOIDS = "irreducible networks with one function differ by order and signs alone [sussmann1992]"
RAMPS = "the derivative is a sigmoid, and networks of sigmoids are unique [sussmann1992]"
BELLS = "the derivatives are Gaussians times polynomials, independent where centres or widths differ [albertini1993]"
POLES = "the poles nearest the real axis belong to one unit each, so that units are independent [albertini1993]"

SCALED_NAME = re.compile(r"(?P<base>\w+)\((?P<factor>[^x/()]+)x(?:/(?P<divisor>[^x/()]+))?\)")


def get(activation: str | Activation, **parameters: Any) -> Activation:
    """The activation of that name; an Activation is returned as it is.

    parameters  of φ, where it has any: slope=0.2

    >>> get("leaky_relu", slope=0.2), get("tanh(5x/2)"), get("identity")
    (Activation('leaky_relu', slope=0.2), Activation('tanh(2.5x)'), Activation('linear'))
    """
    if isinstance(activation, Activation):
        if parameters:
            raise ActivationError(f"parameters {sorted(parameters)} go with a name; {activation!r} has its own.")
        return activation
    if not isinstance(activation, str):
        raise ActivationError(f"activation must be a name or an Activation, not {type(activation).__name__}.")
    parameters = dict(parameters)
    name, factor = activation.strip(), parameters.pop("factor", None)
    if (parts := SCALED_NAME.fullmatch(name)) is not None:
        if factor is not None:
            raise ActivationError(f"factor is given twice: in the name {name!r} and as {factor!r}; give it once.")
        name, factor = parts["base"], _parsed_factor(activation, parts["factor"], parts["divisor"])
    base = _entry(name, parameters, activation)
    return base if factor is None else scaled(base, factor)


def _entry(name: str, parameters: dict[str, Any], asked: str) -> Activation:
    """The entry of that name, ours or another tool's, at its parameters."""
    if name not in CATALOGUE:
        if (understood := aliases().get(name)) is None:
            near = difflib.get_close_matches(name.lower(), [*CATALOGUE, "identity", "logistic"], n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            known = ", ".join(sorted(CATALOGUE))
            raise ActivationError(f"activation {asked!r} is unknown.{hint} Known are {known}; or use `custom`.")
        name = understood
    entry = CATALOGUE[name]
    if isinstance(entry, Activation):
        if parameters:
            raise ActivationError(f"activation {name!r} has no parameters {sorted(parameters)}; it takes a factor of z alone.")
        return entry
    signature = inspect.signature(entry)
    try:
        signature.bind(**parameters)
    except TypeError as error:
        raise ActivationError(f"activation {name!r}: {error}; its signature is {name}{signature}.") from None
    return entry(**parameters)


def scaled(activation: str | Activation, factor: float) -> Activation:
    """φ(factor·z), factor > 0; named like "tanh(2.5x)".

    activation  φ, or its name in the catalogue
    """
    base = get(activation)
    factor = _number(factor, "factor")
    if factor <= 0.0:
        raise ActivationError(f"factor must be positive, not {factor:g}; a sign belongs to the weights.")
    return stretched(base, factor)


def to_json(activation: Activation) -> dict[str, Any]:
    """What identifies an activation of the catalogue in a file, in JSON's types; custom ones are refused.

    >>> to_json(get("tanh(2.5x)"))
    {'name': 'tanh', 'parameters': {'factor': 2.5}}
    """
    parameters = {key: list(value) if isinstance(value, tuple) else value for key, value in activation.parameters}
    name = unstretched(activation)[0].name
    if name not in CATALOGUE or get(name, **parameters) != activation:
        raise ActivationError(f"activation {activation.name!r} is custom; only those of the catalogue go to a file.")
    return {"name": name, "parameters": parameters}


def from_json(description: Mapping[str, Any]) -> Activation:
    """The inverse of `to_json`.

    description  what `to_json` gave
    """
    if not isinstance(description, Mapping) or not isinstance(description.get("name"), str):
        raise ActivationError(f"description must hold an activation's name and parameters, not {description!r}.")
    parameters = description.get("parameters", {})
    if not isinstance(parameters, Mapping) or not all(isinstance(key, str) for key in parameters):
        raise ActivationError(f"the activation's parameters must be a mapping from names, not {parameters!r}.")
    return get(description["name"], **parameters)


def examples() -> tuple[Activation, ...]:
    """One of every entry, families at their default parameters."""
    chosen = {"polynomial": {"coefficients": (0.5, -1.0, 0.0, 2.0)}}
    return tuple(get(name, **chosen.get(name, {})) for name in CATALOGUE)


def aliases() -> dict[str, str]:
    """What scikit-learn, PyTorch and ONNX call the entries."""
    return {alias: e.name for e in examples() for alias in (e.names.sklearn, e.names.torch, e.names.onnx) if alias}


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
        turns=(),
        parameters=(("slope", slope),),
        names=Names(torch="LeakyReLU", onnx="LeakyRelu", options=(("slope", "negative_slope", "alpha"),)),
    )


def elu(alpha: float = 1.0) -> Activation:
    """z for z > 0, alpha·(eᶻ − 1) otherwise, alpha > 0: φ″ breaks at 0, and φ′ too unless alpha = 1."""
    alpha = _number(alpha, "alpha")
    if alpha <= 0.0:
        raise ActivationError(f"alpha must be positive, not {alpha:g}; for 0 use activations.relu.")
    return _of(
        "elu",
        ExponentialLinear(functions.Elu(alpha), functions.Elu(alpha, 1), (0.0,), alpha),
        functions.Elu(alpha, 2),
        jumps=(1.0 - alpha,),
        turns=(0.0,),
        parameters=(("alpha", alpha),),
        names=Names(torch="ELU", onnx="Elu", options=(("alpha", "alpha", "alpha"),)),
    )


def polynomial(coefficients: Iterable[float]) -> Activation:
    """Σ_j coefficients[j] zʲ, lowest degree first; trailing zeros are dropped."""
    if isinstance(coefficients, (str, Mapping)) or not isinstance(coefficients, Iterable):
        raise ActivationError(f"coefficients must be a sequence of numbers, lowest degree first, not {coefficients!r}.")
    trimmed = [_number(c, "coefficients") for c in coefficients]
    while trimmed and trimmed[-1] == 0.0:
        trimmed.pop()
    if len(trimmed) > LIMITS.degree + 1:
        raise ActivationError(f"coefficients go to degree {len(trimmed) - 1}; moments beyond {LIMITS.degree} overflow.")
    if not trimmed:
        raise ActivationError("coefficients are all zero; a polynomial activation needs a non-zero one.")
    return _polynomial("polynomial", tuple(trimmed), parameters=(("coefficients", tuple(trimmed)),))


def _piecewise(
    name: str,
    left: tuple[float, ...],
    right: tuple[float, ...],
    derivatives: tuple[Function, Function, Function],
    **facts: Any,
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
    integrals = PiecewisePolynomial(value, derivative, (0.0,) if broken else (), left, right)
    return _of(
        name,
        integrals,
        second_derivative,
        jumps=(right[1] - left[1],) if broken else (),
        degree=float(used[0]) if len(used) == 1 else None,
        reflection=reflection,
        uniqueness=KINKS if broken else "",
        closed_form=integrals,
        **facts,
    )


def _polynomial(name: str, coefficients: tuple[float, ...], **facts: Any) -> Activation:
    value = functions.Horner(coefficients)
    slope = value.derivative()
    bend = [n * (n - 1) * c for n, c in enumerate(coefficients)][2:]
    turns = tuple(sorted(np.roots(bend[::-1]).real.tolist()))  # all roots of φ″, complex ones too: more places do no harm
    return _piecewise(name, coefficients, coefficients, (value, slope, slope.derivative()), turns=turns, **facts)


def _closed(name: str, integrals: Quadrature, second_derivative: Function, **facts: Any) -> Activation:
    """A φ whose integrals are closed forms."""
    return _of(name, integrals, second_derivative, closed_form=integrals, **facts)


def _of(name: str, integrals: Quadrature, second_derivative: Function, **facts: Any) -> Activation:
    """The φ of its integrals; those of the catalogue are analytic where they have no kinks."""
    value, derivative, kinks = integrals.value, integrals.derivative, integrals.kinks
    return Activation(name, value, derivative, second_derivative, kinks, analytic=not kinks, integrals=integrals, **facts)


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


relu = _piecewise(
    "relu",
    (0.0, 0.0),
    (0.0, 1.0),
    (functions.relu, functions.step, functions.zero),
    turns=(),
    names=Names(sklearn="relu", torch="ReLU", onnx="Relu"),
)
squared_relu = _piecewise(
    "squared_relu",
    (0.0, 0.0, 0.0),
    (0.0, 0.0, 1.0),
    (functions.squared_relu, functions.squared_relu_derivative, functions.squared_relu_second_derivative),
    turns=(),
)
absolute = _piecewise(
    "absolute",
    (0.0, -1.0),
    (0.0, 1.0),
    (functions.absolute, functions.TwoSlopes(-1.0, 1.0), functions.zero),
    turns=(),
    names=Names(onnx="Abs"),
)
linear = _polynomial("linear", (0.0, 1.0), names=Names(sklearn="identity", torch="Identity", onnx="Identity"))
quadratic = _polynomial("quadratic", (0.0, 0.0, 1.0))
sigmoid = _of(
    "sigmoid",
    logistic.Sigmoid(functions.sigmoid, functions.sigmoid_derivative, ()),
    functions.sigmoid_second_derivative,
    reflection=(-1, (1.0,)),
    turns=(0.0,),
    uniqueness=SIGMOIDS,
    names=Names(sklearn="logistic", torch="Sigmoid", onnx="Sigmoid"),
)
tanh = _of(
    "tanh",
    logistic.Tanh(functions.tanh, functions.tanh_derivative, ()),
    functions.tanh_second_derivative,
    reflection=(-1, ()),
    turns=(0.0,),
    uniqueness=SIGMOIDS,
    names=Names(sklearn="tanh", torch="Tanh", onnx="Tanh"),
)
erf = _closed(
    "erf",
    gaussian.Erf(functions.erf, functions.erf_derivative, ()),
    functions.erf_second_derivative,
    reflection=(-1, ()),
    turns=(0.0,),
    uniqueness=BELLS,
    names=Names(onnx="Erf"),
)
softplus = _of(
    "softplus",
    logistic.Softplus(functions.softplus, functions.sigmoid, ()),
    functions.sigmoid_derivative,
    reflection=(1, (0.0, -1.0)),
    turns=(),
    uniqueness=RAMPS,
    names=Names(torch="Softplus", onnx="Softplus", told=(("threshold", 40.0),)),  # z above it: right to e^{−40} = 4e-18
)
gelu = _closed(
    "gelu",
    gaussian.Gelu(functions.gelu, functions.gelu_derivative, ()),
    functions.gelu_second_derivative,
    reflection=(1, (0.0, -1.0)),
    turns=(-math.sqrt(2.0), math.sqrt(2.0)),
    uniqueness=BELLS,
    names=Names(torch="GELU", onnx="Gelu"),
)
silu = _of(
    "silu",
    logistic.Silu(functions.silu, functions.silu_derivative, ()),
    functions.silu_second_derivative,
    reflection=(1, (0.0, -1.0)),
    turns=(-2.399357280515468, 2.399357280515468),  # 2 + z(1 − 2σ(z)) = 0
    uniqueness=POLES,
    names=Names(torch="SiLU"),
)
sine = _closed(
    "sine",
    gaussian.Sine(functions.sine, functions.cosine, ()),
    functions.minus_sine,
    reflection=(-1, ()),
    repeats=(math.pi, -1),
    names=Names(onnx="Sin"),
)

CATALOGUE: dict[str, Activation | Callable[..., Activation]] = {
    **{e.name: e for e in (relu, squared_relu, absolute, linear, quadratic, sigmoid, tanh, erf, softplus, gelu, silu, sine)},
    "leaky_relu": leaky_relu,
    "elu": elu,
    "polynomial": polynomial,
}
