"""Every array-API shim of the package: what the standard lacks, in one place.

Array code elsewhere asks its inputs for their namespace, `xp = array_namespace(X, y)`, and follows their
dtype and device. The standard has no error function, no reinterpretation of bits and no conversion to NumPy;
those live here.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import array_api_compat as compat
import numpy as np

from weightlift.errors import ArgumentError, NotFiniteError, ShapeError

Array = Any  # an array of any array-API namespace
Namespace = Any
CHOLESKY = 48  # matrices from which a Cholesky solver called one by one wins
TILE = 256  # up to which an accelerator solves a batch of systems at once, and of its factors of larger ones
PANEL = 16  # columns below which splitting a product costs more than it saves

NUMPY = compat.array_namespace(np.zeros(1))
device = compat.device
FADING = np.errstate(under="ignore")  # decorates functions whose tails fade to zero: right, whatever the caller asks of NumPy


def array_namespace(*arrays: Array) -> Namespace:
    """The namespace of the arrays, NumPy's without a search."""
    for x in arrays:
        if type(x) is not np.ndarray:
            return compat.array_namespace(*arrays)
    return NUMPY


def on_host(where: Any) -> bool:
    """Whether a device is the processor's own memory."""
    return "cpu" in str(where).lower()


def is_array(x: object) -> bool:
    """Whether x belongs to a namespace that the array-API standard covers."""
    return bool(compat.is_array_api_obj(x))


def to_numpy(x: Array) -> np.ndarray:
    """Copy to host memory as a NumPy array (one synchronisation on a GPU)."""
    if isinstance(x, np.ndarray | np.generic):
        return np.asarray(x)
    if compat.is_torch_array(x):
        return np.asarray(detached(x).cpu().numpy())
    if compat.is_cupy_array(x):
        return np.asarray(x.get())
    if hasattr(x, "to_device") and not compat.is_jax_array(x):
        x = x.to_device(compat.array_namespace(x).__array_namespace_info__().default_device())
    return np.asarray(x)


def detached(x: Array) -> Array:
    """x without the graph that PyTorch keeps of how it came about; what is computed here has no gradient."""
    return x.detach() if compat.is_torch_array(x) else x


def from_numpy(x: np.ndarray, *, like: Array) -> Array:
    """The values of x in the namespace and on the device of `like`, dtype kept.

    On a GPU through pinned memory, rows after rows: a copy from any other waits for all that the device has still to do.
    """
    x = np.array(x, order="C")
    if compat.is_torch_array(like) and like.device.type == "cuda":
        import torch

        return torch.from_numpy(x).pin_memory().to(like.device, non_blocking=True)
    return array_namespace(like).asarray(x, device=device(like))


def as_like(x: Array, like: Array) -> Array:
    """A parameter as a partner of `like`: its namespace, dtype and device; unchanged where it has them already."""
    if isinstance(x, np.ndarray) and isinstance(like, np.ndarray):
        return x.astype(like.dtype, copy=False)
    x = from_numpy(x, like=like) if isinstance(x, np.ndarray) else x
    return array_namespace(like).astype(x, like.dtype, copy=False)


def memory_of(where: Any, xp: Namespace) -> int | None:
    """Bytes that an accelerator has in all, where its library tells."""
    name = xp.__name__.rpartition(".")[2]
    if name == "torch" and where.type == "cuda":
        import torch

        return int(torch.cuda.get_device_properties(where).total_memory)
    if name == "cupy":
        return int(where.mem_info[1])
    if name == "numpy" and hasattr(where, "memory_stats"):  # a device of JAX
        return int((where.memory_stats() or {}).get("bytes_limit", 0)) or None
    return None


def out_of_memory(error: BaseException) -> bool:
    """Whether an allocation was refused; PyTorch, CuPy and JAX each have their own way to say so."""
    return isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__ or "RESOURCE_EXHAUSTED" in str(error)


