"""Inference for a least-squares fit: standard errors, intervals, predictions, information criteria, the Cramér–Rao bound.

Estimation  θ̂ minimises Σ w (f(x) − y)² over coordinates with the scale fixed (`gauge`), p of them; weights are taken as inverse
            variances and normalised to Σ w = n, the number of rows with w > 0. σ̂² = Σ w r²/(n − p).
Covariance  classical σ̂² H⁻¹, H = Σ w jjᵀ; robust n/(n − p) H⁻¹ (Σ w² r² jjᵀ) H⁻¹ (HC1) [White 1980; MacKinnon & White 1985].
Outputs     of m, or beside a linear part, θ̂ minimises Σ w ‖r/s‖², s their sizes [joint_standard], in the coordinates of
            `evidence.stacked`. Errors of a row may depend on each other, rows not: Σ̂ = Σ w rrᵀ/(n − p/m), H⁻¹(Σ w JᵀΣ̂J)H⁻¹ and
            nm/(nm − p) H⁻¹(Σ w² (Jᵀr)(Jᵀr)ᵀ)H⁻¹, one score a row [Liang & Zeger 1986].
Units       in normal form, by the delta method: w/‖w‖, b/‖w‖ and a‖w‖^q for φ homogeneous of degree q; else w, b and a.
Open        where the rows do not determine every coordinate, H⁻¹ is a pseudo-inverse, and parameters that move along the null
            space of H have the standard error ∞; the others have that of the directions that are determined.
Bound       σ² tr(H⁻¹) at the truth on the drawn inputs: what the squared error of any unbiased estimate of θ is at least.
Cost        four passes, O(n p²) and O(p³).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtr, stdtrit

from weightlift.arguments import flag, probability
from weightlift.certificate.inflation import inflated, variance_inflation
from weightlift.certificate.joint_standard import StandardForm
from weightlift.certificate.parameters import described, parameter_names, parameter_values
from weightlift.certificate.scores import Scores
from weightlift.certificate.standard import Standard
from weightlift.errors import ArgumentError, ShapeError, SingularError, TooFewRowsError
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.evidence.stacked import (
    Coordinates,
    Known,
    ResidualProducts,
    StackedInformation,
    coordinates_of,
    target_moments,
)
from weightlift.namespaces import Array, array_namespace, as_like, matrix, to_numpy
from weightlift.network import Network
from weightlift.refinement.variable_projection import Model
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
    allows for noise whose size depends on x, instead of the classical one. Units keep their numbers. Nothing here is right
    for a network that is not a regular fit: `certify` checks that.

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
    model = Model(bias, network.V is not None, offset)
    columns, inflation, spread = columns_of(samples), variance_inflation(samples), target_spread(samples)
    normal = network.normalized()
    form = _Standard.of(normal, samples, model)
    information, gauge, L = form.information, form.information.gauge, form.information.half_inverse
    squares, _, _, rows = (to_numpy(v) for v in form.rows.fold(ResidualProducts(gauge.network)))
    n, p, m = int(rows), gauge.size, normal.n_outputs
    if n * m <= p:
        what = "rows" if m == 1 else "equations"
        raise TooFewRowsError(f"{n * m} {what} leave no degrees of freedom for {p} parameters; give more rows.")
    noise, meat = squares / (n - p / m), to_numpy(form.rows.fold(Scores(gauge, L))[0])
    half, scale = form.to_raw(L), n / information.total
    classical, sandwich = (half @ C @ half.T for C in (information.covariance(noise), n * m / (n * m - p) * meat))
    squares = scale * squares * np.outer(form.sizes, form.sizes)
    fit = Inference(
        normal, bias, offset, robust, n, p, squares, scale * spread, classical, sandwich, inflation, columns.inputs,
        columns.outputs,
    )  # fmt: skip
    if information.full_rank:
        return fit
    if isinstance(information, StackedInformation):
        raise _singular(information)
    loose = information.open_directions()
    null, sizes = (fit.moved(form.to_raw(v)) for v in (loose, np.diag(information.sizes)))
    return replace(fit, open=null > OPEN * sizes)


@dataclass(frozen=True, eq=False)
class _Standard:
    """Standard rows and what they say, the targets' sizes there, and the map of changes (p, r) to raw coordinates."""

    rows: Samples
    information: Known
    sizes: np.ndarray
    to_raw: Callable[[np.ndarray], np.ndarray]

    @classmethod
    def of(cls, network: Network, samples: Samples, model: Model) -> _Standard:
        if network.a.ndim == 2 or network.V is not None:
            form = StandardForm.of(network, samples, model)
            return cls(form.rows, form.information, form.scaled.scale, form.to_raw)
        standard = Standard.of(samples, bias=model.bias)
        gauge = Gauge.of(standard.network(network), bias=model.bias, offset=model.offset)
        rows, to_raw = standard.rows(samples), partial(standard.units, q=gauge.unit_size, k=network.n_units)
        return cls(rows, Information.of(rows, gauge), np.ones(1), to_raw)


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
    information = Information.of(samples.map(standard), gauge)
    if not information.full_rank:
        raise _singular(information)
    return float(noise_std**2 * np.sum(standard.units(information.half_inverse, gauge.unit_size, network.n_units) ** 2))


