"""Estimates of rows and cost rest on the measurements."""

from __future__ import annotations

from weightlift.activations import get
from weightlift.diagnose import MEASURED
from weightlift.diagnose.calibration import estimate_cost, estimate_rows
from weightlift.diagnose.identifiable import Shape


def test_estimates_rest_on_the_measurements():
    """At a measured shape the range brackets what was seen: it begins above what failed and ends at what sufficed."""
    for m in MEASURED:
        phi = get(m.activation)
        given = Shape(m.n_inputs, m.n_units, phi, m.bias)
        p, found = given.parameters, estimate_rows(given)
        assert p < found.least <= found.few <= found.enough
        if not m.all_right and m.n_units <= m.n_inputs:
            assert found.enough > m.ratio * p
        if m.all_right and m.n_units <= m.n_inputs and m.ratio >= 2.5:
            assert found.few < m.ratio * p
    widths = [estimate_rows(Shape(100, k, get("relu"))).enough / (100 * k) for k in (3, 10, 30, 60, 90)]
    assert widths == sorted(widths)
    assert estimate_rows(Shape(100, 60, get("relu"))).extrapolated
    assert estimate_rows(Shape(5, 8, get("relu"))).extrapolated
    assert estimate_rows(Shape(20, 5, get("softplus"))).extrapolated
    five = estimate_rows(Shape(20, 5, get("relu")))
    assert not five.extrapolated
    assert (five.few, five.enough) == (135, 200)  # 4 of 8 at 135 rows, 8 of 8 at 150 and at 200, some failures at other widths


def test_costs_are_those_measured():
    """k = 30, d = 60, 8 rows a parameter: 1.6 GiB [gpu.md]; relu d=30 k=15 n=4p: 20 s, d=20 k=5 n=3p: 0.1 to 0.6 s."""
    phi = get("relu")
    assert 0.5 < estimate_cost(Shape(60, 30, phi), 14_400).bytes / (1.6 * 2**30) < 2.0
    assert 0.5 < estimate_cost(Shape(100, 50, phi), 50_000).bytes / (10.5 * 2**30) < 2.0
    for d, k, n, seconds in ((30, 15, 1800, 19.6), (20, 5, 300, 0.5), (50, 5, 750, 3.0)):
        cost = estimate_cost(Shape(d, k, phi), n)
        assert cost.seconds_least < seconds < cost.seconds_most
        assert 0.3 < cost.seconds_typical / seconds < 3.5