def release_memory(xp: Namespace) -> None:
    """Give cached blocks of device memory back to the device."""
    if xp.__name__.endswith("torch"):
        import torch

        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    elif xp.__name__.endswith("cupy"):
        import cupy

        cupy.get_default_memory_pool().free_all_blocks()


def real_floating(x: Array, name: str) -> Array:
    """x with a real floating dtype (integers become float64); complex input is refused."""
    xp = array_namespace(x)
    if xp.isdtype(x.dtype, "complex floating"):
        raise NotFiniteError(f"{name} is complex ({x.dtype}); pass its real part.")
    if xp.isdtype(x.dtype, "real floating"):
        return aligned(x)
    if xp.isdtype(x.dtype, ("integral", "bool")):
        return xp.astype(x, xp.float64)
    raise ArgumentError(f"{name} has dtype {x.dtype}; pass real numbers.")


def aligned(x: Array) -> Array:
    """x itself, or a copy where its memory starts at an odd byte, as in records and in what another process has sent: NumPy's
    products of such arrays do not go through BLAS."""
    return np.require(x, requirements="A") if isinstance(x, np.ndarray) else x


def refuse_masked(name: str, values: Any) -> None:
    """NumPy forgets a mask silently; what is masked has no value."""
    if np.ma.isMaskedArray(values) and np.ma.getmaskarray(values).any():
        raise NotFiniteError(f"{name} has masked values; drop or impute those rows.")


def refuse_sparse(name: str, values: Any) -> None:
    """NumPy takes a sparse matrix for one object."""
    if hasattr(values, "toarray") and hasattr(values, "nnz"):
        raise ArgumentError(f"{name} is sparse; pass {name}.toarray(), if it fits in memory.")


def matrix(X: Any, n_columns: int) -> Array:
    """Inputs (n, n_columns) of any namespace, or a sequence or data frame of them, with a real floating dtype."""
    if type(X) is not np.ndarray or X.dtype != np.float64 or not X.flags.aligned:  # rows of a source are such arrays already
        X = _matrix_of(X)
    if X.ndim != 2 or X.shape[1] != n_columns:
        raise ShapeError(f"X must have shape (n, {n_columns}), not {tuple(X.shape)}.")
    return X


def _matrix_of(X: Any) -> Array:
    refuse_masked("X", X)
    refuse_sparse("X", X)
    try:
        return real_floating(X if is_array(X) and not np.ma.isMaskedArray(X) else np.asarray(X), "X")
    except ValueError as error:
        raise error if isinstance(error, ArgumentError) else ShapeError(f"X must be a rectangular array ({error}).") from error


def all_finite(x: Array) -> bool:
    xp = array_namespace(x)
    return bool(xp.all(xp.isfinite(x)))


def row_ranges(n: int, step: int, *, start: int = 0) -> Iterator[tuple[int, int]]:
    """(first, last + 1) of consecutive row blocks; slices of the standard may not reach past the end."""
    return ((i, min(i + step, n)) for i in range(start, n, step))


def matmul_transposed(A: Array, B: Array) -> Array:
    """AᵀB for A (m, p), B (m, q): one product over the rows."""
    xp = array_namespace(A, B)
    return xp.matmul(xp.matrix_transpose(A), B)


def matmul_upper(A: Array, U: np.ndarray) -> Array:
    """A U for A (m, p) and U (p, r) of the host: half the work where U is upper triangular, and A on the host too."""
    xp = array_namespace(A)
    if isinstance(A, np.ndarray) and U.shape[0] == U.shape[1] >= 4 * PANEL:
        from scipy.linalg import bandwidth
        from scipy.linalg.blas import dtrmm

        if bandwidth(U)[0] == 0:
            return np.asarray(dtrmm(1.0, U.T, A.T, lower=1).T)
    return xp.matmul(A, as_like(U, A))


