"""Whether the tests would notice a wrong formula: signs flipped, factors dropped, indices shifted, one at a time.

    python -m tests.adversarial.mutation --per-room 50 --out mutants.jsonl      a sample, as many places of every room
    python -m tests.adversarial.mutation --again mutants.jsonl --seconds 60     those that survived, against more tests

A first run of the rooms' tests, not the slow ones, notes which of them reach which line and how long each takes. Every mutant
is then a forked process that knows the package and the tests already, and in which the functions of one module have the code
of a syntax tree that differs in one place (where that place belongs to no function, and with --again, all is imported anew). It
runs the tests that reach the place, those of its own file first and the shortest of them, until one fails. A mutant is killed
by a failing test, an error or its limit of CPU time; the others are printed. Those that compute the same (`equivalent.py`,
each with its reason) are no kills, and the share is given with and without them. Controls are such processes without a change:
no test may fail in them. A run that was stopped goes on where the file of its results ends.
"""

from __future__ import annotations

import argparse
import ast
import functools
import gc
import importlib
import importlib.abc
import importlib.util
import json
import math
import multiprocessing
import os
import random
import resource
import sys
import time
from collections import defaultdict
from dataclasses import asdict, replace
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from tests.adversarial.equivalent import reason
from tests.adversarial.mutants import ROOT, SOURCE, Mutant, mutant, mutated, places, sites
from tests.adversarial.reached import QUIET, Reached, quietly, record, test_files

BACKWARD = "tests/adversarial/test_backward_error.py"
ROOMS: dict[str, tuple[str, ...]] = {  # the core mathematics, and the tests that may know it
    "hermite": ("tests/hermite", "tests/moments"),
    "moments": ("tests/moments", "tests/hermite", "tests/initialization", "tests/test_subspace.py", "tests/test_input_laws.py"),
    "decomposition": ("tests/decomposition", "tests/initialization", BACKWARD),
    "initialization/scalars.py": ("tests/initialization",),
    "refinement/gauss_newton.py": ("tests/refinement", "tests/contract", "tests/search", BACKWARD),
    "refinement/normal_equations.py": ("tests/refinement", "tests/contract", "tests/search", BACKWARD),
    "certificate": ("tests/certificate", "tests/rivals"),
    "rivals": ("tests/rivals", "tests/certificate"),
    "evidence": ("tests/evidence", "tests/rivals", "tests/certificate"),
}
CONTROL = "control"
MEMORY = 6 << 30  # bytes of addresses: a wrong size ends in an error, not in the machine's last memory
FAILED = 1  # what pytest answers when a test fails, and when what it imports does
INTERRUPTED = 2


