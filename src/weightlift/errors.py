"""Errors of the package: each names the argument, says what was found and what to do.

Those that report a bad argument are also a `ValueError`, so that ordinary Python code catches them. Warnings point at the line
that called the package, however deep they arise.
"""

from __future__ import annotations

import sys
import warnings


class WeightliftError(Exception):
    """Root of every error raised on purpose by this package."""


class ArgumentError(WeightliftError, ValueError):
    """An argument has a value that the method cannot use."""


class ShapeError(ArgumentError):
    """An array has the wrong number of axes or disagrees with another in length."""


class NotFiniteError(ArgumentError):
    """An array holds NaN or infinity, or is complex."""


class TooFewRowsError(ArgumentError):
    """The data have fewer rows than the stage can use."""


class SingularError(ArgumentError):
    """A matrix that must be invertible is not."""


class ActivationError(ArgumentError):
    """The activation is unknown, or lacks a property that the method needs."""


class DivergedError(ArgumentError):
    """An iteration left every bound. `step_number`: where; `suggested_step`: to try; `result`: what was reached before."""

    def __init__(self, message: str, *, step_number: int, suggested_step: float, result: object) -> None:
        super().__init__(message)
        self.step_number, self.suggested_step, self.result = step_number, suggested_step, result


class NoExpectationError(WeightliftError, TypeError):
    """A statistic without a closed-form expectation was asked of the population source."""


class FileFormatError(WeightliftError, ValueError):
    """A file is truncated, altered, too large or not one of ours."""


class OutOfMemoryError(WeightliftError, MemoryError):
    """A device has no room even for the smallest blocks of rows."""


class TimeSpentError(WeightliftError, TimeoutError):
    """The time that a call was given is spent."""


class ClusterError(WeightliftError, ConnectionError):
    """The cluster that holds the rows is gone, or has no worker left."""


class OracleError(WeightliftError):
    """A black box failed, answered in another shape, with NaN, out of order, or not in time."""


class BudgetError(OracleError):
    """The next queries would exceed the budget, or were not answered within `max_time`."""


class NotGaussianWarning(UserWarning):
    """The inputs differ from a Gaussian by more than chance; moment methods assume one."""


class NotConvergedWarning(UserWarning):
    """An iteration was stopped by its limit before it settled; what it returns is its last iterate."""


class NotCertifiedWarning(UserWarning):
    """A fit whose units are not certified: it may predict well, and its units are not to be read."""


class DataWarning(UserWarning):
    """The data have a fault that no fit repairs: a constant or redundant column, copies of rows, values far from all others."""


PASSED_OVER = ("weightlift", "sklearn", "joblib", "contextlib")  # whose lines are not the caller's


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line that is neither the package's nor scikit-learn's, through which estimators are called."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in PASSED_OVER:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
