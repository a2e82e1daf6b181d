"""
Noise and standard errors
=========================

With noise in y the units are known within regions, and the certificate says STATISTICAL.

:math:`y = f(x) + \\varepsilon`. The fit is least squares; its precision is that of a nonlinear regression, and the
Cramér–Rao bound says what can be had at best.
"""

import matplotlib.pyplot as plt
import numpy as np

import weightlift as wl
from weightlift.certificate import cramer_rao, inference
from weightlift.plots import AlignedUnits, IntervalsDisplay, ResidualsDisplay
from weightlift.refinement import gauss_newton

truth = wl.teachers.conditioned(6, 2, activation="relu", rng=0)
X, y = wl.draw(truth, 1500, noise_std=0.2, rng=1)
found = wl.recover(X, y, n_units=2, activation="relu")
print(found.certificate)

# %%
# The stated precision is wider than the standard errors below: a claim about the units has to allow for what a further unit,
# just below the detection limit, would move in them.
#
# Standard errors
# ---------------
# :py:obj:`~weightlift.certificate.inference` gives what regression software gives. The sandwich covariance allows for noise
# whose size depends on x; nothing here is right for a network that is not certified.

result = inference(found.network, X, y)
print(result.summary())

# %%
# The 95 % intervals of all parameters with the truth as rings, and the residuals against normal quantiles:



def true_values(result):
    """The truth's parameters, in the order of ``result.names``."""
    aligned = AlignedUnits.of(truth, result.network)
    return np.concatenate([aligned.estimate, aligned.a[1:]]).T.ravel()


fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
IntervalsDisplay(result).plot(truth=true_values(result), ax=left)
display = ResidualsDisplay(y, found.network.predict(X)).plot(kind="quantiles", ax=right)

# %%
# Coverage and efficiency
# -----------------------
# Forty draws of the rows: the share of intervals that contain the truth should be 0.95, and the mean squared error of W
# the Cramér–Rao bound :math:`\sigma^2\,\mathrm{tr}(J^\top J)^{-1}`.

covered, squared, bound = [], [], []
for seed in range(40):
    X, y = wl.draw(truth, 1500, noise_std=0.2, rng=10 + seed)
    fit = gauss_newton(wl.samples.open(X, y), found.network, free="Wa", iterations=30).network
    result = inference(fit, X, y)
    values = true_values(result)
    low, high = result.intervals(0.95).T
    covered.append(np.mean((low <= values) & (values <= high)))
    squared.append(wl.match(fit, truth).frobenius_error ** 2)
    bound.append(cramer_rao(truth, X, 0.2))
error = np.std(squared) / np.sqrt(len(squared)) / np.mean(bound)
print(f"coverage {np.mean(covered):.3f}")
print(f"mean squared error over the bound: {np.mean(squared) / np.mean(bound):.2f} ± {error:.2f}")

# %%
# The error falls like :math:`\sqrt{d/n}` [zhang2019, Theorem 4.2]. How many rows? Without noise three a parameter do; with
# noise some thirty, since the certificate also has to exclude structure in the residual.

sizes, errors, verdicts = (150, 400, 1200, 4000), [], []
for n in sizes:
    X, y = wl.draw(truth, n, noise_std=0.2, rng=5)
    answer = wl.recover(X, y, n_units=2, activation="relu", max_work=300)
    errors.append(wl.match(answer.network, truth).frobenius_error)
    verdicts.append(answer.certificate.status.name)
    print(f"n = {n:5d}: error {errors[-1]:.3f}, error √n {errors[-1] * n**0.5:.2f}, {verdicts[-1]}")

# %%
# Predictions have intervals too, for f(x) or for a new observation.

centre, low, high = inference(found.network, *wl.draw(truth, 1500, noise_std=0.2, rng=1)).predict(X[:3])
for c, lo, hi in zip(centre, low, high, strict=True):
    print(f"{c:+.3f}  [{lo:+.3f}, {hi:+.3f}]")
