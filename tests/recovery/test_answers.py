"""An answer is a pure function of a start; a fit that agrees to rounding ends a recovery, certified or not."""

from dataclasses import replace

import numpy as np
import pytest

import weightlift as wl
from weightlift import samples
from weightlift.certificate import noise as judging
from weightlift.network import Network
from weightlift.recovery.answers import fit, judge
from weightlift.recovery.problem import Problem
from weightlift.recovery.request import Request
from weightlift.recovery.starts import Start
from weightlift.search import Budget


def judged(noise, steps=80, budget=Budget()):
    truth = wl.teachers.conditioned(5, 2, activation="relu", rng=0)
    X, y = wl.draw(truth, 400, noise_std=noise, rng=1)
    problem = Problem.of(samples.open(X, y), Request(2).checked(), np.random.default_rng(0))
    near = problem.standard.on_network(Network(truth.W + 0.05, truth.a))
    start = Start("test", 1, near, budget, steps=steps)
    return [judge(problem, fit(problem, start, budget)) for _ in range(2)], truth


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_the_same_start_gives_the_same_answer(noise):
    (first, second), truth = judged(noise)
    assert np.array_equal(first.network.W, second.network.W)
    assert (first.report, first.risk) == (second.report, second.risk)
    assert first.settled
    assert first.certificate.status is (wl.Status.STATISTICAL if noise else wl.Status.EXACT)
    assert wl.match(first.network, truth).max_error < (0.1 if noise else 1e-10)


def test_a_budget_bounds_the_fit():
    (answer, _), _ = judged(0.0, budget=Budget(2.0))
    assert answer.report.work <= 2
    assert not answer.settled


def noisy(width, asked, seed=0):
    """Rows of a noisy network, and how a fit of the asked width from a start is judged beside earlier answers."""
    truth = wl.teachers.conditioned(6, width, activation="relu", rng=seed)
    X, y = wl.draw(truth, 1200, noise_std=0.1, rng=seed + 1)
    problem = Problem.of(samples.open(X, y), Request(asked).checked(), np.random.default_rng(0))

    def ended(change, others=()):
        W = truth.W[:, :asked] + change * np.random.default_rng(7).normal(size=(6, asked))
        near = problem.standard.on_network(Network(W, truth.a[:asked]))
        return judge(problem, fit(problem, Start("test", 1, near, Budget(), steps=80), Budget()), 1, others)

    return ended


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_second_start_at_a_minimum_refused_by_chance_ends_the_recovery(seed, monkeypatch):
    """With a level of 0.999 nearly every right network is refused by chance, as one in a hundred is at 0.01."""
    monkeypatch.setattr(judging, "LIMITS", replace(judging.LIMITS, level=0.999))
    ended = noisy(3, 3, seed)
    first = ended(0.02)
    assert not first.certificate
    assert not first.settled
    second = ended(-0.05, (first,))
    assert second.certificate is first.certificate
    assert second.network is first.network
    assert second.confirmed
    assert second.settled
    far = replace(first, network=replace(first.network, W=1.1 * first.network.W))
    other = ended(-0.05, (far,))
    assert other.certificate is not first.certificate
    assert not other.settled


def test_structure_that_no_draw_of_signs_shows_is_never_confirmed():
    """A unit too few: the residual keeps the third one, and another start at the same minimum is no new evidence."""
    ended = noisy(3, 2)
    first = ended(0.02)
    assert first.certificate.p_value == 1 / 512
    second = ended(-0.02, (first,))
    assert second.certificate is first.certificate
    assert not second.confirmed
    assert not second.settled


def test_a_refusal_by_chance_is_not_searched_for_again(monkeypatch):
    monkeypatch.setattr(judging, "LIMITS", replace(judging.LIMITS, level=0.999))
    truth = wl.teachers.conditioned(8, 2, activation="relu", rng=3)
    X, y = wl.draw(truth, 2000, noise_std=0.1, rng=4)
    found = wl.recover(X, y, n_units=2)
    assert found.certificate.status is wl.Status.FAILED
    assert "structure" in found.certificate.reasons[0]
    assert "refuses one in" in found.certificate.reasons[1]
    assert found.work < 300  # a search spends thousands
    assert found.stages[-1].starts == 2
    assert wl.match(found.network, truth).max_error < 0.1


def test_an_exact_fit_that_stays_ambiguous_ends_the_recovery():
    """w₁ + w₂ + w₃ = 0: the units may all be reflected, and no search tells."""
    W = np.array([[1.0, 0.0, -1.0], [0.2, 1.0, -1.2], [0.5, -0.7, 0.2], [0.0, 0.3, -0.3]])
    X = np.random.default_rng(0).normal(size=(400, 4))
    for options in ({"n_units": 3}, {"n_units": 3, "method": "search"}, {"n_units": "auto"}):
        found = wl.recover(X, Network(W).predict(X), **options)
        assert found.certificate.status is wl.Status.AMBIGUOUS
        assert found.network.n_units == 3
        assert found.certificate.residual_max < 1e-12
        assert found.work < 1000
        assert sum("search" in stage.name for stage in found.stages) <= 1


def test_more_units_than_there_are_end_the_recovery_at_once():
    truth = wl.teachers.conditioned(6, 3, activation="relu", rng=0)
    X, y = wl.draw(truth, 300, rng=1)
    found = wl.recover(X, y, n_units=4)
    assert found.certificate.status is wl.Status.AMBIGUOUS
    assert found.certificate.residual_max < 1e-12
    assert found.work < 1000


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_width_that_is_too_large_but_exact_is_narrowed(seed, monkeypatch):
    """The guess is too wide, the fit exact and its information singular: narrower widths follow until one is certified."""
    import weightlift.recovery as recovery

    truth = wl.teachers.conditioned(6, 2, activation="relu", rng=seed)
    X, y = wl.draw(truth, 300, rng=seed)
    estimate = recovery.estimate_rank
    monkeypatch.setattr(recovery, "estimate_rank", lambda *a, **k: _wider(estimate(*a, **k)))
    found = wl.recover(X, y, n_units="auto")
    assert found.certificate.status is wl.Status.EXACT
    assert found.network.equivalent(truth, tol=1e-9)
    widths = [int(line.split(":")[0].removeprefix("width ")) for line in found.width_evidence[1:]]
    widest = widths.index(max(widths))  # the first exact fit; a quick try at the guess itself may end beside it
    assert widths[widest:] == list(range(widths[widest], 1, -1))
    assert len(widths) > 1


def _wider(estimate):
    from dataclasses import replace

    return replace(estimate, rank=estimate.rank + 2)
