"""The portfolio of starts: hyperplanes, annealed batches, reheated and narrowed ones; candidates come one by one."""

from weightlift.search.budget import Budget
from weightlift.search.expand_prune import Attempt, Candidate, Ending, candidates

__all__ = ["Attempt", "Budget", "Candidate", "Ending", "candidates"]