def main() -> None:
    options = _options()
    began = time.monotonic()
    os.chdir(ROOT)
    context = multiprocessing.get_context("fork")
    targets = options.tests or [t for room in options.rooms for t in ROOMS[room]]
    files = sorted({f for target in targets for f in test_files(target)})
    _warm(files)
    with context.Pool(options.jobs, maxtasksperchild=1) as pool:
        reached = record(files, list(ROOMS), options.most, pool, options.reached)
    print(f"{len(reached)} tests of {len(files)} files, {time.monotonic() - began:.0f} s", flush=True)
    rng = random.Random(options.seed)
    chosen = _survivors(options.again) if options.again else _sample(options, rng)
    jobs = [(m, _tests_of(m, reached, options.seconds), bool(options.again)) for m in chosen]
    rng.shuffle(jobs)
    jobs = [(replace(m, kind=CONTROL), tests, fresh) for m, tests, fresh in jobs[: options.controls]] + jobs
    out = options.out or Path("mutants.jsonl" if not options.again else "again.jsonl")
    results = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    done = {(r["path"], r["site"], r["kind"]) for r in results}
    jobs = [job for job in jobs if (job[0].path, job[0].site, job[0].kind) not in done]
    with context.Pool(options.jobs, maxtasksperchild=1) as pool, out.open("a") as file:
        for result in pool.imap_unordered(_try, jobs):
            results.append(result)
            print(json.dumps(result, ensure_ascii=False), file=file, flush=True)
            if time.monotonic() - began > 60 * options.minutes:
                break
    _print(results)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--per-room", type=int, default=50, help="mutants of a room, at random; 0: all")
    parser.add_argument("--rooms", nargs="*", default=list(ROOMS))
    parser.add_argument("--tests", nargs="*", help="files or folders of tests; by default those that may know the rooms")
    parser.add_argument("--most", type=float, default=math.inf, help="seconds of CPU time for the tests of one file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=20.0, help="of tests for one mutant, by their usual CPU time")
    parser.add_argument("--controls", type=int, default=10, help="mutants that are tried unchanged, too")
    parser.add_argument("--minutes", type=float, default=600.0, help="after which what was found is printed")
    parser.add_argument("--again", type=Path, help="results whose survivors are tried again")
    parser.add_argument("--reached", type=Path, default=Path("reached.json"), help="where it is kept what the tests reach")
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


def _sample(options: argparse.Namespace, rng: random.Random) -> list[Mutant]:
    chosen = []
    for room in options.rooms:
        found = places(room)
        print(f"{room}: {len(found)} places", flush=True)
        rng.shuffle(found)
        chosen += [mutant(*place) for place in found[: options.per_room or None]]
    return chosen


def _survivors(path: Path) -> list[Mutant]:
    names = Mutant.__dataclass_fields__
    results = (json.loads(line) for line in path.read_text().splitlines())
    return [Mutant(**{n: r[n] for n in names}) for r in results if r["fate"] == "survived" and r["kind"] != CONTROL]


def _tests_of(mutant: Mutant, reached: Reached, most: float) -> list[tuple[str, float]]:
    """The tests that reach the place with their seconds, as many as the time allows: of its own file first, the shortest first.

    A place that runs when its file is imported is reached by all that reach the file.
    """
    span = {(mutant.path, line) for line in range(mutant.line, mutant.last + 1)}
    if _imported(mutant):
        span = {place for _, lines in reached.values() for place in lines if place[0] == mutant.path}
    own = _own_tests(mutant.path)
    found = sorted((not test.startswith(own), seconds, test) for test, (seconds, lines) in reached.items() if span & lines)
    chosen, total = [], 0.0
    for _, seconds, test in found:
        total += seconds
        if chosen and total > most:
            break
        chosen.append((test, seconds))
    return chosen


def _own_tests(path: str) -> str:
    """How the names of the tests of a file begin."""
    place = Path(path)
    name = place.parent.name if place.stem == "__init__" else place.stem
    return f"tests/{place.parent}/test_{name}.py::"


def _imported(mutant: Mutant) -> bool:
    """Whether the place belongs to no function."""
    tree = ast.parse((SOURCE / mutant.path).read_text())
    place = sites(tree)[mutant.site][0]
    return not any(place in ast.walk(f) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef | ast.Lambda))


FUNCTIONS: dict[CodeType, list[FunctionType]] = defaultdict(list)
CACHES: list[Any] = []


def _warm(files: list[str]) -> None:
    """The package and the tests, imported once: what every mutant is forked from."""
    import pytest

    for room in ROOMS:
        for path in sorted((SOURCE / room).glob("*.py")) if (SOURCE / room).is_dir() else [SOURCE / room]:
            importlib.import_module(_module(str(path.relative_to(SOURCE))))
    if pytest.main([*files, *QUIET, "-q", "-q", "--collect-only"]) != 0:
        raise SystemExit("the tests cannot be collected.")
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename.startswith(str(SOURCE)):
            FUNCTIONS[thing.__code__].append(thing)
        elif isinstance(thing, functools._lru_cache_wrapper) and str(thing.__module__).startswith("weightlift"):
            CACHES.append(thing)


def _module(path: str) -> str:
    parts = Path(path).with_suffix("").parts
    return ".".join(("weightlift", *(parts[:-1] if parts[-1] == "__init__" else parts)))


def _try(job: tuple[Mutant, list[tuple[str, float]], bool]) -> dict[str, Any]:
    """What became of a mutant: in a process of its own, which its limit of CPU time ends."""
    mutant, tests, fresh = job
    began = time.monotonic()
    fate, code = "survived", 0
    if tests:
        child = os.fork()
        if child == 0:
            _run(mutant, tests, fresh)
        _, status, used = os.wait4(child, 0)
        code = os.waitstatus_to_exitcode(status)
        known = {0: "survived", FAILED: "killed", INTERRUPTED: "killed"}
        fate = "hung" if code < 0 else known.get(code, "not tried")  # a signal: its limit of CPU time, or a crash
    seconds = {"wall": round(time.monotonic() - began, 2), "cpu": round(used.ru_utime + used.ru_stime, 2) if tests else 0.0}
    return {**asdict(mutant), "fate": fate, "code": code, "tests": len(tests), **seconds}


