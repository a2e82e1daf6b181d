"""
What the certificate means, and when it says no
===============================================

A small risk does not show that units are right. :py:obj:`~weightlift.certify` gives one of four answers, from the rows alone:

=============  ========================================================================================================
EXACT          if the data come from a network with this activation, these are its units, to the stated precision
STATISTICAL    the same within stated regions, and no further unit is above the stated detection limit
AMBIGUOUS      the data cannot tell these units from others
FAILED         the network does not explain the data, or they are too few to say so
=============  ========================================================================================================

Only the first two are true in a condition: ``if found.certificate: ...``. Each comes with sentences that say why.
"""

import matplotlib.pyplot as plt
import numpy as np

import weightlift as wl
from weightlift.initialization import gaussian_init
from weightlift.refinement import gauss_newton

truth = wl.teachers.conditioned(8, 3, activation="relu", rng=0)
X, y = wl.draw(truth, 150, rng=1)


def show(what, certificate):
    print(f"{what}\n    {certificate.status.name}")
    for reason in certificate.reasons:
        print(f"    {reason}")


# %%
# EXACT
# -----
# The residual of every row is a rounding error, there are more distinct rows than parameters, the Jacobian has full rank, and
# no reflection or redundancy of units gives the same values on these rows.

found = wl.recover(X, y, n_units=3, activation="relu")
show("as it should be", found.certificate)

# %%
# Rows that were held out bound how often the network can differ from the truth: a unit that is active on none of the rows
# leaves no trace in them. With :math:`h` held-out rows that agree the bound is :math:`\ln(1/\delta)/h`.

print(f"differs with probability at most {found.certificate.disagreement:.2f}, by {found.certificate.heldout_rows} rows")
unseen = wl.samples.open(*wl.draw(truth, 5000, rng=2))
print(f"... {wl.certify(found.network, X, y, heldout=unseen).disagreement:.4f}, by 5000 rows")

# %%
# When it says no
# ---------------
# Too few rows:

show("20 rows", wl.certify(found.network, X[:20], y[:20]))

# %%
# A width that is too small or too large, or another activation:

show("2 units", wl.recover(X, y, n_units=2, activation="relu", max_work=300).certificate)
show("4 units", wl.recover(X, y, n_units=4, activation="relu", max_work=300).certificate)
show("tanh", wl.recover(X, y, n_units=3, activation="tanh", max_work=300).certificate)

# %%
# One wrong label among 150 is found as what it is, and nothing is claimed:

spoilt = y.copy()
spoilt[7] += 1.0
show("one label changed", wl.recover(X, spoilt, n_units=3, activation="relu", max_work=300).certificate)

# %%
# Units that are all active on every row are linear there, and linear functions can be shared out among them at will. The
# network below fits every row exactly; its units mean nothing.

W = np.array([[1.0, 0.2, -0.3], [0.1, 1.0, 0.4]])
linear = wl.Network(W, a=[1.0, -1.0, 0.5], b=[50.0, 50.0, 50.0], activation="relu")
show("kinks far away", wl.certify(linear, *wl.draw(linear, 200, rng=3)))

# %%
# AMBIGUOUS is not a failure of the search. For a quadratic activation :math:`f(x) = x^\top (\sum_i a_i w_i w_i^\top) x`, and
# the matrix does not determine its terms:

quadratic = wl.teachers.conditioned(5, 3, activation="quadratic", rng=4)
show("quadratic units", wl.certify(quadratic, *wl.draw(quadratic, 200, rng=5)))

# %%
# What the risk does not tell
# ---------------------------
# Gauss–Newton from 60 random starts on the same 150 rows. Starts that end in a wrong minimum explain most of y, by units that
# are wrong. None of them is certified.

samples = wl.samples.open(X, y)
risks, errors, certified = [], [], []
for seed in range(60):
    start = gaussian_init(8, 3, wl.activations.relu, rng=seed)
    fit = gauss_newton(samples, start, free="Wa", iterations=50)
    risks.append(fit.risks[0] / (0.5 * np.mean(y**2)))
    errors.append(wl.match(fit.network, truth).max_error)
    certified.append(bool(wl.certify(fit.network, X, y)))
risks, errors, certified = map(np.array, (risks, errors, certified))
print(f"{certified.sum()} of 60 certified; largest error among them {errors[certified].max():.1e}")
print(f"{(~certified).sum()} not certified; smallest error among them {errors[~certified].min():.1e}, ", end="")
print(f"although their median share of y² explained is {1 - np.median(risks[~certified]):.3f}")

fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for part, label in ((certified, "certified"), (~certified, "not certified")):
    ax.loglog(np.maximum(risks[part], 1e-34), np.maximum(errors[part], 1e-17), "o", ms=4, alpha=0.6, label=label)
ax.set(xlabel="risk relative to that of f = 0", ylabel="largest relative error of a unit")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
