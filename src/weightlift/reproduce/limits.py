"""The numbers of sweeps and of what is read from them; the papers' own stand in each paper's file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    batch_seconds: float = 0.25  # of work sent at a time: short cells are not slowed by the queue
    batch_cells: int = 64  # sent at a time
    wait: float = 60.0  # seconds for another process that writes
    every: float = 15.0  # seconds between lines
    diverged: float = 1e3  # a relative risk; a run that ends above it is at infinity from there on
    converged: float = 1e-3  # a relative risk
    least: float = 1e-33  # relative risk that is drawn
    right: float = 1e-6  # relative error of units, or of a function, that is right
    work: float = 3000.0  # Gauss–Newton steps of `recover` beside the paper's method
    window: int = 10_000  # steps of SGD that are averaged, as in [mondelli2019, §6]
    prior: float = 1e-3  # precision of a logit that is all ones or all zeros: far from any share that is read off
    newton: int = 50  # steps of a logistic regression; ten are enough but for such logits
    share: float = 0.9  # of the networks recovered, at which rows are called enough
    together: int = 5  # trials at a point before it is asked whether it still can reach that share
    found: float = 1e-6  # 1 − |cos| of the worst component
    failed: float = 2.0  # the error where a method gave no network: that of a reflected unit, as `Match.worst_unit`


LIMITS = Limits()
