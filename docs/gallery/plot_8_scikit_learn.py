"""
From scikit-learn and back
==========================

:py:obj:`~weightlift.OneHiddenLayerRegressor` is ``recover`` with fit and predict; networks go to and from ``MLPRegressor``,
PyTorch and ONNX without loss.
"""

import warnings

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import weightlift as wl
from weightlift.plots import DirectionsDisplay

# %%
# A planted network on real inputs
# --------------------------------
# The inputs of the diabetes data are not Gaussian, so moments are of no use; least squares and the certificate need nothing of
# the inputs' law.

data = load_diabetes(as_frame=True)
X = (data.data - data.data.mean()) / data.data.std()
truth = wl.teachers.biased(10, 3, rng=0)
y = truth.predict(X.to_numpy())

model = wl.OneHiddenLayerRegressor(n_units=3).fit(X, y)
print(model.certificate_.status.name, *model.certificate_.reasons)
print(f"largest error of a unit {wl.match(model.network_, truth).max_error:.1e}")

# %%
# ``coefs_`` and ``intercepts_`` have MLPRegressor's layout; names of columns are kept.

print([c.shape for c in model.coefs_], [c.shape for c in model.intercepts_], model.feature_names_in_[:3])
display = DirectionsDisplay.from_estimator(model)
display.figure_.set_size_inches(7, 2.6)

# %%
# In a notebook the fitted estimator shows its certificate.

model

# %%
# Ordinary data
# -------------
# The diabetes target is not a network's output. The estimator warns, fits with a ridge chosen on held-out rows, and claims
# nothing.

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    fitted = wl.OneHiddenLayerRegressor(n_units=3, max_work=100).fit(X, data.target)
print(f"{fitted.certificate_.status.name}; R² {fitted.score(X, data.target):.2f}; ridge {fitted.alpha_:.2g}")
print(caught[-1].category.__name__, "-", caught[-1].message)

# %%
# It takes its place in pipelines, searches and cross-validation. There, its warnings are to be expected.

warnings.simplefilter("ignore", wl.errors.NotCertifiedWarning)
pipeline = make_pipeline(StandardScaler(), wl.OneHiddenLayerRegressor(max_work=50))
search = GridSearchCV(pipeline, {"onehiddenlayerregressor__n_units": [1, 2]}, cv=3).fit(X, data.target)
print(search.best_params_, f"R² {search.best_score_:.2f}")

# %%
# From MLPRegressor
# -----------------
# The units of a fitted ``MLPRegressor`` are those that its optimiser happened to reach. As a *function* it is a network like
# any other: from its predictions its own units can be recovered.

teacher = MLPRegressor(hidden_layer_sizes=(3,), solver="lbfgs", alpha=1.0, max_iter=500, random_state=0)
teacher.fit(X.to_numpy(), data.target / 100)
network = wl.export.from_sklearn(teacher)
again = wl.OneHiddenLayerRegressor(n_units=3).fit(X.to_numpy(), teacher.predict(X.to_numpy()))
print(again.certificate_.status.name, f"{wl.match(again.network_, network).max_error:.1e}")

# %%
# And back
# --------

exported = wl.export.to_sklearn(model.network_)
print(type(exported).__name__, np.abs(exported.predict(X.to_numpy()) - model.predict(X)).max())

# %%
# An activation that a target lacks is refused by name.

try:
    wl.export.to_sklearn(wl.Network([[1.0], [2.0]], activation="squared_relu"))
except wl.errors.WeightliftError as error:
    print(error)

# %%
# Cross-validation of the planted problem: the network is recovered from each part, so every held-out score is one.

print(cross_val_score(wl.OneHiddenLayerRegressor(n_units=3), X, y, cv=3))
