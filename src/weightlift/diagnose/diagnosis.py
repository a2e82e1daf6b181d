"""What `diagnose` answers: identifiable, in which regime, by which methods, with how many rows, at what cost."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from weightlift.diagnose.calibration import CostEstimate, SampleEstimate
from weightlift.diagnose.identifiable import Identifiability, Identifiable
from weightlift.diagnose.regime import Regime, RegimeFinding


@dataclass(frozen=True)
class Method:
    """One of our methods, whether it applies, and why or why not."""

    name: str
    applies: bool
    why: str


@dataclass(frozen=True)
class Diagnosis:
    """The answers; `str` gives them in words, `table` as lines (quantity, value, remark), `as_dict` as plain values."""

    n_inputs: int  # d
    n_units: int  # k
    n_rows: int | None
    activation: str
    polynomial_degree: int | None  # of φ; None where it is no polynomial
    bias: bool
    offset: bool
    parameters: int  # p, counted once the symmetries are fixed
    identifiability: Identifiability
    regime: RegimeFinding
    methods: tuple[Method, ...]
    samples: SampleEstimate
    cost: CostEstimate
    notes: tuple[str, ...] = ()  # what the network or the data showed besides

    @property
    def rows_per_parameter(self) -> float | None:
        return None if self.n_rows is None else self.n_rows / self.parameters

    @property
    def determined(self) -> bool | None:
        """Whether there are more rows than parameters; None without rows."""
        return None if self.n_rows is None else self.n_rows > self.parameters

    @property
    def hopeful(self) -> bool:
        """Whether nothing known speaks against recovery: not unidentifiable, no conjectured barrier, rows not too few."""
        possible = self.identifiability.answer not in (Identifiable.NO, Identifiable.AMBIGUOUS)
        feasible = self.regime.regime not in (Regime.CONJECTURED_HARD, Regime.DEGENERATE)
        return possible and feasible and (self.n_rows is None or self.n_rows >= self.samples.few)

    @property
    def title(self) -> str:
        kind = "biased " * self.bias + self.activation
        rows = "" if self.n_rows is None else f", {self.n_rows:,} rows"
        plural = "s" * (self.n_units > 1)
        return f"{self.n_units} {kind} unit{plural} of {self.n_inputs} input{'s' * (self.n_inputs > 1)}{rows}"

    def table(self) -> list[tuple[str, str, str]]:
        """Lines (quantity, value, remark)."""
        c, ratio = self.cost, self.rows_per_parameter
        smallest = "" if self.regime.smallest is None else f"s_min(W^⊗ℓ) = {self.regime.smallest:.3g}"
        lines = [
            ("parameters p", f"{self.parameters:,}", "with the symmetries fixed"),
            ("rows", "–" if self.n_rows is None else f"{self.n_rows:,}", "" if ratio is None else f"{ratio:.3g} a parameter"),
            ("identifiable", self.identifiability.answer.name.lower(), self.identifiability.answer.value),
            ("regime", self.regime.regime.name.lower(), self.regime.regime.value),
            ("least order ℓ", f"{self.regime.order}", smallest),
            ("rows needed", *self._rows_needed()),
            ("memory", _bytes(c.bytes), f"at {c.rows:,} rows: data {_bytes(c.data_bytes)}, search {_bytes(c.search_bytes)}"),
            ("time", _span(c.seconds_least, c.seconds_most), f"one core; a search takes about {_seconds(c.seconds_typical)}"),
        ]
        return lines + [(m.name, "applies" if m.applies else "–", m.why) for m in self.methods]

    def __str__(self) -> str:
        """In words."""
        s, c, ratio = self.samples, self.cost, self.rows_per_parameter
        a_parameter = "" if ratio is None else f", {ratio:.3g} rows a parameter"
        order = f"Least order ℓ = {self.regime.order}"
        if self.regime.smallest is not None:
            order += f", s_min(W^⊗ℓ) = {self.regime.smallest:.3g}"
        lines = [
            f"{self.title}: {self.parameters:,} parameters{a_parameter}.",
            "",
            f"Units: {self.identifiability.answer.value}.",
            *(f"  {reason}" for reason in self.identifiability.reasons),
            f"Regime: {self.regime.regime.value}.",
            *(f"  {reason}" for reason in self.regime.reasons),
            f"  {order}.",
            f"Rows: {': '.join(self._rows_needed())}.",
            *([f"  Measured: {s.basis}."] if self._rows_matter else []),
            *([] if self.n_rows is None or not self._rows_matter else [f"  {s.verdict(self.n_rows)}."]),
            f"Cost at {c.rows:,} rows: about {_bytes(c.bytes)}; {_span(c.seconds_least, c.seconds_most)} of one core.",
            "Methods:",
            *(f"  {'+' if m.applies else '−'} {m.name}: {m.why}" for m in self.methods),
            *(["Notes:", *(f"  {note}" for note in self.notes)] if self.notes else []),
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    @property
    def _rows_matter(self) -> bool:
        hard = self.regime.regime in (Regime.CONJECTURED_HARD, Regime.DEGENERATE)
        return not hard and self.identifiability.answer is not Identifiable.NO

    def _rows_needed(self) -> tuple[str, str]:
        """The range of rows, and the same a parameter; or why none is given."""
        if self.identifiability.answer is Identifiable.NO:
            return "none suffice", "the function itself does not determine the units"
        if not self._rows_matter:
            return "not the obstacle", "the hardness is one of computing, with any number of rows"
        s, p = self.samples, self.parameters
        extra = ", by extrapolation" if s.extrapolated else ""
        return f"{s.few:,} … {s.enough:,}", f"{s.few / p:.3g} … {s.enough / p:.3g} a parameter, without noise{extra}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        plain = asdict(self)
        plain["identifiability"]["answer"] = self.identifiability.answer.name
        plain["regime"]["regime"] = self.regime.regime.name
        return {**plain, "rows_per_parameter": self.rows_per_parameter, "hopeful": self.hopeful}


def _bytes(count: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def _span(low: float, high: float) -> str:
    return f"{_seconds(low)} … {_seconds(high)}"


def _seconds(seconds: float) -> str:
    for size, unit in ((365.25 * 86400.0, "years"), (86400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return f"{_round(seconds / size)} {unit}"
    return f"{_round(seconds)} s"


def _round(value: float) -> str:
    """Two digits, without an exponent."""
    digits = 1 - math.floor(math.log10(value)) if value > 0 else 0
    return f"{round(value, digits):,.{max(digits, 0)}f}"
