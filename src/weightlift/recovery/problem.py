"""The rows of a recovery, split and whitened, and what is asked of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weightlift.activations import Activation, get
from weightlift.certificate import Certificate, certify
from weightlift.certificate.verdict import SIZES
from weightlift.errors import ArgumentError, SingularError
from weightlift.moments import DirectionalMoments
from weightlift.namespaces import to_numpy
from weightlift.network import Network
from weightlift.refinement.gauss_newton import NEAR_ROUNDING
from weightlift.risk import Risk, Students
from weightlift.samples import Samples, Whitening
from weightlift.samples import open as open_samples
from weightlift.samples.counting import Counted

METHODS = ("auto", "tensor", "search")
HELDOUT, LEAST_HELDOUT = 0.05, 16


@dataclass(frozen=True, eq=False)
class Problem:
    """The rows, split and whitened, and what is asked of them."""

    rows: Samples  # all
    train: Samples
    heldout: Samples
    white: Counted  # training rows, whitened
    whitening: Whitening | None  # None where the covariance is singular
    activation: Activation
    bias: bool
    offset: bool
    outputs: np.ndarray | None  # known output weights
    method: str
    energy: float  # ½ E y²
    rng: np.random.Generator

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any,
        activation: Activation,
        bias: bool,
        offset: bool,
        outputs: np.ndarray | None,
        method: str,
        rng: np.random.Generator,
    ) -> Problem:
        if method not in METHODS:
            raise ArgumentError(f"method must be one of {METHODS}, not {method!r}.")
        rows = open_samples(X, y, sample_weight=sample_weight)
        if not math.isfinite(rows.n):
            raise ArgumentError("X is a population without rows; draw some with weightlift.draw(network, n).")
        energy, spread = _target(rows)
        if energy and not SIZES[0] ** 2 < 2 * energy < SIZES[1] ** 2:
            raise ArgumentError(f"y has the size {(2 * energy) ** 0.5:.0e}, whose powers vanish or overflow; divide y by it.")
        if not spread > 1e-24 * energy:
            raise ArgumentError("y is constant, or so small that its squares vanish; there is no unit to recover.")
        share = min(0.5, max(HELDOUT, LEAST_HELDOUT / rows.n))
        heldout, train = (part.persist() for part in rows.split(share, 1 - share, seed=int(rng.integers(2**31))))
        train = train if train.n >= 2 else rows
        whitening = _whitening(train, centred=bias)
        white = train if whitening is None else train.map(whitening)
        counted = Counted(white.persist())
        return cls(rows, train, heldout, counted, whitening, activation, bias, offset, outputs, method, energy, rng)

    def undo(self, network: Network) -> Network:
        """From whitened to raw inputs; a bias that should be zero is."""
        net = network if self.whitening is None else self.whitening.undo(network)
        return net if self.bias else replace(net, b=np.zeros(net.n_units))

    def risks(self, *networks: Network) -> np.ndarray:
        """½ E r² of networks of whitened inputs on the training rows."""
        return to_numpy(self.white.mean(Risk(Students.of(*networks)))[0])

    def exact(self, network: Network) -> bool:
        """Whether a network of whitened inputs explains the training rows to nearly rounding level."""
        return bool(self.risks(network)[0] <= NEAR_ROUNDING * self.energy)

    def certify(self, network: Network) -> Certificate:
        return self._certify(network, self.train, self.heldout if self.heldout.n else None)

    def certify_all(self, network: Network) -> Certificate:
        return self._certify(network, self.rows, None)

    def _certify(self, network: Network, rows: Samples, heldout: Samples | None) -> Certificate:
        return certify(network, rows, bias=self.bias, offset=self.offset, heldout=heldout, rng=0)

    @property
    def free(self) -> str:
        return "Wa" + "b" * self.bias + "c" * self.offset

    def parameters(self, width: int) -> int:
        return width * (self.rows.d + self.bias + (self.activation.degree is None)) + self.offset

    @contextmanager
    def threads(self) -> Iterator[None]:
        """Small products run fastest on one thread."""
        if self.rows.n * self.rows.d <= 4_000_000:
            from threadpoolctl import threadpool_limits

            with threadpool_limits(limits=1):
                yield
        else:
            yield


def _target(rows: Samples) -> tuple[float, float]:
    """½ E y² and ½ Var y."""
    d = rows.d
    zero = Students(np.zeros((d, 1, 1)), np.zeros((1, 1)), np.zeros((1, 1)), np.zeros(1), get("linear"))
    energy = float(to_numpy(rows.mean(Risk(zero))[0])[0])
    mean = float(to_numpy(rows.mean(DirectionalMoments(np.eye(d)[:, :1], (0,)))[0])[0])
    shifted = replace(zero, c=np.array([mean]))
    return energy, float(to_numpy(rows.mean(Risk(shifted))[0])[0])


def _whitening(train: Samples, *, centred: bool) -> Whitening | None:
    """Zero mean and unit covariance; without biases the mean stays where it is, and only the covariance is removed."""
    try:
        found = Whitening.estimated(train)
    except SingularError as error:
        warnings.warn(f"{error} Inputs are left as they are.", stacklevel=4)
        return None
    return found if centred else replace(found, mean=np.zeros(train.d))
