"""The numbers of diagnoses: what `recover` was measured to need (benchmarks/calibration.py), and where advice ends."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    order_work: float = 1e10  # d k³, above which the powers of a network's weights are not formed: ten seconds
    minority: int = 2  # times d + 1: rows on a unit's minority side below which its kink is out of reach
    rates: tuple[float, float] = (2e9, 1e10)  # multiplications a second of one core, of small problems and of large ones
    work: tuple[float, float, float] = (16.0, 520.0, 1900.0)  # Gauss–Newton steps: a tensor start; a search; the longest
    least_seconds: float = 0.1  # of any call
    matrix_copies: int = 6  # of the normal matrices of all starts
    data_copies: int = 3  # raw, whitened, a block's products
    starts: int = 8  # of a batch, for homogeneous φ; twice as many for others
    widest: int = 50  # units of the widest network that the search has recovered
    longest: float = 30 * 86400.0  # seconds of one core, a month: beyond, a search is not practical
    moment_order: int = 6  # highest order whose sample means are usable with ordinary numbers of rows
    order: int = 64  # of a tensor that is looked for
    share: float = 0.99  # of C(d+ℓ−1, ℓ) units, up to which smoothed weights are independent  [awasthi2021, Cor. 3.3]


LIMITS = Limits()