def weighted_gram(A: Array, g: Array) -> Array:
    """Aᵀ diag(g) A for A (m, p): on a host in panels of the upper triangle, five eighths of the full product.

    An accelerator is busy only where the result is large: there it is one product.
    """
    xp = array_namespace(A, g)
    weighted, p = g[:, None] * A, int(A.shape[1])
    if p < 4 * PANEL or not on_host(device(A)):
        return xp.matmul(xp.matrix_transpose(A), weighted)
    edges = [p * i // 4 for i in range(5)]
    panels = [matmul_transposed(A[:, i:j], weighted[:, i:]) for i, j in pairwise(edges)]
    rows = []
    for a, (i, j) in enumerate(pairwise(edges)):
        left = [xp.matrix_transpose(panels[b][:, i - edges[b] : j - edges[b]]) for b in range(a)]
        rows.append(xp.concat([*left, panels[a]], axis=1))
    return xp.concat(rows, axis=0)


def solve(A: Array, B: Array) -> Array:
    """A⁻¹B for a batch of symmetric A (S, p, p) with unit diagonal, B (S, p, q); singular ones get a ridge at rounding level.

    PyTorch's batched CUDA solver is made for small matrices; large ones go by `blockwise_cholesky_solve`. There a singular
    matrix gives what is not finite: to look for one would be to wait for the device. NumPy's solver knows no symmetry; LAPACK's
    by Cholesky takes half its time, one by one too.
    """
    xp = array_namespace(A, B)
    if isinstance(A, np.ndarray) and A.shape[-1] >= CHOLESKY and (found := _cholesky_solve(A, B)) is not None:
        return found
    if compat.is_torch_array(A) and A.device.type == "cuda":
        import torch

        return torch.linalg.solve_ex(A, B)[0] if A.shape[-1] <= TILE else blockwise_cholesky_solve(A, B)
    try:
        return xp.linalg.solve(A, B)
    except (np.linalg.LinAlgError, RuntimeError):  # PyTorch's error for singular matrices is a RuntimeError
        ridge = 4500.0 * float(xp.finfo(A.dtype).eps)  # 1e-12 in double precision
        return xp.linalg.solve(A + ridge * xp.eye(A.shape[-1], dtype=A.dtype, device=device(A)), B)


def blockwise_cholesky_solve(A: Array, B: Array, tile: int = TILE) -> Array:
    """A⁻¹B for a batch of PyTorch's positive definite A (S, p, p), all of them at once; not finite where one is not.

    One factorisation of a large matrix is a chain of small kernels that leaves an accelerator idle; S of them side by side take
    the same chain: a tile of the diagonal is factored and inverted, and the rest are products of batches.
    """
    import torch

    L, X, edges = A.clone(), B.clone(), list(row_ranges(A.shape[-1], tile))
    inverses = []
    for i, j in edges:
        factor, failed = torch.linalg.cholesky_ex(L[:, i:j, i:j])
        eye = torch.eye(j - i, dtype=A.dtype, device=A.device).expand_as(factor)
        inverse = torch.linalg.solve_triangular(factor, eye, upper=False)
        inverses.append(torch.where((failed == 0)[:, None, None], inverse, torch.nan))
        L[:, j:, i:j] = L[:, j:, i:j] @ inverses[-1].mT
        L[:, j:, j:].baddbmm_(L[:, j:, i:j], L[:, j:, i:j].mT, alpha=-1.0)
    for (i, j), inverse in zip(edges, inverses, strict=True):
        X[:, i:j] = inverse @ X[:, i:j]
        X[:, j:] -= L[:, j:, i:j] @ X[:, i:j]
    for (i, j), inverse in zip(reversed(edges), reversed(inverses), strict=True):
        X[:, i:j] = inverse.mT @ X[:, i:j]
        X[:, :i] -= L[:, i:j, :i].mT @ X[:, i:j]
    return X


def _cholesky_solve(A: np.ndarray, B: np.ndarray) -> np.ndarray | None:
    """None where some A is not positive definite."""
    from scipy.linalg.lapack import dposv, sposv

    solutions, posv = np.empty(B.shape, dtype=A.dtype), sposv if A.dtype == np.float32 else dposv
    for s in range(A.shape[0]):
        _, solutions[s], info = posv(A[s].T, B[s], lower=1)
        if info:
            return None
    return solutions


def erf(x: Array) -> Array:
    """Error function in the namespace of x."""
    function = _special("erf", x)
    return _erf_by_series(x) if function is None else function(x)


def erfc(x: Array) -> Array:
    """1 − erf(x), whose upper tail keeps its digits, in the namespace of x."""
    function = _special("erfc", x)
    return _erfc_by_series(x) if function is None else function(x)


def _special(name: str, x: Array) -> Any:
    """The function of that name, in the special functions that go with x or in its namespace; None where there is none."""
    if isinstance(x, np.ndarray | np.generic):
        library = "scipy"
    elif compat.is_torch_array(x):
        library = "torch"
    elif compat.is_cupy_array(x) or compat.is_jax_array(x):
        library = "cupyx.scipy" if compat.is_cupy_array(x) else "jax.scipy"
    else:
        return getattr(array_namespace(x), name, None)
    return getattr(importlib.import_module(f"{library}.special"), name)


def _erf_by_series(x: Array) -> Array:
    """erf from the standard's operations alone, to a few ulp."""
    xp = array_namespace(x)
    near, tail = _near_and_tail(xp.abs(x))
    return xp.sign(x) * xp.where(xp.abs(x) < 2.5, near, 1.0 - tail)


def _erfc_by_series(x: Array) -> Array:
    """erfc from the standard's operations alone, to 1e-12 of its size."""
    xp = array_namespace(x)
    near, tail = _near_and_tail(xp.abs(x))
    above = xp.where(xp.abs(x) < 2.5, 1.0 - near, tail)
    return xp.where(x > 0, above, 2.0 - above)


def _near_and_tail(z: Array) -> tuple[Array, Array]:
    """erf(z) for 0 ≤ z < 2.5, and erfc(z) for z ≥ 2.5.

    e^{-z²} (2/√π) Σ 2ⁿ z^{2n+1}/(2n+1)!! (positive terms, no cancellation); beyond, Lentz' continued fraction
    e^{-z²}/(√π (z + (1/2)/(z + 1/(z + (3/2)/(z + …))))) evaluated backwards.
    """
    xp = array_namespace(z)
    near = xp.where(z < 2.5, z, 0.0 * z)
    term = near
    total = near
    for n in range(1, 50):
        term = term * (2.0 * near * near) / (2 * n + 1)
        total = total + term
    far = xp.where(z < 2.5, 2.5 + 0.0 * z, z)
    fraction = far
    for n in range(60, 0, -1):
        fraction = far + (n / 2.0) / fraction
    return 2.0 / np.pi**0.5 * xp.exp(-near * near) * total, xp.exp(-far * far) / (np.pi**0.5 * fraction)


def bits(x: Array) -> Array:
    """The bit patterns of float64 numbers, or of pairs of float32 numbers beside each other, as int64; −0 counts as 0."""
    x = x + 0.0
    if compat.is_torch_array(x):
        import torch

        return x.contiguous().view(torch.int64)
    if compat.is_jax_array(x):
        import jax

        pairs = x if x.dtype == jax.numpy.float64 else x.reshape(*x.shape[:-1], -1, 2)
        return jax.lax.bitcast_convert_type(pairs, jax.numpy.int64)
    if isinstance(x, np.ndarray) or compat.is_cupy_array(x):
        return (x if x.flags.c_contiguous else x.copy()).view("int64")
    return from_numpy(np.ascontiguousarray(to_numpy(x)).view(np.int64), like=x)
