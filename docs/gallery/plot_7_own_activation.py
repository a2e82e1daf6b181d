"""
Using your own activation
=========================

:py:obj:`~weightlift.activations.custom` makes an activation from its value and derivative; what is declared beside them is
verified by sampling.
"""

import matplotlib.pyplot as plt
import numpy as np
from array_api_compat import array_namespace

import weightlift as wl
from weightlift.activations import custom
from weightlift.theory import check_properties

# %%
# The function should work on any array namespace, so write it with operators and the namespace of its argument. Here is
# :math:`\varphi(z) = z\,e^{-z^2/2}`, odd and bounded:


def wavelet(z):
    xp = array_namespace(z)
    return z * xp.exp(-(z * z) / 2)


def slope(z):
    xp = array_namespace(z)
    return (1 - z * z) * xp.exp(-(z * z) / 2)


phi = custom("wavelet", wavelet, slope, reflection=(-1, ()))
print(phi, phi.parity)

# %%
# Its Gaussian integrals come from quadrature: Hermite coefficients at any scale and offset, and ρ of [zhong2017, Property 3.2],
# whose sign says whether the Hessian at the truth is positive definite by that paper's theorem.

print("E φ(z) He_k(z), k = 0 … 5:", np.round(phi.hermites(5), 4))
print("ρ(1/2), ρ(1):", np.round(phi.rho(np.array([0.5, 1.0])), 4))

# %%
# ``check_properties`` reads off which of the paper's guarantees cover it.

print(check_properties(phi))

# %%
# Recovery works as for any other φ. The certificate does not: that no *other* units have the same function is a theorem for the
# activations of the catalogue, not for yours. A Jacobian of full rank proves that none nearby do, so the answer is AMBIGUOUS,
# for this reason alone.

truth = wl.Network(wl.teachers.conditioned(6, 3, rng=0).W, a=[1.0, -1.0, 0.7], activation=phi)
X, y = wl.draw(truth, 250, rng=1)
found = wl.recover(X, y, n_units=3, activation=phi, max_work=600)
print(found.certificate.status.name, "-", *found.certificate.reasons)
print(f"largest residual {found.certificate.residual_max:.1e}")
print(f"largest error of a unit {wl.match(found.network, truth).max_error:.1e}")

# %%
# Kinks must be declared: quadrature is split there, and the jumps of φ′ enter the Hessian. A hinge with a dead zone:


def soft_threshold(z):
    xp = array_namespace(z)
    return xp.where(z > 1, z - 1, xp.where(z < -1, z + 1, 0.0 * z))


def indicator(z):
    xp = array_namespace(z)
    return xp.where((z > 1) | (z <= -1), 1.0 + 0.0 * z, 0.0 * z)


shrink = custom("soft_threshold", soft_threshold, indicator, kinks=(-1.0, 1.0), reflection=(-1, ()))
print(shrink.jumps, np.round(shrink.hermites(3), 6))

# %%
# What is declared wrongly is refused.

try:
    custom("wrong", wavelet, slope, degree=1)
except wl.errors.ActivationError as error:
    print(error)

# %%
# A scaled version of a known activation needs no such work, and keeps its certificate and its place in files.

print(wl.activations.get("tanh(2.5x)"))

# %%
# The two, drawn
# --------------

z = np.linspace(-4, 4, 400)
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.plot(z, wavelet(z), label="the first one")
ax.plot(z, soft_threshold(z), label="soft threshold")
ax.set_xlabel("z")
_ = ax.legend(frameon=False)
