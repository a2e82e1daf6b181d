"""Processes killed at any moment, disks that fill up, memory that runs out: nothing is lost, asked twice or left behind."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import re
import resource
import signal
import sqlite3
import time
import tracemalloc
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.adversarial.arrays import TRUTH, X, Y
from tests.adversarial.trials import trial
from typer.testing import CliRunner

import weightlift as wl
from weightlift import errors
from weightlift.cli import app
from weightlift.files import write_atomically
from weightlift.refinement.sgd import checkpoint
from weightlift.reproduce.fingerprint import fingerprint
from weightlift.reproduce.recipe import Cell
from weightlift.reproduce.store import Store
from weightlift.reproduce.sweep import sweep
from weightlift.reproduce.tables import as_csv
from weightlift.samples.journal import Journal

FEW, MANY = 5, int(os.environ.get("WEIGHTLIFT_KILLS", "200"))  # kills, in the fast tests and in the slow ones
PARTS = 8  # of the slow ones, with moments of their own, which may run one by one
SLOW = [pytest.param(-(-MANY // PARTS), part, marks=pytest.mark.slow, id=f"part{part}") for part in range(1, 1 + PARTS)]
KILLS = pytest.mark.parametrize(("kills", "part"), [pytest.param(FEW, 0, id="few"), *SLOW])


def forked(task: Callable[[], object]) -> int:
    """The process in which the task runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads that a fork leaves behind
        child = os.fork()
    if child == 0:
        code = 1
        try:
            task()
            code = 0
        finally:
            os._exit(code)
    return child


def killed(task: Callable[[], object], after: float) -> bool:
    """Whether the task was killed before its end, so many seconds after its beginning."""
    child, began = forked(task), time.monotonic()
    while time.monotonic() - began < after:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0
            return False
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL)
    return status != 0


def finished(task: Callable[[], object]) -> float:
    """Seconds of the task in a process of its own."""
    began = time.monotonic()
    assert os.waitpid(forked(task), 0)[1] == 0
    return time.monotonic() - began


# Processes


@KILLS
def test_a_sweep_that_is_killed_goes_on_to_the_same_table(tmp_path: Path, kills: int, part: int) -> None:
    """Rounds of kills until the sweep is done, then another sweep, as many as it takes."""
    cells = [Cell(fingerprint(trial), {"n": n}, repeat, 7) for n in range(1, 21) for repeat in range(3)]

    def run(path: Path) -> None:
        with Store(path) as store:
            sweep(trial, cells, store)

    seconds = finished(lambda: run(tmp_path / "straight.sqlite"))
    with Store(tmp_path / "straight.sqlite") as store:
        expected = as_csv(store.rows(cells))
    rng, done, rounds = random.Random(10 + part), 0, 0
    while done < kills:
        path, rounds = tmp_path / f"{rounds}.sqlite", rounds + 1
        while done < kills and killed(lambda: run(path), rng.uniform(0.0, seconds)):  # noqa: B023
            done += 1
        run(path)
        with Store(path) as store:
            assert store.keys(cells) == {cell.key for cell in cells}
            assert store._db.execute("SELECT count(*) FROM cells").fetchone()[0] == len(cells)
            assert as_csv(store.rows(cells)) == expected
            assert store._db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert not [p for p in tmp_path.iterdir() if p.suffix != ".sqlite"]


BOX = wl.teachers.biased(5, 3, rng=0)


@KILLS
def test_an_extraction_that_is_killed_asks_nothing_twice(tmp_path: Path, kills: int, part: int) -> None:
    """What was being asked when the process died may be asked once more; nothing else is, and the network has the same bits."""
    log = tmp_path / "log"

    def run(journal: Path) -> None:
        with log.open("ab", buffering=0) as file:
            os.write(file.fileno(), b"begin\n")

            def oracle(rows: np.ndarray) -> np.ndarray:
                names = (hashlib.sha256(row.tobytes()).hexdigest()[:16] for row in rows)
                os.write(file.fileno(), (" ".join(names) + "\n").encode())
                time.sleep(0.001)
                return BOX.predict(rows)

            found = wl.extract(oracle, 5, journal=journal, batch_size=8)
        found.network.save(journal.with_suffix(".net"))

    def questions() -> tuple[Counter[str], Counter[str]]:
        """How often each row was asked, and how often while the process died."""
        runs = [part.split("\n") for part in log.read_text().split("begin\n")[1:]]
        asked = Counter(name for calls in runs for call in calls for name in call.split())
        return asked, Counter(name for calls in runs for name in (calls[-2].split() if len(calls) > 1 else []))

    run(tmp_path / "first")  # loads what an extraction needs, once for all that are killed
    log.unlink()
    seconds = finished(lambda: run(tmp_path / "straight"))
    expected, _ = questions()
    rng, done, rounds = random.Random(20 + part), 0, 0
    while done < kills:
        log.unlink()
        journal, rounds = tmp_path / f"{rounds}", rounds + 1
        while done < kills and killed(lambda: run(journal), rng.uniform(0.0, seconds)):  # noqa: B023
            done += 1
        run(journal)
        asked, dying = questions()
        assert set(asked) == set(expected)
        assert not asked - expected - dying
        assert journal.with_suffix(".net").read_bytes() == (tmp_path / "straight.net").read_bytes()


