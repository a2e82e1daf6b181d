"""Starts for the descent: from moments, or random."""

from weightlift.initialization.hermite import HermiteInit, hermite_init
from weightlift.initialization.large_biases import with_large_biases
from weightlift.initialization.magnitudes import Magnitudes, magnitudes_and_signs
from weightlift.initialization.overcomplete import OvercompleteInit, overcomplete_init
from weightlift.initialization.random import gaussian_init
from weightlift.initialization.robust import Reach, RobustFit, robust_fit, robust_init
from weightlift.initialization.tensor import TensorInit, tensor_init

__all__ = [
    "HermiteInit",
    "Magnitudes",
    "OvercompleteInit",
    "Reach",
    "RobustFit",
    "TensorInit",
    "gaussian_init",
    "hermite_init",
    "magnitudes_and_signs",
    "overcomplete_init",
    "robust_fit",
    "robust_init",
    "tensor_init",
    "with_large_biases",
]
