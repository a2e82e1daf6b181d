"""The table of an `Inference`: as text, as HTML, as a data frame."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weightlift.certificate.inference import Inference

CAVEATS = (
    "The numbers hold for a least-squares fit at a regular minimum, to first order; see the certificate.",
    "The robust covariance allows for noise whose size depends on x, not for a wrong model.",
    "Units are in normal form: w of length one and the size in a, if the activation is homogeneous.",
    "p-values test that a parameter is zero; whether a unit exists is for the certificate (at a = 0 it has no direction).",
)


@dataclass(frozen=True, eq=False)
class Summary:
    """Printed, it is a table in the manner of regression software; in a notebook it is one in HTML."""

    inference: Inference
    level: float

    def columns(self) -> dict[str, list[Any]]:
        """The table as a dictionary of columns."""
        result = self.inference
        low, high = result.intervals(self.level).T
        percent = f"{100 * self.level:g} %"
        return {
            "parameter": list(result.names),
            "estimate": result.estimates.tolist(),
            "std error": result.standard_errors.tolist(),
            "z": result.z_values.tolist(),
            "P>|z|": result.p_values.tolist(),
            f"{percent} low": low.tolist(),
            f"{percent} high": high.tolist(),
        }

    def frame(self) -> Any:
        """A pandas data frame indexed by parameter; without pandas, the dictionary of columns."""
        columns = self.columns()
        try:
            import pandas
        except ImportError:
            return columns
        return pandas.DataFrame(columns).set_index("parameter")

    def header(self) -> list[tuple[str, str]]:
        """Names and values above the table."""
        r = self.inference
        return [
            ("Model", f"{r.network.n_units} units, {r.network.activation.name}"),
            ("Inputs", str(r.network.n_inputs)),
            ("Rows", str(r.n_rows)),
            ("Parameters", str(r.n_parameters)),
            ("Covariance", "robust (HC1)" if r.robust else "classical"),
            ("Noise std", _number(r.noise_std)),
            ("R² (uncentred)", _number(1 - r.rss / r.tss if r.tss else math.nan)),
            ("Log-likelihood", _number(r.log_likelihood)),
            ("AIC", _number(r.aic)),
            ("BIC", _number(r.bic)),
            ("Cramér–Rao bound", _number(r.cramer_rao)),
            ("Robust error/bound", _number(r.efficiency)),
        ]

    def __str__(self) -> str:
        columns = self.columns()
        cells = [[name, *(_cell(v) for v in values)] for name, values in columns.items()]
        widths = [max(len(cell) for cell in column) for column in cells]
        rows = ["  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in zip(*cells, strict=True)]
        rule = "=" * len(rows[0])
        header = self.header()
        half = (len(header) + 1) // 2
        above = [
            f"{left[0]:20}{left[1]:<20}{right[0]:20}{right[1]}"
            for left, right in zip(header[:half], header[half:], strict=True)
        ]
        notes = [f"[{i}] {caveat}" for i, caveat in enumerate(CAVEATS, 1)]
        return "\n".join([rule, *above, rule, rows[0], "-" * len(rule), *rows[1:], rule, *notes])

    def _repr_html_(self) -> str:
        columns = self.columns()
        above = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in self.header())
        head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row) + "</tr>"
            for row in zip(*columns.values(), strict=True)
        )
        notes = "".join(f"<li>{html.escape(caveat)}</li>" for caveat in CAVEATS)
        return f"<table>{above}</table><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><ol>{notes}</ol>"


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else _number(value)


def _number(value: float) -> str:
    return f"{value:.4g}"
