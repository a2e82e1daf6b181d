"""The two curves of an SGD run: error against the best predictor that sees ‖x‖² alone, and distance of the weights.

    ratio      Σ (y_j − ȳ_j(x_j))² / Σ (y_j − y_LS(x_j))² over a window of steps j, with the running average of the weights
               before step j in ȳ_j and the least-squares fit of y on (1, ‖x‖²) in y_LS            [mondelli2019, Fig. 1, top]
    nearest    (1/2r) Σᵢ minⱼ ‖ŵᵢ − wⱼ‖² + (1/2r) Σᵢ minⱼ ‖ŵⱼ − wᵢ‖², running average against truth   [Fig. 1, bottom]

The paper averages ratios of single squares, whose mean is infinite where y − y_LS has a density at zero; here sums are
divided. Six moments a window hold all that the fit and its residuals need, so that y_LS is fitted to every row of the run
and no row is kept. Cost O(d) a step for the moments, O(r² d) a window for the distances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weightlift.errors import ArgumentError, ShapeError

SUMS = 8  # w e², w ē², and w times 1, q, q², y, q y, y² with q = ‖x‖² − d
ESTIMATES = 256  # at a time: their products with 2,500 truths are 5 MB


@dataclass(frozen=True, eq=False)
class Windows:
    """Sums over consecutive windows of steps; the last window may be shorter.

    norm_fit  (a, b) of y_LS = a + b‖x‖², where the run is not to be fitted
    """

    ends: np.ndarray  # (m,) number of steps taken at the end of each window
    sums: np.ndarray  # (m, 8)
    inputs: int
    nearest: np.ndarray | None  # (m,) distance at the end of each window, where the truth is known

    @property
    def squared_error(self) -> np.ndarray:
        """(m,) mean of (y − ȳ)², each row predicted by the running average before it is used."""
        return np.asarray(self.sums[:, 1] / self.sums[:, 2])

    @property
    def last_squared_error(self) -> np.ndarray:
        """(m,) mean of (y − ŷ)², each row predicted by the iterate before it is used."""
        return np.asarray(self.sums[:, 0] / self.sums[:, 2])

    @property
    def norm_fit(self) -> tuple[float, float]:
        """(a, b) of y_LS = a + b‖x‖², by least squares over all rows of the run; b = 0 where ‖x‖² does not vary."""
        w, q, qq, y, qy, _ = self.sums[:, 2:].sum(axis=0)
        variance = qq - q * q / w
        b = (qy - q * y / w) / variance if variance > 1e-12 * qq else 0.0
        return float((y - b * q) / w - b * self.inputs), float(b)

    @property
    def norm_share(self) -> float:
        """Loss of y_LS over the variance of y, both over all rows of the run; NaN where y does not vary."""
        w, q, _, y, qy, yy = self.sums[:, 2:].sum(axis=0)
        if not w * yy > y * y:
            return float("nan")
        return float(1.0 - self.norm_fit[1] * (qy - q * y / w) / (yy - y * y / w))

    def ratio(self, norm_fit: tuple[float, float] | None = None) -> np.ndarray:
        """(m,) window sums of (y − ȳ)² over those of (y − y_LS)²; y_LS of the run unless norm_fit gives its (a, b)."""
        return self._over_baseline(1, norm_fit)

    def last_ratio(self, norm_fit: tuple[float, float] | None = None) -> np.ndarray:
        """The same, norm_fit too, for the iterate instead of the running average."""
        return self._over_baseline(0, norm_fit)

    def _over_baseline(self, column: int, norm_fit: tuple[float, float] | None) -> np.ndarray:
        a, b = self.norm_fit if norm_fit is None else norm_fit
        a = a + b * self.inputs
        w, q, qq, y, qy, yy = self.sums[:, 2:].T
        baseline = yy - 2 * (a * y + b * qy) + a * a * w + 2 * a * b * q + b * b * qq
        with np.errstate(divide="ignore", invalid="ignore"):  # y is a function of ‖x‖² alone
            return np.asarray(self.sums[:, column] / baseline)


def window_sums(X: np.ndarray, y: np.ndarray, w: np.ndarray | None, residual: np.ndarray, averaged: np.ndarray) -> np.ndarray:
    """(8,) sums over rows, in float64."""
    y, residual, averaged = (v.astype(np.float64) for v in (y, residual, averaged))
    q = np.einsum("ij,ij->i", X, X, dtype=np.float64) - X.shape[1]
    weights = np.ones_like(y) if w is None else w.astype(np.float64)
    terms = np.stack([residual**2, averaged**2, np.ones_like(y), q, q * q, y, q * y, y * y])
    return np.asarray(terms @ weights)


def nearest_weight_distance(estimate: np.ndarray, truth: np.ndarray) -> float:
    """½ mean_i min_j ‖ŵᵢ − wⱼ‖² + ½ mean_j min_i ‖ŵᵢ − wⱼ‖² for weights as columns (d, r̂) and (d, r)  [mondelli2019, Fig. 1].

    The nearest one is found by inner products; its distance is then a sum of squares, without cancellation.

    estimate  (d, r̂)
    truth     (d, r)

    >>> float(nearest_weight_distance(np.array([[0.0, 3.0]]), np.array([[1.0, 2.0]])))
    1.0
    """
    if estimate.ndim != 2 or truth.ndim != 2 or estimate.shape[0] != truth.shape[0]:
        raise ShapeError(f"weights must be columns of one length: {estimate.shape} against {truth.shape}.")
    if 0 in estimate.shape or 0 in truth.shape:
        raise ArgumentError("estimate and truth must have at least one column each.")
    E, T = (np.ascontiguousarray(v.T, dtype=np.float64) for v in (estimate, truth))
    half_e, half_t = (0.5 * np.einsum("ij,ij->i", v, v) for v in (E, T))
    to_truth = np.empty(len(E), dtype=np.intp)
    to_estimate, best = np.zeros(len(T), dtype=np.intp), np.full(len(T), -np.inf)
    for i in range(0, len(E), ESTIMATES):
        products = E[i : i + ESTIMATES] @ T.T
        to_truth[i : i + ESTIMATES] = np.argmax(products - half_t, axis=1)
        products -= half_e[i : i + ESTIMATES, None]
        height = products.max(axis=0)
        better = np.flatnonzero(height > best)
        best[better] = height[better]
        to_estimate[better] = i + np.argmax(products[:, better], axis=0)
    forward, backward = E - T[to_truth], E[to_estimate] - T
    return float(np.sum(forward**2) / len(E) + np.sum(backward**2) / len(T)) / 2
