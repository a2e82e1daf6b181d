"""Displays of estimators: what they draw is what they say."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from tests.conftest import optional

import weightlift as wl
from weightlift import plots
from weightlift.certificate import inference
from weightlift.errors import ArgumentError, ShapeError
from weightlift.plots.limits import LIMITS


@pytest.fixture(scope="module")
def fitted():
    pandas = optional("pandas")
    truth = wl.teachers.biased(3, 2, rng=1)
    X, y = wl.draw(truth, 2000, noise_std=0.1, rng=2)
    frame = pandas.DataFrame(X, columns=["age", "bmi", "bp"])
    return truth, frame, y, wl.OneHiddenLayerRegressor(2).fit(frame, y)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_units_of_an_estimator(fitted):
    truth, _, _, model = fitted
    display = plots.UnitsDisplay.from_estimator(model, truth)
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["age", "bmi", "bp"]


def test_directions_are_the_weights_in_normal_form(fitted):
    _, _, _, model = fitted
    _, ax = plt.subplots()
    display = plots.DirectionsDisplay.from_estimator(model, ax=ax)
    assert display.ax_ is ax
    drawn = np.asarray(display.image_.get_array())
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), 1.0)
    normal = model.network_.normalized()
    np.testing.assert_allclose(drawn, normal.W.T)
    assert display.image_.norm.vmax == -display.image_.norm.vmin
    with pytest.raises(ShapeError, match="one name an input"):
        plots.DirectionsDisplay.from_network(model.network_, feature_names=["a"])


def test_stages_and_their_risks(fitted):
    _, frame, y, model = fitted
    display = plots.StagesDisplay.from_estimator(model)
    ran = [s for s in model.recovery_.stages if np.isfinite(s.risk)]
    np.testing.assert_allclose(display.points_.get_offsets()[:, 1], [max(s.risk, LIMITS.least_risk) for s in ran])
    assert display.points_.get_offsets()[-1, 0] == pytest.approx(sum(s.work for s in model.recovery_.stages))
    model = wl.OneHiddenLayerRegressor(2, warm_start=True).fit(frame, y).fit(frame, y)
    with pytest.raises(ArgumentError, match="no stages"):
        plots.StagesDisplay.from_estimator(model)


def test_the_spectrum_stands_out_of_its_noise():
    truth = wl.teachers.conditioned(8, 3, activation="relu", rng=0)
    X, y = wl.draw(truth, 5000, rng=1)
    model = wl.OneHiddenLayerRegressor(3, bias=False, offset=False).fit(X, y)
    display = plots.SpectrumDisplay.from_estimator(model, X, y)
    heights = np.array([bar.get_height() for bar in display.bars_])
    assert np.all(np.diff(heights) <= 0)
    assert np.sum(heights > display.floor_.get_ydata()[0]) == display.estimate.rank == 3
    assert display.eigengap == pytest.approx(heights[2] - heights[3])
    assert "3 units" in display.ax_.get_title(loc="left")


def test_residuals_against_predictions_and_quantiles(fitted):
    _, frame, y, model = fitted
    display = plots.ResidualsDisplay.from_estimator(model, frame, y)
    points = np.asarray(display.points_.get_offsets())
    np.testing.assert_allclose(points, np.stack([model.predict(frame), y - model.predict(frame)], axis=1))
    points = np.asarray(display.plot(kind="quantiles").points_.get_offsets())
    np.testing.assert_allclose(points[:, 0], points[:, 1], atol=0.5)  # Gaussian noise
    assert np.corrcoef(points.T)[0, 1] > 0.995
    with pytest.raises(ArgumentError, match="kind"):
        display.plot(kind="magic")
    with pytest.raises(ShapeError, match="no values"):
        plots.ResidualsDisplay([], [])
    with pytest.raises(ShapeError, match="one length"):
        plots.ResidualsDisplay([1.0], [1.0, 2.0])


def test_intervals_are_those_of_the_summary(fitted):
    _, _, _, model = fitted
    display = plots.IntervalsDisplay.from_estimator(model, level=0.9)
    ends = np.array([path.vertices[:, 0] for path in display.lines_.get_paths()])
    np.testing.assert_allclose(ends, model.conf_int(0.9))
    labels = [t.get_text() for t in display.ax_.get_yticklabels()]
    assert labels == list(model.summary().inference.names)
    assert "w[0,age]" in labels


def test_names_resolve():
    for name in plots.__all__:
        assert getattr(plots, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        plots.nonsense  # noqa: B018


@pytest.mark.parametrize(("m", "linear"), [(3, False), (2, True), (None, True)])
def test_several_outputs_and_a_linear_part_are_drawn(m, linear):
    truth = wl.teachers.several(wl.teachers.biased(4, 2, bias=0.3, rng=0), m, linear=linear, rng=1)
    X, Y = wl.draw(truth, 300, noise_std=0.05, rng=2)
    flipped = truth.reflected(np.array([True, False])) if linear else truth
    for kind in ("strips", "scatter"):
        units = plots.UnitsDisplay.from_networks(replace(flipped, a=flipped.a * 2, W=flipped.W / 2), truth, kind=kind).units
        np.testing.assert_allclose(units.estimate, units.truth)
        np.testing.assert_allclose(units.a[0], units.a[1])
    display = plots.DirectionsDisplay.from_network(truth)
    assert display.image_.get_array().shape == (2 + linear * (m or 1), 4)
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert ("‖a‖" in labels[0]) == (m is not None)
    assert ("linear part" in labels[-1]) == linear
    assert plots.SpectrumDisplay.from_data(X, Y).estimate.eigenvalues.shape == (4,)
    assert len(plots.ResidualsDisplay(Y, truth.predict(X)).plot().points_.get_offsets()) == Y.size
    result = inference(truth, X, Y, bias=True, offset=True)
    assert len(plots.IntervalsDisplay(result).plot().ax_.get_yticks()) == len(result.names)
