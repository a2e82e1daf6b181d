"""Before spending compute: can a network of this shape be recovered, how, from how many rows, and at what cost?

    shape     from (d, k, n, φ, bias) alone: what holds for almost all weights
    network   for a network that is known: its own ambiguities, least order ℓ and s_min(W^⊗ℓ)
    data      for rows: Gaussian or not, the width that their second moment shows

Each gives a `Diagnosis`: words by `str`, lines by `table`, plain values by `as_dict`; `plots.PhaseDisplay` draws it.
Row counts are for noiseless rows and come from our own sweeps, with the measurement that they rest on.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weightlift.activations import Activation, get
from weightlift.arguments import count, flag
from weightlift.certificate.inflation import inflated, variance_inflation
from weightlift.diagnose.calibration import MEASURED, CostEstimate, Measured, SampleEstimate, estimate_cost, estimate_rows
from weightlift.diagnose.diagnosis import Diagnosis, Method
from weightlift.diagnose.identifiable import Identifiability, Identifiable, Shape, of_network, of_shape
from weightlift.diagnose.limits import LIMITS
from weightlift.diagnose.methods import methods_for
from weightlift.diagnose.regime import Regime, RegimeFinding, find_regime, generic_order, regions
from weightlift.errors import ArgumentError, ShapeError, SingularError
from weightlift.identifiability import least_order
from weightlift.moments import remove_linear
from weightlift.moments.gaussianity import gaussianity
from weightlift.network import Network, require_single
from weightlift.samples import Samples, Standardized
from weightlift.samples import open as open_samples
from weightlift.samples.columns import columns_of
from weightlift.subspace import SecondMoment, estimate_rank
from weightlift.theory import assumptions, polynomial_coefficients

__all__ = [
    "MEASURED",
    "CostEstimate",
    "Diagnosis",
    "Identifiability",
    "Identifiable",
    "Measured",
    "Method",
    "Regime",
    "RegimeFinding",
    "SampleEstimate",
    "data",
    "generic_order",
    "network",
    "regions",
    "shape",
]



def shape(
    n_inputs: int,
    n_units: int,
    *,
    n: int | None = None,
    activation: str | Activation = "relu",
    bias: bool = False,
    offset: bool = False,
) -> Diagnosis:
    """Diagnose d inputs, k units and n rows, for weights of which nothing is known.

    n_inputs    d
    n_units     k
    activation  φ, or its name
    bias        whether the biases are fitted
    offset      whether c is fitted

    >>> found = shape(20, 5, n=300)
    >>> found.parameters, found.rows_per_parameter, found.regime.regime.name, found.hopeful
    (100, 3.0, 'INDEPENDENT', True)
    >>> shape(100, 3000, activation=get("polynomial", coefficients=[0, 1, 0, 1])).regime.regime.name
    'CONJECTURED_HARD'
    """
    d, k = count("n_inputs", n_inputs), count("n_units", n_units)
    given = Shape(d, k, get(activation), flag("bias", bias), flag("offset", offset))
    regime = find_regime(given.d, given.k, given.phi)
    return _diagnosis(given, None if n is None else count("n", n), of_shape(given), regime)


def network(net: Network, *, n: int | None = None, offset: bool | None = None) -> Diagnosis:
    """Diagnose a network: what other networks are the same function, ℓ and s_min(W^⊗ℓ), units that n rows would not show.

    Biases count as parameters where some b ≠ 0, the constant where c ≠ 0, unless `offset` says otherwise.

    net  the network to diagnose

    >>> found = network(Network([[1.0, 0.0, -1.0], [0.0, 1.0, -1.0]]))       # w₁ + w₂ + w₃ = 0
    >>> found.identifiability.answer.name, found.regime.order
    ('AMBIGUOUS', 2)
    """
    if not isinstance(net, Network):
        raise ArgumentError(f"net must be a Network, not {type(net).__name__}; for a shape or for data see shape and data.")
    require_single(net, "diagnose.network")
    if not net.n_units:
        raise ArgumentError("net has no units; there is nothing to diagnose.")
    rows = None if n is None else count("n", n)
    d, k = net.n_inputs, net.n_units
    given = Shape(d, k, net.activation, bool(net.b.any()), net.c != 0.0 if offset is None else flag("offset", offset))
    lengths = np.linalg.norm(net.W, axis=0)
    notes, order, smallest, weights = [], None, None, None
    if lengths.all():
        weights = assumptions(net.W / lengths)
        if d * k**3 <= LIMITS.order_work:
            found = least_order(net)
            order, smallest = found.order, found.smallest
            if order is None:
                notes.append(f"No order up to 8 makes the powers of the weights independent; parallel units: {found.parallel}.")
        else:
            notes.append("W^⊗ℓ is too large to form; ℓ is that of generic weights.")
    regime = find_regime(d, k, net.activation, order=order, smallest=smallest, weights=weights)
    if rows is not None:
        notes += _hidden_units(net, lengths, rows)
    return _diagnosis(given, rows, of_network(net, given), regime, tuple(notes))


def data(
    X: Any,
    y: Any = None,
    *,
    n_units: int | None = None,
    activation: str | Activation = "relu",
    bias: bool = False,
    offset: bool = False,
    rng: int | np.random.Generator = 0,
) -> Diagnosis:
    """Diagnose rows, arrays or `Samples`: are the inputs Gaussian, how wide is the network that their second moment shows?

    The width, unless given, is the rank of the second moment of what a linear fit leaves of y, as far as it stands out of its
    noise, and at least 1: odd φ leave nothing there. Inputs that depend on others are named.

    X           inputs (n, d) with y (n,), or a source, then y is None
    n_units     k where it is known
    activation  φ, or its name
    bias        whether the biases are fitted
    offset      whether c is fitted
    rng         a seed or a generator

    >>> import weightlift as wl
    >>> X, y = wl.draw(wl.teachers.conditioned(10, 3, activation="relu", rng=0), 2000, rng=1)
    >>> data(X, y).n_units
    3
    """
    rows = open_samples(X, y)
    if not math.isfinite(rows.n):
        raise ArgumentError("X is a population without rows; diagnose its network instead.")
    if rows.n_outputs is not None:
        raise ShapeError(f"y has {rows.n_outputs} columns, and diagnose.data is for one output; pass one of them.")
    phi, gaussian = get(activation), ""
    notes: list[str] = []
    notes += _columns(rows)
    white = _whitened(rows, notes)
    if white is None:
        gaussian = "the inputs cannot be whitened; moments need independent columns."
    else:
        test = gaussianity(white)
        notes += [f"{str(test)[0].upper()}{str(test)[1:]}.", *test.effects()]
        if not test.gaussian:
            gaussian = f"moments need Gaussian inputs; {test.where} deviates by {test.z:.1f} standard errors."
    k = _width(white, phi, notes, rng) if n_units is None else count("n_units", n_units)
    given = Shape(rows.d, k, phi, flag("bias", bias), flag("offset", offset))
    return _diagnosis(given, int(rows.n), of_shape(given), find_regime(rows.d, k, phi), tuple(notes), gaussian)


def _diagnosis(
    given: Shape,
    n: int | None,
    identifiability: Identifiability,
    regime: RegimeFinding,
    notes: tuple[str, ...] = (),
    gaussian: str = "",
) -> Diagnosis:
    samples = estimate_rows(given)
    cost = estimate_cost(given, samples.enough if n is None else n)
    s = polynomial_coefficients(given.phi)
    return Diagnosis(
        given.d,
        given.k,
        n,
        given.phi.name,
        None if s is None else len(s) - 1,
        given.bias,
        given.offset,
        given.parameters,
        identifiability,
        regime,
        methods_for(given, regime, rows=n, seconds=cost.seconds_typical, gaussian=gaussian),
        samples,
        cost,
        notes,
    )


def _hidden_units(net: Network, lengths: np.ndarray, n: int) -> list[str]:
    """Units with a kink that too few rows lie beyond: n Φ(−|t − b|/‖w‖) < 2 (d + 1) on the minority side of every kink t."""
    from scipy.special import ndtr

    if not net.activation.kinks:
        return []
    scale = np.where(lengths > 0, lengths, 1.0)
    distance = np.min([np.abs(t - net.b) / scale for t in net.activation.kinks], axis=0)
    expected, needed = n * ndtr(-distance), LIMITS.minority * (net.n_inputs + 1)
    return [
        f"Unit {i}: about {expected[i]:.3g} of {n:,} Gaussian rows lie on its minority side, fewer than 2 (d + 1) = {needed}: "
        "out of reach."
        for i in np.flatnonzero(expected < needed)[:8]
    ]


def _whitened(rows: Samples, notes: list[str]) -> Samples | None:
    try:
        return Standardized.of(rows, centred=True).rows
    except SingularError as error:
        notes.append(str(error))
        return None


def _width(white: Samples | None, phi: Activation, notes: list[str], rng: int | np.random.Generator) -> int:
    """The rank that the second moment shows, at least 1."""
    if white is None:
        notes.append("Inputs that cannot be whitened do not show a width: one unit is diagnosed; give n_units for more.")
        return 1
    estimate = estimate_rank(remove_linear(white), SecondMoment(), rng=rng)
    if estimate.rank == 0:
        odd = f"{phi.name} is odd" if phi.parity == "odd" else "rows are few or noisy, or a line explains what they show"
        notes.append(
            f"The second moment of y shows no direction above its noise: {odd}. One unit is diagnosed; give n_units for more."
        )
        return 1
    notes.append(
        f"The second moment has rank {estimate.rank} above its noise (|eigenvalue| "
        f"{abs(estimate.eigenvalues[estimate.rank - 1]):.3g}, floor {estimate.floor:.3g}): at least so many units. Small ones, "
        "and more than there are inputs, do not show there."
    )
    return estimate.rank


def _columns(rows: Samples) -> list[str]:
    """Inputs that depend on others."""
    sentence = inflated(variance_inflation(rows), columns_of(rows))
    return [sentence] if sentence else []
