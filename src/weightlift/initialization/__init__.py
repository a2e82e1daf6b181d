"""Starts for the descent: from moments, or random."""

from weightlift.initialization.hermite import HermiteInit, hermite_init
from weightlift.initialization.magnitudes import Magnitudes, magnitudes_and_signs
from weightlift.initialization.random import gaussian_init
from weightlift.initialization.tensor import TensorInit, tensor_init

__all__ = ["HermiteInit", "Magnitudes", "TensorInit", "gaussian_init", "hermite_init", "magnitudes_and_signs", "tensor_init"]
