"""The theory's quantities, computed: properties of φ, conditioning of W, the population risk, the geometry around the truth.

Of mondelli2019: trivial predictors, separated isotropic weights, lower bounds on the error, the reduction from tensors.
"""

from weightlift.theory.assumptions import Assumptions, assumptions
from weightlift.theory.conditioning import Conditioning, conditioning
from weightlift.theory.hermite_objective import HermiteObjective, hermite_objective
from weightlift.theory.local_geometry import (
    Contraction,
    DefiniteRadius,
    HessianBounds,
    Spectrum,
    contraction,
    empirical_spectrum,
    hessian_bounds,
    hessian_operator,
    population_spectrum,
    positive_definite_radius,
)
from weightlift.theory.lower_bounds import RandomWeights, SeparatedBound, random_weights, separated_bound
from weightlift.theory.noisy import GradientParts, NoisyDescent, gradient_parts, noisy_descent
from weightlift.theory.noisy_forms import NoisyForms, noisy_forms
from weightlift.theory.population import population_gradient, population_hessian, population_risk
from weightlift.theory.properties import ActivationProperties, check_properties, properties_table
from weightlift.theory.reduction import PowerSums, decompose_by, polynomial_coefficients, power_sums
from weightlift.theory.trivial import TrivialPredictor, TrivialPredictors, trivial_predictors
from weightlift.theory.uniform_convergence import GradientDeviation, LocalConstants, gradient_deviation, local_constants
from weightlift.theory.verdict import Verdict

__all__ = [
    "ActivationProperties",
    "Assumptions",
    "Conditioning",
    "Contraction",
    "DefiniteRadius",
    "GradientDeviation",
    "GradientParts",
    "HermiteObjective",
    "HessianBounds",
    "LocalConstants",
    "NoisyDescent",
    "NoisyForms",
    "PowerSums",
    "RandomWeights",
    "SeparatedBound",
    "Spectrum",
    "TrivialPredictor",
    "TrivialPredictors",
    "Verdict",
    "assumptions",
    "check_properties",
    "conditioning",
    "contraction",
    "decompose_by",
    "empirical_spectrum",
    "gradient_deviation",
    "gradient_parts",
    "hermite_objective",
    "hessian_bounds",
    "hessian_operator",
    "local_constants",
    "noisy_descent",
    "noisy_forms",
    "polynomial_coefficients",
    "population_gradient",
    "population_hessian",
    "population_risk",
    "population_spectrum",
    "positive_definite_radius",
    "power_sums",
    "properties_table",
    "random_weights",
    "separated_bound",
    "trivial_predictors",
]
