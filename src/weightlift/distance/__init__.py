"""Exact geometry of networks in L²(N(0, I)): distances, inner products, norms, means and Gram matrices, without samples."""

from weightlift.distance.geometry import Distance, distance, inner, mean, norm
from weightlift.distance.kernels import gram

__all__ = ["Distance", "distance", "gram", "inner", "mean", "norm"]
