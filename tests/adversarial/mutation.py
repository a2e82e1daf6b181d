"""Whether the tests would notice a wrong formula: signs flipped, factors dropped, indices shifted, one at a time.

    python -m tests.adversarial.mutation --jobs 16 --per-room 100 --out mutants.jsonl

A first run of the rooms' tests, not the slow ones, notes which of them reach which line and how long each takes. Every mutant
is then a forked process in which one module's syntax tree differs in one place, and which runs the tests that reach that
place, shortest first, until one fails. A mutant is killed by a failing test, an error or its time limit; the others are
printed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import json
import multiprocessing
import os
import random
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "weightlift"
ROOMS: dict[str, tuple[str, ...]] = {  # the core mathematics, and the tests that may know it
    "hermite": ("tests/hermite", "tests/moments"),
    "moments": ("tests/moments", "tests/hermite", "tests/initialization", "tests/test_subspace.py", "tests/test_input_laws.py"),
    "decomposition": ("tests/decomposition", "tests/initialization"),
    "initialization/scalars.py": ("tests/initialization",),
    "refinement/gauss_newton.py": ("tests/refinement", "tests/contract", "tests/search"),
    "refinement/normal_equations.py": ("tests/refinement", "tests/contract", "tests/search"),
    "certificate": ("tests/certificate", "tests/rivals"),
    "rivals": ("tests/rivals", "tests/certificate"),
}
NO_MATHEMATICS = {"limits.py", "summary.py", "__init__.py"}  # numbers with their reasons, prose, names
PROSE = {"__repr__", "__str__", "floats_per_row", "sentence", "summary"}
MOST_SECONDS = 40.0  # of tests for one mutant, by their usual durations
COVERAGE = 4  # the number under which sys.monitoring knows us
PATIENCE = 90.0  # seconds after which a mutant hangs, and is killed


@dataclass(frozen=True)
class Mutant:
    room: str
    path: str  # below src/weightlift
    site: int  # its number among the places of the file
    kind: str
    line: int
    last: int
    before: str
    after: str


def sites(tree: ast.Module) -> list[tuple[ast.AST, str]]:
    """Every place that can be mutated, with how; in the order of the tree."""
    return [(node, kind) for node in _code(tree) for kind in _kinds(node)]


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that compute: no annotation, message, decorator, default or prose."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "defaults", "kw_defaults", "bases", "msg"):
            continue
        for child in value if isinstance(value, list) else [value]:
            prose = isinstance(child, ast.Raise | ast.JoinedStr | ast.Assert | ast.Import | ast.ImportFrom)
            named = isinstance(child, ast.FunctionDef) and child.name in PROSE
            if isinstance(child, ast.AST) and not prose and not named and not _warns(child):
                yield from _code(child)


def _warns(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "warn"


def _kinds(node: ast.AST) -> list[str]:
    if isinstance(node, ast.BinOp):
        if any(isinstance(v, ast.JoinedStr | ast.List | ast.Tuple) for v in (node.left, node.right)):
            return []
        operators: dict[type[ast.operator], list[str]] = {
            ast.Add: ["sign"], ast.Sub: ["sign"], ast.Mult: ["factor"], ast.Div: ["factor"], ast.Pow: ["factor"],
        }  # fmt: skip
        return operators.get(type(node.op), [])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        return ["sign"]
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Lt | ast.Gt | ast.LtE | ast.GtE):
        return ["sense"]
    if isinstance(node, ast.Subscript) and any(_is_index(v) for v in ast.walk(node.slice)):
        return ["index"]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        return ["index"] if node.args else []
    return []


def _is_index(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def mutated(tree: ast.Module, site: int) -> tuple[ast.Module, ast.AST, ast.AST]:
    """Another tree with that place changed, the place, and what stands there now."""
    tree = copy.deepcopy(tree)
    node, kind = sites(tree)[site]
    before = copy.deepcopy(node)
    new = _change(node, kind)
    if new is not node:
        for parent in ast.walk(tree):
            for name, value in ast.iter_fields(parent):
                if value is node:
                    setattr(parent, name, new)
                elif isinstance(value, list):
                    setattr(parent, name, [new if v is node else v for v in value])
    return ast.fix_missing_locations(tree), before, new


def _change(node: Any, kind: str) -> Any:
    if kind == "sign":
        if isinstance(node, ast.UnaryOp):
            return node.operand
        node.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
    elif kind == "factor":
        constant = isinstance(node.op, ast.Mult) and isinstance(node.left, ast.Constant)
        return node.right if constant else node.left
    elif kind == "sense":
        turned = {ast.Lt: ast.GtE, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.GtE: ast.Lt}
        node.ops[0] = turned[type(node.ops[0])]()
    elif isinstance(node, ast.Subscript):
        index = next(v for v in ast.walk(node.slice) if _is_index(v))
        index.value += 1  # type: ignore[attr-defined]
    else:
        node.args[0] = ast.BinOp(node.args[0], ast.Add(), ast.Constant(1))
    return node


def places(room: str) -> list[tuple[str, Path, int]]:
    """Every place of a room: the room, the file, the number of the place."""
    folder = SOURCE / room
    files = sorted(f for f in folder.glob("*.py") if f.name not in NO_MATHEMATICS) if folder.is_dir() else [folder]
    return [(room, file, number) for file in files for number in range(len(sites(ast.parse(file.read_text()))))]


def mutant(room: str, file: Path, number: int) -> Mutant:
    tree = ast.parse(file.read_text())
    node, kind = sites(tree)[number]
    _, before, after = mutated(tree, number)
    where = str(file.relative_to(SOURCE)), number, kind, node.lineno, node.end_lineno  # type: ignore[attr-defined]
    return Mutant(room, *where, ast.unparse(before), ast.unparse(after))


class Recorder:
    """A plugin of pytest: the lines of the package that each test reaches, and its seconds."""

    def __init__(self) -> None:
        self.lines: dict[str, set[tuple[str, int]]] = {}
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self._now: set[tuple[str, int]] = set()
        self._prefix = str(SOURCE) + os.sep
        self._monitoring: Any = getattr(sys, "monitoring", None)  # from Python 3.12 on: a line costs once a test
        if self._monitoring is not None:
            self._monitoring.use_tool_id(COVERAGE, "mutation")
            self._monitoring.register_callback(COVERAGE, self._monitoring.events.LINE, self._first_time)

    def _first_time(self, code: Any, line: int) -> Any:
        if code.co_filename.startswith(self._prefix):
            self._now.add((code.co_filename[len(self._prefix) :], line))
        return self._monitoring.DISABLE

    def _call(self, frame: Any, event: str, argument: Any) -> Any:
        return self._line if frame.f_code.co_filename.startswith(self._prefix) else None

    def _line(self, frame: Any, event: str, argument: Any) -> Any:
        self._now.add((frame.f_code.co_filename[len(self._prefix) :], frame.f_lineno))
        return self._line

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._now = set()
        if self._monitoring is None:
            sys.settrace(self._call)
        else:
            self._monitoring.restart_events()
            self._monitoring.set_events(COVERAGE, self._monitoring.events.LINE)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        if self._monitoring is None:
            sys.settrace(None)
        else:
            self._monitoring.set_events(COVERAGE, 0)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed or report.skipped:
            self.failed.add(report.nodeid)
        self.lines[report.nodeid] = self._now


Reached = dict[str, tuple[float, set[tuple[str, int]]]]  # of a test: its seconds and its lines


def _record(target: str) -> Reached:
    import pytest

    recorder = Recorder()
    _quietly(lambda: pytest.main([target, "-q", "-m", "not slow", "-p", "no:xdist", "-p", "no:cacheprovider"], [recorder]))
    return {t: (recorder.seconds[t], lines) for t, lines in recorder.lines.items() if t not in recorder.failed}


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Serves one module from a mutated tree."""

    def __init__(self, mutant: Mutant) -> None:
        parts = Path(mutant.path).with_suffix("").parts
        self.name, self.file = ".".join(("weightlift", *parts)), SOURCE / mutant.path
        self.site = mutant.site

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        return importlib.util.spec_from_file_location(name, self.file, loader=self) if name == self.name else None

    def exec_module(self, module: Any) -> None:
        tree, _, _ = mutated(ast.parse(self.file.read_text()), self.site)
        exec(compile(tree, str(self.file), "exec"), module.__dict__)

    def create_module(self, spec: Any) -> None:
        return None


