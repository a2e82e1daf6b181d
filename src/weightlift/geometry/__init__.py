"""Exact geometry of networks in L²(N(0, I)): distances, inner products, norms, means and Gram matrices, without samples."""

from weightlift.geometry.kernels import gram
from weightlift.geometry.l2 import Distance, distance, inner, mean, norm

__all__ = ["Distance", "distance", "gram", "inner", "mean", "norm"]
