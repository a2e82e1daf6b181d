"""The demo's figure: how the routes converge, and the recovered units inside the planted ones."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from weightlift.plots import BLUE, GREEN, ORANGE, SKY, ConvergenceDisplay, UnitsDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from weightlift.cli.demo import DemoResult

GREY = "#c4c4c4"
LINE = 90  # characters of a title beside each other
COLORS = {
    "Gauss–Newton, tensor start": BLUE,
    "gradient descent, tensor start": GREEN,
    "zhong2017, Algorithms 1 and 2": ORANGE,
}
STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "legend.handlelength": 1.2,
    "legend.handletextpad": 0.5,
    "legend.columnspacing": 1.2,
    "svg.fonttype": "none",
    "svg.hashsalt": "weightlift",
}
SAVING: dict[str, dict[str, Any]] = {  # small files without a date, so that the same demo gives the same bytes
    "png": {"pil_kwargs": {"optimize": True}},
    "pdf": {"metadata": {"CreationDate": None}},
    "svg": {"metadata": {"Date": None}},
}


def figure(result: DemoResult, *, kind: str) -> bytes:
    """The file's content; kind is "png", "pdf" or "svg"."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        canvas = Figure(figsize=(11, 5), dpi=120)
        canvas.set_layout_engine("constrained", w_pad=0.08, h_pad=0.08, wspace=0.05)
        canvas.suptitle(_title(result), x=0.01, ha="left", fontsize=12.5, fontweight="bold")
        left, right = canvas.subplots(1, 2, width_ratios=[1, 1.12])
        _convergence(result, left)
        _units(result, right)
        buffer = io.BytesIO()
        canvas.savefig(buffer, format=kind, **SAVING[kind])
    return buffer.getvalue()


def _convergence(result: DemoResult, ax: Axes) -> None:
    risks: dict[str, np.ndarray] = {}
    colors: dict[str, str] = {}
    for route in result.routes:
        color = COLORS.get(route.name, SKY)
        hits = route.recovered
        if len(hits) == 1:
            risks[route.name] = route.risks[:, 0]
            colors[route.name] = color
            continue
        for part, shade, word in ((hits, color, "recover it"), (~hits, GREY, "do not")):
            if part.any():
                label = f"{part.sum()} of {len(hits)} random starts {word}"
                risks[label], colors[label] = route.risks[:, part], shade
    display = ConvergenceDisplay(risks, level=result.risk, level_label="recovered network").plot(ax=ax, colors=colors)
    display.ax_.set_ylabel("relative risk  E r² / E y²")
    display.ax_.set_title("Least squares on these samples, by several routes")
    if risks:
        _legend_below(display.ax_, columns=2)


def _units(result: DemoResult, ax: Axes) -> None:
    display = UnitsDisplay(result.units).plot(ax=ax)
    display.ax_.set_title("Weights of the planted and of the recovered units")
    _legend_below(display.ax_, columns=3)


def _title(result: DemoResult) -> str:
    net, noise = result.truth, f", noise {result.noise:g}" if result.noise else ""
    source = f"{net.n_units} {net.activation.name} units of {net.n_inputs} inputs from {result.rows:,} samples{noise}"
    source += f", {result.rows / result.parameters:.3g} a parameter"
    status, error = result.recovery.certificate.status.name, result.units.match.max_error
    found = f"{status}, largest unit error {error:.1e}".replace("e-", "e−")
    return f"{source}:{' ' if len(source) + len(found) <= LINE else chr(10)}{found}"


def _legend_below(ax: Axes, *, columns: int) -> None:
    ax.legend(loc="upper left", bbox_to_anchor=(-0.03, -0.13), ncols=columns)
