"""The rows of a fit in their normal form, so that weights, copies and the order of rows mean what they should.

Rows of weight zero are dropped, copies of a row (x, y) become one row with their weights summed, and rows stand in the order of
their hash: weight 2 and two copies, or two orders of the same rows, then give the same bits. Columns of very different size are
scaled by powers of two, which is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from weightlift.estimator.limits import LIMITS
from weightlift.namespaces import Array, array_namespace, as_like, device, from_numpy, to_numpy
from weightlift.network import Network
from weightlift.samples import Scaling
from weightlift.samples.keys import row_keys
from weightlift.samples.limits import LIMITS as SAMPLES
from weightlift.samples.standardization import power_of_two, spreads


@dataclass(frozen=True, eq=False)
class Rows:
    """X (n, d), y (n,), w (n,) or None, on their device and, as float64, on the host; X = raw X / scale, y = raw y / target."""

    X: Array
    y: Array
    w: Array | None
    host: tuple[np.ndarray, np.ndarray, np.ndarray | None]  # raw
    scale: np.ndarray  # (d,) powers of two
    target: float
    copies: int  # rows that repeat another

    @classmethod
    def of(cls, X: Array, y: Array, w: Array | None, *, scaled: bool) -> Rows:
        host_X, host_y = (np.asarray(to_numpy(v), dtype=np.float64) for v in (X, y))
        host_w = np.ones(len(host_y)) if w is None else np.asarray(to_numpy(w), dtype=np.float64)
        keys = row_keys(host_X, host_y)
        used = np.flatnonzero(host_w > 0)
        order = used[np.argsort(keys[used], kind="stable")]
        _, first = np.unique(keys[order], return_index=True)
        weights = np.add.reduceat(host_w[order], first)
        rows = order[first]
        even = bool(np.all(weights == weights[0]))
        scale, target = _scales(host_X[rows], host_y[rows]) if scaled else (np.ones(host_X.shape[1]), 1.0)
        xp, index = array_namespace(X), from_numpy(rows, like=X)
        chosen_X, chosen_y = xp.take(X, index, axis=0), xp.take(y, index)
        return cls(
            chosen_X / as_like(scale, chosen_X) if np.any(scale != 1.0) else chosen_X,
            chosen_y / target if target != 1.0 else chosen_y,
            None if even else xp.asarray(weights, dtype=chosen_X.dtype, device=device(X)),
            (host_X[rows], host_y[rows], None if even else weights),
            scale,
            target,
            len(used) - len(rows),
        )

    @property
    def scaled(self) -> bool:
        return bool(np.any(self.scale != 1.0) or self.target != 1.0)

    def undo(self, network: Network) -> Network:
        """The network of the raw inputs and target."""
        if not self.scaled:
            return network
        raw = Scaling(np.zeros(len(self.scale)), self.scale).undo(network)
        return replace(raw, a=network.a * self.target, c=network.c * self.target)


def _scales(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    """Powers of two near the spreads, where these differ much or are extreme; ones elsewhere."""
    spread, target = spreads(X), float(spreads(y[:, None])[0])
    real = spread[spread > SAMPLES.least_spread]
    least, largest = LIMITS.sizes
    tame = len(real) == 0 or (real.max() <= LIMITS.ratio * real.min() and least < real.min() and real.max() < largest)
    scale = np.ones(X.shape[1]) if tame else np.where(spread > SAMPLES.least_spread, power_of_two(spread), 1.0)
    kept = target <= SAMPLES.least_spread or least < target < largest
    return scale, 1.0 if kept else float(power_of_two(np.array(target)))
