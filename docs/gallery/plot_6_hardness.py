"""
Hardness map
============

Before spending compute: can a network of this shape be recovered, by what, and from how many rows?

:py:obj:`weightlift.diagnose` answers from the shape alone, from a network, or from data. Row counts rest on measurements that
are named; what theorems do not cover is said not to be covered.
"""

import matplotlib.pyplot as plt
import numpy as np

import weightlift as wl
from weightlift.plots import PhaseDisplay

print(wl.diagnose.shape(20, 5, n=300, activation="relu"))

# %%
# More units than inputs
# ----------------------
# For ReLU no barrier is proved: smoothed weights can be found in polynomial time from moments of order :math:`2\ell+2`, where
# :math:`\ell` is the least order at which the :math:`w_i^{\otimes\ell}` are independent [awasthi2021, Corollary 3.3]. For
# polynomials of low degree the shape can be conjectured hard: learning the weights would decompose tensors that no method is
# known to decompose [mondelli2019, Theorem 1].

cubic = wl.activations.polynomial([0.0, 1.0, 0.0, 1.0])
for d, k, activation in ((50, 40, "relu"), (50, 350, "relu"), (50, 350, cubic), (50, 1000, cubic), (50, 40, "quadratic")):
    found = wl.diagnose.shape(d, k, activation=activation)
    print(f"d = {d}, k = {k:4d}, {found.activation:10}: {found.regime.regime.name}")

# %%
# The map
# -------
# Borders are powers of d without constants or logarithms: the theorems are asymptotic. Dots are shapes at which
# :py:obj:`~weightlift.recover` was measured to succeed, with ReLU, its relatives, tanh or sigmoid, on both maps; the star is
# the shape that was asked for.

fig, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for ax, activation in zip(axes, ("relu", cubic), strict=True):
    PhaseDisplay.from_diagnosis(wl.diagnose.shape(50, 350, activation=activation), ax=ax)

# %%
# A network of one's own
# ----------------------
# For known weights :math:`\ell` and :math:`s_{\min}(W^{\otimes\ell})` are measured: the smaller the latter, the more rows
# moments need.

net = wl.teachers.biased(6, 9, rng=0)
print(wl.diagnose.network(net, n=2000))

# %%
# How many rows
# -------------
# Below one row a parameter nothing is determined. Above, success sets in within a narrow range: here for 8 inputs and 3 ReLU
# units, 24 parameters. ``recover`` holds 16 rows out, which the horizontal axis counts too.

ratios, trials = np.array([1.5, 1.75, 2.0, 2.5, 3.0]), 6
shares = []
for ratio in ratios:
    right = 0
    for seed in range(trials):
        truth = wl.teachers.conditioned(8, 3, activation="relu", rng=seed)
        X, y = wl.draw(truth, round(24 * ratio), rng=100 + seed)
        answer = wl.recover(X, y, n_units=3, activation="relu", max_work=600, rng=seed)
        right += bool(answer.certificate) and wl.match(answer.network, truth).max_error < 1e-6
    shares.append(right / trials)
    print(f"{ratio:4.2f} rows a parameter: {right} of {trials} certified and right")

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.plot(ratios, shares, "o-")
ax.set(xlabel="rows a parameter", ylabel="certified and right", ylim=(-0.05, 1.05))
ax.spines[["top", "right"]].set_visible(False)
