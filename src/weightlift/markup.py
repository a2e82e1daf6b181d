"""HTML of results, as notebooks and reports show it: escaped text in tables and boxes, no script, nothing from elsewhere."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

COLORS = {"EXACT": "#009E73", "STATISTICAL": "#009E73", "AMBIGUOUS": "#E69F00", "FAILED": "#D55E00"}
CELL = "padding:0.15em 0.6em;border-bottom:1px solid #8884;text-align:right;vertical-align:top"
SHOWN_WEIGHTS = 12  # leading weights of a unit: what fits beside each other


def escaped(text: object) -> str:
    return html.escape(str(text))


def number(value: float) -> str:
    """Four digits with a true minus; – for what is not known."""
    if math.isnan(value):
        return "–"
    return f"{value:.4g}".replace("inf", "∞").replace("-", "−")


def table(head: Sequence[object], rows: Iterable[Sequence[object]], *, words: Sequence[object] = ()) -> str:
    """Rows of texts and numbers, in a box that scrolls by itself. words: columns of sentences, which begin on the left."""
    cells = [CELL.replace("right", "left") if name in words else CELL for name in head]
    top = "".join(f'<th scope="col" style="{cell}">{escaped(name)}</th>' for name, cell in zip(head, cells, strict=True))
    lines = ("".join(f'<td style="{cell}">{_text(v)}</td>' for v, cell in zip(row, cells, strict=True)) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    whole = f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody>"
    return f'<div style="overflow-x:auto"><table style="border-collapse:collapse;margin:0.6em 0">{whole}</table></div>'


def listing(sentences: Iterable[object]) -> str:
    items = "".join(f"<li>{escaped(sentence)}</li>" for sentence in sentences)
    return f"<ul>{items}</ul>" if items else ""


def verdict(status: str, headline: str, body: str = "") -> str:
    """A box with the status in its colour and in words."""
    style = f"border-left:4px solid {COLORS[status]};margin:0.6em 0;padding:0 0.8em"
    words = f"<p><strong>{status}</strong> {escaped(headline)}</p>{body}"
    return f'<div class="weightlift-certificate" style="{style}">{words}</div>'


def units(
    W: Any, A: Any, b: Any, inputs: Sequence[str] | None = None, errors: Mapping[str, float] = MappingProxyType({})
) -> str:
    """One line a unit: output weights A (k, m), bias b, and the leading weights W (d, k).

    errors: standard errors by the parameters' names, which stand in brackets beside the estimates.
    """
    (d, k), m = W.shape, A.shape[1]
    shown = min(d, SHOWN_WEIGHTS)
    called = list(inputs or map(str, range(d)))[:shown]
    outputs = ["a"] if m == 1 else [f"a[{o}]" for o in range(min(m, SHOWN_WEIGHTS))]

    def line(i: int) -> list[object]:
        outer = {f"a[{i}]" if m == 1 else f"a[{i},{o}]": A[i, o] for o in range(len(outputs))}
        values = {**outer, f"b[{i}]": b[i], **{f"w[{i},{name}]": W[j, i] for j, name in enumerate(called)}}
        return [i, *(number(float(v)) + _beside(errors.get(name)) for name, v in values.items()), *["…"] * (d > shown)]

    head = ["unit", *outputs, "b", *(inputs or [f"w[{j}]" for j in range(d)])[:shown], *[""] * (d > shown)]
    return table(head, map(line, range(k)))


def _beside(error: float | None) -> str:
    return "" if error is None else f" ({error:.2g})"


def _text(value: object) -> str:
    return escaped(number(value) if isinstance(value, float) else value)
