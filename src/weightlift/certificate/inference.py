"""Inference for a least-squares fit: standard errors, intervals, predictions, information criteria, the Cramér–Rao bound.

Estimation  θ̂ minimises Σ w (f(x) − y)² over coordinates with the scale fixed (`gauge`), p of them; weights are taken as inverse
            variances and normalised to Σ w = n, the number of rows with w > 0. σ̂² = Σ w r²/(n − p).
Covariance  classical σ̂² H⁻¹, H = Σ w jjᵀ; robust n/(n − p) H⁻¹ (Σ w² r² jjᵀ) H⁻¹ (HC1) [White 1980; MacKinnon & White 1985].
Units       in normal form, by the delta method: w/‖w‖, b/‖w‖ and a‖w‖^q for φ homogeneous of degree q; else w, b and a.
Open        where the rows do not determine every coordinate, H⁻¹ is a pseudo-inverse, and parameters that move along the null
            space of H have the standard error ∞; the others have that of the directions that are determined.
Bound       σ² tr(H⁻¹) at the truth on the drawn inputs: what the squared error of any unbiased estimate of θ is at least.
Cost        four passes, O(n p²) and O(p³).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtr, stdtrit

from weightlift.arguments import flag, probability
from weightlift.certificate.inflation import inflated, variance_inflation
from weightlift.certificate.parameters import described, parameter_names, parameter_values
from weightlift.certificate.scores import Scores
from weightlift.certificate.standard import Standard
from weightlift.errors import ArgumentError, ShapeError, SingularError, TooFewRowsError
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.evidence.rows import Agreement
from weightlift.evidence.stacked import target_moments
from weightlift.namespaces import Array, array_namespace, as_like, matrix, to_numpy
from weightlift.network import Network
from weightlift.refinement.variable_projection import Model
from weightlift.risk import Students
from weightlift.samples import Columns, Samples
from weightlift.samples import open as open_samples
from weightlift.samples.columns import columns_of

if TYPE_CHECKING:
    from weightlift.certificate.summary import Summary

OPEN = 1e-6  # share of a parameter's step in directions that the rows do not determine, from which it is one of them


def inference(
    network: Network,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    bias: bool | None = None,
    offset: bool | None = None,
    robust: bool = True,
) -> Inference:
    """Standard errors and what follows from them, for a network at its least-squares fit to rows (X, y) or to a source.

    bias, offset: whether b and c were fitted; inferred from the network when None. robust: the sandwich covariance, which
    allows for noise whose size depends on x, instead of the classical one. Several outputs, or a linear part, give a
    `JointInference`. Units keep their numbers. Nothing here is right for a network that is not a regular fit: `certify` checks
    that.

    sample_weight  (n,) ≥ 0, counts or inverse variances

    >>> from weightlift import draw, teachers
    >>> from weightlift.refinement.gauss_newton import gauss_newton
    >>> truth = teachers.conditioned(3, 1, activation="relu", rng=1)
    >>> X, y = draw(truth, 1000, noise_std=0.1, rng=2)
    >>> result = inference(gauss_newton(open_samples(X, y), truth).network, X, y)
    >>> result.names, result.n_parameters, round(result.noise_std, 2)
    (('w[0,0]', 'w[0,1]', 'w[0,2]', 'a[0]'), 3, 0.1)
    """
    flag("robust", robust)
    samples = _rows(network, X, y, sample_weight)
    bias = bool(np.any(network.b)) if bias is None else bool(bias)
    offset = bool(np.any(network.c)) if offset is None else bool(offset)
    if network.a.ndim == 2 or network.V is not None:
        from weightlift.certificate.joint_inference import joint_inference

        return joint_inference(network, samples, Model(bias, network.V is not None, offset), robust=robust)
    columns, inflation, spread = columns_of(samples), variance_inflation(samples), target_spread(samples)
    normal = network.normalized()
    standard = Standard.of(samples, bias=bias)
    samples, gauge = standard.rows(samples), Gauge.of(standard.network(normal), bias=bias, offset=offset)
    rows = float(samples.fold(Agreement(gauge.network))[3])
    n, p = int(rows), gauge.size
    if n <= p:
        raise TooFewRowsError(f"{n} rows leave no degrees of freedom for {p} parameters; give more rows.")
    information = Information.of(samples, gauge)
    scale = n / information.total
    variance = scale * information.rss / (n - p)
    classical = variance / scale * information.inverse
    meat = to_numpy(samples.fold(Scores(gauge, information.half_inverse))[0])
    sandwich = n / (n - p) * information.sandwich(meat)
    loose = information.open_directions()
    matrices = classical, sandwich, loose @ loose.T, np.diag(information.sizes**2)
    classical, sandwich, null, sizes = (standard.covariance(gauge, C) for C in matrices)
    noise, rss, tss = math.sqrt(variance), scale * information.rss, scale * spread
    fit = Inference(normal, bias, offset, robust, n, p, noise, rss, tss, classical, sandwich, inflation, columns.inputs)
    return replace(fit, open=fit.moved(null) > OPEN * fit.moved(sizes)) if loose.size else fit


def cramer_rao(network: Network, X: Any, noise_std: float, *, bias: bool | None = None, offset: bool | None = None) -> float:
    """σ² tr(JᵀJ)⁻¹ at the network, in coordinates with the scale fixed, on the inputs X (n, d) or on a source's.

    For homogeneous φ the coordinates are W (and b) with |a| = 1: the bound for E ‖Ŵ − W‖².

    noise_std  σ
    bias       whether b is unknown; None: where it is not zero
    offset     whether c is unknown; None: where it is not zero
    """
    if not noise_std >= 0:
        raise ArgumentError(f"noise_std must not be negative, not {noise_std!r}.")
    if not hasattr(X, "fold"):
        X = matrix(X, network.n_inputs)
        X = open_samples(X, 0.0 * X[:, 0])
    samples = _rows(network, X, None, None)
    bias = bool(np.any(network.b)) if bias is None else bool(bias)
    offset = network.c != 0.0 if offset is None else bool(offset)
    standard = Standard.of(samples, bias=bias)
    gauge = Gauge.of(standard.network(network), bias=bias, offset=offset)
    information = _full_rank(samples.map(standard), gauge)
    return float(noise_std**2 * np.trace(standard.covariance(gauge, information.inverse)))


@dataclass(frozen=True, eq=False)
class Inference:
    """What a fit says about its parameters; the table's order is unit by unit w, b, a, and c last.

    level  the probability with which an interval covers
    """

    network: Network  # in normal form
    bias: bool
    offset: bool
    robust: bool
    n_rows: int
    n_parameters: int
    noise_std: float  # of a row of mean weight
    rss: float  # Σ w r², Σ w = n
    tss: float  # Σ w (y − ȳ)²
    classical: np.ndarray = field(repr=False)  # (p, p), in the coordinates of the gauge
    sandwich: np.ndarray = field(repr=False)
    inflation: np.ndarray = field(repr=False)  # (d,) variance inflation of the inputs
    feature_names: tuple[str, ...] | None = None  # of the inputs
    open: np.ndarray | None = field(default=None, repr=False)  # (P,) what the rows do not determine; None: they determine all

    def named(self, inputs: tuple[str, ...]) -> Inference:
        """The same with names of the inputs."""
        return replace(self, feature_names=inputs)

    @property
    def names(self) -> tuple[str, ...]:
        columns = Columns(self.feature_names)
        return parameter_names(self.network, bias=self.bias, offset=self.offset, columns=columns)

    @cached_property
    def estimates(self) -> np.ndarray:
        """(P,) in the order of `names`."""
        return parameter_values(self.network, bias=self.bias, offset=self.offset)

    @cached_property
    def covariance(self) -> np.ndarray:
        """(P, P) of the parameters in normal form; singular for homogeneous φ, where ‖w‖ = 1."""
        T = self._delta
        return np.asarray(T @ (self.sandwich if self.robust else self.classical) @ T.T)

    @property
    def standard_errors(self) -> np.ndarray:
        """(P,) infinite for a parameter that the rows do not determine."""
        errors = np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0))
        return np.asarray(errors if self.open is None else np.where(self.open, np.inf, errors))

    @property
    def z_values(self) -> np.ndarray:
        errors = self.standard_errors
        return np.asarray(self.estimates / np.where(errors > 0, errors, np.inf))

    @property
    def p_values(self) -> np.ndarray:
        """Of the hypothesis that the parameter is zero, two-sided, by Student's law with n − p degrees of freedom."""
        return np.asarray(2.0 * stdtr(self._degrees, -np.abs(self.z_values)))

    @property
    def r2(self) -> float:
        """1 − Σ w r²/Σ w (y − ȳ)²."""
        return 1.0 - self.rss / self.tss if self.tss else math.nan

    @property
    def adjusted_r2(self) -> float:
        """The same with both sums over their degrees of freedom."""
        equations = self.n_rows * self.network.n_outputs
        return 1.0 - (1.0 - self.r2) * (equations - self.network.n_outputs) / self._degrees

    def intervals(self, level: float = 0.95) -> np.ndarray:
        """(P, 2) confidence intervals; level is the share of samples that they are to cover."""
        half = self._quantile(level) * self.standard_errors
        return np.stack([self.estimates - half, self.estimates + half], axis=1)

    def predict(self, X: Array, level: float = 0.95, *, noise: bool = True) -> tuple[Array, Array, Array]:
        """f(x) with the ends of its interval (m,): for a new observation of mean weight, or, without noise, for f(x) itself.

        X      (m, d), one row an observation
        level  the share of samples that the interval is to cover
        """
        gauge = self._gauge
        X = matrix(X, self.network.n_inputs)
        xp = array_namespace(X)
        students = Students.of(gauge.network).like(X)
        J = gauge.jacobian(X, students.preactivations(X), students)
        C = as_like(self.sandwich if self.robust else self.classical, X)
        variance = xp.sum(xp.matmul(J, C) * J, axis=1) + (self.noise_std**2 if noise else 0.0)
        centre, half = self.network.predict(X), self._quantile(level) * xp.sqrt(variance)
        return centre, centre - half, centre + half

    @property
    def log_likelihood(self) -> float:
        """Gaussian, at its maximum over σ."""
        n = self.n_rows
        return -0.5 * n * (math.log(2 * math.pi * max(self.rss, np.finfo(float).tiny) / n) + 1.0)

    @property
    def aic(self) -> float:
        return 2.0 * self.n_parameters - 2.0 * self.log_likelihood

    @property
    def bic(self) -> float:
        return math.log(self.n_rows) * self.n_parameters - 2.0 * self.log_likelihood

    @property
    def cramer_rao(self) -> float:
        """σ̂² tr(JᵀJ)⁻¹, the bound with the estimates put in place of the truth."""
        return float(np.trace(self.classical))

    @property
    def efficiency(self) -> float:
        """The robust estimate of the squared error over the bound: near one for noise of one size."""
        return float(np.trace(self.sandwich) / np.trace(self.classical))

    def summary(self, level: float = 0.95, *, caveats: tuple[str, ...] = ()) -> Summary:
        """A table that prints as text and as HTML, and turns into a data frame.

        level    of its intervals
        caveats  sentences to be read first
        """
        from weightlift.certificate.summary import Summary

        return Summary(self, level, caveats)

    def facts(self) -> list[tuple[str, str]]:
        """Names and values above the table."""
        return [
            ("Model", described(self.network)),
            ("Inputs", str(self.network.n_inputs)),
            ("Rows", str(self.n_rows)),
            ("Parameters", str(self.n_parameters)),
            ("Covariance", "robust (HC1)" if self.robust else "classical"),
            ("Noise std", f"{self.noise_std:.4g}"),
            ("Cramér–Rao bound", f"{self.cramer_rao:.4g}"),
            ("R²", f"{self.r2:.4g}"),
            ("Adjusted R²", f"{self.adjusted_r2:.4g}"),
            ("Log-likelihood", f"{self.log_likelihood:.4g}"),
            ("AIC", f"{self.aic:.4g}"),
            ("BIC", f"{self.bic:.4g}"),
            ("Largest inflation", f"{np.nanmax(self.inflation, initial=1.0):.4g}".replace("inf", "∞")),
            ("Robust error/bound", f"{self.efficiency:.4g}"),
        ]

    def remarks(self) -> tuple[str, ...]:
        """What the rows leave open, and the columns that inflate the errors."""
        found = []
        if self.open is not None and self.open.any():
            names = [name for name, loose in zip(self.names, self.open, strict=True) if loose]
            more = f" and {len(names) - 8} more" if len(names) > 8 else ""
            found.append(f"The rows do not determine {', '.join(names[:8])}{more}; their intervals are all of R.")
        sentence = inflated(self.inflation, Columns(self.feature_names))
        return (*found, sentence) if sentence else tuple(found)

    def moved(self, C: np.ndarray) -> np.ndarray:
        """(P,) diagonal, in normal form, of a matrix C of the coordinates."""
        T = self._delta
        return np.asarray(np.sum((T @ C) * T, axis=1))

    @property
    def _gauge(self) -> Gauge:
        return Gauge.of(self.network, bias=self.bias, offset=self.offset)

    @cached_property
    def _delta(self) -> np.ndarray:
        """(P, p): derivative of the normal form in the coordinates."""
        gauge, k = self._gauge, self.network.n_units
        T = np.zeros((len(self.names), gauge.size))
        each = gauge.unit_size + (not gauge.free.a)
        for i in range(k):
            T[i * each : (i + 1) * each, gauge.coordinates(i)] = gauge.normal_form_jacobian(i)
        if self.offset:
            T[-1, -1] = 1.0
        return T

    def _quantile(self, level: float) -> float:
        probability("level", level)
        return -float(stdtrit(self._degrees, (1 - level) / 2))

    @property
    def _degrees(self) -> int:
        """Of freedom."""
        return self.n_rows - self.n_parameters


def _rows(network: Network, X: Any, y: Any, sample_weight: Any) -> Samples:
    samples = open_samples(X, y, sample_weight=sample_weight)
    if samples.d != network.n_inputs:
        raise ShapeError(f"X has {samples.d} inputs and the network {network.n_inputs}; they must agree.")
    if not math.isfinite(samples.n):
        raise ArgumentError("X is a population without rows; draw some with weightlift.draw(network, n).")
    return samples


def target_spread(samples: Samples) -> float:
    """Σ w (y − ȳ)²."""
    return float(np.trace(target_moments(samples)[1])) * samples.total


def _full_rank(samples: Samples, gauge: Gauge) -> Information:
    information = Information.of(samples, gauge)
    if not information.full_rank:
        raise SingularError(
            f"the rows do not determine all {gauge.size} parameters (condition {information.condition:.1g}); use "
            "fewer units, or ask `certify` which ones are in doubt."
        )
    return information
