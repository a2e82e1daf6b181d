"""Dask collections go through the estimator without being gathered."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import optional

import weightlift as wl
from weightlift import samples
from weightlift.errors import ArgumentError, NotCertifiedWarning

da = optional("dask.array")


def planted() -> tuple[wl.Network, np.ndarray, np.ndarray]:
    truth = wl.teachers.conditioned(6, 2, activation="relu", rng=0)
    return truth, *wl.draw(truth, 400, rng=1)


def test_arrays_are_recovered_and_predictions_are_lazy() -> None:
    truth, X, y = planted()
    lazy = da.from_array(X, chunks=(100, 6)), da.from_array(y, chunks=100)
    model = wl.OneHiddenLayerRegressor(n_units=2, bias=False, offset=False).fit(*lazy)
    assert model.certificate_.status is wl.Status.EXACT
    assert wl.match(model.network_, truth).max_error < 1e-9
    assert model.n_features_in_ == 6
    found = model.predict(lazy[0])
    assert samples.dask.is_collection(found)
    np.testing.assert_allclose(found.compute(), y, atol=1e-10)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-10)
    assert model.conf_int().shape[1] == 2


def test_frames_keep_their_names() -> None:
    optional("pandas")
    frames = optional("dask.dataframe")
    import pandas

    _, X, y = planted()
    frame = frames.from_pandas(pandas.DataFrame(X, columns=list("uvwxyz")), npartitions=3)
    target = frames.from_pandas(pandas.Series(y), npartitions=3)
    model = wl.OneHiddenLayerRegressor(n_units=2, bias=False, offset=False).fit(frame, target)
    assert list(model.feature_names_in_) == list("uvwxyz")
    np.testing.assert_allclose(np.asarray(model.predict(frame).compute()), y, atol=1e-10)


def test_other_data_warn_and_a_ridge_is_refused() -> None:
    rng = np.random.default_rng(0)
    X = da.from_array(rng.normal(size=(200, 3)), chunks=(50, 3))
    y = da.from_array(rng.normal(size=200), chunks=50)
    with pytest.warns(NotCertifiedWarning):
        wl.OneHiddenLayerRegressor(n_units=1, max_work=20).fit(X, y)
    with pytest.raises(ArgumentError, match="without a ridge"):
        wl.OneHiddenLayerRegressor(n_units=1, alpha=0.1).fit(X, y)
