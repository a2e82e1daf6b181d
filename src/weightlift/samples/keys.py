"""Hashes of rows: what splits, random signs and fresh folds are decided by.

The key of a row depends on its values alone, so that duplicates stay together and neither order, blocking nor
source matter: key = mix(Σ_j mix(bits(x_j) + j·γ)) in arithmetic modulo 2⁶⁴, where addition is exact in any order.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np

from weightlift.errors import ArgumentError
from weightlift.namespaces import Array, array_namespace, bits, device, on_host, row_ranges
from weightlift.samples.limits import LIMITS

GAMMA = 0x9E3779B97F4A7C15  # ⌊2⁶⁴/golden ratio⌋, the increment of a Weyl sequence
MIXING = (  # the masks make the shifts logical
    (30, 0x3FFFFFFFF, -0x40A7B892E31B1A47),
    (27, 0x1FFFFFFFFF, -0x6B2FB644ECCEEE15),
    (31, 0x1FFFFFFFF, None),
)
UNIT = 2.0**-53  # 53 bits of a key become a number in [0, 1)


def row_keys(X: Array, y: Array) -> Array:
    """(m,) int64 keys of the rows (x, y), y (m,) or (m, outputs), values taken as float64; on a host some rows at a time."""
    xp = array_namespace(X, y)
    return _keys(X, y[:, None] if y.ndim == 1 else y, xp.float64)


def rounded_row_keys(X: Array, y: Array) -> Array:
    """(m,) the same of values in single precision, two of which are hashed together."""
    xp = array_namespace(X, y)
    targets = y[:, None] if y.ndim == 1 else y
    if (X.shape[1] + targets.shape[1]) % 2:
        targets = xp.concat([targets, xp.zeros_like(X[:, :1])], axis=1)
    return _keys(X, targets, xp.float32)


def _keys(X: Array, targets: Array, dtype: Any) -> Array:
    xp = array_namespace(X, targets)
    m, step = X.shape[0], max(1, LIMITS.hashed_values // (X.shape[1] + targets.shape[1]))
    if m <= step or not on_host(device(X)):
        return _keys_of_some(X, targets, dtype)
    return xp.concat([_keys_of_some(X[i:j, :], targets[i:j, :], dtype) for i, j in row_ranges(m, step)])


def _keys_of_some(X: Array, targets: Array, dtype: Any) -> Array:
    xp = array_namespace(X, targets)
    parts = [xp.astype(part, dtype, copy=False) for part in (X, targets) if part.shape[1]]
    values = bits(parts[0] if len(parts) == 1 else xp.concat(parts, axis=1))
    values += xp.asarray(_steps(int(values.shape[1])), device=device(X))
    return _mix(xp.sum(_mix(values), axis=1, dtype=xp.int64))


@functools.cache
def _steps(columns: int) -> np.ndarray:
    """(columns,) (j + 1) γ."""
    return np.array([_signed(GAMMA * (j + 1)) for j in range(columns)], dtype=np.int64)


def uniforms(keys: Array, seed: int) -> Array:
    """(m,) numbers in [0, 1), independent from seed to seed."""
    xp = array_namespace(keys)
    offset = _signed((seed + 1) * 0xD1B54A32D192ED03)
    mixed = _mix(_mix(keys ^ offset) + offset)
    return xp.astype((mixed >> 11) & 0x1FFFFFFFFFFFFF, xp.float64) * UNIT


def intervals(fractions: tuple[float, ...]) -> list[tuple[float, float]]:
    """[(low, high), …]: the part of the unit interval that each fraction takes."""
    if not fractions or any(not f > 0 for f in fractions) or sum(fractions) > 1 + 1e-12:
        raise ArgumentError(f"fractions must be positive and sum to at most 1, not {fractions}.")
    edges = [0.0, *itertools.accumulate(fractions)]
    if edges[-1] > 1 - 1e-12:
        edges[-1] = 1.0
    return list(itertools.pairwise(edges))


def _mix(z: Array) -> Array:
    """The finalizer of SplitMix64 in wrapping int64 arithmetic, its multipliers as signed numbers; z is overwritten.

    NumPy has unsigned numbers, whose shifts are logical as they are."""
    if isinstance(z, np.ndarray):
        word = z.view(np.uint64)
        for shift, _, factor in MIXING:
            word ^= word >> shift
            if factor is not None:
                word *= factor % 2**64
        return z
    for shift, mask, factor in MIXING:
        high = z >> shift
        high &= mask
        z ^= high
        if factor is not None:
            z *= factor
    return z


def _signed(value: int) -> int:
    value &= 2**64 - 1
    return value - 2**64 if value >= 2**63 else value
