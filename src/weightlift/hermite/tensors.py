"""Whole Hermite tensors, for small d: what the contractions are checked against.

Cost and memory O(n dᵏ); everything larger goes through `contractions`.
"""

from __future__ import annotations

from weightlift.errors import ArgumentError, ShapeError
from weightlift.namespaces import Array, array_namespace, device

MAX_ENTRIES = 2**27  # 1 GiB of float64


def tensor(order: int, X: Array) -> Array:
    """He_order(x) for every row x of X (n, d): an array (n, d, …, d) with `order` axes of length d.

    By He_{k+1}(x)_{i j₁…j_k} = x_i He_k(x)_{j₁…j_k} − Σ_a δ_{i j_a} He_{k−1}(x)_{j without j_a}.
    """
    if X.ndim != 2:
        raise ShapeError(f"X must have shape (n, d), not {tuple(X.shape)}.")
    n, d = X.shape
    if order < 0:
        raise ArgumentError(f"order must be a non-negative integer, not {order}.")
    if n * d**order > MAX_ENTRIES:
        raise ArgumentError(f"He_{order} of {n} rows in {d} dimensions has {n * d**order:.1e} entries; contract it instead.")
    xp = array_namespace(X)
    identity = xp.eye(d, dtype=X.dtype, device=device(X))
    previous, current = None, xp.ones((n,), dtype=X.dtype, device=device(X))
    for k in range(order):
        following = xp.reshape(X, (n, d) + (1,) * k) * xp.expand_dims(current, axis=1)
        for a in range(k):
            following = following - _insert_pair(previous, identity, k - 1, a)
        previous, current = current, following
    return current


def _insert_pair(T: Array, identity: Array, order: int, position: int) -> Array:
    """δ_{i j_position} T_{other j}: axes (n, i, j_0 … j_order) from T with axes (n, others)."""
    xp = array_namespace(T)
    (n, *others), (d, _) = T.shape, identity.shape
    lifted = xp.reshape(T, (n, 1, *others[:position], 1, *others[position:]))
    delta = xp.reshape(identity, (1, d, *(1,) * position, d, *(1,) * (order - position)))
    return lifted * delta
