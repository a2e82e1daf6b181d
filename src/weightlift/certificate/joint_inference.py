"""Inference for a joint fit: standard errors of W, b, A, V and c, with what the outputs' errors have in common.

Estimation  θ̂ minimises Σ w ‖r/s‖², s the outputs' sizes [joint_standard], over the coordinates of `evidence.stacked`, p of
            them. Errors of a row may depend on each other, rows not: Σ̂ = Σ w rrᵀ/(n − p/m).
Covariance  classical H⁻¹(Σ w JᵀΣ̂J)H⁻¹, H = Σ w JᵀJ; robust nm/(nm − p) H⁻¹(Σ w² (Jᵀr)(Jᵀr)ᵀ)H⁻¹, one score a row, right for
            noise whose size, and whose dependence between outputs, depend on x [White 1980; Liang & Zeger 1986].
Units       in normal form, by the delta method: w/‖w‖, b/‖w‖ and a‖w‖^h for φ homogeneous of degree h; else w, b and a.
Cost        four passes, O(n m p²) and O(p³).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from weightlift.certificate.inference import Inference, target_spread
from weightlift.certificate.inflation import variance_inflation
from weightlift.certificate.joint_standard import StandardForm
from weightlift.certificate.parameters import parameter_names
from weightlift.certificate.scores import Scores
from weightlift.errors import SingularError, TooFewRowsError
from weightlift.evidence.stacked import Stacked
from weightlift.namespaces import Array, array_namespace, as_like, matrix, to_numpy
from weightlift.network import Network
from weightlift.refinement.variable_projection import Model
from weightlift.samples import Columns, Samples
from weightlift.samples.columns import columns_of


def joint_inference(network: Network, samples: Samples, model: Model, *, robust: bool) -> JointInference:
    """Of a network (k, m) or with V at its joint least-squares fit."""
    columns, inflation, spread = columns_of(samples), variance_inflation(samples), target_spread(samples)
    normal = network.normalized()
    form = StandardForm.of(normal, samples, model)
    information, stacked, noise = form.information, form.stacked, form.noise
    n, p, m = information.rows, stacked.size, stacked.network.n_outputs
    if n * m <= p:
        raise TooFewRowsError(f"{n * m} equations leave no degrees of freedom for {p} parameters; give more rows.")
    L = information.half_inverse
    if L.shape[1] < stacked.full:
        raise SingularError(
            f"the rows do not determine all {p} parameters (condition {information.condition:.1g}); use fewer units, or ask "
            "`certify` which ones are in doubt."
        )
    meat = n * m / (n * m - p) * to_numpy(form.rows.fold(Scores(stacked, L))[0])
    L_raw = form.half_inverse
    classical, sandwich = (L_raw @ C @ L_raw.T for C in (information.covariance(noise), meat))
    sizes = form.scaled.scale
    weight = n / information.total * np.outer(sizes, sizes)
    squares, noise, tss = weight * information.squares, weight * noise, n / information.total * spread
    return JointInference(
        normal, model.bias, model.offset, robust, n, p, math.sqrt(float(np.trace(noise)) / m), float(np.trace(squares)),
        tss, classical, sandwich, inflation, columns.inputs, target_names=columns.outputs, squares=squares,
        noise_covariance=noise, model=model,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class JointInference(Inference):
    """What a joint fit says; the table's order is unit by unit w, b and a at every output, then V by inputs, and c last.

    noise_std is the root mean square of the outputs' errors, rss and tss are sums over all outputs.
    """

    squares: np.ndarray = field(default_factory=lambda: np.zeros((1, 1)), repr=False)  # (m, m) Σ w rrᵀ, Σ w = n
    noise_covariance: np.ndarray = field(default_factory=lambda: np.zeros((1, 1)), repr=False)  # (m, m) of a row of mean weight
    model: Model = field(default_factory=Model)
    target_names: tuple[str, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """w[i,j], b[i], a[i,o], V[j,o], c[o]: unit i, input j, output o; without o where there is one output (n,)."""
        columns = Columns(self.feature_names, self.target_names)
        return parameter_names(self.network, bias=self.bias, offset=self.offset, columns=columns)

    @cached_property
    def estimates(self) -> np.ndarray:
        return np.asarray(self._stacked.theta[self._order])

    @cached_property
    def covariance(self) -> np.ndarray:
        """(P, P) of the parameters in normal form; singular for homogeneous φ, where ‖w‖ = 1."""
        T = self._delta
        return np.asarray(T @ (self.sandwich if self.robust else self.classical) @ T.T)

    def predict(self, X: Array, level: float = 0.95, *, noise: bool = True) -> tuple[Array, Array, Array]:
        """f(x) with the ends of its intervals, (n, m) or (n,): for a new row of mean weight, or, without noise, for f(x)."""
        X = matrix(X, self.network.n_inputs)
        xp = array_namespace(X)
        J, _ = self._stacked.linearized(X)
        C = as_like(self.sandwich if self.robust else self.classical, X)
        variance = xp.sum(xp.matmul(J, C) * J, axis=2)
        if noise:
            variance = variance + as_like(np.diagonal(self.noise_covariance).copy(), X)
        centre, half = self.network.predict(X), self._quantile(level) * xp.sqrt(variance)
        half = half if self.network.a.ndim == 2 else half[:, 0]
        return centre, centre - half, centre + half

    @property
    def log_likelihood(self) -> float:
        """Gaussian, at its maximum over Σ; an output that depends on others adds nothing."""
        n, m = self.n_rows, len(self.squares)
        values = np.linalg.eigvalsh(self.squares / n)
        values = values[values > 1e-14 * max(float(values[-1]), np.finfo(float).tiny)]
        return -0.5 * n * (m * (math.log(2 * math.pi) + 1.0) + float(np.log(values).sum()))

    @property
    def _degrees(self) -> int:
        return self.n_rows * len(self.squares) - self.n_parameters

    @property
    def _stacked(self) -> Stacked:
        return Stacked.of(self.network, self.model)

    @cached_property
    def _order(self) -> np.ndarray:
        """Where the entries of `names` stand in θ."""
        stacked = self._stacked
        units = [stacked.coordinates(i) for i in range(self.network.n_units)]
        rest = np.arange(stacked.inner + self.network.A.size, stacked.full)
        return np.concatenate([*units, rest]).astype(int)

    @cached_property
    def _delta(self) -> np.ndarray:
        """(P, full): derivative of the normal form in the coordinates; ‖w‖ = 1 for homogeneous φ."""
        stacked, net = self._stacked, self.network
        T = np.eye(stacked.full)
        if stacked.homogeneous:
            d, q, degree = net.n_inputs, stacked.inputs, float(net.activation.degree or 1.0)
            for i in range(net.n_units):
                at, length = stacked.coordinates(i), max(float(np.linalg.norm(net.W[:, i])), np.finfo(float).tiny)
                radial = np.zeros(len(at))
                radial[:d] = net.W[:, i] / length
                own = np.append(stacked.hidden[:, i] / length, -degree * net.A[i] / length)
                scale = np.repeat((1 / length, length**degree), (q, len(at) - q))
                T[np.ix_(at, at)] = (np.eye(len(at)) - np.outer(own, radial)) * scale[:, None]
        return np.asarray(T[self._order])
