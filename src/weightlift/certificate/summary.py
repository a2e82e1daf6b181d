"""The table of an `Inference`: as text, as HTML, as a data frame; with the certificate's objection first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from weightlift import markup
from weightlift.arguments import probability
from weightlift.certificate.parameters import Estimates
from weightlift.certificate.statement import Status, named
from weightlift.errors import NotFiniteError, WeightliftError
from weightlift.network import Network
from weightlift.samples import Columns

if TYPE_CHECKING:
    from weightlift.certificate.inference import Inference
    from weightlift.certificate.status import Certificate

CAVEATS = (
    "The numbers hold for a least-squares fit at a regular minimum, to first order; see the certificate.",
    "An interval is for one parameter at its level; the certificate's regions are for all coordinates of a unit at once, at "
    "99.99 %, and therefore several times wider.",
    "The robust covariance allows for noise whose size depends on x, not for a wrong model.",
    "Units are in normal form: w of length one and the size in a, if the activation is homogeneous.",
    "p-values test that a parameter is zero; whether a unit exists is for the certificate (at a = 0 it has no direction).",
    "The Cramér–Rao bound is for the squared error of all parameters together; the robust estimate of that error, over the "
    "bound, is near one for noise of one size.",
)


P_VALUE = "P>|t|"


def summarize(
    network: Network,
    certificate: Certificate,
    inferred: Callable[[], Inference],
    level: float = 0.95,
    columns: Columns | None = None,
) -> Summary:
    """The table of a judged network: the certificate's objection first, and where `inferred` raises, no standard errors.

    level    the probability with which an interval covers
    columns  names of the columns, where they have any
    """
    probability("level", level)
    caveats: tuple[str, ...] = ()
    if not certificate:
        doubt = named(certificate.ambiguous_units) if certificate.status is Status.AMBIGUOUS else "The network is"
        reason = certificate.failing[0].sentence if certificate.failing else ""
        caveats = (f"{doubt} {certificate.status.name}: {reason} The numbers describe this fit.",)
    try:
        return Summary(inferred(), level, caveats)
    except WeightliftError as error:
        bias, offset = certificate.bias or bool(network.b.any()), certificate.offset or bool(np.any(network.c))
        why = f"There are no standard errors: {error}"
        with suppress(NotFiniteError):  # sizes near the ends of double precision stay where they are
            network = network.normalized()
        table = Estimates(network, bias, offset, certificate.n_rows, why, columns or Columns())
        return Summary(table, level, caveats)


@dataclass(frozen=True, eq=False)
class Summary:
    """Printed, it is a table in the manner of regression software; in a notebook it is one in HTML."""

    inference: Inference | Estimates
    level: float
    caveats: tuple[str, ...] = ()  # to be read before the table

    def named(self, inputs: Sequence[str]) -> Summary:
        """The same with the inputs' names."""
        return replace(self, inference=self.inference.named(tuple(map(str, inputs))))

    def columns(self) -> dict[str, list[Any]]:
        """The table as a dictionary of columns."""
        result = self.inference
        low, high = result.intervals(self.level).T
        percent = f"{100 * self.level:g} %"
        return {
            "parameter": list(result.names),
            "estimate": result.estimates.tolist(),
            "std error": result.standard_errors.tolist(),
            "t": result.z_values.tolist(),
            P_VALUE: result.p_values.tolist(),
            f"{percent} low": low.tolist(),
            f"{percent} high": high.tolist(),
        }

    @property
    def errors(self) -> dict[str, float]:
        """Standard errors by the parameters' names; none where they are not known."""
        found = zip(self.inference.names, self.inference.standard_errors.tolist(), strict=True)
        return {name: error for name, error in found if error == error}

    def frame(self) -> Any:
        """A pandas data frame indexed by parameter; without pandas, the dictionary of columns."""
        columns = self.columns()
        try:
            import pandas
        except ImportError:
            return columns
        return pandas.DataFrame(columns).set_index("parameter")

    def __str__(self) -> str:
        cells = [[name, *values] for name, values in self._shown().items()]
        widths = [max(len(cell) for cell in column) for column in cells]
        rows = ["  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in zip(*cells, strict=True)]
        rule = "=" * len(rows[0])
        facts = self.inference.facts()
        half = (len(facts) + 1) // 2
        width = max(20, *(len(value) + 2 for _, value in facts[:half]))
        above = [
            f"{left[0]:20}{left[1]:<{width}}{right[0]:20}{right[1]}"
            for left, right in zip_longest(facts[:half], facts[half:], fillvalue=("", ""))
        ]
        notes = [f"[{i}] {caveat}" for i, caveat in enumerate(CAVEATS, 1)]
        first = [f"! {caveat}" for caveat in self.first]
        return "\n".join([*first, rule, *above, rule, rows[0], "-" * len(rule), *rows[1:], rule, *notes])

    def _shown(self) -> dict[str, list[str]]:
        """The columns as texts: four digits, of p-values two."""
        columns = self.columns()
        cells = {name: [v if isinstance(v, str) else _number(v) for v in values] for name, values in columns.items()}
        return {**cells, P_VALUE: [_chance(p) for p in columns[P_VALUE]]}

    def __repr__(self) -> str:
        return str(self)

    @property
    def first(self) -> tuple[str, ...]:
        """What is to be read before the table."""
        return (*self.caveats, *self.inference.remarks())

    def _repr_html_(self) -> str:
        names, *numbers = self._shown().items()
        columns = dict([names, *((name, [v.replace("-", "−") for v in values]) for name, values in numbers)])
        above = markup.table(["", ""], self.inference.facts(), words=[""])
        first = "".join(f"<p><strong>{markup.escaped(caveat)}</strong></p>" for caveat in self.first)
        return f"{first}{above}{markup.table(list(columns), zip(*columns.values(), strict=True))}{markup.listing(CAVEATS)}"


def _number(value: float) -> str:
    return "–" if value != value else f"{value:.4g}".replace("inf", "∞")


def _chance(p: float) -> str:
    """A probability; below rounding errors of one, its digits say nothing."""
    return "<1e-15" if p < 1e-15 else _number(p) if p != p else f"{p:.2g}"
