"""
Noise and standard errors
=========================

With noise in y the units are known within regions, and the certificate says STATISTICAL.

:math:`y = f(x) + \\varepsilon`. The fit is least squares; its precision is that of a nonlinear regression, and the
Cramér–Rao bound says what can be had at best.
"""

import numpy as np

import weightlift as wl

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

from weightlift.certificate import cramer_rao, inference

result = inference(found.network, X, y)
print(result.summary())

# %%
# The 95 % intervals of all parameters, and the truth in the order and orientation of the estimate:

import matplotlib.pyplot as plt

from weightlift.plots import AlignedUnits

estimate = result.network
aligned = AlignedUnits.of(truth, estimate)  # the truth's units, in the estimate's order
values = np.concatenate([aligned.estimate, aligned.a[1:]]).T.ravel()
low, high = result.intervals(0.95).T
inside = (low <= values) & (values <= high)
print(f"{inside.sum()} of {len(values)} intervals contain the truth")

fig, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
at = np.arange(len(values))
ax.vlines(at, low, high, lw=3, alpha=0.5, label="95 % interval")
ax.plot(at, values, "k.", label="truth")
ax.set_xticks(at, result.names, rotation=90)
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)

# %%
# Coverage and efficiency
# -----------------------
# Twenty-five draws of the noise: the share of intervals that contain the truth should be 0.95, and the mean squared error of W should
# be the Cramér–Rao bound :math:`\sigma^2\,\mathrm{tr}(J^\top J)^{-1}`.

from weightlift.refinement import gauss_newton

covered, squared, bound = [], [], []
for seed in range(25):
    X, y = wl.draw(truth, 1500, noise_std=0.2, rng=10 + seed)
    fit = gauss_newton(wl.samples.open(X, y), found.network, free="Wa", iterations=30).network
    result = inference(fit, X, y)
    aligned = AlignedUnits.of(truth, result.network)
    values = np.concatenate([aligned.estimate, aligned.a[1:]]).T.ravel()
    low, high = result.intervals(0.95).T
    covered.append(np.mean((low <= values) & (values <= high)))
    squared.append(wl.match(fit, truth).frobenius_error ** 2)
    bound.append(cramer_rao(truth, X, 0.2))
error = np.std(squared) / np.sqrt(len(squared)) / np.mean(bound)
print(f"coverage {np.mean(covered):.3f}")
print(f"mean squared error over the bound: {np.mean(squared) / np.mean(bound):.2f} ± {error:.2f}")

# %%
# The error falls like :math:`\sqrt{d/n}` [zhang2019, Theorem 4.2]. How many rows? Without noise three a parameter do; with noise
# some thirty, since the certificate also has to exclude structure in the residual.

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
