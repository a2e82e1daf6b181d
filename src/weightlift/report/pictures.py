"""The report's pictures, each an image inside the page, with words for those who do not see it."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from functools import partial
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

    return _image(draw, (8.0, height), words, wide=True)


def interval_picture(found: Recovery) -> str:
    """Nothing where there are no intervals, or too many to be read."""
    table = found.summary().inference
    if not isinstance(table, Inference):
        return ""
    if len(table.names) > SHOWN_PARAMETERS or not np.isfinite(table.intervals()).all():
        return ""

    def draw(figure: Figure) -> None:
        IntervalsDisplay(table).plot(ax=figure.subplots())

    return _image(draw, (5.0, 1.0 + 0.17 * len(table.names)), "Every parameter with its 95 % interval.")


def residual_picture(found: Recovery) -> str:
    if found.rows is None:
        return ""
    block = next(iter(found.rows.blocks(SHOWN_ROWS)))
    y, predicted = to_numpy(block.y), found.network.predict(to_numpy(block.X))

    def draw(kind: str, figure: Figure) -> None:
        ResidualsDisplay(y, predicted).plot(kind=kind, ax=figure.subplots())

    first = f" of the first {len(y):,} rows" if len(y) < found.rows.n else ""
    words = {"predicted": f"Residuals{first} against predictions.", "quantiles": "Their quantiles against a Gaussian's."}
    images = "".join(_image(partial(draw, kind), (4.5, 3.6), said) for kind, said in words.items())
    return f'<div class="pictures">{images}</div>'


def stage_picture(found: Recovery) -> str:
    def draw(figure: Figure) -> None:
        StagesDisplay.from_recovery(found, ax=figure.subplots())

    return _image(draw, (6.0, 3.6), "Risk of every stage against the work spent.")


def _image(draw: Callable[[Figure], None], size: tuple[float, float], words: str, *, wide: bool = False) -> str:
    """wide: on a phone it scrolls in its own box, at a size at which it can be read, instead of being made smaller."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({**STYLE, "svg.hashsalt": words}):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    content = base64.b64encode(buffer.getvalue()).decode()
    image = f'<img src="data:image/svg+xml;base64,{content}" alt="{markup.escaped(words)}">'
    kind = "wide" if wide else "picture"
    return f'<div class="{kind}">{image}</div>'
