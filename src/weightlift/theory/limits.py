"""The numbers of the theory: resolutions of quadrature and of searches, and what counts as zero."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    # E φ(u) ψ(v) of correlated normals
    reach: float = 10.0  # standard deviations: e^{−reach²/2} = 2e-22
    step: float = 0.3  # between equispaced nodes, at scales up to 1; the error is e^{−2πy/step} for poles of φ at ±iy
    panel: float = 2.0  # width of panels far from critical points
    gauss_nodes: int = 16  # of a panel: exact to degree 31, twelve digits of e^{−z²/2} over a panel
    levels: int = 48  # halvings of a panel towards a critical point: 2⁻⁴⁸ is rounding
    parallel: float = 1e-14  # sines below it are rounding
    agreement: float = 1e-10  # of two resolutions with panels: the finer one is good to 1e-12 where φ is smooth
    geometric: float = 1e-6  # of two resolutions with equispaced nodes, where halving the step squares the error
    halvings: int = 6  # of the step until two resolutions agree
    # properties of φ, found on a grid of magnitudes
    decades: int = 8  # |z| from 10⁻⁸ to 10⁸
    inner_decades: int = 6  # those against which the outer ones are compared
    huge: float = 1e100  # no supremum
    growth: float = 1e-3  # by which a supremum may rise in the outer decades: neighbours on the grid differ by 0.23 %
    rounding: float = 1e-9  # relative rounding of users' functions and of their differences
    negative: float = 1e-12  # slopes above minus it count as zero
    negligible: float = 1e-20  # ρ/β₀ of a linear φ is 1e-30 by rounding, of tanh at the least scale 2e-8
    vanishing: float = 1e-11  # of a moment, relative to σ (j! E φ′²)^½: quadrature is right to 1e-12
    parity: float = 1e-9  # relative deviation of φ(z) ± φ(−z) that counts as none
    scales: int = 257  # between the least and the largest singular value, at which ρ is looked at
    unit: float = 1e-9  # deviation of a length from one that counts as none
    block: int = 2**20  # of a product of weights: 8 MB
    smallest: float = 1e-9  # of |σ̂₂| relative to σ's size: below, it counts as zero
    whole: float = 1e-6  # distance of a trace from a whole number that counts as none, relative to it
    degree: int = 12  # of a polynomial φ that is recognised
    polynomial: float = 1e-10  # deviation of an interpolating polynomial from φ, relative to its size on the grid
    # spectra of Hessians
    dense: int = 2000  # parameters up to which all eigenvalues are computed: 32 MB, a few seconds
    lanczos_tolerance: float = 1e-4  # residual/eigenvalue; the eigenvalue's error is about the square
    lanczos_vectors: int = 60  # kept before a restart
    scan: int = 16  # steps of the search for a first loss of definiteness
    bisections: int = 12  # of the step where it is lost: the radius is known to 2⁻¹² of a step
    definite: float = 1e-12  # least over largest eigenvalue that is more than rounding
    # descent with noise
    checkpoints: int = 8  # iterates at which the population's gradient and Hessian are computed
    segment: tuple[float, float] = (0.5, 1.0)  # where on the way from W* to such an iterate
    linear_phase: float = 4.0  # distances above this multiple of the last one are the optimisation's, not the floor's


LIMITS = Limits()
