"""Data larger than memory and data on a cluster, against the bare reader and the bare array pass; cost as n and d grow.

    python -m benchmarks.sources                          a few minutes
    python -m benchmarks.sources --full                   8 GB of Parquet, 10⁷ rows: half an hour, and 12 GB of disk and memory
    python -m benchmarks.sources --only parquet --gigabytes 2

Roofline  CPU seconds of passes over arrays in memory (10⁶ × 50) against a copy of them and against XᵀZ with Z another array.
Parquet   a folder of noiseless ReLU rows (d = 50, k = 3), 64 MB a file, written by pyarrow's defaults. Passes of
          P2 = E y (xxᵀ − I) are timed in turns with pyarrow reading the same columns and throwing them away. `recover` runs in
          a process of its own: its peak of resident memory, and the error of the units.
Dask      P2 over n rows of 50 inputs in 64 chunks, on a LocalCluster of two processes, against arrays in memory with two
          threads; in turns.
Growth    CPU seconds of one pass on one thread: over n at d = 50, over d at n·d fixed, as cost a row. "implicit" is P2 times a
          (d, 5) matrix, "dense" P2 itself, "whitening" mean and covariance, "Gauss–Newton" the normal equations of two units.
          Exponents by least squares in the logarithms; at d = 50 products do not yet run at full speed, which flatters them.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import weightlift as wl
from weightlift.moments import HermiteMoment, MomentProduct
from weightlift.refinement.normal_equations import Free, NormalEquations
from weightlift.risk import Students
from weightlift.samples import Covariance, Samples, Statistic

INPUTS, UNITS = 50, 3
FILE_ROWS = 160_000  # 64 MB
LINE = "| {:<72} | {:>12} | {:>10} |"

RECOVER = """
import json, resource, sys, time
import weightlift as wl
started = time.perf_counter()
found = wl.recover(wl.samples.parquet.open(sys.argv[1], target="y"), n_units=int(sys.argv[2]), method="tensor")
truth = wl.Network.load(sys.argv[3])
print(json.dumps({
    "seconds": time.perf_counter() - started, "error": wl.match(found.network, truth).max_error,
    "status": found.certificate.status.name, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
}))
"""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Parquet, Dask and growth of the cost")
    parser.add_argument("--full", action="store_true", help="the sizes of the module's docstring")
    parser.add_argument("--only", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--gigabytes", type=float, help="of Parquet: 0.4, or 8 in full")
    parser.add_argument("--rows", type=int, help="of the Dask pass: 10⁶, or 10⁷ in full")
    parser.add_argument("--folder", type=Path, help="where the Parquet files are written; a temporary one by default")
    options = parser.parse_args(arguments)
    options.gigabytes = options.gigabytes or (8.0 if options.full else 0.4)
    options.rows = options.rows or (10**7 if options.full else 10**6)
    print(LINE.format("quantity", "measured", "wanted"))
    print(LINE.format("-" * 72, "-" * 12, "-" * 10))
    for name in options.only:
        PARTS[name](options)
    return 0


def roofline(options: argparse.Namespace) -> None:
    rng = np.random.default_rng(0)
    X, Z, y = rng.standard_normal((10**6, INPUTS)), rng.standard_normal((10**6, INPUTS)), rng.standard_normal(10**6)
    samples = wl.samples.open(X, y)
    dense, implicit = (STATISTICS[name][0](INPUTS) for name in ("dense", "implicit"))
    contenders = [
        lambda: np.copyto(Z, X),
        lambda: X.T @ Z,
        lambda: samples.mean(implicit),
        lambda: samples.mean(dense),
    ]
    with threadpool_limits(limits=1):
        copy, product, thin, full = np.min([[_cpu(f) for f in contenders] for _ in range(5)], axis=0)
    report("memory copy, GB/s", f"{X.nbytes / copy / 1e9:.1f}")
    report("pass of P2 times a (d, 5) matrix, over a copy of the rows", f"{thin / copy:.2f}")
    report("pass of P2 itself, over XᵀZ", f"{full / product:.2f}", "≤ 1.3")


def parquet(options: argparse.Namespace) -> None:
    if importlib.util.find_spec("pyarrow") is None:
        report("Parquet: pyarrow is not installed", "–")
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        truth = wl.teachers.conditioned(INPUTS, UNITS, activation="relu", rng=0)
        truth.save(Path(folder) / "truth.safetensors")
        written = _write(truth, Path(folder), options.gigabytes)
        source = wl.samples.parquet.open(folder, target="y")
        dense, implicit = HermiteMoment(INPUTS, 2), STATISTICS["implicit"][0](INPUTS)
        contenders = [lambda: _scan(folder), lambda: source.mean(implicit), lambda: source.mean(dense)]
        theirs, *ours = np.min([[timed(f) for f in contenders] for _ in range(3)], axis=0)
        report(f"Parquet, {written / 1e9:.1f} GB, {source.n} rows: pyarrow alone, GB/s", f"{written / theirs / 1e9:.2f}")
        report("pass of P2 times a (d, 5) matrix, share of pyarrow's rate", f"{theirs / ours[0]:.0%}", "≥ 70 %")
        report("pass of P2 itself, share of pyarrow's rate", f"{theirs / ours[1]:.0%}", "≥ 70 %")
        command = [sys.executable, "-c", RECOVER, folder, str(UNITS), str(Path(folder) / "truth.safetensors")]
        done = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        report(f"recover: {done['status']}, unit error", f"{done['error']:.1e}")
        report("recover: peak resident memory, MB", f"{done['peak'] / 1e6:.0f}", "< 1000")
        report("recover: the rows' bytes over that peak", f"{written / done['peak']:.1f}", "≥ 8 (full)")
        report("recover: time over that of one read by pyarrow", f"{done['seconds'] / theirs:.0f}")


def _write(truth: wl.Network, folder: Path, gigabytes: float) -> float:
    """Bytes of the rows written."""
    import pyarrow
    import pyarrow.parquet

    files = max(1, round(gigabytes * 1e9 / (8 * (INPUTS + 1) * FILE_ROWS)))
    for i in range(files):
        X, y = wl.draw(truth, FILE_ROWS, rng=i)
        columns = {f"x{j:02d}": X[:, j] for j in range(INPUTS)}
        table = pyarrow.table(columns | {"y": y})
        pyarrow.parquet.write_table(table, folder / f"{i:05d}.parquet", row_group_size=FILE_ROWS // 2)
    return 8.0 * (INPUTS + 1) * FILE_ROWS * files


def _scan(folder: str) -> None:
    import pyarrow.parquet

    for file in sorted(Path(folder).glob("*.parquet")):
        for _ in pyarrow.parquet.ParquetFile(file).iter_batches(batch_size=65_536):
            pass


def dask(options: argparse.Namespace) -> None:
    if importlib.util.find_spec("distributed") is None:
        report("Dask: distributed is not installed", "–")
        return
    import dask.array as da
    from distributed import Client, LocalCluster

    statistic, n = HermiteMoment(INPUTS, 2), options.rows
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=None) as cluster,
        Client(cluster) as client,
    ):
        X = da.random.default_rng(0).standard_normal((n, INPUTS), chunks=(-(-n // 64), INPUTS))
        far = wl.samples.open(X, X[:, 0])
        rng = np.random.default_rng(0)
        near = wl.samples.open(rng.standard_normal((n, INPUTS)), rng.standard_normal(n))

        def everyone() -> float:
            return sum(client.run(time.process_time).values()) + time.process_time()

        elapsed, spent = [], []
        with threadpool_limits(limits=2):
            for _ in range(4):
                before, walls, uses = everyone(), [], []
                for source in (far, near):
                    walls.append(timed(lambda s=source: s.mean(statistic)))
                    uses.append(everyone() - before)
                    before += uses[-1]
                elapsed.append(walls)
                spent.append(uses)
    wall, cpu = np.min(elapsed, axis=0), np.min(spent, axis=0)
    report(f"Dask, {n} × {INPUTS} in 64 chunks, 2 processes: pass, s", f"{wall[0]:.2f}")
    report("over the pass on arrays, 2 threads", f"{wall[0] / wall[1]:.2f}", "≤ 1.5")
    report("the same in CPU seconds, of all processes and threads", f"{cpu[0] / cpu[1]:.2f}")


def growth(options: argparse.Namespace) -> None:
    sizes = [10**5, 10**6, 10**7] if options.full else [10**5, 3 * 10**5, 10**6]
    inputs = [50, 100, 200, 500, 1000]
    values = 10**8 if options.full else 2 * 10**7
    with threadpool_limits(limits=1):
        over_n = {name: [_cost(_rows(n, 50), make, 50) for n in sizes] for name, (make, _) in STATISTICS.items()}
        over_d: dict[str, list[float]] = {name: [] for name in STATISTICS}
        for d in inputs:
            source = _rows(values // d, d)
            for name, (make, _) in STATISTICS.items():
                rows = source if name != "Gauss–Newton" else _rows(max(2000, values // d // 20), d)
                over_d[name].append(_cost(rows, make, d) / rows.n)
    for name, seconds in over_n.items():
        text = ", ".join(f"{s:.2g}" for s in seconds)
        report(f"{name}, n = {sizes[0]:.0e}…{sizes[-1]:.0e}: {text} s; exponent in n", f"{slope(sizes, seconds):.2f}", "≤ 1.1")
    for name, seconds in over_d.items():
        text = ", ".join(f"{1e6 * s:.2g}" for s in seconds)
        report(f"{name}, d = 50…1000: {text} µs a row; in d", f"{slope(inputs, seconds):.2f}", f"≤ {STATISTICS[name][1]}")
    per_row = over_n["dense"][-1] / sizes[-1]
    passes, cores, rows = 60, 100 * 16, 1e10
    hours = passes * rows * per_row / cores / 3600
    report("estimate: 10¹⁰ rows, d = 50, 100 workers of 16 cores, 60 such passes, h", f"{hours:.2f}")
    report("  and the rows, TB: of memory over all workers", f"{rows * 8 * 51 / 1e12:.1f}")
    report("  sums that reach the client in a pass, MB, by a tree of 8", f"{8 * 50 * 50 / 1e6:.2f}")


def _rows(n: int, d: int) -> Samples:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return wl.samples.open(X, X[:, 0] ** 2)


def _cost(source: Samples, make: Callable[[int], Statistic], d: int) -> float:
    statistic = make(d)
    return min(_cpu(lambda: source.mean(statistic)) for _ in range(3))


def _normal_equations(d: int) -> NormalEquations:
    return NormalEquations(Students.of(wl.teachers.conditioned(d, 2, activation="relu", rng=0)), Free.of("W"))


STATISTICS: dict[str, tuple[Callable[[int], Statistic], float]] = {
    "implicit": (lambda d: MomentProduct(np.linalg.qr(np.random.default_rng(0).normal(size=(d, 5)))[0]), 1.15),
    "dense": (lambda d: HermiteMoment(d, 2), 2.1),
    "whitening": (lambda d: Covariance(d), 2.1),
    "Gauss–Newton": (_normal_equations, 2.1),
}


def slope(x: list[int], y: list[float]) -> float:
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def timed(f: Callable[[], object]) -> float:
    started = time.perf_counter()
    f()
    return time.perf_counter() - started


def _cpu(f: Callable[[], object]) -> float:
    started = time.process_time()
    f()
    return time.process_time() - started


def report(quantity: str, measured: str, wanted: str = "") -> None:
    print(LINE.format(quantity, measured, wanted), flush=True)


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "roofline": roofline,
    "parquet": parquet,
    "dask": dask,
    "growth": growth,
}

if __name__ == "__main__":
    sys.exit(main())
