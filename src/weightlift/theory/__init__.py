"""The theory's quantities, computed: properties of φ, conditioning of W, the population risk, the geometry around the truth."""

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
from weightlift.theory.noisy import GradientParts, NoisyDescent, gradient_parts, noisy_descent
from weightlift.theory.population import population_gradient, population_hessian, population_risk
from weightlift.theory.properties import ActivationProperties, check_properties, properties_table
from weightlift.theory.uniform_convergence import GradientDeviation, LocalConstants, gradient_deviation, local_constants
from weightlift.theory.verdict import Verdict

__all__ = [
    "ActivationProperties",
    "Conditioning",
    "Contraction",
    "DefiniteRadius",
    "GradientDeviation",
    "GradientParts",
    "HermiteObjective",
    "HessianBounds",
    "LocalConstants",
    "NoisyDescent",
    "Spectrum",
    "Verdict",
    "check_properties",
    "conditioning",
    "contraction",
    "empirical_spectrum",
    "gradient_deviation",
    "gradient_parts",
    "hermite_objective",
    "hessian_bounds",
    "hessian_operator",
    "local_constants",
    "noisy_descent",
    "population_gradient",
    "population_hessian",
    "population_risk",
    "population_spectrum",
    "positive_definite_radius",
    "properties_table",
]
