"""Activations defined by their user, checked against what is declared of them.

A wrong derivative, an undeclared kink or a symmetry that does not hold would spoil every later stage silently; each is
found here by sampling: finite differences, one-sided limits, and quadrature that must settle.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weightlift.activations.activation import Activation, ClosedForm, Reflection
from weightlift.activations.catalogue import CATALOGUE, aliases, from_json, to_json
from weightlift.activations.limits import LIMITS
from weightlift.activations.quadrature import Function, Quadrature, root_factorial
from weightlift.errors import ActivationError
from weightlift.namespaces import Array, array_namespace

PROBES = np.array([-3.3, -1.1, -0.2, 0.0, 0.4, 1.7, 5.9])  # where a custom φ is compared with the one in a file
GRID = np.linspace(-8.0, 8.0, 257) + 1.0 / 97.0  # no node at a round number


def custom(
    name: str,
    value: Function,
    derivative: Function,
    second_derivative: Function | None = None,
    *,
    kinks: Iterable[float] = (),
    jumps: Iterable[float] | None = None,
    degree: float | None = None,
    reflection: Reflection | None = None,
    repeats: tuple[float, int] | None = None,
    analytic: bool = False,
    closed_form: ClosedForm | None = None,
) -> Activation:
    """A continuous φ from its value and derivative; what is declared is verified by sampling.

    kinks: where φ′ or φ″ is not continuous, ascending. jumps: φ′(kink+) − φ′(kink−), measured if not given.
    degree: φ(tz) = t^degree φ(z), t > 0. reflection: (s, (p₀, p₁, …)) with φ(−z) = s φ(z) + Σ p_j zʲ.
    repeats: (T, s) with φ(z + T) = s φ(z), s = ±1, for the least T > 0 for which that holds.
    analytic: that φ is real-analytic on all of R, which cannot be sampled and is your word.
    closed_form(order, scale, offset): E φ(σz+b) He_order(z) for σ > 0; by quadrature if not given.
    Without second_derivative, φ″ is a central difference of φ′, good to about 1e-10. Functions of a module, rather than
    lambdas, let the activation travel to other processes.

    name  what φ is called in reports and files

    >>> cubic = custom("cubic", lambda z: z**3, lambda z: 3 * z**2, degree=3, reflection=(-1, ()))
    >>> cubic.parity, float(cubic.m(3, 2.0))
    ('odd', 48.0)
    """
    if not isinstance(name, str) or not name or name in CATALOGUE or name in aliases():
        raise ActivationError(f"name must be a non-empty string that the catalogue does not use, not {name!r}.")
    for argument, function in (("value", value), ("derivative", derivative)):
        if not callable(function):
            raise ActivationError(f"{argument} must be a function, not {function!r}.")
    try:
        points = tuple(float(kink) for kink in kinks)
    except (TypeError, ValueError):
        raise ActivationError(f"kinks must be numbers, not {kinks!r}.") from None
    if not all(math.isfinite(point) for point in points) or any(b <= a for a, b in itertools.pairwise(points)):
        raise ActivationError(f"kinks must be finite and in ascending order, not {points}.")
    _check_derivative(value, derivative, points)
    weights = _checked_jumps(derivative, points, None if jumps is None else tuple(float(jump) for jump in jumps))
    degree = None if degree is None else _checked_degree(value, degree)
    reflection = None if reflection is None else _checked_reflection(value, reflection)
    repeats = None if repeats is None else _checked_repeats(value, repeats)
    if second_derivative is None:
        second_derivative = DifferenceQuotient(derivative, points)
    else:
        _check_slope(derivative, second_derivative, points, "second_derivative")
    if analytic and points:
        raise ActivationError(f"analytic: a φ with kinks at {points} is not real-analytic; leave it out.")
    return Activation(
        name,
        value,
        derivative,
        second_derivative,
        kinks=points,
        jumps=weights,
        degree=degree,
        reflection=reflection,
        repeats=repeats,
        analytic=bool(analytic),
        closed_form=closed_form,
        integrals=_checked_integrals(Quadrature(value, derivative, points), closed_form),
    )


def described(activation: Activation) -> dict[str, Any]:
    """What identifies an activation in a file: of the catalogue as `to_json`; a custom one by its name and some of its values.

    activation  any
    """
    try:
        return to_json(activation)
    except ActivationError:
        return {"name": activation.name, "values": np.asarray(activation(PROBES.copy()), dtype=float).tolist()}


def recognized(description: Mapping[str, Any], custom: Sequence[Activation] = ()) -> Activation:
    """The activation that `described` meant: of the catalogue, or that of the same name and values among `custom`.

    description  what `described` gave
    custom       activations of the caller's own
    """
    if not isinstance(description, Mapping) or "values" not in description:
        return from_json(description)
    name = description.get("name")
    phi = next((own for own in custom if own.name == name), None)
    if phi is None:
        passed = f", not {', '.join(repr(own.name) for own in custom)}" if custom else ""
        raise ActivationError(
            f"the activation {name!r} is a custom one, of which a file holds the name alone; in Python, load it with "
            f"activations=[φ], φ the activation of that name{passed}."
        )
    values = np.asarray(phi(PROBES.copy()), dtype=float)
    saved = np.asarray(description["values"], dtype=float)
    if saved.shape != values.shape or not np.allclose(values, saved, rtol=LIMITS.exact, atol=LIMITS.exact):
        raise ActivationError(f"the activation {name!r} has other values than the one that was saved; pass that one.")
    return phi


@dataclass(frozen=True)
class DifferenceQuotient:
    """φ″ from φ′ by central differences; next to a kink one-sided, on the side of z (at the kink, the left one)."""

    derivative: Function
    kinks: tuple[float, ...]

    def __call__(self, z: Array) -> Array:
        xp = array_namespace(z)
        h = float(xp.finfo(z.dtype).eps) ** (1 / 3) * (1.0 + xp.abs(z))
        low, high = z - h, z + h
        for kink in self.kinks:
            low = xp.where((z > kink) & (low <= kink), z, low)
            high = xp.where((z <= kink) & (high > kink), z, high)
        width = high - low
        return (self.derivative(high) - self.derivative(low)) / xp.where(width > 0, width, h)


@dataclass(frozen=True)
class UserIntegrals(Quadrature):
    closed_form: ClosedForm

    def hermites(self, max_order: int, scale: np.ndarray, offset: np.ndarray) -> np.ndarray:
        orders = [np.broadcast_to(self.closed_form(k, scale, offset), scale.shape) for k in range(max_order + 1)]
        return np.stack([c / root_factorial(k) for k, c in enumerate(orders)])


def _check_derivative(value: Function, derivative: Function, kinks: tuple[float, ...]) -> None:
    for argument, function in (("value", value), ("derivative", derivative)):
        with np.errstate(all="ignore"):
            sampled = np.asarray(function(GRID.copy()))
        if sampled.shape != GRID.shape:
            raise ActivationError(f"{argument} must act elementwise: of shape {GRID.shape} it made {sampled.shape}.")
        if not np.all(np.isfinite(sampled)) or np.iscomplexobj(sampled):
            where = GRID[~np.isfinite(sampled)][:1]
            raise ActivationError(f"{argument} must be real and finite; it is not at z = {where}.")
    for kink in kinks:
        left, right = (_limit(value, kink, side) for side in (-1.0, 1.0))
        if abs(right - left) > LIMITS.exact * max(1.0, abs(left)):
            raise ActivationError(f"value must be continuous; it jumps by {right - left:g} at kink {kink:g}.")
    _check_slope(value, derivative, kinks, "derivative")


def _check_slope(function: Function, slope: Function, kinks: tuple[float, ...], argument: str) -> None:
    """That `slope` is the derivative of `function` on the grid, away from the kinks."""
    h = 1e-5
    far = np.all(np.abs(GRID[:, None] - np.array(kinks)) > 2.0 * h, axis=1)
    z = GRID[far]
    difference = (np.asarray(function(z + h)) - np.asarray(function(z - h))) / (2.0 * h)
    given = np.asarray(slope(z))
    error = np.abs(difference - given) / (1.0 + np.abs(given) + np.abs(np.asarray(function(z))))
    if not np.all(error <= LIMITS.approximate):
        i = int(np.argmax(error))
        raise ActivationError(
            f"{argument} disagrees with finite differences at z = {z[i]:.4g}: {given[i]:.6g} given, "
            f"{difference[i]:.6g} found; correct it, or declare a kink there."
        )


def _checked_jumps(derivative: Function, kinks: tuple[float, ...], jumps: tuple[float, ...] | None) -> tuple[float, ...]:
    measured = [_limit(derivative, kink, 1.0) - _limit(derivative, kink, -1.0) for kink in kinks]
    size = 1.0 + max((abs(jump) for jump in measured), default=0.0)
    if jumps is None:
        return tuple(0.0 if abs(jump) < LIMITS.exact * size else jump for jump in measured)
    if len(jumps) != len(kinks):
        raise ActivationError(f"jumps must be as many as kinks: {len(jumps)} against {len(kinks)}.")
    for kink, given, found in zip(kinks, jumps, measured, strict=True):
        if not abs(given - found) <= LIMITS.approximate * size:
            raise ActivationError(f"jumps: φ′ jumps by {found:.6g} at kink {kink:g}, not by {given:.6g}; leave them out.")
    return jumps


def _checked_degree(value: Function, degree: float) -> float:
    degree = float(degree)
    base = np.asarray(value(GRID))
    for t in (0.5, 1.7):
        expected = t**degree * base
        if not np.all(np.abs(np.asarray(value(t * GRID)) - expected) <= LIMITS.exact * np.max(np.abs(expected))):
            raise ActivationError(f"degree: φ({t:g}z) is not {t:g}^{degree:g} φ(z); leave it out if there is none.")
    return degree


def _checked_reflection(value: Function, reflection: Reflection) -> Reflection:
    sign, polynomial = int(reflection[0]), tuple(float(p) for p in reflection[1])
    if sign not in (-1, 1):
        raise ActivationError(f"reflection must start with the sign 1 or −1, not {reflection[0]!r}.")
    shift = np.polynomial.polynomial.polyval(GRID, polynomial or (0.0,))
    direct, mirrored = np.asarray(value(GRID)), np.asarray(value(-GRID))
    size = 1.0 + np.abs(direct) + np.abs(mirrored) + np.abs(shift)
    if not np.all(np.abs(mirrored - sign * direct - shift) <= LIMITS.exact * size):
        raise ActivationError(f"reflection: φ(−z) is not {sign:+d} φ(z) plus the polynomial {polynomial}; leave it out.")
    return sign, polynomial


def _checked_repeats(value: Function, repeats: tuple[float, int]) -> tuple[float, int]:
    period, sign = float(repeats[0]), int(repeats[1])
    if not 0 < period < math.inf or sign not in (-1, 1):
        raise ActivationError(f"repeats must be a period above 0 and the sign 1 or −1, not {repeats!r}.")
    values = np.asarray(value(GRID))
    size = LIMITS.exact * (1.0 + np.max(np.abs(values)))
    shifts = [(period, sign), *((period / n, s) for n in (2, 3) for s in (1, -1))]
    holds = [bool(np.all(np.abs(np.asarray(value(GRID + T)) - s * values) <= size)) for T, s in shifts]
    if not holds[0]:
        raise ActivationError(f"repeats: φ(z + {period:g}) is not {sign:+d} φ(z); leave it out.")
    if any(holds[1:]):
        T, s = shifts[1 + holds[1:].index(True)]
        raise ActivationError(f"repeats: φ(z + {T:g}) is {s:+d} φ(z) already; give the least period.")
    return period, sign


def _checked_integrals(quadrature: Quadrature, closed_form: ClosedForm | None) -> Quadrature | None:
    """That quadrature settles, which an undeclared kink hinders, and agrees with the closed form.

    Panels always end at u = 0; the argument is shifted so that a kink there would be found too.
    """
    value, derivative, shift = quadrature.value, quadrature.derivative, 0.37
    kinks = tuple(kink - shift for kink in quadrature.kinks)
    scale, offset = np.array([0.7, 1.6]), np.array([0.3, -0.8])
    shifted = Quadrature(lambda u: value(u + shift), lambda u: derivative(u + shift), kinks)
    found = shifted.hermites(4, scale, offset - shift)
    if closed_form is None:
        return None
    integrals = UserIntegrals(value, derivative, quadrature.kinks, closed_form)
    error = np.abs(integrals.hermites(4, scale, offset) - found)
    if not np.all(error <= LIMITS.exact * np.max(np.abs(found))):
        order, i = np.unravel_index(np.argmax(error), error.shape)
        raise ActivationError(
            f"closed_form disagrees with quadrature at order {order}, scale {scale[i]:g}, offset {offset[i]:g}; "
            "correct it, or leave it out."
        )
    return integrals


def _limit(function: Function, point: float, side: float) -> float:
    """One-sided limit by linear extrapolation."""
    h = side * LIMITS.one_sided * max(1.0, abs(point))
    near, far = np.asarray(function(np.array([point + h, point + 2.0 * h])))
    return float(2.0 * near - far)
