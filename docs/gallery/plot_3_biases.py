"""
Biases and ambiguity
====================

Two different sets of units can be the same function. The certificate then says AMBIGUOUS and lists the others.

For ReLU :math:`\\varphi(-z) = \\varphi(z) - z`, so reflecting a set :math:`F` of units, :math:`(w_i, b_i) \\to (-w_i, -b_i)`,
adds the linear function :math:`-\\sum_F a_i(\\langle w_i, x\\rangle + b_i)`. Where it vanishes no data can tell the two
networks apart [awasthi2021, Theorem 3.4]. That takes linearly dependent :math:`(w_i, b_i)`, as more than :math:`d + 1` units
have.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ndtr

import weightlift as wl
from weightlift.identifiability import sign_patterns, twin

# %%
# Generic biases are no obstacle
# ------------------------------

truth = wl.teachers.biased(n_inputs=8, n_units=4, rng=0)
X, y = wl.draw(truth, 250, rng=1)
found = wl.recover(X, y, n_units=4, activation="relu", bias=True)
print(found.certificate.status.name, f"{wl.match(found.network, truth).max_error:.1e}")

# %%
# Twins
# -----
# :py:obj:`~weightlift.identifiability.twin` makes two networks with one function and different units.

f, g = twin(wl.teachers.biased(3, 5, rng=2))
X, y = wl.draw(f, 400, rng=3)
print(f"largest difference on 400 rows: {np.abs(f.predict(X) - g.predict(X)).max():.1e}")
print(f"exact distance in L²(N(0, I)): {float(wl.distance(f, g)):.1e}")
print(f"the same units: {f.equivalent(g)}")

# %%
# Both are refused, and the other sign pattern is named.

for net in (f, g):
    certificate = wl.certify(net, X, y)
    print(certificate.status.name, "-", *certificate.reasons)
print("sets of units whose reflection fits as well:", certificate.sign_patterns.astype(int).tolist())

# %%
# Whether a network has such a twin can be asked without data.

print("the first network:", sign_patterns(truth).ambiguous, " the twin:", sign_patterns(f).ambiguous)

# %%
# Large biases
# ------------
# A unit whose kink lies beyond most of the rows is nearly linear there. Without noise, two units leave that line no other
# place, and the certificate finds so even where no row lies beyond the kink. Beside a linear part (``linear=True``), or under
# noise, such a unit cannot be told from a line.

for bias in (0.0, 1.0, 2.0, 2.5, 3.0):
    net = wl.Network(np.eye(4)[:, :2], a=[1.0, -1.0], b=[bias, 0.3], activation="relu")
    X, y = wl.draw(net, 1000, rng=4)
    certificate = wl.certify(net, X, y)
    beyond = int((X[:, 0] + bias <= 0).sum())
    print(f"b = {bias:3.1f}: {beyond:3d} of 1000 rows beyond the kink, {certificate.status.name}")

# %%
# What helps is more rows, or rows where the kink is: least squares and the certificate need no Gaussian inputs.

net = wl.Network(np.eye(4)[:, :2], a=[1.0, -1.0], b=[3.0, 0.3], activation="relu")
X, y = wl.draw(net, 1000, mean=np.array([-3.0, 0.0, 0.0, 0.0]), rng=4)
found = wl.recover(X, y, n_units=2, activation="relu", bias=True)
print(found.certificate.status.name, f"{wl.match(found.network, net).max_error:.1e}")

# %%
# What hides a unit
# -----------------
# The share of Gaussian rows beyond the kink falls like exp(−b²/2): at b = 3 one row in 740 tells the unit from a line.

biases = np.linspace(0.0, 3.5, 100)
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.semilogy(biases, ndtr(-biases))
ax.axhline(2 * (4 + 1) / 1000, linestyle=":", color="grey", label="2 (d + 1) of 1,000 rows")
ax.set_xlabel("bias b, ‖w‖ = 1")
ax.set_ylabel("share of rows beyond the kink")
_ = ax.legend(frameon=False)
