"""Averaged stochastic gradient descent, one fresh row a step  [mondelli2019, §6].

    descent      the run: schedule, windows, checkpoints, divergence        measures   the two curves of a run
    pieces       rows of a stream, in pieces                                checkpoint a run as a file
    runners      who takes the steps of a piece: `blocks` (compiled, with φ of `elements`), `arrays` (NumPy), `device` (a GPU)
"""

from weightlift.refinement.sgd.descent import StochasticDescent, sgd, stable_step
from weightlift.refinement.sgd.measures import Windows, nearest_weight_distance

__all__ = ["StochasticDescent", "Windows", "nearest_weight_distance", "sgd", "stable_step"]
