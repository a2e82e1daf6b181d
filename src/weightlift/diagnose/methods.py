"""Which of the package's methods can be used on a shape, and why others cannot."""

from __future__ import annotations

from weightlift.diagnose.diagnosis import Method
from weightlift.diagnose.identifiable import Shape
from weightlift.diagnose.limits import LIMITS
from weightlift.diagnose.regime import Regime, RegimeFinding
from weightlift.errors import ActivationError
from weightlift.initialization.overcomplete import most_units
from weightlift.moments import choose_moments


def methods_for(
    shape: Shape, regime: RegimeFinding, *, rows: int | None, seconds: float, gaussian: str = ""
) -> tuple[Method, ...]:
    """Advice on every method; `seconds` is what a search takes, `gaussian` says why the inputs are not, where that is known."""
    if regime.regime is Regime.DEGENERATE:
        return (Method("recover", False, "the units are not determined; fit a quadratic form by least squares instead."),)
    return (
        _tensor(shape, gaussian),
        _search(shape, rows, seconds, regime),
        _exact_moments(shape, regime, gaussian),
        Method("refinement from a start of your own", True, "gauss_newton or gradient_descent, for any φ, k and inputs."),
    )


def _tensor(shape: Shape, gaussian: str) -> Method:
    name = 'recover(method="tensor")'
    if gaussian:
        return Method(name, False, gaussian)
    if shape.k > shape.d:
        return _overcomplete(name, shape)
    try:
        choice = choose_moments(shape.phi)
    except ActivationError as error:
        return Method(name, False, str(error))
    if shape.bias:
        return Method(name, True, "Gaussian inputs; M2, M3 and M4 diagonalised together, many rows beside d² [awasthi2021].")
    return Method(name, True, f"Gaussian inputs; M{choice.j2} gives the span, M{choice.j3} the directions; O(n d k) a pass.")


def _overcomplete(name: str, shape: Shape) -> Method:
    if not shape.bias or shape.phi.name != "relu":
        return Method(name, False, f"moments of order ≤ 4 need independent weights, k ≤ d; here {shape.k} > {shape.d}.")
    most = most_units(shape.d)
    if shape.k > most:
        return Method(name, False, f"T⁽⁴⁾ and T⁽⁵⁾ hold at most d(d−1)/2 = {most} units; here {shape.k}.")
    return Method(name, True, f"Gaussian inputs; T⁽⁴⁾ and T⁽⁵⁾ by the subspace power method, k ≤ {most}; very many rows.")


def _search(shape: Shape, rows: int | None, seconds: float, regime: RegimeFinding) -> Method:
    name = 'recover(method="search")'
    if rows is not None and rows <= shape.parameters:
        return Method(name, False, f"least squares needs more rows than the {shape.parameters:,} parameters.")
    if regime.regime is Regime.CONJECTURED_HARD:
        return Method(name, False, "it can be tried, but success would contradict a conjecture that many believe.")
    if seconds > LIMITS.longest:
        return Method(name, False, f"it would take about {seconds / 86400:,.0f} days of one core.")
    if shape.k > LIMITS.widest:
        return Method(name, True, f"any inputs; not measured beyond {LIMITS.widest} units, and its cost grows like k⁴ d³.")
    return Method(name, True, "annealed least squares, any inputs; exact widths up to 50 units were recovered.")


def _exact_moments(shape: Shape, regime: RegimeFinding, gaussian: str) -> Method:
    name = "decompose, on moment tensors"
    if gaussian:
        return Method(name, False, "these moments are of Gaussian inputs, too.")
    if shape.k <= shape.d:
        return Method(name, True, "kcl or jennrich on the projected third or fourth moment.")
    order = 2 * regime.order + 2
    if regime.regime is Regime.CONJECTURED_HARD:
        return Method(name, False, "decomposing these tensors is the problem that is conjectured hard.")
    if order > LIMITS.moment_order:
        return Method(name, False, f"ℓ = {regime.order} needs moments of order {order}: only exact ones will do.")
    tensor = "T⁽⁵⁾ contracted once (T⁽⁴⁾ = 0 for odd φ)" if shape.phi.parity == "odd" else "T⁽⁴⁾"
    return Method(name, True, f"overcomplete methods on {tensor}, exact or from very many rows; Jennrich needs order {order}.")
