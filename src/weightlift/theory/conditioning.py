"""How well a network's weights are conditioned, and what the theory makes of it  [zhong2017, Def. 4.1, Theorems 4.2 and 4.4].

    κ = σ₁/σ_k,   λ = Π σᵢ/σ_k^k,   ν = v_max/v_min,   ρ = ρ(σ_k),   τ = (3σ₁/2)^{4p} / min ρ²(σ) over σ ∈ [σ_k/2, 3σ₁/2]

for the singular values σᵢ of W (d, k), the sizes v of the output weights, and p with φ′ = O(|z|^p). Near the truth the
spectrum of the Hessian lies between m₀ = Θ(v²_min ρ/(κ²λ)) and M₀ = Θ(k v²_max σ₁^{2p}); the paper leaves the constants open,
and `m0` and `M0` are without them. The paper's networks have no biases; here they are not looked at. Cost O(d k²).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weightlift.activations import Activation
from weightlift.errors import ActivationError
from weightlift.network import Network, require_single
from weightlift.theory.limits import LIMITS
from weightlift.theory.properties import growth_exponent


@dataclass(frozen=True)
class Conditioning:
    """The quantities of Def. 4.1; κ and λ are infinite where W has rank below k, τ where ρ is not positive."""

    kappa: float
    lambda_: float
    nu: float
    rho: float
    tau: float
    sigma_1: float
    sigma_k: float
    v_min: float
    v_max: float
    p: float
    n_units: int

    @property
    def m0(self) -> float:
        """v²_min ρ(σ_k)/(κ²λ), to which the least eigenvalue of the Hessian is compared  [zhong2017, Theorem 4.4]."""
        return self.v_min**2 * self.rho / (self.kappa**2 * self.lambda_)

    @property
    def M0(self) -> float:
        """k v²_max σ₁^{2p}, to which the largest eigenvalue is compared  [zhong2017, Theorem 4.4]."""
        return float(self.n_units * self.v_max**2 * self.sigma_1 ** (2 * self.p))


def conditioning(net: Network) -> Conditioning:
    """κ, λ, ν, ρ, τ of a network.

    net  the network

    >>> c = conditioning(Network([[2.0, 0.0], [0.0, 1.0]], a=[1.0, -3.0], activation="squared_relu"))
    >>> c.kappa, c.lambda_, c.nu, c.p, c.M0
    (2.0, 2.0, 3.0, 1.0, 72.0)
    """
    require_single(net, "conditioning")
    phi, k = net.activation, net.n_units
    p = growth_exponent(phi)
    if p is None:
        raise ActivationError(f"φ′ of {phi.name} is not bounded by L₁|z|^p, as Property 3.1 asks; κ and λ mean nothing for it.")
    s = np.linalg.svd(net.W, compute_uv=False)
    full = k <= net.n_inputs and s[-1] > max(net.W.shape) * np.finfo(float).eps * s[0]
    sigma_1, sigma_k = float(s[0]), float(s[-1]) if full else 0.0
    v = np.abs(net.a)
    return Conditioning(
        kappa=sigma_1 / sigma_k if full else np.inf,
        lambda_=float(np.prod(s / sigma_k)) if full else np.inf,
        nu=float(v.max() / v.min()) if v.min() > 0 else np.inf,
        rho=float(phi.rho(sigma_k)),
        tau=_tau(phi, sigma_1, sigma_k, p),
        sigma_1=sigma_1,
        sigma_k=sigma_k,
        v_min=float(v.min()),
        v_max=float(v.max()),
        p=p,
        n_units=k,
    )


def _tau(phi: Activation, sigma_1: float, sigma_k: float, p: float) -> float:
    """(3σ₁/2)^{4p} over the least ρ² on [σ_k/2, 3σ₁/2]."""
    high = 1.5 * sigma_1
    if high == 0:
        return np.inf
    scales = np.concatenate([[0.5 * sigma_k], np.geomspace(max(0.5 * sigma_k, 1e-6 * high), high, LIMITS.scales)])
    rho = phi.rho(scales)
    return float(high ** (4 * p) / rho.min() ** 2) if rho.min() > 0 else np.inf