def _try(job: tuple[Mutant, list[str]]) -> dict[str, Any]:
    """What became of a mutant: in a process of its own, which its time limit ends."""
    mutant, tests = job
    began = time.monotonic()
    if not tests:
        return {**asdict(mutant), "fate": "survived", "tests": 0, "seconds": 0.0}
    child = os.fork()
    if child == 0:
        import pytest

        os.setpgid(0, 0)
        sys.meta_path.insert(0, Finder(mutant))
        code = 99
        try:
            code = _quietly(lambda: int(pytest.main([*tests, "-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider"])))
        finally:
            os._exit(code)
    fate = "hung"
    while time.monotonic() - began < PATIENCE:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            fate = "survived" if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0 else "killed"
            break
        time.sleep(0.02)
    else:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return {**asdict(mutant), "fate": fate, "tests": len(tests), "seconds": round(time.monotonic() - began, 2)}


def _quietly(call: Any) -> Any:
    """The call, its output thrown away."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    return call()


def _chosen(mutant: Mutant, reached: Reached) -> list[str]:
    """The tests that reach the place, the shortest first, as many as the time allows."""
    span = {(mutant.path, line) for line in range(mutant.line, mutant.last + 1)}
    found = [t for t, (_, lines) in reached.items() if span & lines]
    found.sort(key=lambda t: reached[t][0])
    chosen, seconds = [], 0.0
    for test in found:
        seconds += reached[test][0]
        if chosen and seconds > MOST_SECONDS:
            break
        chosen.append(test)
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--per-room", type=int, default=100, help="mutants of a room, drawn at random; 0: all")
    parser.add_argument("--rooms", nargs="*", default=list(ROOMS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=600.0, help="after which what was found is printed")
    parser.add_argument("--out", type=Path, default=Path("mutants.jsonl"))
    options = parser.parse_args()
    began = time.monotonic()
    os.chdir(ROOT)
    import pytest  # noqa: F401  what every child needs, loaded once; the package itself is not
    import scipy.linalg
    import scipy.optimize
    import scipy.sparse
    import scipy.spatial
    import scipy.stats  # noqa: F401

    context = multiprocessing.get_context("fork")
    files = sorted({str(f) for room in options.rooms for t in ROOMS[room] for f in _test_files(t)})
    reached: Reached = {}
    with context.Pool(options.jobs, maxtasksperchild=1) as pool:
        for recorded in pool.imap_unordered(_record, files):
            reached |= recorded
    print(f"{len(reached)} tests of {len(files)} files, {time.monotonic() - began:.0f} s", flush=True)
    rng = random.Random(options.seed)
    jobs = []
    for room in options.rooms:
        found = places(room)
        rng.shuffle(found)
        jobs += [(m, _chosen(m, reached)) for m in (mutant(*place) for place in found[: options.per_room or None])]
        print(f"{room}: {len(found)} places", flush=True)
    rng.shuffle(jobs)
    results = []
    with context.Pool(options.jobs, maxtasksperchild=1) as pool, options.out.open("w") as out:
        for result in pool.imap_unordered(_try, jobs):
            results.append(result)
            print(json.dumps(result, ensure_ascii=False), file=out, flush=True)
            if time.monotonic() - began > 60 * options.minutes:
                break
    _print(results)


def _test_files(target: str) -> list[Path]:
    path = ROOT / target
    return [f.relative_to(ROOT) for f in sorted(path.glob("test_*.py"))] if path.is_dir() else [path.relative_to(ROOT)]


def _print(results: list[dict[str, Any]]) -> None:
    rooms: dict[str, list[str]] = defaultdict(list)
    for result in results:
        rooms[result["room"]].append(result["fate"])
    for room, fates in [*rooms.items(), ("all", [r["fate"] for r in results])]:
        killed = sum(fate != "survived" for fate in fates)
        print(f"{room:<32} {killed:>4} of {len(fates):>4} killed, {100 * killed / max(1, len(fates)):.1f} %")
    for r in sorted(results, key=lambda r: (r["path"], r["line"])):
        if r["fate"] == "survived":
            print(f"  {r['path']}:{r['line']} [{r['kind']}, {r['tests']} tests] {r['before']}  ->  {r['after']}")


if __name__ == "__main__":
    main()
