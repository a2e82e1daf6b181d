"""How figures look: labels of logarithmic axes that do not collide, and entries of the legend for kinds of lines."""

from __future__ import annotations

import numpy as np
import pytest

from weightlift.reproduce import style

pytest.importorskip("matplotlib")


@pytest.mark.parametrize(
    ("values", "labels"),
    [((50, 800), ["50", "100", "200", "500"]), ((1e3, 1e5), ["$\\mathdefault{10^{3}}$", "$\\mathdefault{10^{4}}$"])],
)
def test_logarithmic_axes_label_powers_or_a_few_plain_numbers(values: tuple[float, float], labels: list[str]) -> None:
    with style.canvas(5, 4, "x") as figure:
        ax = figure.subplots()
        style.curve(ax, 0, np.array(values), [1, 2])
        ax.set(xscale="log")
        style.content(figure, "png")
        texts = [label.get_text() for label in ax.get_xticklabels()]
        assert [text for text in texts if text in labels] == labels
        assert not any(label.get_text() for label in ax.get_xticklabels(minor=True))


def test_ticks_that_were_set_stay() -> None:
    with style.canvas(5, 4, "x") as figure:
        ax = figure.subplots()
        ax.set(xscale="log", xlim=(8, 50))
        ax.set_xticks([10, 40], ["ten", "forty"])
        style.content(figure, "png")
        assert [label.get_text() for label in ax.get_xticklabels()] == ["ten", "forty"]


def test_a_kind_of_line_has_an_entry_and_no_points() -> None:
    with style.canvas(5, 4, "x") as figure:
        ax = figure.subplots()
        style.key(ax, "medians", linestyle="--")
        assert [text.get_text() for text in ax.legend().get_texts()] == ["medians"]
        assert len(ax.lines[0].get_xdata()) == 0
