"""Mutants that compute the same, each with its reason: no test can kill them, and none of them counts as killed."""

from __future__ import annotations

from typing import Any

UNREAD = "one order more is computed, which is not read"
SAME: dict[tuple[str, str, str], str] = {  # file, before, after
    (
        "certificate/precision.py",
        "V[:, :, None] + t * V[:, None, :]",
        "V[:, :, None] - t * V[:, None, :]",
    ): "t is 1 and −1",
    ("hermite/contractions.py", "range(order)", "range(order + 1)"): "an entry more of a list, which is not read",
    ("initialization/scalars.py", "range(max(candidates) + 2)", "range(max(candidates) + 2 + 1)"): UNREAD,
    ("initialization/scalars.py", "max(candidates) - 2", "max(candidates) + 2"): UNREAD,
    (
        "initialization/scalars.py",
        "damping[:, None] * diagonal + np.where(diagonal > floor, 0.0, 1.0)",
        "damping[:, None] * diagonal - np.where(diagonal > floor, 0.0, 1.0)",
    ): "where the tangent vanishes, so does the right-hand side, and the step is zero",
    ("moments/flattened_moment.py", "range(half + 1)", "range(half + 1 + 1)"): UNREAD,
    ("moments/hermite_moment.py", "range(5)", "range(5 + 1)"): UNREAD,
    ("refinement/normal_equations.py", "S > 1", "S <= 1"): "two ways of taking the same numbers to the same places",
}


def reason(mutant: dict[str, Any]) -> str | None:
    return SAME.get((mutant["path"], mutant["before"], mutant["after"]))
