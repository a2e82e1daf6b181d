"""The numbers of the sources: sizes of blocks, patience, and what counts as rounding."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    # blocks of rows: measured by benchmarks/foundation.py, gpu.py and sources.py
    cache_bytes: int = 2**21  # a block that both products of a pass find in cache
    block_bytes: int = 2**23  # more rows, where results of size d² would cost as much as the rows
    device_block_bytes: int = 2**28  # on an accelerator that does not tell its size
    device_share: float = 1 / 32  # of an accelerator's memory in a block; temporaries and results take a few times that
    hashed_values: int = 2**15  # whose bits are mixed at a time: temporaries stay in cache, a fifth of the time of a block's
    least_rows: int = 16  # of a block: when not even these fit, memory is out
    fresh_rows: int = 4096  # drawn from one seed, so that any row can be reached; 1 MB at 32 inputs
    # Parquet: three batches ahead keep two cores busy, two cost a tenth of the rate (benchmarks/sources.py)
    batch_bytes: int = 2**25  # decoded
    batches_ahead: int = 3  # read while others are folded
    buffer_bytes: int = 2**20  # of a column, where row groups are larger than a batch
    persist_bytes: int = 2**26  # a part up to this size is kept in memory by `persist`; a larger one stays in its files
    # Dask
    fan_in: int = 8  # sums that one task adds up: 512 chunks take three levels
    brought_here: float = 1 / 200  # share of the rows up to which a part is brought to the client; 1 % may travel in all
    patience: float = 40.0  # seconds without a worker after which a cluster is gone; a lost one is replaced sooner
    look_every: float = 2.0  # seconds between looks at the cluster
    # black boxes
    first_pause: float = 0.1  # seconds before the first retry; each further one waits twice as long
    longest_pause: float = 30.0  # seconds
    asked_rows: int = 4096  # a call where the caller names no number: a call's overhead is then some µs a row
    # values
    weights: tuple[float, float] = (1e-70, 1e70)  # sizes of the largest weight: its fourth power is representable
    condition: float = 1e12  # of the covariance: beyond, its inverse has fewer than four digits
    constant: float = 1e-13  # spread of a column that is rounding, relative to its mean: 500 ulp
    alike: float = 1e3  # ratio of spreads up to which S^{-1/2} has ten digits: it loses the square of it
    mean_level: float = 6.0  # standard deviations of n‖ν‖² ~ χ² above which the inputs have a mean
    least_size: float = 1e-140  # of a column, whose square keeps all its digits
    least_spread: float = 1e-290  # a weight for a column of less spread would overflow


LIMITS = Limits()
