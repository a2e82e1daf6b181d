"""How figures look, and how they are written: PNG and PDF, the same bytes for the same table."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from weightlift.plots import FAINT, INK, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

MARKERS = "osD^vP*X"
LIGHT_TO_DARK = "cividis"  # the same to colour-blind readers as to others
STYLE: dict[Any, Any] = {
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "savefig.dpi": 150,
    "pdf.fonttype": 42,
}
SAVING: dict[str, dict[str, Any]] = {
    "png": {"pil_kwargs": {"optimize": True}, "metadata": {"Software": None}},
    "pdf": {"metadata": {"CreationDate": None}},
}


@contextmanager
def canvas(width: float, height: float, title: str) -> Iterator[Figure]:
    """An empty figure in the style of the package."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, height))
        figure.set_layout_engine("constrained", w_pad=0.08, h_pad=0.08)
        figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
        yield figure


def content(figure: Figure, kind: str) -> bytes:
    """The file's bytes; kind is "png" or "pdf"."""
    for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis) if axis.get_scale() == "log"):
        _label_powers(axis)
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, **SAVING[kind])
    return buffer.getvalue()


def _label_powers(axis: Axis) -> None:
    """Powers of ten alone where there are two of them; else 1, 2 and 5 times them, as plain numbers."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

    low, high = sorted(axis.get_view_interval())
    fixed = isinstance(axis.get_major_locator(), FixedLocator)
    if not fixed and math.floor(math.log10(high)) - math.ceil(math.log10(low)) < 1:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())


def key(ax: Axes, label: str, **options: Any) -> None:
    """An entry of the legend for a kind of line that several curves share."""
    chosen: dict[str, Any] = {"color": INK, "linewidth": 1.0, **options}
    ax.plot([], [], label=label, **chosen)


def curve(ax: Axes, i: int, x: Any, y: Any, **options: Any) -> None:
    """The i-th of several curves: colour and marker say so both; the first are larger, to be seen beneath others."""
    sizes = {"markersize": max(6.5 - 0.8 * i, 4.0), "linewidth": max(2.2 - 0.3 * i, 1.2)}
    chosen: dict[str, Any] = {"color": PALETTE[i % len(PALETTE)], "marker": MARKERS[i % len(MARKERS)], **sizes, **options}
    ax.plot(x, y, **chosen)


def heat(ax: Axes, x: Any, y: Any, values: Any, *, low: float, high: float, label: str, colors: str = LIGHT_TO_DARK) -> None:
    """values[i, j] at (x[j], y[i]), equally spaced; NaN stays black. A colour bar if it has a label."""
    from matplotlib import colormaps

    shades = colormaps[colors].with_extremes(bad="black")
    image = ax.imshow(values, origin="lower", aspect="auto", cmap=shades, vmin=low, vmax=high)
    ax.set_xticks(range(len(x)), [f"{v:g}" for v in x])
    ax.set_yticks(range(len(y)), [f"{v:,g}" for v in y])
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(length=0)
    if label:
        ax.figure.colorbar(image, ax=ax, label=label, shrink=0.9)
