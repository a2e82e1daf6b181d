"""What the array-API standard lacks, in every namespace: conversions, products, solutions, error functions, bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse, special
from tests.conftest import optional

from weightlift import namespaces
from weightlift.errors import ArgumentError, NotFiniteError, ShapeError
from weightlift.namespaces import to_numpy

Convert = Callable[..., Any]


def test_arrays_go_there_and_back(as_xp: Convert, rng: np.random.Generator) -> None:
    X = rng.standard_normal((4, 3))
    there = as_xp(X)
    np.testing.assert_array_equal(to_numpy(there), X)
    like = namespaces.from_numpy(X, like=there)
    assert type(like) is type(there)
    single = namespaces.as_like(X, as_xp(X, "float32"))
    np.testing.assert_array_equal(to_numpy(single), X.astype("float32"))


@pytest.mark.parametrize("columns", [5, 64, 71])
def test_the_weighted_gram_matrix_in_panels(as_xp: Convert, columns: int, rng: np.random.Generator) -> None:
    A, g = rng.standard_normal((30, columns)), rng.standard_normal(30)
    found = to_numpy(namespaces.weighted_gram(as_xp(A), as_xp(g)))
    np.testing.assert_allclose(found, A.T @ (g[:, None] * A), atol=1e-12)


@pytest.mark.parametrize("size", [3, namespaces.CHOLESKY + 2])
def test_solutions_of_batches(as_xp: Convert, size: int, rng: np.random.Generator) -> None:
    J = rng.standard_normal((2, 3 * size, size))
    J /= np.linalg.norm(J, axis=1, keepdims=True)
    A, B = J.transpose(0, 2, 1) @ J, rng.standard_normal((2, size, 2))
    found = to_numpy(namespaces.solve(as_xp(A), as_xp(B)))
    np.testing.assert_allclose(A @ found, B, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_singular_matrices_get_a_ridge(as_xp: Convert, dtype: type) -> None:
    """In single precision a ridge that double precision would see is none."""
    found = to_numpy(namespaces.solve(as_xp(np.ones((1, 2, 2), dtype)), as_xp(np.ones((1, 2, 1), dtype))))
    assert found.dtype == dtype
    assert found.sum() == pytest.approx(1.0, rel=1e-3)


def test_error_functions(as_xp: Convert) -> None:
    z = np.concatenate([np.linspace(-6, 6, 241), [0.0, 2.5, -2.5, 20.0]])
    np.testing.assert_allclose(to_numpy(namespaces.erf(as_xp(z))), special.erf(z), atol=4e-16, rtol=1e-14)
    np.testing.assert_allclose(to_numpy(namespaces.erfc(as_xp(z))), special.erfc(z), rtol=1e-12)
    np.testing.assert_allclose(namespaces._erf_by_series(z), special.erf(z), atol=4e-16, rtol=1e-14)
    np.testing.assert_allclose(namespaces._erfc_by_series(z), special.erfc(z), rtol=2e-12)


def test_bits_tell_numbers_apart_and_zeros_not(as_xp: Convert) -> None:
    values = np.array([1.0, np.nextafter(1.0, 2.0), 0.0, -0.0, -1.0])
    bits = to_numpy(namespaces.bits(as_xp(values)))
    np.testing.assert_array_equal(bits, (values + 0.0).view("int64"))
    assert len(set(bits.tolist())) == 4
    pairs = values.astype(np.float32)[[0, 4, 2, 3]].reshape(2, 2)
    np.testing.assert_array_equal(to_numpy(namespaces.bits(as_xp(pairs, "float32"))), (pairs + 0.0).view("int64"))


def test_ranges_cover_the_rows_once() -> None:
    assert list(namespaces.row_ranges(7, 3)) == [(0, 3), (3, 6), (6, 7)]
    assert list(namespaces.row_ranges(7, 3, start=4)) == [(4, 7)]
    assert list(namespaces.row_ranges(0, 3)) == []


def test_numbers_that_are_none_are_refused(as_xp: Convert) -> None:
    assert to_numpy(namespaces.real_floating(as_xp([1, 2], "int64"), "X")).dtype == np.float64
    with pytest.raises(NotFiniteError, match="X is complex"):
        namespaces.real_floating(as_xp([1j], "complex128"), "X")


def test_matrices_are_checked() -> None:
    np.testing.assert_array_equal(namespaces.matrix([[1, 2]], 2), [[1.0, 2.0]])
    for X, error, words in (
        ([[1.0, 2.0]], ShapeError, r"\(n, 3\), not \(1, 2\)"),
        ([[1.0], [1.0, 2.0]], ShapeError, "rectangular"),
        (np.ma.masked_array([[1.0]], [[True]]), NotFiniteError, "masked"),
        (sparse.csr_array(np.eye(3)), ArgumentError, "sparse"),
        ([["a"]], ArgumentError, "dtype"),
    ):
        with pytest.raises(error, match=words):
            namespaces.matrix(X, 3)


def test_memory_that_a_device_refuses_is_known_by_its_error() -> None:
    class OutOfMemoryError(RuntimeError):
        pass

    assert namespaces.out_of_memory(OutOfMemoryError("no"))
    assert namespaces.out_of_memory(RuntimeError("RESOURCE_EXHAUSTED: Out of memory"))
    assert not namespaces.out_of_memory(RuntimeError("shapes do not match"))


def test_a_batch_is_factored_block_by_block(rng):
    """Tiles that divide the size and that do not, one larger than the matrix; a matrix that is not definite spoils no other."""
    torch = optional("torch")
    A, B = rng.normal(size=(3, 70, 70)), rng.normal(size=(3, 70, 2))
    A = A @ np.swapaxes(A, 1, 2) + np.eye(70)
    for tile in (8, 14, 70, 100):
        found = namespaces.blockwise_cholesky_solve(torch.asarray(A), torch.asarray(B), tile)
        np.testing.assert_allclose(found.numpy(), np.linalg.solve(A, B), rtol=0, atol=1e-12 * np.linalg.cond(A).max())
    A[1] -= 2 * np.trace(A[1]) * np.eye(70)
    found = namespaces.blockwise_cholesky_solve(torch.asarray(A), torch.asarray(B), 14).numpy()
    assert np.isfinite(found).all(axis=(1, 2)).tolist() == [True, False, True]


@pytest.mark.parametrize("p", [5, 64, 90])
def test_products_with_a_triangular_matrix_are_products(p: int) -> None:
    """Below the size from which BLAS knows triangles, at it and above; other matrices as well, and rows in any order."""
    rng = np.random.default_rng(p)
    A, U = rng.standard_normal((40, p)), rng.standard_normal((p, p))
    for B in (np.triu(U), np.tril(U), U, U[:, :3], np.asfortranarray(np.triu(U))):
        for rows in (A, np.asfortranarray(A), A[::2]):
            np.testing.assert_allclose(namespaces.matmul_upper(rows, B), rows @ B, rtol=1e-12, atol=1e-12 * p)
