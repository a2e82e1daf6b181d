"""A network with several outputs and a linear part in the standardised inputs ξ = (x − center)/scale.

f = Σᵢ Aᵢ φ(⟨nᵢ, ξ⟩ + βᵢ) + Vᵀξ + c          Aᵢ, c ∈ Rᵐ, V (d, m)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weightlift.activations import Activation
from weightlift.network import Network


@dataclass(frozen=True, eq=False)
class Frame:
    """Where and how wide the black box is probed."""

    center: np.ndarray  # (d,)
    scale: np.ndarray  # (d,)

    def out(self, xi: np.ndarray) -> np.ndarray:
        return np.asarray(self.center + self.scale * xi)

    def into(self, X: np.ndarray) -> np.ndarray:
        return np.asarray((X - self.center) / self.scale)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Units N (d, k), beta (k,), outputs A (k, m), linear part V (d, m), offset c (m,), in standardised inputs."""

    N: np.ndarray
    beta: np.ndarray
    A: np.ndarray
    V: np.ndarray
    c: np.ndarray
    activation: Activation

    @classmethod
    def nothing(cls, d: int, m: int, activation: Activation) -> Estimate:
        return cls(np.zeros((d, 0)), np.zeros(0), np.zeros((0, m)), np.zeros((d, m)), np.zeros(m), activation)

    @classmethod
    def of(cls, network: Network) -> Estimate:
        """The same function, of standardised inputs."""
        k, m = network.n_units, network.n_outputs
        V = np.zeros((network.n_inputs, m)) if network.V is None else np.reshape(network.V, (network.n_inputs, m))
        return cls(network.W, network.b, np.reshape(network.a, (k, m)), V, np.atleast_1d(network.c), network.activation)

    @property
    def k(self) -> int:
        return len(self.beta)

    def __call__(self, xi: np.ndarray) -> np.ndarray:
        """(n, m)."""
        return np.asarray(self.activation(xi @ self.N + self.beta) @ self.A + xi @ self.V + self.c)

    def without(self, unit: int) -> Estimate:
        """The function less one unit."""
        kept = np.arange(self.k) != unit
        return Estimate(self.N[:, kept], self.beta[kept], self.A[kept], self.V, self.c, self.activation)

    def joined(self, other: Estimate) -> Estimate:
        """The sum of the two functions."""
        return Estimate(
            np.hstack([self.N, other.N]),
            np.concatenate([self.beta, other.beta]),
            np.vstack([self.A, other.A]),
            self.V + other.V,
            self.c + other.c,
            self.activation,
        )

    def network(self, frame: Frame) -> Network:
        """The same function of x; one output is y (n,)."""
        W = self.N / frame.scale[:, None]
        V = self.V / frame.scale[:, None]
        c = self.c - frame.center @ V
        b = self.beta - frame.center @ W
        linear = V if V.any() else None
        if len(c) == 1:
            return Network(W, self.A[:, 0], b, c[0], self.activation, None if linear is None else linear[:, 0])
        return Network(W, self.A, b, c, self.activation, linear)
