"""Whether a noisy fit is regular: everything that its regions and its lack-of-fit test rest on, checked in order.

    rows            at least 3 p + 30 that are independent, no copies among them
    stationarity    gᵀ(JᵀJ)⁻¹g/σ² small: the distance to the minimum in standard errors
    tails           no residual, no leverage of an input with its copies, and no fourth moment that decides alone
    lack of fit     `lack_of_fit`, with a detection limit well below the smallest unit
    significance    every unit, and the difference of any two, beyond what fitting noise gives: for hyperplanes in d
                    dimensions the best of (en/d)^d patterns gains about 2 d ln(en/d)
    linearity       Σ w r² on the regions' boundaries is what the quadratic approximation says
    rivals          no network with reflected units fits nearly as well
A unit's region is the 99.99 % ellipsoid of its classical or its robust covariance, corrected for the degrees of freedom and for
the distance to the minimum, plus what a further unit just below the detection limit would have moved it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weightlift.certificate.lack_of_fit import LEVEL, LackOfFit, lack_of_fit
from weightlift.certificate.rivals import reflected_rivals
from weightlift.certificate.scores import Scores, SharedLeverages
from weightlift.certificate.status import Certificate, Status
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.evidence.rows import DistinctRows, count_distinct, double
from weightlift.namespaces import array_namespace, to_numpy
from weightlift.risk import Risk, Students
from weightlift.samples import Block, Samples, Sums

MAX_COPIES = 1.1
MAX_SHIFT = 0.01  # gᵀ(JᵀJ)⁻¹g/σ², a parameter: the minimum is within a tenth of the standard error
MAX_KURTOSIS, MAX_RESIDUAL = 4.0, 8.0  # excess, and in standard deviations
MAX_LEVERAGE = 0.8
REGION = 1e-4  # 99.99 %
MAX_LIMIT = 0.75  # of the detection limit, beside the smallest unit
MAX_REGION = 1.0  # relative size of a region
LINEARITY = (0.6, 1.6)
RIVAL = 30.0  # least gain in Σ w r²/σ² over a rival, and 2 ln 2 a unit
SCREEN = 1000.0  # times the condition number: rivals that start further above, in units of σ², are not refitted


def examine(
    samples: Samples, information: Information, blank: Certificate, effective_rows: float, rng: np.random.Generator
) -> Certificate:
    """The certificate of a noisy fit, with STATISTICAL status if it is regular."""
    return _Examination(samples, information, blank, effective_rows, rng).certificate()


@dataclass(frozen=True, eq=False)
class _Examination:
    samples: Samples
    information: Information
    blank: Certificate
    effective_rows: float
    rng: np.random.Generator

    @property
    def gauge(self) -> Gauge:
        return self.information.gauge

    def certificate(self) -> Certificate:
        e, p = self.blank.evidence, self.gauge.size
        rows = min(float(e.n_rows), self.effective_rows)
        _, copies = count_distinct(self.samples.fold(DistinctRows(targets=True)))
        if copies > MAX_COPIES:
            return self._failed("Many rows are copies of others, whose noise is not independent; keep one of each.")
        needed = 3 * p + 30
        if rows < needed:
            return self._failed(
                f"The residual is not at rounding level, and for noisy data {rows:.0f} effective rows are too few "
                f"for {p} parameters; give at least {needed}."
            )
        scale = e.n_rows / self.information.total
        variance = scale * self.information.rss / (e.n_rows - p)
        L = self.information.half_inverse
        shift = scale * float(np.sum((L.T @ self.information.gradient) ** 2)) / variance
        scores = [to_numpy(v) for v in self.samples.fold(Scores(self.gauge, L))]
        fit = lack_of_fit(self.samples, self.information, e.n_rows, rng=self.rng)
        this = self._with(p_value=fit.p_value, noise_std=fit.noise_std, detection_limit=fit.detection_limit)
        reasons = [*self._structure(fit), *self._tails(scores, variance / scale), *self._distance(shift)]
        if reasons:
            return replace(this.blank, reasons=tuple(reasons))
        return this._judge(fit, variance / scale, scores, shift)

    def _structure(self, fit: LackOfFit) -> Iterator[str]:
        if fit.p_value < LEVEL:
            yield (
                f"The residual has structure left (p = {fit.p_value:.1g}): try another width, another activation, biases or an "
                "offset, or search for a better minimum."
            )

    def _tails(self, scores: list[np.ndarray], variance: float) -> Iterator[str]:
        n, p = self.blank.evidence.n_rows, self.gauge.size
        kurtosis = n * float(scores[2]) / float(scores[3]) ** 2 - 3.0
        largest = float(scores[5]) / math.sqrt(variance)
        if kurtosis > MAX_KURTOSIS or largest > MAX_RESIDUAL:
            yield (
                f"The residuals have outliers or heavy tails (largest {largest:.1f} standard deviations, excess kurtosis "
                f"{kurtosis:.1f}); remove or weight down the outlying rows."
            )
        leverage = float(scores[4])
        if self.blank.evidence.n_distinct < n:
            leverage = float(self.samples.fold(SharedLeverages(self.gauge, self.information.half_inverse))[0])
        if leverage > max(MAX_LEVERAGE, 4 * p / n):
            yield f"A single input decides the fit (leverage {leverage:.2f}); remove outlying inputs or give more rows."

    def _distance(self, shift: float) -> Iterator[str]:
        if shift > MAX_SHIFT * max(10.0, self.gauge.size):
            yield (
                f"The network is {math.sqrt(shift):.2g} standard errors away from a minimum of the squared error; refine it, "
                "without a penalty."
            )

    def _judge(self, fit: LackOfFit, variance: float, scores: list[np.ndarray], shift: float) -> Certificate:
        """variance: σ² as it belongs to Σ w r² with the weights as given."""
        classical = variance * self.information.inverse
        robust = self.information.sandwich(scores[1])
        units = np.array([self.gauge.coordinates(i) for i in range(self.gauge.network.n_units)])
        if (trouble := self._insignificant(classical, robust, units)) is not None:
            return trouble
        smallest = float(np.sqrt(to_numpy(self.samples.mean(UnitSquares(self.gauge))[0]).min()))
        if not fit.detection_limit <= MAX_LIMIT * smallest:
            return self._failed(
                f"A further unit as large as {fit.detection_limit:.2g} (root mean square) could not be excluded, "
                f"the smallest one found has {smallest:.2g}; give more rows or less noise."
            )
        regions = self._regions(fit, classical, robust, units, shift)
        sizes = [[self.gauge.relative_size(i, R[i]) for i in range(len(units))] for R in regions]
        precision = np.max(sizes, axis=0)
        this = self._with_precision(precision)
        if not float(precision.max()) <= MAX_REGION:
            wide = [i for i, value in enumerate(precision) if not value <= MAX_REGION]
            return this._ambiguous("The regions are as large as the units themselves; give more rows.", wide)
        if not this._linear(variance):
            return this._ambiguous(
                "Within the regions the squared error is not quadratic, so that they cannot be trusted; give more rows.",
                range(len(units)),
            )
        reason = (
            f"The residual shows no structure (p = {fit.p_value:.2g}); a further unit above "
            f"{fit.detection_limit:.2g} (root mean square) would have been found. Nearly parallel units that act as one within "
            "this limit count as one."
        )
        claim = replace(this.blank, status=Status.STATISTICAL, reasons=(reason,), regions=regions)
        trouble = this._against_rivals(claim, variance)
        return claim if trouble is None else trouble

    def _insignificant(self, classical: np.ndarray, robust: np.ndarray, units: np.ndarray) -> Certificate | None:
        n, d, k = self.blank.evidence.n_rows, self.gauge.network.n_inputs, len(units)
        q = self.gauge.unit_size
        chance = q + 2 * (d + 1) * math.log(math.e * n / (d + 1)) + 40.0
        theta = self.gauge.theta
        for i in range(k):
            at = units[i][:-1] if self.gauge.free.a else units[i]
            values = [self._wald(theta[at], C[np.ix_(at, at)]) for C in (classical, robust)]
            if self.gauge.free.a:
                values += [theta[units[i][-1]] ** 2 / C[units[i][-1], units[i][-1]] for C in (classical, robust)]
            if min(values) < chance:
                return self._ambiguous(f"Unit {i} is not significant; use fewer units or give more rows.", [i])
        d = self.gauge.free.inputs(d)
        for i in range(k):
            for j in range(i):
                for sign in (1.0, -1.0):
                    left, right = units[i][:d], units[j][:d]
                    ti, tj = theta[left], theta[right]
                    # lengths do not separate two units of homogeneous φ: compare w/‖w‖ by scaling one to the other
                    ratio = sign if self.gauge.free.a else sign * np.linalg.norm(ti) / np.linalg.norm(tj)
                    delta = ti - ratio * tj
                    values = []
                    for C in (classical, robust):
                        block = C[np.ix_(left, left)] + ratio**2 * C[np.ix_(right, right)]
                        cross = ratio * C[np.ix_(left, right)]
                        values.append(self._wald(delta, block - cross - cross.T))
                    if min(values) < chance:
                        return self._ambiguous(
                            f"Units {j} and {i} cannot be told apart; use fewer units or give more rows.", [j, i]
                        )
        return None

    @staticmethod
    def _wald(delta: np.ndarray, covariance: np.ndarray) -> float:
        scale = np.sqrt(np.maximum(np.diagonal(covariance), np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
        return float((((vectors.T @ (delta / scale)) ** 2) / np.maximum(values, 1e-12)).sum())

    def _regions(
        self, fit: LackOfFit, classical: np.ndarray, robust: np.ndarray, units: np.ndarray, shift: float
    ) -> np.ndarray:
        """(2, k, q, q): δᵀR⁻¹δ ≤ 1 holds for the sum of an ellipsoid and of whatever an unseen unit would move."""
        from scipy.stats import f as fisher

        q, rest = self.gauge.unit_size, self.blank.evidence.n_rows - self.gauge.size
        radius = math.sqrt(q * float(fisher.isf(REGION, q, rest))) + math.sqrt(shift)
        return np.stack(
            [[enclosing(radius**2 * C[np.ix_(at, at)], fit.shifts[at]) for at in units] for C in (classical, robust)]
        )

    def _linear(self, variance: float) -> bool:
        """Σ w r² at θ ± R L v against what it should be, for random v and for each unit's least certain direction."""
        radius, p = 4.0, self.gauge.size
        L = math.sqrt(variance) * self.information.half_inverse
        v = self.rng.standard_normal((8, p))
        steps = [v @ L.T / np.linalg.norm(v, axis=1, keepdims=True)]
        for i in range(self.gauge.network.n_units):
            at = self.gauge.coordinates(i)
            values, vectors = np.linalg.eigh(L[at] @ L[at].T)
            worst = L @ (L[at].T @ vectors[:, -1]) / math.sqrt(max(values[-1], np.finfo(float).tiny))
            steps.append(np.stack([worst, -worst]))
        delta = radius * np.concatenate(steps)
        risks = 2.0 * to_numpy(self.samples.fold(Risk(self.gauge.perturbed(delta)))[0])
        slope = 2.0 * delta @ self.information.gradient
        ratio = (risks - self.information.rss - slope) / (variance * radius**2)
        return bool(ratio.min() >= LINEARITY[0] and ratio.max() <= LINEARITY[1])

    def _against_rivals(self, claim: Certificate, variance: float) -> Certificate | None:
        """Reflected networks that fit nearly as well and have units outside the claimed regions."""
        ceiling = self.information.rss + SCREEN * max(1.0, self.information.condition) * variance
        rivals = reflected_rivals(self.samples, self.gauge, ceiling)
        other = np.array([not claim.locate(rival.network)[0].all() for rival in rivals], dtype=bool)
        gain = np.array([(rival.rss - self.information.rss) / variance for rival in rivals])
        margin = RIVAL + 2 * math.log(2) * self.gauge.network.n_units
        close = [rival for rival, apart, value in zip(rivals, other, gain, strict=True) if apart and value < margin]
        if not close:
            return None
        best = min(close, key=lambda rival: rival.rss)
        units = np.flatnonzero(best.pattern).tolist()
        if best.rss < self.information.rss - margin * variance:
            return self._failed(f"Reflecting units {units} and refitting explains the data better; refine from there.")
        ambiguous = self._ambiguous(f"A network with units {units} reflected explains the data as well; give more rows.", units)
        return replace(ambiguous, sign_patterns=np.array([rival.pattern for rival in close]))

    def _with(self, **changes: Any) -> _Examination:
        return replace(self, blank=replace(self.blank, evidence=replace(self.blank.evidence, **changes)))

    def _with_precision(self, precision: np.ndarray) -> _Examination:
        return replace(self, blank=replace(self.blank, precision=precision))

    def _failed(self, reason: str) -> Certificate:
        return replace(self.blank, status=Status.FAILED, reasons=(reason,))

    def _ambiguous(self, reason: str, units: Any) -> Certificate:
        chosen = tuple(int(i) for i in units)
        return replace(self.blank, status=Status.AMBIGUOUS, reasons=(reason,), ambiguous_units=chosen)


