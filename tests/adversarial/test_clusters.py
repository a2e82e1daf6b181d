"""Workers of a cluster killed and stopped in every phase of a recovery: the same network, and no hang."""

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
PHASES = ("samples", "moments", "refinement", "certificate", "rivals")  # the rooms whose statistics travel to the rows
NEIGHBOURS = {"risk": "refinement", "evidence": "certificate"}
TIMES = int(os.environ.get("WEIGHTLIFT_BLOWS", "4"))  # blows of one kind in one phase: twenty of each kind in all
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


class Passes:
    """The phase of every pass over the rows, and a blow that falls when the pass of a number has begun."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.phases: list[str] = []
        self.blows: dict[int, threading.Timer] = {}
        source = samples.dask.DaskSamples
        plain = source._reduce

        def reduced(rows: Any, task: Any) -> Any:
            room = type(task.statistic).__module__.split(".")[1]
            if (blow := self.blows.get(len(self.phases))) is not None:
                blow.start()
            self.phases.append(NEIGHBOURS.get(room, room))
            return plain(rows, task)

        monkeypatch.setattr(source, "_reduce", reduced)

    def again(self, blows: dict[int, threading.Timer]) -> None:
        self.phases, self.blows = [], blows


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGSTOP])
def test_a_worker_is_hit_in_every_phase(monkeypatch: pytest.MonkeyPatch, blow: signal.Signals, phase: str) -> None:
    """A fresh cluster every time: what a nanny makes of the one that was hit is Dask's business."""
    da = optional("dask.array")
    truth = wl.teachers.conditioned(8, 2, activation="relu", rng=0)
    X, y = wl.draw(truth, 1500, rng=1)
    dX, dy = da.from_array(X, chunks=(500, 8)), da.from_array(y, chunks=500)
    passes = Passes(monkeypatch)

    def recover(client: Any) -> wl.Recovery:
        return wl.recover(samples.dask.open(dX, dy, client=client), n_units=2, method="tensor", rng=3)

    expected = recover(None)
    assert set(passes.phases) == set(PHASES)
    moments = [number for number, found in enumerate(passes.phases) if found == phase]
    rng = random.Random(100 * PHASES.index(phase) + int(blow))
    for _ in range(TIMES):
        with cluster() as client:
            victim = int(rng.choice(list(client.run(os.getpid).values())))
            timer = threading.Timer(rng.uniform(0.0, 0.03), hit, (victim, blow))
            passes.again({rng.choice(moments): timer})
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
