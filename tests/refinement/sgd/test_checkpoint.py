"""A run that was stopped goes on to the same bits; another run's file is refused."""

import os
import subprocess
import sys

import numpy as np
import pytest

import weightlift as wl
from weightlift.errors import ArgumentError, FileFormatError
from weightlift.network import Network
from weightlift.refinement import sgd
from weightlift.samples import Fresh


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_resumed_run_has_the_same_bits(tmp_path, dtype, seed):
    """Stopped in the middle of a window, taken up twice, and lengthened beyond its first end."""
    truth = wl.teachers.haar(6, 12)
    start = Network(np.random.default_rng(seed).normal(size=(6, 12)) / 3, activation=truth.activation)
    stream = Fresh(truth, seed=seed)
    options = {"step": lambda j: 0.01 / np.sqrt(1 + j / 500), "window": 500, "truth": truth, "dtype": dtype}
    whole = sgd(stream, start, steps=3_210, **options)
    path = tmp_path / "run.safetensors"
    for steps in (740, 1_000, 2_999, 3_210):
        part = sgd(stream, start, steps=steps, checkpoint=path, **options)
        assert part.steps == steps
    np.testing.assert_array_equal(part.network.W, whole.network.W)
    np.testing.assert_array_equal(part.average.W, whole.average.W)
    for name in ("ends", "sums", "nearest"):
        np.testing.assert_array_equal(getattr(part.windows, name), getattr(whole.windows, name))


@pytest.mark.slow
def test_a_new_process_has_the_same_bits(tmp_path):
    """Whether it compiles the blocks or finds them compiled."""
    code = """
import hashlib, numpy as np, weightlift as wl
truth = wl.teachers.haar(50, 350)
start = wl.Network(np.random.default_rng(0).normal(size=(50, 350)) / 7, activation=truth.activation)
run = wl.refinement.sgd(wl.samples.Fresh(truth), start, step=1e-5, steps=3_000, window=1_000, dtype="float32")
print(hashlib.sha256(run.network.W.tobytes() + run.average.W.tobytes() + run.windows.sums.tobytes()).hexdigest())
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    runs = [subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True) for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout != b""


class Interrupted:
    """A stream that breaks off."""

    def __init__(self, stream, rows):
        self.stream, self.rows, self.n, self.d = stream, rows, stream.n, stream.d

    def blocks(self, rows, *, start=0):
        for block in self.stream.blocks(rows, start=start):
            if start >= self.rows:
                raise KeyboardInterrupt
            start += len(block.y)
            yield block


def test_an_interrupted_run_is_kept(tmp_path):
    truth = wl.teachers.haar(6, 12)
    start = Network(np.random.default_rng(0).normal(size=(6, 12)) / 3, activation=truth.activation)
    options = {"step": 0.01, "steps": 9_000, "window": 1_500, "checkpoint": tmp_path / "run"}
    with pytest.raises(KeyboardInterrupt):
        sgd(Interrupted(Fresh(truth), 4_000), start, **options)
    counted = Counting(Fresh(truth))
    run = sgd(counted, start, **options)
    assert counted.starts == [0, 3_000], "the first rows are looked at, then the run goes on"
    whole = sgd(Fresh(truth), start, **{**options, "checkpoint": None})
    np.testing.assert_array_equal(run.average.W, whole.average.W)
    np.testing.assert_array_equal(run.windows.ratio(), whole.windows.ratio())


class Counting:
    def __init__(self, stream):
        self.stream, self.n, self.d, self.starts = stream, stream.n, stream.d, []

    def blocks(self, rows, *, start=0):
        self.starts.append(start)
        return self.stream.blocks(rows, start=start)


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    truth = wl.teachers.haar(4, 8)
    start = Network(np.ones((4, 8)) / 2, activation=truth.activation)
    path = tmp_path / "run"
    options = {"step": 0.01, "steps": 100, "window": 50, "checkpoint": path}
    sgd(Fresh(truth), start, **options)
    assert sgd(Fresh(truth), start, **{**options, "window": np.int64(50)}).steps == 100
    for name, value in {"step": 0.02, "window": 25, "dtype": "float32", "truth": truth}.items():
        with pytest.raises(ArgumentError, match=f"another {name}"):
            sgd(Fresh(truth), start, **{**options, name: value})
    with pytest.raises(ArgumentError, match="another start"):
        sgd(Fresh(truth), Network(start.W + 1e-9, activation=truth.activation), **options)
    with pytest.raises(ArgumentError, match="another first rows"):
        sgd(Fresh(truth, seed=5), start, **options)
    with pytest.raises(ArgumentError, match="already"):
        sgd(Fresh(truth), start, **{**options, "steps": 70})
    content = path.read_bytes()
    for damaged in (content[:40], content[:-8], content[:-1] + bytes([content[-1] ^ 1]), b"", b"\0" * 100):
        path.write_bytes(damaged)
        with pytest.raises(FileFormatError):
            sgd(Fresh(truth), start, **options)
    start.save(path)
    with pytest.raises(FileFormatError, match="not a run"):
        sgd(Fresh(truth), start, **options)