def enclosing(A: np.ndarray, points: np.ndarray) -> np.ndarray:
    """R of an ellipsoid xᵀR⁻¹x ≤ 1 that holds e + s for all e with eᵀA⁻¹e ≤ 1 and all columns s of points.

    B = f Σ ssᵀ with f = max sᵀ(Σ ssᵀ)⁺s ≤ 1 holds the points, and (1 + 1/t) A + (1 + t) B the sum, for any t > 0.
    """
    if not points.size or not np.any(points):
        return A
    _, sizes, V = np.linalg.svd(points, full_matrices=False)
    leverages = (V[sizes > 1e-12 * sizes[0]] ** 2).sum(axis=0)
    B = points @ points.T * float(leverages.max())
    t = math.sqrt(float(np.trace(A)) / float(np.trace(B)))
    return np.asarray((1 + 1 / t) * A + (1 + t) * B)


@dataclass(frozen=True, eq=False)
class UnitSquares:
    """Σ w (aᵢ φ(zᵢ))², (k,)."""

    gauge: Gauge

    @property
    def floats_per_row(self) -> int:
        return 4 * self.gauge.network.n_units

    def __call__(self, block: Block) -> Sums:
        X, _, w = double(block)
        students = Students.of(self.gauge.network).like(X)
        parts = (students.a * students.activation(students.preactivations(X)))[:, 0, :]
        return (array_namespace(X).sum(w[:, None] * parts * parts, axis=0),)
