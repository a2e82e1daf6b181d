"""A black box that answers queries: counted, batched, retried, kept, and never asked more than its budget.

An oracle is any callable on (n, d) arrays that returns (n,) or (n, m) numbers. It is not a source of rows, for repeated passes
need the same rows; `draw` asks about fresh ones and returns a source that holds them.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weightlift.errors import ArgumentError, BudgetError, OracleError
from weightlift.namespaces import is_array, to_numpy
from weightlift.samples.arrays import ArraySamples, from_arrays
from weightlift.samples.journal import Journal
from weightlift.samples.limits import LIMITS

Function = Callable[[np.ndarray], Any]


@dataclass(eq=False)
class Oracle:
    """Answers of a function, each asked for once.

    budget: the most rows that are ever asked about, those of an earlier run in the journal included. batch_size: rows a call.
    retries: how often a call that raised is repeated, with pauses that double. journal: a file that keeps every answer; what it
    holds is not asked again. max_time: seconds after which no call is begun or waited for.

    >>> oracle = Oracle(lambda X: X.sum(axis=1), 3, budget=10)
    >>> oracle.ask(np.ones((2, 3))).shape, oracle.queries, oracle.left
    ((2, 1), 2, 8)
    """

    function: Function
    n_inputs: int
    budget: int | None = None
    batch_size: int | None = None
    retries: int = 3
    journal: str | os.PathLike[str] | None = None
    max_time: float | None = None
    callback: Callable[[int], None] | None = None  # called with the number of queries after every call
    queries: int = field(default=0, init=False)  # rows answered
    calls: int = field(default=0, init=False)
    replayed: int = field(default=0, init=False)  # of the rows answered, those that the journal held
    n_outputs: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._began = time.monotonic()
        self._book = None if self.journal is None else Journal(self.journal, self.n_inputs)
        self._X: list[np.ndarray] = []
        self._Y: list[np.ndarray] = []
        if self._book is not None and self._book.n_outputs:
            self.n_outputs = self._book.n_outputs

    @property
    def left(self) -> float:
        """Rows that the budget still allows."""
        return math.inf if self.budget is None else self.budget - self.queries

    @property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """All that was asked, (n, d), and answered, (n, m), in order."""
        if not self._X:
            return np.empty((0, self.n_inputs)), np.empty((0, self.n_outputs or 1))
        return np.concatenate(self._X), np.concatenate(self._Y)

    @property
    def seconds_left(self) -> float:
        """Time that max_time still allows."""
        return math.inf if self.max_time is None else self.max_time - (time.monotonic() - self._began)

    def ask(self, X: np.ndarray, *, anew: bool = False) -> np.ndarray:
        """The answers (n, m) to the rows of X (n, d). anew: rows that were asked before, whose second answer is wanted."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        if len(X) > self.left:
            raise BudgetError(f"{len(X)} more queries are needed and the budget leaves {self.left} of {self.budget}; raise it.")
        size = self.batch_size or LIMITS.asked_rows
        parts = [self._batch(X[i : i + size], anew) for i in range(0, len(X), size)]
        return np.concatenate(parts) if parts else np.empty((0, self.n_outputs or 1))

    def draw(self, n: int, *, center: Any = 0.0, scale: Any = 1.0, rng: np.random.Generator) -> ArraySamples:
        """n fresh rows x ~ N(center, scale²), with their answers, as a source that keeps them."""
        X = center + scale * rng.standard_normal((n, self.n_inputs))
        Y = self.ask(X)
        return from_arrays(X, Y[:, 0] if Y.shape[1] == 1 else Y)

    def close(self) -> None:
        if self._book is not None:
            self._book.close()

    def _batch(self, X: np.ndarray, anew: bool) -> np.ndarray:
        Y = None if self._book is None else self._book.look_up(X, anew=anew)
        if Y is None:
            Y = self._answered(X)
            if self._book is not None:
                self._book.write(X, Y, anew=anew)
        else:
            self.replayed += len(X)
        self.queries += len(X)
        self._X.append(X)
        self._Y.append(Y)
        if self.callback is not None:
            self.callback(self.queries)
        return Y

    def _answered(self, X: np.ndarray) -> np.ndarray:
        """The function's answer, checked; what it raises is retried."""
        pause = LIMITS.first_pause
        for attempt in range(self.retries + 1):
            try:
                answer = self._call(X.copy())  # a function may write into its argument
                break
            except (OracleError, KeyboardInterrupt):
                raise
            except Exception as error:
                if attempt == self.retries:
                    raise OracleError(
                        f"the oracle raised {type(error).__name__}: {error} (asked {attempt + 1} times about an array of shape "
                        f"{X.shape}, float64). If it needs other columns, change n_inputs; if another type, wrap it: "
                        "lambda X: f(convert(X))."
                    ) from error
                time.sleep(min(pause, LIMITS.longest_pause, self.seconds_left))
                pause *= 2
        self.calls += 1
        return self._checked(answer, len(X))

    def _call(self, X: np.ndarray) -> Any:
        if self.max_time is None:
            return self.function(X)
        result: list[Any] = []
        failure: list[BaseException] = []

        def work() -> None:
            try:
                result.append(self.function(X))
            except BaseException as error:
                failure.append(error)

        thread = threading.Thread(target=work, daemon=True)  # left behind where the oracle never answers
        if self.seconds_left <= 0:
            raise BudgetError(f"max_time of {self.max_time:g} s is over after {self.queries} queries; raise it.")
        thread.start()
        thread.join(self.seconds_left)
        if failure:
            raise failure[0]
        if not result:
            raise BudgetError(f"the oracle did not answer {len(X)} rows within max_time, {self.max_time:g} s in all; raise it.")
        return result[0]

    def _checked(self, answer: Any, n: int) -> np.ndarray:
        if np.ma.is_masked(answer):
            raise OracleError("the oracle returned masked values; it must answer every row.")
        try:
            Y = np.asarray(to_numpy(answer) if is_array(answer) else answer)
            if np.iscomplexobj(Y):
                raise TypeError("complex numbers")
            Y = np.array(Y, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise OracleError(f"the oracle must return real numbers, not {type(answer).__name__} ({error}).") from error
        if Y.ndim not in (1, 2) or len(Y) != n or Y.shape[1:] == (0,):
            raise OracleError(f"the oracle returned shape {Y.shape} for {n} rows; it must return ({n},) or ({n}, m).")
        Y = Y.reshape(n, -1)
        if self.n_outputs is not None and Y.shape[1] != self.n_outputs:
            raise OracleError(
                f"the oracle returned {Y.shape[1]} outputs, and {self.n_outputs} before; the number must not change."
            )
        wrong = np.flatnonzero(~np.isfinite(Y).all(axis=1))
        if wrong.size:
            raise OracleError(
                f"the oracle returned NaN or infinity for {wrong.size} of {n} rows; narrow `scale`, or move `center`."
            )
        self.n_outputs = Y.shape[1]
        return Y


def check_settings(budget: Any, batch_size: Any, retries: Any, max_time: Any, callback: Any = None) -> None:
    """Refuse settings before any query."""
    for name, value, least in (("budget", budget, 1), ("batch_size", batch_size, 1), ("retries", retries, 0)):
        if value is None and name != "retries":
            continue
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise ArgumentError(f"{name} must be an integer, at least {least}, not {value!r}.")
    if max_time is not None and not (isinstance(max_time, int | float) and max_time > 0):
        raise ArgumentError(f"max_time must be a positive number of seconds, not {max_time!r}.")
    if callback is not None and not callable(callback):
        raise ArgumentError(f"callback must be a function of the number of queries, or None, not {callback!r}.")
