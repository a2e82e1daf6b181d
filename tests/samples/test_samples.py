"""`samples.open` takes what is an array or a source, and refuses the rest by name."""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest

from weightlift import errors, samples
from weightlift.namespaces import array_namespace, matmul_transposed
from weightlift.samples import Block


@dataclass(frozen=True)
class Moments:
    """(Σw, Σwx, Σwyxxᵀ): enough to see weights, order and blocking."""

    floats_per_row: int = 8

    def __call__(self, block: Block):
        xp = array_namespace(block.X)
        w = xp.ones_like(block.y) if block.w is None else block.w
        return xp.sum(w), xp.matmul(w, block.X), matmul_transposed(block.X, block.wy[:, None] * block.X)


@pytest.mark.parametrize(
    ("X", "y", "weight", "error", "words"),
    [
        (np.zeros(3), np.zeros(3), None, errors.ShapeError, "X"),
        (np.zeros((3, 2)), np.zeros(4), None, errors.ShapeError, "y"),
        (np.zeros((3, 2)), np.zeros((3, 1, 1)), None, errors.ShapeError, "y"),
        (np.zeros((3, 0)), np.zeros(3), None, errors.ShapeError, "X"),
        (np.zeros((0, 2)), np.zeros(0), None, errors.TooFewRowsError, "rows"),
        (np.zeros((1, 2)), np.zeros(1), None, errors.TooFewRowsError, "rows"),
        (np.array([[1.0, np.nan], [0, 0]]), np.zeros(2), None, errors.NotFiniteError, "X"),
        (np.zeros((2, 2)), np.array([np.inf, 0]), None, errors.NotFiniteError, "y"),
        (np.zeros((2, 2)) + 1j, np.zeros(2), None, errors.NotFiniteError, "complex"),
        (np.zeros((2, 2)), np.zeros(2), np.array([-1.0, 1]), errors.ArgumentError, "negative"),
        (np.zeros((2, 2)), np.zeros(2), np.zeros(2), errors.ArgumentError, "zero"),
        (np.zeros((2, 2)), np.zeros(2), np.ones(3), errors.ShapeError, "sample_weight"),
        (np.zeros((2, 2)), np.zeros(2), np.array([1.0, 1e200]), errors.ArgumentError, "sample_weight goes up to 1e.200"),
        (np.zeros((2, 2)), np.zeros(2), np.array([0.0, 1e-200]), errors.ArgumentError, "sample_weight goes up to 1e-200"),
        (np.zeros((2, 2)), None, None, errors.ArgumentError, "y is missing"),
        ("rows.parquet", None, None, errors.ArgumentError, "weightlift.samples.open"),
        (None, np.zeros(2), None, errors.ArgumentError, "X is missing"),
        (np.ma.masked_greater(np.eye(2), 0.5), np.zeros(2), None, errors.NotFiniteError, "X has masked"),
        (np.eye(2), np.zeros(2), np.ma.masked_greater([0.0, 1.0], 0.5), errors.NotFiniteError, "sample_weight has masked"),
        ([["a", "b"], ["c", "d"]], [1.0, 2.0], None, errors.ArgumentError, "X"),
        ([[1.0, 2.0], [3.0]], [1.0, 2.0], None, errors.ArgumentError, "X"),
    ],
)
def test_bad_input_names_the_argument(X, y, weight, error, words):
    with pytest.raises(error, match=words) as caught:
        samples.open(X, y, sample_weight=weight)
    assert isinstance(caught.value, ValueError)


def test_matrices_and_unmasked_arrays_are_arrays(rng):
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    expected = samples.open(X, y).mean(Moments())[2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        matrix = np.matrix(X)
    for form in (matrix, np.ma.array(X), X.tolist()):
        found = samples.open(form, y).mean(Moments())[2]
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, expected)


def test_tensors_that_record_gradients_are_data_like_others(rng, torch):
    X, y, w = (rng.uniform(0.5, 1.5, size=shape) for shape in ((40, 3), 40, 40))
    recorded = [torch.tensor(v, requires_grad=True) for v in (X, y, w)]
    source = samples.open(*recorded[:2], sample_weight=recorded[2])
    found = source.mean(Moments())[2]
    assert not found.requires_grad
    np.testing.assert_allclose(found.numpy(), samples.open(X, y, sample_weight=w).mean(Moments())[2])
    assert source.total == pytest.approx(w.sum())


def test_a_source_is_returned_as_it_is():
    source = samples.open(np.eye(3), np.ones(3))
    assert samples.open(source) is source
    with pytest.raises(errors.ArgumentError, match="y"):
        samples.open(source, np.ones(3))
