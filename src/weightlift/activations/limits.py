"""The room's numbers, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    # Quadrature
    reach: float = 15.0  # |z| beyond which e^{−z²/4} < 4e-25: integrands may grow like e^{z²/4}
    agreement: float = 1e-13  # two resolutions, of E|integrand|: ten times below the 1e-12 that is promised
    halvings: int = 6  # of panels with 16 nodes; a smooth φ settles after one or two, an undeclared kink never does
    floats: int = 2**21  # of a chunk's temporaries: 16 MB
    # The logistic family
    step: float = 0.2  # of z times max(1, σ): e^{−2π²/step} = 1e-43 pays for poles of order 32
    derivatives: int = 32  # of φ that Stein's lemma takes over: the order up to which relative accuracy is promised
    steep: float = 8.0  # σ above which coefficients decay so slowly that one derivative is enough
    # Kinks at β = b/σ
    far: float = 2.0  # standard deviations below 0 from which truncated moments come from their continued fraction
    clip: float = 50.0  # of β: e^{−clip²/2} is zero in double precision
    inside: float = 8.0  # e^{−inside²/2} = 1e-14: beyond, the exponential's integral up to the kink is that over the line
    # Polynomials
    degree: int = 150  # E z^{2q} = (2q − 1)!! of higher ones overflows
    # What is declared of a custom φ, sampled at 257 points of [−8, 8]
    one_sided: float = 1e-6  # distance from a kink at which limits are taken: linear extrapolation errs by its square
    exact: float = 1e-9  # identities, relative to their terms: 10⁷ roundings, far below any that does not hold
    approximate: float = 1e-5  # central differences at 1e-5 err by 1e-10 |φ‴| and eps/1e-5


LIMITS = Limits()
