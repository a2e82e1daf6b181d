"""From a start to the units: descent on the empirical risk, first and second order."""

from weightlift.refinement.gauss_newton import Refinement, gauss_newton, project_outputs
from weightlift.refinement.gradient_descent import Descent, gradient_descent, step_size
from weightlift.refinement.sgd import StochasticDescent, sgd, stable_step
from weightlift.refinement.sgd_measures import Windows, nearest_weight_distance

__all__ = [
    "Descent",
    "Refinement",
    "StochasticDescent",
    "Windows",
    "gauss_newton",
    "gradient_descent",
    "nearest_weight_distance",
    "project_outputs",
    "sgd",
    "stable_step",
    "step_size",
]