@dataclass(frozen=True, eq=False)
class Inference:
    """What a fit says about its parameters; the table's order is unit by unit w, b, a at every output, V by inputs, and c last.

    Of several outputs noise_std is the root mean square of the errors, rss and tss are sums over all.

    level  the probability with which an interval covers
    """

    network: Network  # in normal form
    bias: bool
    offset: bool
    robust: bool
    n_rows: int
    n_parameters: int
    squares: np.ndarray = field(repr=False)  # (m, m) Σ w rrᵀ, Σ w = n
    tss: float  # Σ w (y − ȳ)²
    classical: np.ndarray = field(repr=False)  # (p, p), in the coordinates of the gauge
    sandwich: np.ndarray = field(repr=False)
    inflation: np.ndarray = field(repr=False)  # (d,) variance inflation of the inputs
    feature_names: tuple[str, ...] | None = None  # of the inputs
    target_names: tuple[str, ...] | None = None  # of several outputs
    open: np.ndarray | None = field(default=None, repr=False)  # (P,) what the rows do not determine; None: they determine all

    def named(self, inputs: tuple[str, ...]) -> Inference:
        """The same with names of the inputs."""
        return replace(self, feature_names=inputs)

    @property
    def rss(self) -> float:
        """Σ w r², Σ w = n."""
        return float(np.trace(self.squares))

    @property
    def noise_covariance(self) -> np.ndarray:
        """(m, m) of a row of mean weight: Σ w rrᵀ/(n − p/m)."""
        return np.asarray(self.squares / (self.n_rows - self.n_parameters / len(self.squares)))

    @property
    def noise_std(self) -> float:
        """Of a row of mean weight."""
        return math.sqrt(float(np.trace(self.noise_covariance)) / len(self.squares))

    @property
    def names(self) -> tuple[str, ...]:
        """w[i,j], b[i], a[i,o], V[j,o], c[o]: unit i, input j, output o; without o where there is one output (n,)."""
        columns = Columns(self.feature_names, self.target_names)
        return parameter_names(self.network, bias=self.bias, offset=self.offset, columns=columns)

    @cached_property
    def estimates(self) -> np.ndarray:
        """(P,) in the order of `names`."""
        return parameter_values(self.network, bias=self.bias, offset=self.offset)

    @cached_property
    def covariance(self) -> np.ndarray:
        """(P, P) of the parameters in normal form; singular for homogeneous φ, where ‖w‖ = 1."""
        T = self._coordinates.normal_form()
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
        """f(x) with the ends of its interval, (n,) or (n, m): for a new observation of mean weight, or, without noise, for f(x)
        itself.

        X      (n, d), one row an observation
        level  the share of samples that the interval is to cover
        """
        X = matrix(X, self.network.n_inputs)
        xp = array_namespace(X)
        J, _ = self._coordinates.linearized(X)
        C = as_like(self.sandwich if self.robust else self.classical, X)
        variance = xp.sum(xp.matmul(J, C) * J, axis=2)
        if noise:
            variance = variance + as_like(np.diagonal(self.noise_covariance).copy(), X)
        variance = variance if self.network.a.ndim == 2 else variance[:, 0]
        centre, half = self.network.predict(X), self._quantile(level) * xp.sqrt(variance)
        return centre, centre - half, centre + half

    @property
    def log_likelihood(self) -> float:
        """Gaussian, at its maximum over the errors' covariance; an output that depends on others adds nothing."""
        n, m = self.n_rows, len(self.squares)
        values = np.maximum(np.linalg.eigvalsh(self.squares), np.finfo(float).tiny) / n
        values = values[values > 1e-14 * values[-1]]
        return -0.5 * n * (m * (math.log(2 * math.pi) + 1.0) + float(np.log(values).sum()))

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

    def moved(self, changes: np.ndarray) -> np.ndarray:
        """(P,) squares of changes (p, r) of the coordinates, in normal form."""
        return np.asarray(np.sum((self._coordinates.normal_form() @ changes) ** 2, axis=1))

    @property
    def _coordinates(self) -> Coordinates:
        return coordinates_of(self.network, Model(self.bias, self.network.V is not None, self.offset))

    def _quantile(self, level: float) -> float:
        probability("level", level)
        return -float(stdtrit(self._degrees, (1 - level) / 2))

    @property
    def _degrees(self) -> int:
        """Of freedom."""
        return self.n_rows * len(self.squares) - self.n_parameters


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


def _singular(information: Known) -> SingularError:
    return SingularError(
        f"the rows do not determine all {information.gauge.size} parameters (condition {information.condition:.1g}); use "
        "fewer units, or ask `certify` which ones are in doubt."
    )