@pytest.mark.parametrize("kills", [20, pytest.param(MANY, marks=pytest.mark.slow)])
def test_a_save_that_is_killed_leaves_the_old_file_or_the_new_one(tmp_path: Path, kills: int) -> None:
    path, nets = tmp_path / "net.safetensors", [TRUTH, wl.Network(TRUTH.W, 2 * TRUTH.a)]
    rng = random.Random(3)
    TRUTH.save(path)

    def run() -> None:
        for i in range(1000):
            nets[i % 2].save(path)

    for _ in range(kills):
        assert killed(run, rng.uniform(0.0, 0.02))
        assert any(np.array_equal(wl.Network.load(path).a, net.a) for net in nets)
    beside = [p.name for p in tmp_path.iterdir() if p != path]
    assert len(beside) <= 1  # killed between two calls of the system; the next writer takes it
    TRUTH.save(path)
    assert list(tmp_path.iterdir()) == [path]


# Disks


class Disk:
    """A disk whose n-th call of a function of the system fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str, number: int, code: int) -> None:
        self.calls, self.number, self.code, self.plain = 0, number, code, getattr(os, name)
        monkeypatch.setattr(os, name, self)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        self.calls += 1
        if self.calls >= self.number:
            raise OSError(self.code, os.strerror(self.code))
        return self.plain(*arguments, **options)


WRITERS: dict[str, Callable[[Path], object]] = {
    "network": lambda path: wl.Network(TRUTH.W, 2 * TRUTH.a).save(path),
    "state": lambda path: wl.export.to_safetensors(wl.Network(TRUTH.W, 2 * TRUTH.a), path),
    "run": lambda path: checkpoint.save(path, checkpoint.State.start(TRUTH.W), {}),
    "content": lambda path: write_atomically(path, b"new"),
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("named", [False, True], ids=["files without names", "temporary files"])
@pytest.mark.parametrize(
    ("call", "code"), [("write", errno.ENOSPC), ("write", errno.EIO), ("fsync", errno.EIO), ("replace", errno.EACCES)]
)
def test_a_failing_disk_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: str, named: bool, call: str, code: int
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    if named:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    disk = Disk(monkeypatch, call, 1, code)
    with pytest.raises(OSError, match=os.strerror(code)) as caught:
        WRITERS[writer](path)
    assert caught.value.filename == str(path)
    assert disk.calls == 1
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("number", range(1, 6))
def test_a_journal_on_a_full_disk_keeps_whole_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Half of a record reaches the disk before it is full; it is taken back, and what came before can be read."""
    book = Journal(tmp_path / "j", 2)
    plain, calls = os.write, 0

    def write(descriptor: int, content: bytes) -> int:
        nonlocal calls
        calls += 1
        if calls < 2 * number - 1:
            return plain(descriptor, content)
        if calls == 2 * number - 1:
            return plain(descriptor, content[: len(content) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", write)

    def fill() -> None:
        for i in range(100):
            book.write(np.full((3, 2), float(i)), np.ones((3, 1)))

    with pytest.raises(OSError, match="No space left") as caught:
        fill()
    assert caught.value.filename == str(tmp_path / "j")
    kept = len(book)
    monkeypatch.undo()
    book.close()
    again = Journal(tmp_path / "j", 2)
    assert len(again) == kept == 2 * number - 2
    again.write(np.full((3, 2), -1.0), np.ones((3, 1)))
    again.close()


def limited_files(task: Callable[[], object], size: int) -> Callable[[], None]:
    """The task where no file may grow beyond a size: writes fail, as on a full disk."""

    def run() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        task()

    return run


@pytest.mark.parametrize("size", [0, 64, 5000, 9000, 20_000])
def test_a_store_on_a_full_disk_keeps_what_it_has(tmp_path: Path, size: int) -> None:
    cells = [Cell("code", {"n": n}, 0, 7) for n in range(80)]

    def fill() -> None:
        with Store(tmp_path / "cells.sqlite") as store:
            for cell in cells:
                store.add([(cell, '{"x": 1.5}', 0.1)], "0")

    def task() -> None:
        with pytest.raises(OSError, match=r"cells\.sqlite") as caught:
            fill()
        assert caught.value.strerror

    finished(limited_files(task, size))
    with Store(tmp_path / "cells.sqlite") as store:
        assert len(store.rows(cells)) < len(cells)
    fill()
    with Store(tmp_path / "cells.sqlite") as store:
        assert len(store.rows(cells)) == len(cells)


def test_a_store_on_a_read_only_disk_names_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It can be read as ever; a write is an error of the disk."""
    path, cell = tmp_path / "cells.sqlite", Cell("code", {"n": 1}, 0, 7)
    with Store(path) as store:
        store.add([(cell, '{"x": 1.5}', 0.1)], "0")
    plain = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda p, **options: plain(f"file:{p}?mode=ro", uri=True, **options))
    with Store(path) as store:
        assert store.rows([cell]) == [{"n": 1, "trial": 0, "x": 1.5}]
        with pytest.raises(OSError, match=r"readonly.*cells\.sqlite"):
            store.add([(Cell("code", {"n": 2}, 0, 7), "{}", 0.1)], "0")
    with pytest.raises(OSError, match=r"other\.sqlite"):
        Store(tmp_path / "other.sqlite")


@pytest.fixture
def full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", X=X, y=Y)
    TRUTH.save("box.safetensors")
    Disk(monkeypatch, "write", 1, errno.ENOSPC)


@pytest.mark.parametrize(
    ("line", "words", "out"),
    [
        ("recover data.npz --units 2 --out net.safetensors", "EXACT", "net.safetensors"),
        ("recover data.npz --units 2 --out net.safetensors --json", '"status": "EXACT"', "net.safetensors"),
        ("extract box.safetensors --inputs 3 --out net.safetensors", "queries", "net.safetensors"),
        ("demo --units 2 --inputs 3 --out figure.png", "Planted", "figure.png"),
    ],
)
@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_loses_no_result(line: str, words: str, out: str) -> None:
    result = CliRunner().invoke(app, line.split())
    assert result.exit_code == 2
    assert words in result.stdout
    assert f"{out}: No space left on device" in result.stderr
    assert not Path(out).exists()
    assert '"file": null' in result.stdout or "--json" not in line


# Memory, and Ctrl-C


def raising(error: BaseException) -> Callable[..., Any]:
    def fail(*arguments: Any, **options: Any) -> Any:
        raise error

    return fail


@pytest.mark.parametrize("place", ["weightlift.recovery.problem.Problem.of", "weightlift.recovery._of_width"])
@pytest.mark.parametrize(
    ("error", "code", "words"),
    [(MemoryError(), 2, "not enough memory"), (KeyboardInterrupt(), 130, "Stopped before|Interrupted before")],
)
def test_memory_and_the_user_may_end_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, error: BaseException, code: int, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(place, raising(error))
    np.savez("data.npz", X=X, y=Y)
    for line in ("recover data.npz --units 2 --out net.safetensors", "demo --units 2 --inputs 3 --out figure.png"):
        result = CliRunner().invoke(app, line.split())
        assert result.exit_code == code
        assert re.search(words, result.stderr)
        assert not Path(line.split()[-1]).exists()


def test_memory_that_runs_out_for_a_while_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Smaller blocks are tried; where not even those fit, the error says what to do."""
    plain, rows = wl.samples.open(X, Y), []

    class Hungry:
        floats_per_row = 1
        room = 30

        def __call__(self, block: Any) -> Any:
            rows.append(len(block.y))
            if len(block.y) > self.room:
                raise MemoryError("Unable to allocate 2.00 GiB")
            return (block.y.sum(),)

    np.testing.assert_allclose(plain.fold(Hungry())[0], Y.sum(), rtol=1e-12)
    assert rows[0] == 60
    Hungry.room = 1
    with pytest.raises(errors.OutOfMemoryError, match=r"2\.00 GiB.*fewer units"):
        plain.fold(Hungry())


@pytest.mark.slow
def test_a_recovery_takes_less_than_four_times_its_rows() -> None:
    """Beside the caller's own: the rows whitened, their parts, and blocks of temporaries."""
    rows, y = wl.draw(wl.teachers.conditioned(20, 2, rng=0), 200_000, rng=1)
    tracemalloc.start()
    found = wl.recover(rows, y, n_units=2)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.certificate.status is wl.Status.EXACT
    assert most < 4 * rows.nbytes
