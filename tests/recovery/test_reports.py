"""What a recovery hands back: costs add up, displays hold what was done, errors and columns come from the rows."""

import numpy as np
import pytest

import weightlift as wl
from weightlift.errors import ArgumentError
from weightlift.recovery.reports import Cost, Recovery, StageReport, Trial


def test_costs_add_up():
    assert Cost(1.0, 2, 3.0) + Cost(10.0, 20, 30.0) == Cost(11.0, 22, 33.0)


def test_seconds_do_not_tell_two_runs_apart():
    one, two = (StageReport("search", 3, 8, 120.0, 40, 1e-3, "EXACT: they are the units.", seconds=s) for s in (1.0, 2.0))
    assert one == two
    assert one.outcome_in_brief == "EXACT"
    assert StageReport("moments", 3, 1, 0.0, 2, 1.0, "too few rows: 7").outcome_in_brief == "too few rows: 7"


def test_a_recovery_is_shown_with_stages_evidence_and_trials():
    net = wl.Network(np.eye(3)[:, :2])
    X, y = wl.draw(net, 80, rng=0)
    certificate = wl.certify(net, X, y)
    stages = (StageReport("moments", 2, 1, 5.0, 3, 1e-2, "no start"), StageReport("search", 2, 8, 7.5, 9, 1e-30, "EXACT: …"))
    trials = (Trial("tanh units", wl.Status.FAILED, 0.25),)
    found = Recovery(net, certificate, stages, width_evidence=("rank 2",), trials=trials)
    assert found.work == 12.5
    text = str(found)
    for word in ("EXACT", "moments", "no start", "1.0e-30", "rank 2", "tanh units", "25 %", *certificate.reasons):
        assert word in text
    with pytest.raises(ArgumentError, match="no rows at hand"):
        found.inference()


def test_a_reason_is_told_once():
    net = wl.Network(np.eye(3)[:, :2])
    spent = "the work was spent; raise max_work"
    idle = [StageReport("tensor start", k, 0, 0.0, 1, np.nan, f"not used: {k} units take more rows") for k in (1, 2)]
    ran = [StageReport("search", k, 8, 100.0, 9, 0.1, spent) for k in (1, 2)]
    end = StageReport("Gauss–Newton", 2, 1, 3.0, 5, 0.1, "FAILED: The residual has structure left.")
    found = Recovery(net, wl.certify(net, *wl.draw(net, 80, rng=0)), (idle[0], ran[0], idle[1], ran[1], end))
    told = [(idle[0], idle[0].outcome), (ran[0], spent), (ran[1], "the work was spent"), (end, "FAILED")]
    assert found.told() == told
    assert str(found).count("units take more rows") == found.stages_html().count("units take more rows") == 1


def test_standard_errors_are_those_of_the_network_on_its_rows():
    truth = wl.teachers.conditioned(4, 2, activation="tanh", rng=0)
    X, y = wl.draw(truth, 400, noise_std=0.05, rng=1)
    found = wl.recover(X, y, n_units=2, activation="tanh")
    expected = wl.certificate.inference(found.network, X, y, bias=False, offset=False, robust=False)
    np.testing.assert_allclose(found.inference(robust=False).standard_errors, expected.standard_errors, rtol=1e-9)
    assert found.work == sum(stage.work for stage in found.stages) > 0
