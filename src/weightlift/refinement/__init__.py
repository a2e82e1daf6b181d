"""From a start to the units: descent on the empirical risk, first and second order."""

from weightlift.refinement.gauss_newton import Refinement, gauss_newton, project_outputs
from weightlift.refinement.gradient_descent import Descent, gradient_descent, step_size

__all__ = ["Descent", "Refinement", "gauss_newton", "gradient_descent", "project_outputs", "step_size"]
