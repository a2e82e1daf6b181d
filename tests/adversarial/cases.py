"""What a bad input must come to: an error that names it, an uncertified answer, or the same answer as ever.

Every case runs in an empty working directory, where `Path("x")` is a scratch file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from weightlift import errors

SECONDS = 1.0  # a bad input is answered within, beside what it loads


@dataclass(frozen=True)
class Case:
    """`words` is a pattern that the error's sentence matches; `error` is None where an answer is expected."""

    name: str
    call: Callable[[], object]
    error: type[BaseException] | None = None
    words: str = ""
    expected: str = "refused"  # or "uncertified", "same"


def refused(name: str, call: Callable[[], object], words: str, error: type[BaseException] = errors.ArgumentError) -> Case:
    """An error of that class whose sentence matches the words."""
    return Case(name, call, error, words)


def uncertified(name: str, call: Callable[[], object]) -> Case:
    """An answer whose certificate is false; warnings may come with it."""
    return Case(name, call, expected="uncertified")


def same(name: str, call: Callable[[], object]) -> Case:
    """A pair of answers that agree: the arrays of (left, right) to 1e-9, anything else exactly."""
    return Case(name, call, expected="same")
