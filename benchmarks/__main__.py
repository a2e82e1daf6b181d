"""Run benchmarks by name, print their tables and keep them.

    python -m benchmarks                        all quick ones
    python -m benchmarks speed noise            these
    python -m benchmarks --full decomposition   in full

What is printed is saved under the versions it was measured with: of a full run as benchmarks/results/<name>.md, of a quick one
as out/benchmarks/<name>.md. One that fails does not keep the others from running; a quick one takes two minutes at most.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib
import importlib.metadata
import io
import platform
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results"
QUICK = Path(__file__).parents[1] / "out" / "benchmarks"
SKIPPED = 77  # what a benchmark returns when it could not measure anything here


@dataclass(frozen=True)
class Benchmark:
    """A module with main(arguments), and its arguments."""

    quick: tuple[str, ...] | None  # None: too long to be run unless it is named
    full: tuple[str, ...]


BENCHMARKS = {
    "foundation": Benchmark((), ("--full",)),
    "trace": Benchmark((), ("--chain",)),
    "decomposition": Benchmark((), ("--full",)),
    "speed": Benchmark((), ("--full",)),
    "noise": Benchmark((), ("--full",)),
    "zhong2017": Benchmark((), ("--full",)),
    "awasthi2021": Benchmark((), ("--full",)),
    "awasthi2021_robust": Benchmark((), ("--full",)),
    "mondelli2019": Benchmark((), ("--full",)),
    "overcomplete": Benchmark(("--order", "3"), ("--full",)),
    "sample_efficiency": Benchmark(
        ("--rows", "d=20 k=5", "--trials", "2", "--fresh", "--store", str(QUICK / "sample_efficiency.jsonl")),
        ("--moonshots",),
    ),
    "calibration": Benchmark(("--table",), ()),
    "frontier": Benchmark(
        ("rows", "--rows", "d=20 k=5", "--trials", "2", "--fresh", "--store", str(QUICK / "frontier.jsonl")), ()
    ),
    "extraction": Benchmark(("--rows", "10-1", "--seeds", "1", "--first", "0"), ()),
    "impostors": Benchmark(("--cases", "6"), ()),
    "peers": Benchmark((), ("--full",)),
    "sources": Benchmark((), ("--full",)),
    "gpu": Benchmark(None, ()),
    "sgd": Benchmark((), ("--full",)),
    "sgd_gpu": Benchmark(None, ()),
    "real_inputs": Benchmark((), ("--full",)),
    "regression": Benchmark(("--data", "friedman2", "linnerud"), ("--peers",)),
    "outputs": Benchmark(("--only", "m = 2"), ("--full",)),
    "acceptance": Benchmark(("--store", str(QUICK / "acceptance.jsonl")), ("--full",)),
    "hostile": Benchmark(
        ("--cases", "100", "--store", str(QUICK / "hostile.sqlite")), ("--store", str(RESULTS / "hostile.sqlite"))
    ),
    "rivals_attack": Benchmark(("--instances", "3"), ("--instances", "500")),
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=f"benchmarks: {', '.join(BENCHMARKS)}")
    parser.add_argument("names", nargs="*", help="which ones; all quick ones by default")
    parser.add_argument("--full", action="store_true", help="more problems and repetitions")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(BENCHMARKS):
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    names = options.names or [name for name in BENCHMARKS if options.full or BENCHMARKS[name].quick is not None]
    ends = [run(name, full=options.full or BENCHMARKS[name].quick is None) for name in names]
    print("\n" + "\n".join(f"{end.name:20} {end.seconds:6.0f} s  {end.words}" for end in ends))
    return max(end.status for end in ends)


@dataclass(frozen=True)
class End:
    """How a benchmark ended."""

    name: str
    seconds: float
    status: int

    @property
    def words(self) -> str:
        return "passed" if not self.status else f"FAILED ({self.status})"


def run(name: str, *, full: bool) -> End:
    """One benchmark: its output goes to the terminal and to a file."""
    benchmark = BENCHMARKS[name]
    folder = RESULTS if full else QUICK
    folder.mkdir(parents=True, exist_ok=True)
    print(f"\n== {name} ==", flush=True)
    text, started = io.StringIO(), time.perf_counter()
    with contextlib.redirect_stdout(Tee(sys.stdout, text)):
        status = _status(name, benchmark.full if full else benchmark.quick or ())
    seconds = time.perf_counter() - started
    if status == SKIPPED:
        return End(name, seconds, 0)
    command = " ".join(["python -m benchmarks", *(["--full"] if full else []), name])
    summary = f"# {name}\n\n`{command}`, {seconds:.0f} s, {datetime.date.today().isoformat()}.\n{environment()}\n\n"
    (folder / f"{name}.md").write_text(summary + _fenced(text.getvalue()), encoding="utf-8")
    return End(name, seconds, status)


def _status(name: str, arguments: tuple[str, ...]) -> int:
    """What its main returns; 1 where it raises."""
    try:
        return int(importlib.import_module(f"benchmarks.{name}").main(list(arguments)) or 0)
    except Exception:
        traceback.print_exc()
        return 1


class Tee(io.TextIOBase):
    """Writes to several streams."""

    def __init__(self, *streams: io.TextIOBase) -> None:
        self.streams = streams

    def write(self, text: str) -> int:
        for stream in self.streams:
            stream.write(text)
        return len(text)

    def flush(self) -> None:
        for stream in self.streams:
            stream.flush()


def environment() -> str:
    """Versions, BLAS and processor in one line."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    versions = [f"Python {platform.python_version()}"]
    for package in ("weightlift", "numpy", "scipy", "scikit-learn", "torch", "tensorly", "pyscnn", "pyarrow", "dask"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions.append(f"{package} {importlib.metadata.version(package)}")
    versions.append(f"{blas['name']} {blas['version']}")
    return f"{', '.join(versions)}; {_processor()}."


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _fenced(text: str) -> str:
    """Tables as they are, anything else verbatim."""
    return text if "\n|" in text or text.startswith("|") else f"```\n{text.rstrip()}\n```\n"


if __name__ == "__main__":
    sys.exit(main())
