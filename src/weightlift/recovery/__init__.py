"""`recover`: from rows (x, y) to the units, with a certificate.

Route   inputs are whitened; a tensor start is refined by Gauss–Newton where moments can give one; else, or when its
        certificate says no, annealed starts are searched; each answer is judged by `certify` on rows that the fit never saw.
Needs   moments: Gaussian x, or elliptical x for homogeneous φ without biases and offset; k ≤ d, but for ReLU with biases.
        Search, refinement and certificate: nothing of the inputs' law.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from weightlift.activations import Activation, get
from weightlift.arguments import generator
from weightlift.certificate import Certificate
from weightlift.certificate.exactness import ROUNDING_FACTOR
from weightlift.errors import ArgumentError, ShapeError
from weightlift.moments import remove_linear
from weightlift.namespaces import is_array, to_numpy
from weightlift.network import Network
from weightlift.recovery.problem import Problem
from weightlift.recovery.stages import (
    Answer,
    StageReport,
    search_stage,
    seen_up_to_signs,
    single_fit,
    tensor_stage,
    up_to_signs_stage,
)
from weightlift.subspace import SecondMoment, estimate_rank

__all__ = ["Recovery", "StageReport", "recover"]

DEFAULT_WORK = 15_000.0
AROUND = (0, 1, -1, 2, -2, 3)  # widths tried beside the guess
AT_ONCE, QUICK_SHARE = (0, 1, -1, 2, 3, 4, 5, 6), 1 / 40  # before that, with this share of the work each: exact fits come early


@dataclass(frozen=True)
class Recovery:
    """The network, its certificate, what was tried, and the evidence for the width when it was not given."""

    network: Network
    certificate: Certificate
    stages: tuple[StageReport, ...]
    width_evidence: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        lines = [f"{self.network!r}: {self.certificate.status.name}", *(f"  {r}" for r in self.certificate.reasons)]
        columns = ("units", "starts", "work", "passes", "seconds", "risk")
        header = f"  {'stage':<34}" + "".join(f"{name:>9}" for name in columns) + "  outcome"
        rows = [
            f"  {s.name:<34}{s.width:>9}{s.starts:>9}{s.work:>9.0f}{s.passes:>9}{s.seconds:>9.2f}{s.risk:>9.1e}  {s.outcome}"
            for s in self.stages
        ]
        return "\n".join([*lines, header, *rows, *(f"  {e}" for e in self.width_evidence)])


def recover(
    X: Any,
    y: Any = None,
    *,
    n_units: int | str,
    activation: Activation | str = "relu",
    bias: bool = False,
    offset: bool = False,
    sample_weight: Any = None,
    output_weights: str | ArrayLike = "free",
    method: str = "auto",
    max_work: float | None = None,
    rng: np.random.Generator | int = 0,
) -> Recovery:
    """Recover the units of y = Σ aᵢ φ(⟨wᵢ, x⟩ + bᵢ) + c from rows; X may be any `Samples`, then y is None.

    n_units: the width, or "auto". activation: φ, by name or as an `Activation`. bias, offset: whether b and c are fitted.
    sample_weight: (n,) ≥ 0, counts or inverse variances. output_weights: "free", or the known aᵢ, in any order.
    method: "tensor" (moments alone, refined), "search", or "auto", both. max_work: a bound on the search in Gauss–Newton steps
    of one start; it counts work, not time, so that the same seed gives the same answer. rng: the seed.

    >>> import weightlift as wl
    >>> truth = wl.teachers.conditioned(8, 3, activation="relu", rng=0)
    >>> X, y = wl.draw(truth, 100, rng=1)
    >>> found = recover(X, y, n_units=3, activation="relu")
    >>> found.certificate.status.name, wl.match(found.network, truth).max_error < 1e-10
    ('EXACT', True)
    """
    outputs = _known_outputs(output_weights, n_units)
    bias, offset = _flag("bias", bias), _flag("offset", offset)
    problem = Problem.of(X, y, sample_weight, get(activation), bias, offset, outputs, method, generator(rng))
    work = DEFAULT_WORK if max_work is None else max_work
    if not (isinstance(work, int | float | np.integer | np.floating) and work >= 0):
        raise ArgumentError(f"max_work must be a number, at least 0, not {max_work!r}.")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"), problem.threads():
        if n_units == "auto":
            return _auto(problem, float(work))
        if isinstance(n_units, bool) or not isinstance(n_units, (int, np.integer)) or n_units < 1:
            raise ArgumentError(f"n_units must be a positive integer or 'auto', not {n_units!r}.")
        return _recover(problem, int(n_units), float(work))


def _recover(problem: Problem, width: int, max_work: float) -> Recovery:
    """The stages in the order of their cost, until one is certified."""
    stages: list[StageReport] = []
    answers: list[Answer] = []
    if problem.rows.n <= problem.parameters(width):
        single_fit(problem, width, stages, answers)
    else:
        if problem.method in ("auto", "tensor"):
            up_to_signs = seen_up_to_signs(problem, width)
            if width <= problem.rows.d or not up_to_signs:
                tensor_stage(problem, width, stages, answers)
            if up_to_signs and not _certified(answers):
                up_to_signs_stage(problem, width, stages, answers)
        if problem.method != "tensor" and not _settled(answers, width):
            search_stage(problem, width, max_work, stages, answers)
    certified = [answer for answer in answers if answer[2]]
    _, network, certificate = min(certified or answers, key=lambda answer: answer[0])
    if problem.outputs is not None and not certificate:
        held = "The output weights were held at output_weights; where their signs or sizes may be wrong, 'free' fits them."
        certificate = replace(certificate, reasons=(*certificate.reasons, held))
    return Recovery(network, certificate, tuple(stages))


def _auto(problem: Problem, max_work: float) -> Recovery:
    """Widths around the rank of the residual second moment, in haste, then with care; the certificate refuses wrong ones."""
    evidence, guess = _rank_evidence(problem)
    best: Recovery | None = None
    stages: list[StageReport] = []
    quick = QUICK_SHARE * max_work
    thorough = (max_work - quick * len(AT_ONCE)) / len(AROUND)
    for steps, work in ((AT_ONCE, quick), (AROUND, thorough)):
        for width in [guess + step for step in steps if guess + step >= 1]:
            if problem.rows.n <= problem.parameters(width) and best is not None:
                evidence.append(f"width {width}: more parameters than rows, not tried")
                continue
            found = _recover(problem, width, work)
            stages.extend(found.stages)
            evidence.append(f"width {width}: {found.certificate.status.name}, {found.certificate.reasons[0]}")
            if found.certificate:
                return replace(found, stages=tuple(stages), width_evidence=tuple(evidence))
            if best is None or found.certificate.residual_max < best.certificate.residual_max:
                best = found
    assert best is not None
    return replace(best, stages=tuple(stages), width_evidence=tuple(evidence))


def _rank_evidence(problem: Problem) -> tuple[list[str], int]:
    """The number of directions in which the residual of y on [1, x] has a second moment above its noise."""
    estimate = estimate_rank(remove_linear(problem.white), SecondMoment(), rng=problem.rng)
    above = ", ".join(f"{abs(v):.3g}" for v in estimate.eigenvalues[: estimate.rank + 1])
    sentence = f"rank {estimate.rank} of the second moment: eigenvalues {above} against a noise floor of {estimate.floor:.3g}"
    return [sentence], max(1, estimate.rank)


def _known_outputs(output_weights: Any, n_units: int | str) -> np.ndarray | None:
    if isinstance(output_weights, str):
        if output_weights != "free":
            raise ArgumentError(f"output_weights must be 'free' or an array of known weights, not {output_weights!r}.")
        return None
    if n_units == "auto":
        raise ArgumentError("known output_weights need n_units, their number; pass it instead of 'auto'.")
    try:
        values = np.asarray(to_numpy(output_weights) if is_array(output_weights) else output_weights, dtype=float)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"output_weights must be 'free' or {n_units} real numbers ({error}).") from error
    if values.shape != (n_units,):
        raise ShapeError(f"output_weights must have shape ({n_units},), one known weight a unit, not {values.shape}.")
    wrong = np.flatnonzero(~np.isfinite(values) | (values == 0))
    if wrong.size:
        raise ArgumentError(f"output_weights[{wrong[0]}] is {values[wrong[0]]:g}; known weights are finite and not zero.")
    return values


def _flag(name: str, value: Any) -> bool:
    if value not in (False, True):
        raise ArgumentError(f"{name} must be True or False, not {value!r}.")
    return bool(value)


def _certified(answers: list[Answer]) -> bool:
    return any(certificate for _, _, certificate in answers)


def _settled(answers: list[Answer], width: int) -> bool:
    """Certified, or an exact fit that stays ambiguous whatever is found: units may be reflected, or are linear on every row."""
    exact = [c for _, _, c in answers if c.rounding_level <= ROUNDING_FACTOR]
    return _certified(answers) or any(c.sign_patterns is not None or c.network.n_units > width for c in exact)
