"""Run benchmarks by name, print their tables and keep them.

    python -m benchmarks                        all quick ones
    python -m benchmarks speed noise            these
    python -m benchmarks --full decomposition   in full

What is printed is saved as benchmarks/results/<name>.md, under the versions it was measured with.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib
import importlib.metadata
import importlib.util
import io
import platform
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results"
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
    "overcomplete": Benchmark((), ("--full",)),
    "sample_efficiency": Benchmark((), ("--moonshots",)),
    "frontier": Benchmark(("rows", "noise", "real", "--trials", "3"), ()),
    "peers": Benchmark((), ("--full",)),
    "sources": Benchmark((), ("--full",)),
    "gpu": Benchmark(None, ()),
    "sgd": Benchmark((), ("--full",)),
    "sgd_gpu": Benchmark(None, ()),
    "real_inputs": Benchmark((), ("--full",)),
    "regression": Benchmark((), ("--full",)),
    "outputs": Benchmark((), ("--full",)),
    "acceptance": Benchmark((), ("--full",)),
    "hostile": Benchmark(None, ("--store", str(RESULTS / "hostile.sqlite"))),
    "rivals_attack": Benchmark(None, ("--instances", "500")),
}


def main(arguments: list[str] | None = None) -> int:
    present = [name for name in BENCHMARKS if importlib.util.find_spec(f"benchmarks.{name}")]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=f"benchmarks: {', '.join(present)}")
    parser.add_argument("names", nargs="*", help="which ones; all quick ones by default")
    parser.add_argument("--full", action="store_true", help="more problems and repetitions")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(present):
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(present)}")
    names = options.names or [name for name in present if options.full or BENCHMARKS[name].quick is not None]
    return max([run(name, full=options.full) for name in names], default=0)


def run(name: str, *, full: bool) -> int:
    """One benchmark: its exit status; its output goes to the terminal and to a file."""
    benchmark = BENCHMARKS[name]
    chosen = benchmark.full if full or benchmark.quick is None else benchmark.quick
    module = importlib.import_module(f"benchmarks.{name}")
    print(f"\n== {name} ==", flush=True)
    text, started = io.StringIO(), time.perf_counter()
    with contextlib.redirect_stdout(Tee(sys.stdout, text)):
        status = int(module.main(list(chosen)) or 0)
    elapsed = time.perf_counter() - started
    if status == SKIPPED:
        return 0
    RESULTS.mkdir(exist_ok=True)
    command = " ".join(["python -m benchmarks", *(["--full"] if full else []), name])
    summary = f"# {name}\n\n`{command}`, {elapsed:.0f} s, {datetime.date.today().isoformat()}.\n{environment()}\n\n"
    (RESULTS / f"{name}.md").write_text(summary + _fenced(text.getvalue()), encoding="utf-8")
    return status


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
