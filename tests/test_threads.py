"""Limits on threads that overlap in time: the strictest holds, and what was there comes back with the last of them."""

import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import weightlift as wl
from weightlift.threads import limited


def counts():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture
def three():
    """Pools of three threads, whatever the machine has."""
    with threadpool_limits(limits=3, user_api="blas"):
        yield
    assert counts()


def test_the_strictest_limit_holds_and_the_first_state_comes_back(three):
    with limited(2):
        assert set(counts()) == {2}
        with limited(1):
            assert set(counts()) == {1}
        assert set(counts()) == {2}
        with limited(8):
            assert set(counts()) == {2}
    assert set(counts()) == {3}


def test_a_limit_above_what_there_is_changes_nothing(three):
    with limited(8):
        assert set(counts()) == {3}
    assert set(counts()) == {3}


def test_limits_that_end_in_the_order_in_which_they_began_leave_nothing_behind(three):
    first, second = limited(1), limited(1)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(counts()) == {1}
    second.__exit__(None, None, None)
    assert set(counts()) == {3}


def test_an_error_inside_gives_the_threads_back(three):
    with pytest.raises(KeyError), limited(1):
        raise KeyError
    assert set(counts()) == {3}


def test_overlapping_fits_leave_no_limit_behind(three):
    truth = wl.teachers.conditioned(6, 3, activation="relu", rng=0)
    X, y = wl.draw(truth, 300, noise_std=0.3, rng=1)
    seen = []

    def fit(work):
        seen.append(wl.recover(X, y, n_units=3, method="search", max_work=work).network)

    threads = [threading.Thread(target=fit, args=(work,)) for work in (600, 1800)]
    for thread in threads:
        thread.start()
        time.sleep(0.05)
    for thread in threads:
        thread.join()
    assert len(seen) == 2
    assert all(np.isfinite(net.W).all() for net in seen)
    assert set(counts()) == {3}


def test_exact_numbers_overlap_too():
    """Alone, BLAS has as many threads as asked for; what began inside another limit and ends after it leaves nothing behind."""
    before = counts()
    with limited(2, exactly=True):
        assert set(counts()) == {2}
    first, second = limited(1), limited(2, exactly=True)
    first.__enter__()
    second.__enter__()
    assert set(counts()) == {1}
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert counts() == before
