"""From a start to the units: descent on the empirical risk."""

from weightlift.refinement.gradient_descent import Descent, Ending, gradient_descent, step_size

__all__ = ["Descent", "Ending", "gradient_descent", "step_size"]
