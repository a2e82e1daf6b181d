"""Workers of a cluster killed and stopped at random moments of a recovery: the same network, and no hang."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pytest
from tests.conftest import optional

import weightlift as wl
from weightlift import samples

pytestmark = pytest.mark.slow
PARTS, TIMES = 4, 5  # twenty blows of each kind, in parts that may run side by side
LONGEST = 300.0  # seconds of one recovery, restarts of its workers included


@contextmanager
def cluster() -> Iterator[Any]:
    """Two processes under nannies; a worker that is silent for twenty seconds, as no busy one is, is given up."""
    dask, distributed = optional("dask"), optional("distributed")
    patience = {
        "distributed.scheduler.worker-ttl": "20s",
        "distributed.scheduler.allowed-failures": 1000,
        "distributed.worker.multiprocessing-method": "forkserver",  # which has imported what a worker needs
    }
    with (
        dask.config.set(patience),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGSTOP])
def test_a_worker_is_hit_at_any_moment(blow: signal.Signals, part: int) -> None:
    """A fresh cluster every time: what a nanny makes of the one that was hit is Dask's business."""
    da = optional("dask.array")
    truth = wl.teachers.conditioned(8, 2, activation="relu", rng=0)
    X, y = wl.draw(truth, 1500, rng=1)
    dX, dy = da.from_array(X, chunks=(500, 8)), da.from_array(y, chunks=500)

    def recover(client: Any) -> wl.Recovery:
        return wl.recover(samples.dask.open(dX, dy, client=client), n_units=2, method="tensor", rng=3)

    with cluster() as client:
        recover(client)
        began = time.monotonic()
        expected = recover(client)
        seconds = time.monotonic() - began
    rng = random.Random(100 * part + int(blow))
    for _ in range(TIMES):
        with cluster() as client:
            victim = int(rng.choice(list(client.run(os.getpid).values())))
            timer = threading.Timer(rng.uniform(0.0, seconds), hit, (victim, blow))
            timer.start()
            began = time.monotonic()
            found = recover(client)
            assert time.monotonic() - began < LONGEST
            timer.join()
            hit(victim, signal.SIGKILL)  # one that stands still
        np.testing.assert_array_equal(found.network.W, expected.network.W)
        np.testing.assert_array_equal(found.network.a, expected.network.a)
        assert found.certificate.status is expected.certificate.status


def hit(process: int, blow: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, blow)
