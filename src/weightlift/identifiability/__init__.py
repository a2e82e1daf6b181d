"""What f(x) = Σᵢ aᵢ φ(⟨wᵢ, x⟩ + bᵢ) + c says about its units: which other networks are the same function.

    sign_patterns     sets of units whose reflection leaves f unchanged, or nearly     [awasthi2021, Thm 3.4]
    reflect           the network with a set of units reflected
    twin              two networks with one function and different units               [awasthi2021, Claim 4.8]
    least_order       least ℓ with independent w̄ᵢ^{⊗ℓ}                                 [awasthi2021, Thm 4.2]
    irreducible       units that are zero, constant, equal or opposite
    minimal           the same function without the superfluous units
    count_parameters  free parameters once the symmetries are fixed
    rows_needed       rows that several outputs need: their number limits, not that of equations
"""

from weightlift.identifiability.irreducibility import Irreducibility, Redundancy, RedundantUnits, irreducible, minimal
from weightlift.identifiability.least_order import LeastOrder, least_order
from weightlift.identifiability.parameters import count_parameters, parameters_of_shape, rows_needed
from weightlift.identifiability.reflections import reflect
from weightlift.identifiability.sign_patterns import SignPatterns, sign_patterns
from weightlift.identifiability.twins import twin

__all__ = [
    "Irreducibility",
    "LeastOrder",
    "Redundancy",
    "RedundantUnits",
    "SignPatterns",
    "count_parameters",
    "irreducible",
    "least_order",
    "minimal",
    "parameters_of_shape",
    "reflect",
    "rows_needed",
    "sign_patterns",
    "twin",
]
