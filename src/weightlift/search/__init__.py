"""The portfolio of starts: annealed, reheated, widened and pruned until one is certified."""

from weightlift.search.expand_prune import Attempt, Found, expand_prune
from weightlift.search.prune import prune

__all__ = ["Attempt", "Found", "expand_prune", "prune"]
