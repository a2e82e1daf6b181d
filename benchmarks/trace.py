"""The way from rows to units: which files an exact `recover` visits, how many functions, how deep the calls go.

    python -m benchmarks.trace

Counted are the package's frames between the call of `recover` and its answer, by `sys.setprofile`. A generator's step is a
call, a lambda or a comprehension is none; NumPy's and Python's own frames do not count.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import weightlift as wl

PACKAGE = Path(wl.__file__).parent
MOST_FILES, MOST_CALLS = 45, 13  # what a reader can follow


@dataclass(frozen=True)
class Trace:
    functions: Counter[tuple[str, str]]  # (file, function): calls
    deepest: tuple[tuple[str, str], ...]  # the longest chain of calls

    @property
    def files(self) -> Counter[str]:
        return Counter(file for file, _ in self.functions)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="files visited and depth of calls of an exact recover")
    parser.add_argument("--chain", action="store_true", help="print the deepest chain of calls")
    options = parser.parse_args(arguments)
    truth = wl.teachers.conditioned(10, 3, activation="relu", rng=0)
    X, y = wl.draw(truth, 300, rng=1)
    wl.recover(X, y, n_units=3, rng=0)  # imports, compiled loops
    found = traced(lambda: wl.recover(X, y, n_units=3, rng=0))
    print("| quantity | measured | at most |\n|---|---|---|")
    for name, number, most in (("files", len(found.files), MOST_FILES), ("calls deep", len(found.deepest), MOST_CALLS)):
        print(f"| {name} | {number} | {most}{'' if number <= most else ': missed'} |")
    print(f"| functions | {len(found.functions)} | |\n")
    for file, number in sorted(found.files.items()):
        print(f"{file:<44} {number:>3} functions")
    if options.chain:
        print("\n" + "\n".join(f"{'  ' * i}{file}: {name}" for i, (file, name) in enumerate(found.deepest)))
    return 0


def traced(call: Any) -> Trace:
    functions: Counter[tuple[str, str]] = Counter()
    stack: list[tuple[str, str]] = []
    deepest: tuple[tuple[str, str], ...] = ()

    def watch(frame: FrameType, event: str, _: Any) -> None:
        nonlocal deepest
        if event not in ("call", "return") or frame.f_code.co_name.startswith("<"):
            return
        path = Path(frame.f_code.co_filename)
        if not path.is_relative_to(PACKAGE):
            return
        if event == "return":
            stack.pop()
            return
        stack.append((str(path.relative_to(PACKAGE)), frame.f_code.co_qualname))
        functions[stack[-1]] += 1
        if len(stack) > len(deepest):
            deepest = tuple(stack)

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return Trace(functions, deepest)


if __name__ == "__main__":
    sys.exit(main())
