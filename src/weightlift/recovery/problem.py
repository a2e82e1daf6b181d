"""The rows of a recovery, split and whitened, and what is asked of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weightlift.activations import Activation
from weightlift.certificate import Certificate, certify
from weightlift.certificate.verdict import SIZES
from weightlift.errors import ArgumentError, SingularError, warn
from weightlift.namespaces import to_numpy
from weightlift.network import Network
from weightlift.refinement.gauss_newton import NEAR_ROUNDING
from weightlift.risk import Risk, Students
from weightlift.samples import Block, Covariance, Samples, Standardized
from weightlift.samples import open as open_samples
from weightlift.samples.counting import Counted
from weightlift.threads import limited

METHODS = ("auto", "tensor", "search")
HELDOUT, LEAST_HELDOUT = 0.05, 16


@dataclass(frozen=True, eq=False)
class Problem:
    """The rows, split and whitened, and what is asked of them."""

    rows: Samples  # all
    train: Samples
    heldout: Samples
    white: Counted  # training rows, whitened
    standard: Standardized  # of which these are the rows, counted
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
        standard = _standardized(train, centred=bias)
        white = Counted(standard.rows)
        standard = replace(standard, rows=white)
        return cls(rows, train, heldout, white, standard, activation, bias, offset, outputs, method, energy, rng)

    def undo(self, network: Network) -> Network:
        """From whitened to raw inputs; a bias that should be zero is."""
        net = self.standard.undo(network)
        return net if self.bias else replace(net, b=np.zeros(net.n_units))

    def risks(self, *networks: Network) -> np.ndarray:
        """½ E r² of networks of whitened inputs on the training rows."""
        return to_numpy(self.white.mean(Risk(Students.of(*networks)))[0])

    def exact(self, risk: float) -> bool:
        """Whether that risk says that the training rows are explained to nearly rounding level."""
        return bool(risk <= NEAR_ROUNDING * self.energy)

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
            with limited(1):
                yield
        else:
            yield


def _target(rows: Samples) -> tuple[float, float]:
    """½ E y² and ½ Var y."""
    _, mean, variance = (to_numpy(s) for s in rows.map(_target_alone).mean(Covariance(1)))
    average, spread = float(mean[0]) * rows.total, 0.5 * float(variance[0, 0])
    return spread + 0.5 * average * average, spread


def _target_alone(block: Block) -> Block:
    return replace(block, X=block.y[:, None])


def _standardized(train: Samples, *, centred: bool) -> Standardized:
    """Unit covariance, and zero mean where biases can take the mean up; inputs of a singular covariance stay as they are."""
    try:
        return Standardized.of(train, centred=centred)
    except SingularError as error:
        warn(f"{error} Inputs are left as they are.")
        return Standardized.unchanged(train)
