"""Several targets: one joint recovery; where nothing is certified, the width of the least held-out risk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from weightlift.errors import warn
from weightlift.estimator.fitting import Fit, Options
from weightlift.estimator.limits import LIMITS
from weightlift.namespaces import to_numpy
from weightlift.recovery import Recovery, recovered
from weightlift.samples import Samples
from weightlift.samples import open as open_samples

HELDOUT = 0.2  # of the rows, that choose the width


def fit_several(X: Any, Y: Any, w: Any, options: Options, *, rng: np.random.Generator) -> Fit:
    """The joint recovery of Y (n, m); n_units "auto" tries widths from the narrowest on."""
    if not options.refine or options.alpha not in ("auto", 0):
        warn("several targets are fitted without a ridge, and refined; alpha and refine have no effect on them.")
    rows = open_samples(X, Y, sample_weight=w)
    request = replace(options.request, method="search" if options.request.method == "auto" else options.request.method)
    found = _of_any_width(rows, request, rng) if request.n_units == "auto" else recovered(rows, request, rng)
    return Fit(found.network, found.certificate, found, 0.0, found.work, replace(found, rows=rows).summary())


def _of_any_width(rows: Samples, request: Any, rng: np.random.Generator) -> Recovery:
    """The first width that is certified, else that of the least risk on rows that were held out."""
    heldout, train = (part.persist() for part in rows.split(HELDOUT, 1 - HELDOUT, seed=int(rng.integers(2**31))))
    heldout, train = (heldout, train) if heldout.n and train.n > 1 else (rows, rows)
    found: list[tuple[float, Recovery]] = []
    for width in LIMITS.widths:
        if found and width * (rows.d + 1) >= rows.n:
            break
        narrow = replace(request, n_units=width, max_work=request.max_work / len(LIMITS.widths))
        recovery = recovered(train, narrow, rng)
        if recovery.certificate:
            whole = recovered(rows, replace(request, n_units=recovery.network.n_units), rng)
            return whole if whole.certificate else recovery
        found.append((_left(recovery, heldout), recovery))
    return min(found, key=lambda tried: tried[0])[1]


def _left(found: Recovery, rows: Samples) -> float:
    """Σ ‖y − f(x)‖²."""
    blocks = rows.blocks(4096)
    return float(sum(np.sum((to_numpy(b.y) - found.network.predict(to_numpy(b.X))) ** 2) for b in blocks))
