"""What is asked of a recovery: its options, checked once; and what its callback is told."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from weightlift.activations import Activation, get
from weightlift.arguments import flag
from weightlift.errors import ArgumentError, ShapeError, TooFewRowsError
from weightlift.identifiability.parameters import parameters_of_shape
from weightlift.namespaces import is_array, to_numpy
from weightlift.network import Network
from weightlift.recovery.limits import LIMITS
from weightlift.search import Budget

METHODS = ("auto", "tensor", "search")


@dataclass(frozen=True, eq=False)
class Event:
    """What a callback is told: where a recovery stands, and the best network that it has."""

    stage: str  # "moments", "units up to sign", "search" or "one fit"
    start: int  # number of the stage's start or round, from 1; 0 when the stage begins
    best_risk: float  # ½ E r² relative to ½ E y² on the training rows; infinite before the first network
    share: float  # of the budget that is spent, of work or of time, whichever is more; 1 at its end
    seconds: float  # since the call
    network: Network | None  # the best so far, in raw inputs

    def __str__(self) -> str:
        """Stage, best risk, share of the budget, and how long the rest may take at this pace."""
        risk = f", best risk {self.best_risk:.1e}" if math.isfinite(self.best_risk) else ""
        left = self.seconds * (1 - self.share) / self.share if self.share > 0 else math.inf
        pace = f", at most {left:.0f} s left" if left < 1e6 else ""
        start = f", start {self.start}" if self.start else ""
        return f"{self.stage}{start}{risk}, {100 * self.share:.0f} % of the budget{pace}"


Callback = Callable[[Event], object]


@dataclass(frozen=True, eq=False)
class Request:
    """The options of `recover`; `checked` before any work."""

    n_units: int | str
    activation: Activation | str = "relu"
    bias: bool = False
    offset: bool = False
    output_weights: Any = "free"
    method: str = "auto"
    linear: bool | str = False
    max_work: float | None = None
    max_time: float | None = None
    callback: Callback | None = None
    judged: int = 0  # candidates of other requests that were held against the same rows

    def checked(self) -> Request:
        """The options resolved: φ an `Activation`, known output weights an array; a wrong one raises an error that names it."""
        width = self.n_units if _is_auto(self.n_units) else _width(self.n_units)
        if self.method not in METHODS:
            raise ArgumentError(f"method must be one of {METHODS}, not {self.method!r}.")
        if self.callback is not None and not callable(self.callback):
            raise ArgumentError(f"callback must be a function of one event, or None, not {self.callback!r}.")
        return replace(
            self,
            n_units=width,
            activation=get(self.activation),
            bias=flag("bias", self.bias),
            offset=flag("offset", self.offset),
            output_weights=_known_outputs(self.output_weights, width),
            linear=_linear(self.linear),
            max_work=LIMITS.default_work if self.max_work is None else _amount("max_work", self.max_work),
            max_time=None if self.max_time is None else _amount("max_time", self.max_time),
        )

    def call(self, **more: Any) -> str:
        """The call of `recover` that asks for this: what differs from the defaults.

        more  further options of the call
        """
        given = {"n_units": self.n_units}
        for option in fields(self)[1:]:
            value = getattr(self, option.name)
            usual = isinstance(value, type(option.default)) and value == option.default
            if option.name not in ("callback", "judged") and not usual:
                given[option.name] = value.name if isinstance(value, Activation) else value
        given |= {name: value for name, value in more.items() if value is not False}
        return f"weightlift.recover(X, y, {', '.join(f'{name}={_plain(value)}' for name, value in given.items())})"

    @property
    def phi(self) -> Activation:
        assert isinstance(self.activation, Activation)
        return self.activation

    @property
    def outputs(self) -> np.ndarray | None:
        """Known output weights; None where they are free."""
        return None if isinstance(self.output_weights, str) else np.asarray(self.output_weights)

    @property
    def unit(self) -> bool:
        """Whether sizes may belong to the output weights alone: φ is homogeneous."""
        return self.phi.degree is not None

    @property
    def free(self) -> str:
        """The parameters that are fitted."""
        return "Wa" + "b" * self.bias + "c" * self.offset

    def parameters(self, d: int, width: int) -> int:
        """Free parameters of `width` units of d inputs, after the scales are fixed."""
        return parameters_of_shape(d, width, self.phi, bias=self.bias, offset=self.offset)

    def budget(self) -> Budget:
        """The whole budget, from now on."""
        assert self.max_work is not None
        return Budget.within(self.max_work, self.max_time)

    def workable(self, n: float, d: int, width: int) -> bool:
        """Whether a fit of that width to n rows of d inputs can be worth its cost."""
        p = self.parameters(d, width)
        return width <= min(n, LIMITS.most_units) and (p < n or p <= LIMITS.most_undetermined)

    def check_size(self, n: float, d: int) -> None:
        """Refuse a width that the rows cannot determine by far, before any work.

        n  rows
        d  inputs
        """
        width = 1 if self.n_units == "auto" else int(self.n_units)
        if self.workable(n, d, width):
            return
        p = self.parameters(d, width)
        if p >= n:
            raise TooFewRowsError(
                f"n_units = {width:,} of {d} inputs are {p:,} parameters, and there are {int(n):,} rows; ask for fewer units, "
                "or give more rows than parameters."
            )
        raise ArgumentError(f"n_units = {width:,} is more than {LIMITS.most_units:,}, the most that are fitted; ask for fewer.")


def _linear(value: bool | str) -> bool | str:
    """Whether there is a linear part; "auto" leaves it open."""
    if isinstance(value, str) and not _is_auto(value):
        raise ArgumentError(f"linear must be True, False or 'auto', not {value!r}.")
    return value if _is_auto(value) else flag("linear", value)


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _plain(value: Any) -> str:
    """As Python reads it; an array as a list."""
    return repr(value.tolist() if hasattr(value, "tolist") else value)


def _width(n_units: Any) -> int:
    if isinstance(n_units, bool) or not isinstance(n_units, (int, np.integer)) or n_units < 1:
        raise ArgumentError(f"n_units must be a positive integer or 'auto', not {n_units!r}.")
    return int(n_units)


def _amount(name: str, value: Any) -> float:
    number = not isinstance(value, bool) and isinstance(value, int | float | np.integer | np.floating)
    if not (number and value >= 0):
        raise ArgumentError(f"{name} must be a number, at least 0, not {value!r}.")
    return float(value) if value < 1e300 else math.inf


def _known_outputs(output_weights: Any, n_units: int | str) -> Any:
    if isinstance(output_weights, str):
        if output_weights != "free":
            raise ArgumentError(f"output_weights must be 'free' or an array of known weights, not {output_weights!r}.")
        return output_weights
    if n_units == "auto":
        raise ArgumentError("known output_weights need n_units, their number; pass it instead of 'auto'.")
    try:
        values = np.asarray(to_numpy(output_weights) if is_array(output_weights) else output_weights, dtype=float)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"output_weights must be 'free' or {n_units} real numbers ({error}).") from error
    if values.shape != (n_units,):
        raise ShapeError(f"output_weights must have shape ({n_units},), one known weight a unit, not {values.shape}.")
    wrong = np.flatnonzero(~np.isfinite(values) | (values == 0))
    if wrong.size:
        raise ArgumentError(f"output_weights[{wrong[0]}] is {values[wrong[0]]:g}; known weights are finite and not zero.")
    return values
