"""Work and time bound every stage; the callback knows where a recovery stands; an interrupt ends it."""

import itertools
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import weightlift as wl


def noise(n=300, d=5):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.normal(size=n)


def exact(k=3, n=200, bias=False):
    truth = wl.teachers.biased(6, k, rng=0) if bias else wl.teachers.conditioned(6, k, activation="relu", rng=0)
    return wl.draw(truth, n, rng=0)


PROBLEMS = {
    "noise": (noise(), {"n_units": 3}),
    "wide": (exact(), {"n_units": 9, "method": "search"}),
    "biased": (exact(bias=True, n=6000), {"n_units": 3, "bias": True}),
    "auto": (noise(), {"n_units": "auto"}),
    "undetermined": (noise(60), {"n_units": 12}),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("max_work", [0, 1, 60, 390])
def test_no_step_is_made_beyond_the_work(name, max_work):
    (X, y), options = PROBLEMS[name]
    found = wl.recover(X, y, max_work=max_work, **options)
    assert sum(stage.work for stage in found.stages) <= max_work + 1e-9
    assert found.work == pytest.approx(sum(stage.work for stage in found.stages))
    assert np.isfinite(found.network.predict(X)).all()


def test_work_that_suffices_changes_nothing():
    X, y = exact()
    first, second = (wl.recover(X, y, n_units=3, method="search", max_work=work) for work in (2_000, 10**6))
    assert np.array_equal(first.network.W, second.network.W)


@pytest.mark.parametrize("method", ["auto", "search", "tensor"])
@pytest.mark.parametrize("seconds", [0, 0.02, 0.5])
def test_time_cuts_and_the_certificate_says_so(method, seconds):
    X, y = noise()
    began = time.perf_counter()
    found = wl.recover(X, y, n_units=4, method=method, max_work=1e9, max_time=seconds)
    cut = [reason for reason in found.certificate.reasons if f"max_time = {seconds:g} s was spent" in reason]
    assert not found.certificate
    assert cut or method == "tensor"
    assert time.perf_counter() - began < seconds + 5
    assert np.isfinite(found.network.W).all()


def test_time_that_suffices_is_not_mentioned():
    X, y = exact()
    found = wl.recover(X, y, n_units=3, max_time=600)
    assert found.certificate.status is wl.Status.EXACT
    assert not any("max_time" in reason for reason in found.certificate.reasons)


def test_events_tell_stage_round_risk_share_and_the_best_network():
    X, y = noise()
    events = []
    found = wl.recover(X, y, n_units=3, max_work=1500, callback=events.append)
    assert [e.stage for e in events] == sorted((e.stage for e in events), key=["moments", "search"].index)
    assert {e.stage for e in events} == {"moments", "search"}
    rounds = [e.start for e in events if e.stage == "search"]
    assert rounds == sorted(rounds)
    assert rounds[-1] > 1
    for before, after in itertools.pairwise(events):
        assert after.best_risk <= before.best_risk
        assert after.seconds >= before.seconds
        assert 0 <= before.share <= after.share <= 1
    last = events[-1]
    risk = np.mean((last.network.predict(X) - y) ** 2) / np.mean(y**2)
    assert last.best_risk == pytest.approx(risk, rel=0.1)
    assert last.best_risk <= min(stage.risk for stage in found.stages if stage.name.startswith("Gauss")) * (1 + 1e-9)
    with pytest.raises(FrozenInstanceError):
        last.share = 0.0


def test_an_error_of_the_callback_ends_the_recovery():
    class EnoughError(Exception):
        pass

    def stop(event):
        raise EnoughError

    with pytest.raises(EnoughError):
        wl.recover(*noise(), n_units=3, callback=stop)


@pytest.fixture
def heard() -> Iterator[None]:
    """Interrupts raise KeyboardInterrupt: a shell's background jobs are born deaf to them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
def test_an_interrupt_ends_it_within_a_second_and_the_last_event_has_the_best_network():
    X, y = noise()
    events, sent = [], []

    def interrupt():
        sent.append(time.perf_counter())
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    timer = threading.Timer(0.2, interrupt)

    def watch(event):
        events.append(event)
        if event.network is not None and not timer.is_alive():
            timer.start()

    with pytest.raises(KeyboardInterrupt):
        wl.recover(X, y, n_units=6, max_work=1e9, max_time=60, callback=watch)
    assert time.perf_counter() - sent[0] < 1.0
    assert np.isfinite(events[-1].network.predict(X)).all()


def test_no_width_is_tried_again_with_less_work_than_it_had():
    """Rows of no network: every width fails, and the work runs out among those that are tried again."""
    X = np.random.default_rng(0).normal(size=(400, 3))
    found = wl.recover(X, np.sin(3 * X[:, 0]) * X[:, 1], n_units="auto", max_work=1500)
    assert not found.certificate
    left, had = 1500.0, dict[int, float]()
    for width, stages in itertools.groupby(found.stages, key=lambda stage: stage.width):
        assert left > had.get(width, 0.0)
        had[width] = sum(stage.work for stage in stages)
        left -= had[width]
    assert len(had) > 2


@pytest.mark.parametrize("slope", [1.5, -0.7])
def test_one_input_without_biases_is_told_that_no_rows_suffice(slope):
    x = np.linspace(-2, 2, 60)
    y = slope * np.maximum(x, 0)
    found = wl.recover(x[:, None], y, n_units=1)
    assert found.certificate.status is wl.Status.FAILED
    assert "two rays" in found.certificate.reasons[-1]
    assert np.allclose(found.network.predict(x[:, None]), y)
