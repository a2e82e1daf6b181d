"""The report's pictures, each an image inside the page, with words for those who do not see it."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from weightlift import markup
from weightlift.certificate import Inference
from weightlift.namespaces import to_numpy
from weightlift.plots import DirectionsDisplay, IntervalsDisplay, ResidualsDisplay, StagesDisplay
from weightlift.recovery import Recovery

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN_ROWS = 4_000  # points that still can be told apart
SHOWN_PARAMETERS = 80  # lines of intervals on one page
STYLE: dict[Any, Any] = {"font.size": 9, "svg.fonttype": "path"}


def unit_picture(found: Recovery) -> str:
    net = found.network
    if not net.n_units:
        return ""
    height = min(1.2 + 0.35 * net.n_units, 8.0)
    words = f"Heat map of the weights of {net.n_units} units over {net.n_inputs} inputs."

    def draw(figure: Figure) -> None:
        DirectionsDisplay.from_network(net, feature_names=found.columns.inputs, ax=figure.subplots())

    return _image(draw, (8.0, height), words)


def interval_picture(found: Recovery) -> str:
    """Nothing where there are no intervals, or too many to be read."""
    table = found.summary().inference
    if not isinstance(table, Inference):
        return ""
    if len(table.names) > SHOWN_PARAMETERS or not np.isfinite(table.intervals()).all():
        return ""

    def draw(figure: Figure) -> None:
        IntervalsDisplay(table).plot(ax=figure.subplots())

    return _image(draw, (7.0, 1.0 + 0.17 * len(table.names)), "Every parameter with its 95 % interval.")


def residual_picture(found: Recovery) -> str:
    if found.rows is None:
        return ""
    block = next(iter(found.rows.blocks(SHOWN_ROWS)))
    y, predicted = to_numpy(block.y), found.network.predict(to_numpy(block.X))

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        display = ResidualsDisplay(y, predicted)
        display.plot(ax=left)
        display.plot(kind="quantiles", ax=right)

    first = f" of the first {len(y):,} rows" if len(y) < found.rows.n else ""
    return _image(draw, (9.0, 3.6), f"Residuals{first} against predictions, and their quantiles against a Gaussian's.")


def stage_picture(found: Recovery) -> str:
    def draw(figure: Figure) -> None:
        StagesDisplay.from_recovery(found, ax=figure.subplots())

    return _image(draw, (8.0, 3.6), "Risk of every stage against the work spent.")


def _image(draw: Callable[[Figure], None], size: tuple[float, float], words: str) -> str:
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({**STYLE, "svg.hashsalt": words}):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    content = base64.b64encode(buffer.getvalue()).decode()
    return f'<div class="picture"><img src="data:image/svg+xml;base64,{content}" alt="{markup.escaped(words)}"></div>'