def _run(mutant: Mutant, tests: list[tuple[str, float]], fresh: bool) -> None:
    import pytest

    code = 99
    limit = math.ceil(8 + 3 * sum(seconds for _, seconds in tests))
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        for cache in CACHES:
            cache.cache_clear()
        if fresh or (mutant.kind != CONTROL and not _exchange(mutant)):
            sys.meta_path[:0] = [] if mutant.kind == CONTROL else [Finder(mutant)]
            for name in [n for n in sys.modules if n.partition(".")[0] in ("weightlift", "tests")]:
                del sys.modules[name]
        code = quietly(lambda: int(pytest.main([*(test for test, _ in tests), "-x", *QUIET])))
    finally:
        os._exit(code)


def _exchange(mutant: Mutant) -> bool:
    """Whether the functions of the module could be given the mutant's code as they stand."""
    file = SOURCE / mutant.path
    tree = ast.parse(file.read_text())
    changed, _, _ = mutated(tree, mutant.site)
    if _imported(mutant):
        return False
    old, new = (_codes(compile(t, str(file), "exec")) for t in (tree, changed))
    if {k: len(v) for k, v in old.items()} != {k: len(v) for k, v in new.items()}:
        return False
    exchanged = 0
    for key, codes in old.items():
        for left, right in zip(codes, new[key], strict=True):
            if left != right:
                for function in FUNCTIONS.get(left, []):
                    if len(function.__code__.co_freevars) != len(right.co_freevars):
                        return False
                    function.__code__ = right
                    exchanged += 1
    return exchanged > 0


def _codes(code: CodeType) -> dict[tuple[str, int], list[CodeType]]:
    """Every piece of code in it, by name and line."""
    found: dict[tuple[str, int], list[CodeType]] = defaultdict(list)
    waiting = [code]
    while waiting:
        code = waiting.pop()
        found[code.co_qualname, code.co_firstlineno].append(code)
        waiting += [c for c in code.co_consts if isinstance(c, CodeType)]
    return found


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Serves one module from a mutated tree."""

    def __init__(self, mutant: Mutant) -> None:
        self.name, self.file, self.site = _module(mutant.path), SOURCE / mutant.path, mutant.site

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.name:
            return None
        below = [str(self.file.parent)] if self.file.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(name, self.file, loader=self, submodule_search_locations=below)

    def exec_module(self, module: Any) -> None:
        tree, _, _ = mutated(ast.parse(self.file.read_text()), self.site)
        exec(compile(tree, str(self.file), "exec"), module.__dict__)

    def create_module(self, spec: Any) -> None:
        return None


def _print(results: list[dict[str, Any]]) -> None:
    controls = [r for r in results if r["kind"] == CONTROL]
    results = [r for r in results if r["kind"] != CONTROL]
    rooms: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for result in results:
        rooms[result["room"]].append(result)
    for room, found in [*rooms.items(), ("all", results)]:
        killed = sum(_is_killed(r) for r in found)
        same = sum(not _is_killed(r) and reason(r) is not None for r in found)
        all_, others = _share(killed, len(found)), _share(killed, len(found) - same)
        print(f"{room:<32} {all_}; without {same} that compute the same, {others}")
    print(f"controls: {sum(r['fate'] == 'survived' for r in controls)} of {len(controls)} pass")
    for r in sorted(results, key=lambda r: (r["path"], r["line"])):
        if not _is_killed(r):
            remark = f"  (the same: {why})" if (why := reason(r)) else ""
            where = f"{r['path']}:{r['line']} {r['fate']} [{r['kind']}, {r['tests']} tests]"
            print(f"  {where} {r['before']}  ->  {r['after']}{remark}")


def _is_killed(result: dict[str, Any]) -> bool:
    return result["fate"] in ("killed", "hung")


def _share(killed: int, n: int) -> str:
    low, high = _interval(killed, n)
    return f"{killed} of {n} killed, {100 * killed / max(1, n):.1f} % ({100 * low:.1f}–{100 * high:.1f})"


def _interval(killed: int, n: int) -> tuple[float, float]:
    """Of 95 %, by Clopper and Pearson."""
    from scipy.stats import beta

    low = float(beta.ppf(0.025, killed, n - killed + 1)) if killed else 0.0
    return low, float(beta.ppf(0.975, killed + 1, n - killed)) if killed < n else 1.0


if __name__ == "__main__":
    main()
