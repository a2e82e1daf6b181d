"""From a start to the units: descent on the empirical risk, first and second order."""

from weightlift.refinement.affine import AffineNetwork, fit_affine
from weightlift.refinement.chord import Chord, along_chords
from weightlift.refinement.gauss_newton import Refinement, gauss_newton, project_outputs
from weightlift.refinement.gradient_descent import Descent, gradient_descent, step_size
from weightlift.refinement.kinks import along_kinks
from weightlift.refinement.sgd import StochasticDescent, Windows, nearest_weight_distance, sgd, stable_step
from weightlift.refinement.up_to_signs import SignlessFit, refine_up_to_signs
from weightlift.refinement.variable_projection import JointFit, Model, variable_projection

__all__ = [
    "AffineNetwork",
    "Chord",
    "Descent",
    "JointFit",
    "Model",
    "Refinement",
    "SignlessFit",
    "StochasticDescent",
    "Windows",
    "along_chords",
    "along_kinks",
    "fit_affine",
    "gauss_newton",
    "gradient_descent",
    "nearest_weight_distance",
    "project_outputs",
    "refine_up_to_signs",
    "sgd",
    "stable_step",
    "step_size",
    "variable_projection",
]
