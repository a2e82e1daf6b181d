"""Displays of estimators: what they draw is what they say."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from tests.conftest import optional

import weightlift as wl
from weightlift import plots
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
    normal = model.network_.canonical()
    np.testing.assert_allclose(drawn[0], normal.W[:, np.argmax(np.abs(normal.a))])
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
