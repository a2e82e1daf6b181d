"""Where `recover` begins to succeed: the sweep behind the sample estimates of `diagnose`.

    python -m benchmarks.calibration                 the whole sweep, about 15 minutes of one core
    python -m benchmarks.calibration --table         the table of what was measured, from the store alone

Small noiseless problems at few rows a parameter, with a bounded search, so that the failures end. Judged as in
`benchmarks.sample_efficiency`: right means certified EXACT and equal to the truth. Every trial is appended to
benchmarks/results/calibration.jsonl; what is there is not run again.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from pathlib import Path

from benchmarks.sample_efficiency import Row, Trial, _append, _read, attempt

STORE = Path(__file__).parent / "results" / "calibration.jsonl"
RUN, TRIALS, MAX_WORK = 2026, 8, 2000.0
KINDS = (("relu", False), ("squared_relu", False), ("tanh", False), ("relu", True))
GRID = [
    *(Row(phi, 10, 3, ratio, bias) for phi, bias in KINDS for ratio in (1.25, 1.5, 2.0, 2.5)),
    *(Row(phi, 20, 5, ratio, bias) for phi, bias in KINDS for ratio in (1.25, 1.35, 1.5, 2.0)),
    *(Row("relu", 6, 9, ratio, True) for ratio in (2.0, 4.0, 8.0)),  # more units than inputs
    *(Row(phi, 20, 10, ratio) for phi in ("relu", "tanh") for ratio in (1.25, 1.5, 2.0)),
    *(Row("relu", 30, 15, ratio, trials=3) for ratio in (1.5, 2.0, 3.0)),
]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="rows a parameter at which recover begins to succeed")
    parser.add_argument("--table", action="store_true", help="print what is stored, run nothing")
    options = parser.parse_args(arguments)
    done = {(t.row, t.trial): t for t in _read(STORE)}
    print("| setting (noiseless) | n | right and EXACT | wrong EXACT |\n|---|---|---|---|")
    for row in GRID:
        for number in range(0 if options.table else min(TRIALS, row.trials)):
            if (row.name, number) not in done:
                done[row.name, number] = _trial(row, number)
                _append(STORE, done[row.name, number])
        found = [t for (name, _), t in done.items() if name == row.name]
        if found:
            wrong = sum(t.status == "EXACT" and not t.right for t in found)
            print(f"| {row.name} | {row.rows} | {sum(t.right for t in found)} of {len(found)} | {wrong} |", flush=True)
    return int(any(t.status == "EXACT" and not t.right for t in done.values()))


def _trial(row: Row, number: int) -> Trial:
    problem = row.problem([RUN, zlib.crc32(row.name.encode()), number])
    return attempt(row, *problem, RUN, number, max_work=MAX_WORK)


if __name__ == "__main__":
    sys.exit(main())
