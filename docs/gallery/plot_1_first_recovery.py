"""
First recovery
==============

Plant a network, draw rows from it, and recover its units from the rows alone.

The model is :math:`f(x) = \\sum_i a_i\\,\\varphi(\\langle w_i, x\\rangle + b_i) + c`. Here it has 12 inputs and 4 ReLU units of
either sign, without biases: 48 parameters, since a ReLU unit's size can stand in :math:`w` or in :math:`a` but not in both.
"""

import tempfile
from pathlib import Path

import weightlift as wl
from weightlift.plots import SpectrumDisplay, UnitsDisplay

truth = wl.teachers.conditioned(n_inputs=12, n_units=4, activation="relu", rng=1)
X, y = wl.draw(truth, 200, rng=2)  # x ~ N(0, I), y = f(x)

# %%
# :py:obj:`~weightlift.recover` is given the rows, the width and the activation.

found = wl.recover(X, y, n_units=4, activation="relu")
print(found.certificate)

# %%
# EXACT is a claim about the units, not about the fit: *if* the data come from a network with this activation, these are its
# units. It never saw the truth; we have it, and can look.

comparison = wl.match(found.network, truth)
print(f"largest relative error of a unit: {comparison.max_error:.1e}")

# %%
# Rings are the true weights, dots the recovered ones; a homogeneous unit is drawn with :math:`\lVert w\rVert = 1`.

display = UnitsDisplay.from_networks(found.network, truth)
display.figure_.set_size_inches(8, 4)

# %%
# ``found.stages`` says what was tried and what it cost: ``work`` counts Gauss–Newton steps of one start, ``passes`` counts
# passes over the data. The same seed (``rng``) gives the same answer, because budgets count work and not seconds.

for stage in found.stages:
    print(f"{stage.name}: {stage.starts} starts, {stage.work:.0f} steps, {stage.passes} passes; {stage.outcome}")

# %%
# Where the width is not known, ``n_units="auto"`` tries widths around the rank of a second moment; the certificate refuses the
# wrong ones, and ``width_evidence`` keeps what it said.

several = wl.recover(X, y, n_units="auto", activation="relu", max_work=2000)
print(several.network, several.certificate.status.name)
for sentence in several.width_evidence:
    print(" ", sentence)

# %%
# With more rows the second moment shows the width by itself: as many eigenvalues above the noise floor as there are units.

display = SpectrumDisplay.from_data(*wl.draw(truth, 5000, rng=3))
display.figure_.set_size_inches(6, 3)

# %%
# A network is frozen data: ``W``, ``a``, ``b``, ``c``, ``predict``, and a file.

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "net.safetensors"
    found.network.save(path)
    again = wl.Network.load(path)
print(again, again.equivalent(found.network, tol=0.0))
