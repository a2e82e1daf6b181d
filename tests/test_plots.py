"""Displays: what they draw is what they were given, where they were told to draw it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import weightlift as wl
from weightlift.errors import ArgumentError, ShapeError
from weightlift.plots import PHASES, AlignedUnits, ConvergenceDisplay, PhaseDisplay, UnitsDisplay
from weightlift.plots.limits import LIMITS


@pytest.fixture(autouse=True)
def no_open_figures() -> Iterator[None]:
    yield
    pyplot.close("all")


def disguised(truth: wl.Network, rng: np.random.Generator) -> wl.Network:
    """The same function: units permuted, rescaled where φ is homogeneous, reflected where φ is odd."""
    order = rng.permutation(truth.n_units)
    W, a = truth.W[:, order], truth.a[order]
    if truth.activation.degree:
        t = rng.uniform(0.5, 2.0, truth.n_units)
        return wl.Network(W * t, a / t**truth.activation.degree, activation=truth.activation)
    s = rng.choice([-1.0, 1.0], truth.n_units)
    return wl.Network(W * s, a * s, activation=truth.activation)


@pytest.mark.parametrize("activation", ["relu", "squared_relu", "tanh"])
def test_aligned_units_undo_permutation_scale_and_reflection(activation: str, rng: np.random.Generator) -> None:
    truth = wl.teachers.conditioned(7, 4, activation=activation, rng=rng)
    units = AlignedUnits.of(disguised(truth, rng), truth)
    # each entry was multiplied and divided once on either side: a few ulp
    assert np.abs(units.truth - units.estimate).max() < 1e-14
    assert np.abs(units.a[0] - units.a[1]).max() < 1e-14
    np.testing.assert_array_equal(units.b, 0.0)
    again = truth.activation(np.eye(7) @ units.estimate) @ units.a[1]
    np.testing.assert_allclose(again, truth.predict(np.eye(7)), atol=1e-13)
    if truth.activation.degree:
        np.testing.assert_allclose(np.linalg.norm(units.truth, axis=0), 1.0, atol=1e-15)
    else:
        np.testing.assert_array_equal(units.truth, truth.W)


def test_aligned_biases_follow_the_scale(rng: np.random.Generator) -> None:
    truth = wl.teachers.biased(5, 3, rng=rng)
    estimate = wl.Network(2.0 * truth.W[:, ::-1], truth.a[::-1] / 2.0, 2.0 * truth.b[::-1])
    units = AlignedUnits.of(estimate, truth)
    np.testing.assert_allclose(units.b[1], truth.b, atol=1e-14)
    np.testing.assert_allclose(units.a[1], truth.a, atol=1e-14)


def test_a_missing_unit_is_nan_and_labelled() -> None:
    truth = wl.teachers.conditioned(6, 3, activation="relu", rng=0)
    units = AlignedUnits.of(wl.Network(truth.W[:, [2, 0]], truth.a[[2, 0]]), truth)
    np.testing.assert_array_equal(np.isnan(units.estimate).all(axis=0), [False, True, False])
    display = UnitsDisplay(units).plot()
    assert [text.get_text().endswith("not found") for text in display.ax_.texts] == [False, True, False]


@pytest.mark.parametrize("kind", ["strips", "scatter"])
def test_networks_without_units_have_an_empty_picture(kind: str) -> None:
    line = wl.Network(np.zeros((3, 0)), np.zeros((0, 2)), V=np.ones((3, 2)))
    display = UnitsDisplay.from_networks(line, line, kind=kind)
    assert not any(text.get_text().startswith("unit") for text in display.ax_.get_yticklabels())


def test_strips_place_rings_and_dots_at_the_weights(rng: np.random.Generator) -> None:
    truth = wl.teachers.conditioned(8, 4, activation="relu", rng=rng)
    wrong = wl.Network(truth.W + 0.1 * rng.normal(size=truth.W.shape), truth.a)
    ax = Figure().subplots()
    display = UnitsDisplay.from_networks(wrong, truth, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert not pyplot.get_fignums()
    rings = np.asarray(display.truth_.get_offsets())
    dots = np.vstack([np.asarray(part.get_offsets()) for part in display.estimates_])
    assert rings.shape == dots.shape == (8 * 4, 2)
    units = display.units
    heights = (rings[:, 1].reshape(8, 4) + np.arange(4)) / units.truth
    np.testing.assert_allclose(heights, heights[0, 0], rtol=1e-12)  # one scale for all, each unit about its own line
    largest = max(np.abs(units.truth).max(), np.abs(units.estimate).max())
    assert 0 < heights[0, 0] * largest < 0.5  # strips do not overlap
    positive = units.a[0] >= 0
    order = np.concatenate([np.flatnonzero(positive), np.flatnonzero(~positive)])
    columns = [np.asarray(p.get_offsets())[:, 1].reshape(8, -1) for p in display.estimates_]
    found = (np.hstack(columns) + order) / heights[0, 0]
    np.testing.assert_allclose(found, units.estimate[:, order], atol=1e-12)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["unit 0", "unit 1", "unit 2", "unit 3"]
    assert len(ax.texts) == 4
    assert all("error" in text.get_text() for text in ax.texts)


def test_scatter_has_estimate_against_truth(rng: np.random.Generator) -> None:
    truth = wl.teachers.conditioned(70, 3, activation="tanh", rng=rng)
    display = UnitsDisplay.from_networks(disguised(truth, rng), truth)  # too many inputs for strips
    points = np.vstack([np.asarray(part.get_offsets()) for part in display.estimates_])
    assert points.shape == (70 * 3, 2)
    np.testing.assert_allclose(points[:, 0], points[:, 1], atol=1e-14)
    np.testing.assert_allclose(np.sort(points[:, 0]), np.sort(truth.W.ravel()), atol=1e-15)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("true weight", "estimated weight")
    assert UnitsDisplay(display.units).plot(kind="strips").ax_.get_xlabel() == "input"


def test_feature_names_label_the_inputs() -> None:
    truth = wl.teachers.conditioned(3, 2, activation="relu", rng=1)
    display = UnitsDisplay.from_networks(truth, truth, feature_names=["age", "bmi", "bp"])
    assert [label.get_text() for label in display.ax_.get_xticklabels()] == ["age", "bmi", "bp"]
    with pytest.raises(ShapeError, match="feature_names"):
        UnitsDisplay.from_networks(truth, truth, feature_names=["age"])
    with pytest.raises(ArgumentError, match="kind"):
        UnitsDisplay(display.units).plot(kind="bars")


def test_convergence_draws_every_curve_until_it_ends() -> None:
    bundle = np.array([[1.0, 2.0], [0.1, 1.5], [0.1, 1e-3], [0.1, 1e-5]])  # the first start ended after one step
    ax = Figure().subplots()
    display = ConvergenceDisplay({"one": [1.0, 0.5, 0.0], "many": bundle}, level=1e-4, level_label="noise")
    display.plot(ax=ax, colors={"many": "#123456"})
    assert display.ax_ is ax
    assert not pyplot.get_fignums()
    one, first, second = display.lines_
    np.testing.assert_array_equal(one.get_ydata(), [1.0, 0.5, LIMITS.least_risk])  # zero is drawn at the foot
    np.testing.assert_array_equal(first.get_ydata(), [1.0, 0.1, np.nan, np.nan])
    np.testing.assert_array_equal(second.get_ydata(), bundle[:, 1])
    np.testing.assert_array_equal(second.get_xdata(), [0, 1, 2, 3])
    assert first.get_color() == second.get_color() == "#123456"
    assert one.get_linewidth() > first.get_linewidth()
    assert ax.get_legend_handles_labels()[1] == ["one", "many"]
    assert ax.get_yscale() == "log"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("step", "risk")
    assert [text.get_text() for text in ax.texts] == ["noise"]
    assert ax.texts[0].get_position()[1] == 1e-4


def test_convergence_of_a_flat_curve_keeps_its_first_point() -> None:
    line = ConvergenceDisplay({"flat": [0.3, 0.3, 0.3]}).plot().lines_[0]
    np.testing.assert_array_equal(line.get_ydata(), [0.3, np.nan, np.nan])


@pytest.mark.parametrize("risks", [[], np.zeros((2, 2, 2)), 1.0])
def test_convergence_refuses_other_shapes(risks: object) -> None:
    with pytest.raises(ShapeError, match="'bad'"):
        ConvergenceDisplay({"bad": risks})


def test_matplotlib_loads_when_a_display_is_drawn() -> None:
    code = "import sys, weightlift.plots; print([m for m in ('matplotlib', 'sklearn', 'torch') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


@pytest.mark.parametrize("coefficients", [None, [0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0, 1.0], [0.0, 1.0]])
def test_phases_hold_the_point_in_its_regime(coefficients: list[float] | None) -> None:
    """The region drawn under the star has the colour of the diagnosed regime; regions fill the axes without overlap."""
    phi = "tanh" if coefficients is None else wl.activations.polynomial(coefficients)
    found = wl.diagnose.shape(40, 400, activation=phi)
    ax = Figure().subplots()
    display = PhaseDisplay.from_diagnosis(found, ax=ax)
    assert display.ax_ is ax
    assert not pyplot.get_fignums()
    assert (display.point_.get_xdata()[0], display.point_.get_ydata()[0]) == (40, 400)
    holding = [region for region in display.regions_ if region.get_paths()[0].contains_point((40.0, 400.0))]
    assert len(holding) == 1
    assert to_hex(holding[0].get_facecolor()[0]) == PHASES[found.regime.regime.name]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.get_xlim()[0] < 40 < ax.get_xlim()[1]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("inputs d", "units k")
    shapes = set(zip(*display.measured_.get_data(), strict=True))
    assert (20, 5) in shapes
    assert [text.get_text() for text in ax.texts] == [region.get_label() for region in display.regions_]
