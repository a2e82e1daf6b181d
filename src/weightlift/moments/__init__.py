"""Moments E[y He_k(x)] and their contractions as statistics; nothing of size d³ is ever formed."""

from weightlift.moments.control_variates import control_variate, quadratic_fit, remove_linear, remove_quadratic
from weightlift.moments.directional import DirectionalMoments
from weightlift.moments.flattened_moment import FlattenedMoment, FlattenedProduct, hermite_coefficient, moment_operator
from weightlift.moments.hermite_moment import HermiteMoment, MomentChoice, MomentProduct, UnfoldedMoment, choose_moments
from weightlift.moments.hermite_regression import HermitePolynomial, hermite_regression
from weightlift.moments.powers import PowerMoments, power_form

__all__ = [
    "DirectionalMoments",
    "FlattenedMoment",
    "FlattenedProduct",
    "HermiteMoment",
    "HermitePolynomial",
    "MomentChoice",
    "MomentProduct",
    "PowerMoments",
    "UnfoldedMoment",
    "choose_moments",
    "control_variate",
    "hermite_coefficient",
    "hermite_regression",
    "moment_operator",
    "power_form",
    "quadratic_fit",
    "remove_linear",
    "remove_quadratic",
]
