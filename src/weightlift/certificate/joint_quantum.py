"""Targets of several outputs, or beside a linear part, that were rounded: errors with a bound, as `quantum` has for one output.

Every output has a rounding of its own, the finest that leaves its values as they are and explains its residuals: a multiple of
10⁻ᵐ, a number stored or computed in half or single precision, or float64 itself. With E the bound on a row and an output,

    e² = Σ w (|r| + E)²      over rows and outputs

gives the precision to first order. Rows that it lets cross a kink are left out, also of a unit's sides.
Cost  one pass, O(n k m).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from weightlift.certificate.joint_agreement import rounding_sizes
from weightlift.certificate.limits import LIMITS
from weightlift.certificate.quantum import DECIMALS, PRECISIONS, WORDS
from weightlift.namespaces import Array, array_namespace, as_like, to_numpy
from weightlift.network import Network
from weightlift.samples import Block, Samples, Sums

EPS = float(np.finfo(np.float64).eps)
EXACT = "numbers in double precision"


@dataclass(frozen=True, eq=False)
class JointQuantum:
    """How the targets were rounded, e² of each output, and the largest |r|/max E of them."""

    words: str
    size: float  # largest distance of two neighbouring values
    squares: np.ndarray  # (m,) Σ w (|r| + E)²
    bound: float  # (mean of w E²)^½ over rows and outputs
    level: float


def joint_quantum(network: Network, samples: Samples) -> JointQuantum | None:
    """The finest rounding of every output that explains its residuals; None if one has none."""
    changed, residual, error, bound, spacing, largest = (to_numpy(v) for v in samples.fold(JointRoundings(network)))
    level = np.divide(residual, largest, out=np.where(residual > 0, np.inf, 0.0), where=largest > 0)  # (roundings, m)
    fits = (changed == 0) & (level <= 2.0)
    if not fits.any(axis=0).all():
        return None
    finest, outputs = np.argmin(np.where(fits, error, np.inf), axis=0), np.arange(network.n_outputs)
    words = dict.fromkeys((*WORDS, EXACT)[i] for i in finest)
    words = dict.fromkeys(w for w in words if w != EXACT) or words
    return JointQuantum(
        ", or ".join(words),
        float(spacing[finest, outputs].max()),
        error[finest, outputs],
        float(np.sqrt(bound[finest, outputs].sum() / samples.total / network.n_outputs)),
        float(level[finest, outputs].max()),
    )


@dataclass(frozen=True, eq=False)
class JointRoundings:
    """For each rounding and output: values that it would change, max |r|, Σ w (|r| + E)², Σ w E², max spacing, max E."""

    network: Network

    @property
    def floats_per_row(self) -> int:
        return 8 * self.network.n_units + 100 * self.network.n_outputs

    def __call__(self, block: Block) -> Sums:
        r, B = (to_numpy(v) for v in rounding_sizes(self.network, block))  # (rows, m)
        y, B = to_numpy(block.y).astype(float).reshape(r.shape), LIMITS.rounding * B
        w = np.ones(len(y)) if block.w is None else to_numpy(block.w).astype(float)
        kept = [np.round(y, places) == y for places in range(DECIMALS)] + 2 * [y.astype(t) == y for _, t, _ in PRECISIONS]
        spacing = [np.full_like(y, 10.0**-places) for places in range(DECIMALS)]
        spacing += 2 * [unit * np.abs(y) for _, _, unit in PRECISIONS]
        bounds = [0.5 * s + B for s in spacing[: DECIMALS + 2]] + [unit / EPS * B for _, _, unit in PRECISIONS]
        used = (w > 0)[None, :, None]
        E = np.stack([*bounds, B])  # (roundings, rows, m)
        changed = np.stack([*(~k for k in kept), np.zeros_like(y, dtype=bool)]) & used
        spaces = np.stack([*spacing, EPS * np.abs(y)])
        weighted = w[None, :, None]
        return (
            changed.sum(axis=1),
            np.broadcast_to(np.max(used[0] * r, axis=0, initial=0.0), (len(E), r.shape[1])),
            np.sum(weighted * (r + E) ** 2, axis=1),
            np.sum(weighted * E**2, axis=1),
            np.max(used * spaces, axis=1, initial=0.0),
            np.max(used * E, axis=1, initial=0.0),
        )

    def merge(self, left: Sums, right: Sums) -> Sums:
        sums = [a + b for a, b in zip(left, right, strict=True)]
        largest = [np.maximum(a, b) for a, b in zip(left, right, strict=True)]
        return sums[0], largest[1], sums[2], sums[3], largest[4], largest[5]


@dataclass(frozen=True, eq=False)
class WithinReach:
    """Rows at which a unit's kink may be on the other side, (w, b) moving by a share of its length; `without` drops them."""

    network: Network
    share: np.ndarray  # (k,)

    @property
    def floats_per_row(self) -> int:
        return 5 * self.network.n_units

    def __call__(self, block: Block) -> Sums:
        xp = array_namespace(block.X)
        return (xp.sum(xp.astype(self._within(block), xp.float64)),)

    def without(self, block: Block) -> Block:
        xp = array_namespace(block.X)
        w = xp.ones_like(block.X[:, 0]) if block.w is None else block.w
        return replace(block, w=xp.where(self._within(block), xp.zeros_like(w), w))

    def _within(self, block: Block) -> Array:
        xp, X, net = array_namespace(block.X), block.X, self.network
        W, b = as_like(net.W, X), as_like(net.b, X)
        z = xp.matmul(X, W) + b
        length = as_like(self.share * np.sqrt(np.sum(net.W**2, axis=0) + net.b**2), X)
        reach = xp.sqrt(xp.sum(X * X, axis=1) + 1)[:, None] * length
        gaps = xp.min(xp.stack([xp.abs(z - kink) for kink in net.activation.kinks]), axis=0)
        return xp.any(gaps <= reach, axis=1)
