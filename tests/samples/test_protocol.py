"""Blocks and the roles of columns: weighted targets, names of inputs, targets and weights."""

import numpy as np
import pytest

from weightlift import samples
from weightlift.errors import ArgumentError, ShapeError
from weightlift.samples.protocol import feature_names


def test_weighted_targets_are_of_one_column():
    X, y, w = np.ones((3, 2)), np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 2.0])
    (block,) = samples.open(X, y, sample_weight=w).blocks(3)
    np.testing.assert_array_equal(block.wy, w * y)
    (several,) = samples.open(X, np.stack([y, y], axis=1)).blocks(3)
    with pytest.raises(ShapeError, match="2 columns"):
        several.wy  # noqa: B018


def test_no_column_has_two_roles():
    assert feature_names("aybw", "y", None, "w") == ("a", "b")
    assert feature_names("aybz", ["y", "z"], None, None) == ("a", "b")
    assert feature_names("ayb", "y", ["b"], None) == ("b",)
    for target, features, weight, words in (
        ("y", "ab", None, "must be a list"),
        ("y", None, "y", "weight names the target"),
        ("y", ["a", "a"], None, "none of them twice"),
        ("y", ["a", "y"], None, "none of them twice"),
        ("y", [], None, "at least one"),
        (["y", "y"], None, None, "target must name"),
    ):
        with pytest.raises(ArgumentError, match=words):
            feature_names("ayb", target, features, weight)
