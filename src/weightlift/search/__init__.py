"""The portfolio of starts: annealed, reheated, widened and pruned; candidates come one by one."""

from weightlift.search.budget import Budget
from weightlift.search.expand_prune import Attempt, Candidate, Ending, candidates
from weightlift.search.prune import prune

__all__ = ["Attempt", "Budget", "Candidate", "Ending", "candidates", "prune"]
