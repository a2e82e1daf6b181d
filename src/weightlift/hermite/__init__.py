"""Probabilists' Hermite polynomials He_k, Hermite tensors He_k(x) and their contractions.

He_k(x) is the symmetric tensor of order k with entries Π_a He_{n_a}(x_a), n_a the number of times that
coordinate a occurs among the indices; it is not divided by k!.
"""

from weightlift.hermite.contractions import contraction, power_sums, symmetric_product
from weightlift.hermite.polynomials import normalized, polynomial, polynomials
from weightlift.hermite.tensors import tensor

__all__ = ["contraction", "normalized", "polynomial", "polynomials", "power_sums", "symmetric_product", "tensor"]
