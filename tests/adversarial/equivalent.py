"""Mutants that compute the same, each with its reason: no test can kill them, and none of them counts as killed."""

from __future__ import annotations

from typing import Any

ZERO = "a zero is added or taken away"
SAME: dict[tuple[str, str, str], str] = {  # file, before, after
    (
        "certificate/precision.py",
        "V[:, :, None] + t * V[:, None, :]",
        "V[:, :, None] - t * V[:, None, :]",
    ): "t is 1 and −1",
    ("refinement/gauss_newton.py", "np.inf + 0.0 * xp.ones_like(risks)", "np.inf - 0.0 * xp.ones_like(risks)"): ZERO,
    ("refinement/normal_equations.py", "y + 0.0 * block.y[:, None]", "y - 0.0 * block.y[:, None]"): ZERO,
}


def reason(mutant: dict[str, Any]) -> str | None:
    return SAME.get((mutant["path"], mutant["before"], mutant["after"]))
