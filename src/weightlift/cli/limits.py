"""The numbers of the command line: what the demonstration plants, compares and shows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    rows_a_parameter: int = 3  # of the demonstration without noise
    noisy_rows_a_parameter: int = 30  # with noise
    tolerance: float = 0.01  # largest error of a unit that counts as recovered  [zhong2017, §7]
    noisy_tolerance: float = 0.1  # the same with noise
    compared_weights: int = 2  # leading weights of a unit beside the planted ones
    shown_weights: int = 4  # leading weights of a unit
    random_starts: int = 16  # of Gauss–Newton
    descent_steps: int = 1000  # of gradient descent
    newton_steps: int = 60  # of Gauss–Newton
    flops: float = 3e10  # of a route by Gauss–Newton; a few seconds


LIMITS = Limits()
