"""Whether right networks are certified: `certify` on the truth, or on the least-squares fit of noisy rows, over a grid.

    python -m benchmarks.acceptance                           a quick sample of every section
    python -m benchmarks.acceptance --full --jobs 16          the grid; resumes where it stopped
    python -m benchmarks.acceptance exact noise --table       these sections, from the store alone

exact       every φ but polynomials; (d, k) from (5, 2) to (60, 30); 3, 10, 40, 200 rows a parameter; Gaussian, uniform and
            heavy-tailed (t₃) rows; with biases and without. Wanted: 99.5 % EXACT, no cell below 95 %, and at 3 rows 99 % of
            those whose slopes hold enough bases; PROVED and TESTED beside it
large       its cells of 20 units and more; `--device cuda` puts their rows there
custom      activations of the user's own. Wanted: 95 % EXACT
beside      one always-on, dead, doubled, nearly linear or hardly visible unit. Wanted: every other one certified, or a rival
            shown that lacks it: a ReLU that is always on takes up what the reflection of another leaves
noise       d = 5, k = 3, noise of 0.1 of y's deviation and of five laws, ReLU and tanh with biases, at 10, 30, 100 rows a
            parameter. Wanted at 30: 90 % STATISTICAL, for other laws nine tenths of that rate
real        the same on standardised real inputs. Wanted: the same where they determine the units; else those are named
float32     targets stored or computed in single precision, at 12, 40, 100, 400 rows a parameter. Wanted: 19 of 20
invariance  inputs shifted by up to 1e5 (with biases), columns scaled by 1e±6. Wanted: the verdict of the inputs as they are
coverage    of 95 % intervals given STATISTICAL, and the size of the lack-of-fit test at 1 %. Wanted: 93–97 %, 0.5–2 %
timing      certify beside one refinement, from a start 10 % off and from the tensor start; CPU seconds in one process, not kept
            in the store. Wanted: as long at most, with noise twice as long, and 2 s at d = 60, k = 30, n = 5400
Every trial is a line of the store; "false" counts certificates with a unit outside of what they claim, and should be zero.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one process a core, one thread a process
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import itertools
import json
import math
import multiprocessing
import sys
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.hostile_cases.problems import analytic as own_activation
from weightlift import teachers
from weightlift.certificate import Certificate, Status, Topic, certify, inference
from weightlift.initialization import tensor_init
from weightlift.network import Network
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.refinement.kinks import along_kinks
from weightlift.rivals.bases import Slopes, disjoint_bases, residue
from weightlift.rivals.pieces import ratio as kink_ratio
from weightlift.samples import open as open_samples

STORE = Path(__file__).parent / "results" / "acceptance.jsonl"
KINKED = ("relu", "leaky_relu", "squared_relu", "absolute")
SMOOTH = ("tanh", "sigmoid", "erf", "softplus", "gelu", "silu", "elu", "sine")
SIZES = ((5, 2), (5, 3), (10, 5), (20, 10), (40, 20), (60, 30))
LAWS = ("gauss", "uniform", "heavy")
ERRORS = ("gauss", "|x|", "exp x", "t5", "exponential")
LARGE = 20  # units from which a cell is of the section `large`
Cell = tuple[Any, ...]


@dataclass(frozen=True)
class Task:
    section: str
    cell: Cell
    seed: int

    @property
    def key(self) -> str:
        return f"{self.section}/{'/'.join(str(part) for part in self.cell)}/{self.seed}"

    @property
    def rng(self) -> np.random.Generator:
        """The same one each time."""
        return np.random.default_rng([self.seed, zlib.crc32(self.key.encode())])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="whether right networks are certified")
    parser.add_argument("sections", nargs="*", help=f"{', '.join(SECTIONS)}; all by default")
    parser.add_argument("--full", action="store_true", help="the whole grid, 20 seeds a cell")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--start", type=int, default=0, help="the first seed of every cell: later ones are fresh trials")
    parser.add_argument("--store", type=Path, default=STORE, help="where trials are kept; what is there is not run again")
    parser.add_argument("--device", default="", help="a PyTorch device, such as cuda, for the rows of exact and large")
    parser.add_argument("--table", action="store_true", help="print what is stored, run nothing")
    options = parser.parse_args(arguments)
    sections = options.sections or list(SECTIONS)
    done = _read(options.store)
    tasks = [replace(t, seed=options.start + t.seed) for name in sections for t in SECTIONS[name].tasks(options.full)]
    tasks.sort(key=lambda task: task.seed)  # what is stopped early has every cell
    left = [] if options.table else [task for task in tasks if task.key not in done]
    os.environ["ACCEPTANCE_DEVICE"] = options.device
    with multiprocessing.get_context("spawn").Pool(options.jobs) if options.jobs > 1 else _Alone() as pool:
        for number, result in enumerate(pool.imap_unordered(run, left), 1):
            done[result["key"]] = result
            if not result["key"].startswith("timing/"):
                _append(options.store, result)
            if number % 50 == 0:
                print(f"{number} of {len(left)} trials", file=sys.stderr, flush=True)
    for name in sections:
        print(f"\n## {name}\n")
        results = [done[task.key] for task in tasks if task.section == name and task.key in done]
        SECTIONS[name].table(results)
    return int(any(result.get("false") for result in done.values()))


class _Alone:
    """A pool of this process."""

    def __enter__(self) -> _Alone:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def imap_unordered(self, function: Any, tasks: list[Task]) -> Iterator[Any]:
        return map(function, tasks)


def run(task: Task) -> dict[str, Any]:
    began = time.process_time()
    found = SECTIONS[task.section].trial(task)
    return {"key": task.key, "cell": list(task.cell), **found, "seconds": round(time.process_time() - began, 3)}


def _said(certificate: Certificate, truth: Network) -> dict[str, Any]:
    inside = certificate.locate(truth)[0]
    return {
        "status": certificate.status.name,
        "proved": certificate.proved,
        "certified": len(certificate.certified_units),
        "false": bool(certificate) and not bool(inside.all()),
        "reason": "" if certificate else certificate.reasons[0],
    }


def _inputs(law: str, n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    if law == "uniform":
        return rng.uniform(-np.sqrt(3), np.sqrt(3), (n, d))
    return rng.standard_t(3, (n, d)) if law == "heavy" else rng.standard_normal((n, d))


def _has_bases(net: Network, X: np.ndarray, bias: bool) -> bool:
    """Whether the slopes hold q + 1 disjoint bases; nothing is asked where φ has no kink."""
    if (alpha := kink_ratio(net)) is None:
        return True
    needed = net.n_inputs + bias + 1
    return disjoint_bases(Slopes((X @ net.W + net.b > 0).astype(float), residue(alpha)), needed).count >= needed


def _parameters(net: Network, bias: bool) -> int:
    return net.n_units * (net.n_inputs + bias + (net.activation.degree is None))


def _fit(truth: Network, X: np.ndarray, y: np.ndarray, bias: bool) -> Network:
    free, rows = "W" + "b" * bias + ("" if truth.activation.degree else "a"), open_samples(X, y)
    return along_kinks(rows, gauss_newton(rows, truth, free=free, tol=1e-12, iterations=200).network, bias=bias)[0]


class Exact:
    large = False

    @classmethod
    def tasks(cls, full: bool) -> Iterator[Task]:
        sizes, rows = (SIZES, (3, 10, 40, 200)) if full else (SIZES[:3], (3, 10, 40))
        seeds = range(20 if full else 2)
        for seed, phi, (d, k), ratio, law in itertools.product(seeds, (*KINKED, *SMOOTH), sizes, rows, LAWS):
            if cls.large == (k >= LARGE):
                yield Task("large" if cls.large else "exact", (phi, d, k, ratio, law), seed)

    @staticmethod
    def trial(task: Task) -> dict[str, Any]:
        phi, d, k, ratio, law = task.cell
        rng, bias = task.rng, task.seed % 2 == 1
        truth = teachers.biased(d, k, bias=1.0 if bias else 0.0, activation=phi, rng=rng)
        n = ratio * _parameters(truth, bias)
        X = _inputs(law, max(n, _parameters(truth, bias) + 8), d, rng)
        certificate = certify(truth, *_placed(X, truth.predict(X)), bias=bias)
        return _said(certificate, truth) | {"bases": ratio > 3 or _has_bases(truth, X, bias)}

    @staticmethod
    def table(results: list[dict[str, Any]]) -> None:
        if not results:
            return
        for title, at in (("φ", [0]), ("d, k", [1, 2]), ("rows a parameter", [3]), ("rows' law", [4]), ("all", [])):
            _rates(title, results, at)
        cells = _grouped(results, range(5))
        low = {cell: share for cell, group in cells.items() if (share := _share(group, "EXACT")) < 0.95}
        shares = {cell: _share(group, "EXACT") for cell, group in cells.items()}
        falling = [c for c, share in shares.items() if c[3] > 10 and share < shares.get((*c[:3], 10, c[4]), share) - 0.05]
        print(
            f"\n{len(cells)} cells; fewer by 0.05 or more than at 10 rows a parameter in {len(falling)} of them {falling[:5]}"
        )
        few = [r for r in results if r["cell"][3] == 3 and r["bases"]] or results
        print(f"at 3 rows a parameter, of those with q + 1 disjoint bases {_share(few, 'EXACT'):.4f} of {len(few)} EXACT")
        print(f"{len(low)} cells below 95 %:")
        for cell, share in sorted(low.items(), key=str)[:40]:
            print(f"  {cell}: {share:.2f}; {next(r['reason'] for r in cells[cell] if r['reason'])[:150]}")


class Large(Exact):
    large = True


class Custom:
    @staticmethod
    def tasks(full: bool) -> Iterator[Task]:
        for number, (d, k), ratio in itertools.product(range(1, 5), SIZES[1:3], (10, 40, 200)):
            for seed in range(20 if full else 1):
                yield Task("custom", (number, d, k, ratio), seed)

    @staticmethod
    def trial(task: Task) -> dict[str, Any]:
        number, d, k, ratio = task.cell
        rng, bias = task.rng, task.seed % 2 == 1
        truth = replace(
            teachers.biased(d, k, bias=1.0 if bias else 0.0, activation="tanh", rng=rng), activation=own_activation(number)
        )
        X = rng.standard_normal((ratio * _parameters(truth, bias), d))
        return _said(certify(truth, X, truth.predict(X), bias=bias), truth)

    @staticmethod
    def table(results: list[dict[str, Any]]) -> None:
        _rates("φ, d, k, rows a parameter", results, [0, 1, 2, 3])


class Beside:
    KINDS = ("always on", "dead", "doubled", "nearly linear", "hardly visible")

    @classmethod
    def tasks(cls, full: bool) -> Iterator[Task]:
        for phi, kind, ratio in itertools.product(("relu", "tanh"), cls.KINDS, (10, 40)):
            if phi == "tanh" and kind in ("always on", "dead"):
                continue
            for seed in range(20 if full else 2):
                yield Task("beside", (phi, kind, ratio), seed)

    @staticmethod
    def trial(task: Task) -> dict[str, Any]:
        phi, kind, ratio = task.cell
        rng = task.rng
        truth = teachers.biased(8, 5, bias=1.0, activation=phi, rng=rng)
        X = rng.standard_normal((ratio * _parameters(truth, True), 8))
        W, a, b = truth.W.copy(), truth.a.copy(), truth.b.copy()
        z, odd = X @ W[:, 0], {0}
        if kind in ("always on", "dead"):
            b[0] = (1.0 if kind == "always on" else -1.0) * 1.5 * np.abs(z).max()
        elif kind == "doubled":
            W[:, 1], a[1], b[1], odd = W[:, 0], 0.7 * a[0], b[0], {0, 1}
        elif kind == "nearly linear":
            scale, b[0] = (1e-5, 0.0) if phi == "tanh" else (1.0, -1.0000001 * z.min())
            W[:, 0], a[0] = W[:, 0] * scale, a[0] / scale
        else:
            a[0] *= 1e-13
        truth = replace(truth, W=W, a=a, b=b)
        certificate = certify(truth, X, truth.predict(X), bias=True)
        others, known = set(range(5)) - odd, set(certificate.certified_units)
        rivals = {i for s in certificate.failing if s.topic is Topic.RIVALS and s.holds is False for i in s.units}
        found = {"others": others <= known, "shown": others <= known | rivals, "reason": certificate.reasons[0]}
        return _said(certificate, truth) | found

    @staticmethod
    def table(results: list[dict[str, Any]]) -> None:
        print("| φ, unit, rows a parameter | trials | all others certified | or a rival is shown | all certified |")
        print("|---|---|---|---|---|")
        for cell, group in _grouped(results, range(3)).items():
            shares = (np.mean([r[name] for r in group]) for name in ("others", "shown"))
            cells = (", ".join(map(str, cell)), len(group), *(f"{v:.2f}" for v in (*shares, _share(group, "EXACT"))))
            print(f"| {' | '.join(map(str, cells))} |")


class Timing:
    @staticmethod
    def tasks(full: bool) -> Iterator[Task]:
        for size, noise in itertools.product(((10, 3, 600), (30, 8, 4000), (60, 12, 12_000), (60, 30, 5400)), (0.0, 0.1)):
            if size[1] < 30 or not noise:
                yield Task("timing", (*size, noise), 0)

    @staticmethod
    def trial(task: Task) -> dict[str, Any]:
        d, k, n, noise = task.cell
        truth = teachers.conditioned(d, k, activation="relu", rng=0)
        rng = np.random.default_rng(1)
        X = rng.standard_normal((n, d))
        y = truth.predict(X) * 1.0
        y = y + noise * y.std() * rng.standard_normal(n)
        samples = open_samples(X, y)
        away = truth.W + 0.1 * np.linalg.norm(truth.W, axis=0) * rng.standard_normal(truth.W.shape) / np.sqrt(d)
        starts = {"near": replace(truth, W=away)}
        if n > 10 * k * d:
            starts["tensor"] = tensor_init(samples, k, truth.activation, rng=0).network
        found: dict[str, Any] = {}
        for name, start in starts.items():
            found[name], fit = _fastest(lambda start=start: gauss_newton(samples, start, free="W").network)
        fit = gauss_newton(samples, starts["near"], free="W").network
        found["certify"], certificate = _fastest(lambda: certify(fit, X, y))
        return found | {"status": certificate.status.name, "proved": certificate.proved, "false": False}

    @staticmethod
    def table(results: list[dict[str, Any]]) -> None:
        print("| d, k, n, noise | refinement from 10 % off | from the tensor start | certify, s | ratios | status | proved |")
        print("|---|---|---|---|---|---|---|")
        for r in results:
            times = [r.get(name, math.nan) for name in ("near", "tensor", "certify")]
            ratios = ", ".join(f"{r['certify'] / t:.2f}" for t in times[:2])
            cells = (", ".join(map(str, r["cell"])), *(f"{t:.3f}" for t in times), ratios, r["status"], r["proved"])
            print(f"| {' | '.join(map(str, cells))} |")


def _fastest(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of the fastest of three, and what the last one gave."""
    seconds = []
    for _ in range(3):
        began = time.process_time()
        result = work()
        seconds.append(time.process_time() - began)
    return min(seconds), result


class Noise:
    @staticmethod
    def tasks(full: bool) -> Iterator[Task]:
        for phi, ratio, errors in itertools.product(("relu", "tanh"), (10, 30, 100), ERRORS):
            for seed in range(100 if full else 4):
                yield Task("noise", (phi, "gauss", ratio, errors), seed)

    @staticmethod
    def trial(task: Task) -> dict[str, Any]:
        phi, inputs, ratio, errors = task.cell
        rng = task.rng
        X = _real(inputs) if inputs != "gauss" else None
        truth = teachers.biased(5 if X is None else X.shape[1], 3, bias=1.0, activation=phi, rng=rng)
        if X is None:
            X = rng.standard_normal((ratio * _parameters(truth, True), 5))
        f = truth.predict(X)
        y = f + 0.1 * f.std() * _errors(errors, X, rng)
        fit = _fit(truth, X, y, True)
        return _said(certify(fit, X, y, bias=True), truth)

    @staticmethod
    def table(results: list[dict[str, Any]]) -> None:
        _rates("φ, inputs, rows a parameter, errors", results, [0, 1, 2, 3])


class Real(Noise):
    @staticmethod
    def tasks(full: bool) -> Iterator[Task]:
        for seed, phi, name in itertools.product(
            range(20 if full else 2), ("relu", "tanh"), ("diabetes", "wine", "breast_cancer")
        ):
            yield Task("real", (phi, name, 0, "gauss"), seed)


class Float32:
    @staticmethod
    def tasks(full: bool) -> Iterator[Task]:
        for phi, how, ratio in itertools.product(("relu", "tanh"), ("stored", "computed"), (12, 40, 100, 400)):
            for seed in range(20 if full else 3):
                yield Task("float32", (phi, how, ratio), seed)

    @staticmethod
    def trial(task: Task) -> dict[str, Any]:
        phi, how, ratio = task.cell
        rng = task.rng
        truth = teachers.biased(5, 3, bias=1.0, activation=phi, rng=rng)
        X = rng.standard_normal((ratio * _parameters(truth, True), 5)).astype(np.float32).astype(float)
        y = truth.predict(X)
        if how == "computed":
            W, a, b = (v.astype(np.float32) for v in (truth.W, truth.a, truth.b))
            truth = replace(truth, W=W.astype(float), a=a.astype(float), b=b.astype(float))
            y = truth.activation(X.astype(np.float32) @ W + b) @ a
        y = y.astype(np.float32).astype(float)
        return _said(certify(_fit(truth, X, y, True), X, y, bias=True), truth)

    @staticmethod
    def table(results: list[dict[str, Any]]) -> None:
        _rates("φ, targets, rows a parameter", results, [0, 1, 2])


class Invariance:
    @staticmethod
    def tasks(full: bool) -> Iterator[Task]:
        for phi, change, noise in itertools.product(("relu", "tanh"), (10.0, 1e3, 1e5, "columns"), (False, True)):
            for seed in range(20 if full else 2):
                yield Task("invariance", (phi, change, noise), seed)

    @staticmethod
    def trial(task: Task) -> dict[str, Any]:
        phi, change, noise = task.cell
        truth = teachers.biased(5, 3, bias=1.0, activation=phi, rng=task.seed)
        rng = np.random.default_rng(task.seed)
        X = rng.standard_normal((100 * _parameters(truth, True), 5))
        errors = 0.05 * rng.standard_normal(len(X)) if noise else 0.0
        if change == "columns":
            scale = 10.0 ** rng.choice([-6.0, 0.0, 6.0], 5)
            moved, there = replace(truth, W=truth.W / scale[:, None]), X * scale
        else:
            there = X + change
            X = there - change  # what is left of the digits
            moved = replace(truth, b=truth.b - change * truth.W.sum(axis=0))
        said = []
        for net, inputs in ((truth, X), (moved, there)):
            y = truth.predict(X) + errors if noise else net.predict(inputs)
            if noise:
                plain = _fit(truth, X, y, True)
                net = plain if net is truth else _moved(plain, change, None if change != "columns" else scale)
            said.append(_said(certify(net, inputs, y, bias=True), truth if net is not moved else moved)["status"])
        return {"status": said[1], "same": said[0] == said[1], "false": False, "reason": f"{said[0]} before"}

    @staticmethod
    def table(results: list[dict[str, Any]]) -> None:
        print("| φ, change, noise | trials | same verdict |\n|---|---|---|")
        for cell, group in _grouped(results, range(3)).items():
            print(f"| {', '.join(map(str, cell))} | {len(group)} | {np.mean([r['same'] for r in group]):.2f} |")


def _moved(net: Network, change: Any, scale: np.ndarray | None) -> Network:
    if scale is not None:
        return replace(net, W=net.W / scale[:, None])
    return replace(net, b=net.b - change * net.W.sum(axis=0))


class Coverage:
    LAWS = (*ERRORS, "rounded")

    @classmethod
    def tasks(cls, full: bool) -> Iterator[Task]:
        for phi, errors in itertools.product(("relu", "tanh"), cls.LAWS):
            for seed in range(1000 if full else 10):
                yield Task("coverage", (phi, errors), seed)

    @staticmethod
    def trial(task: Task) -> dict[str, Any]:
        phi, errors = task.cell
        rng = task.rng
        truth = teachers.biased(4, 2, bias=0.7, activation=phi, rng=rng).canonical()
        X = rng.standard_normal((450, 4))
        f = truth.predict(X)
        y = np.round(f, 1) if errors == "rounded" else f + 0.05 * f.std() * _errors(errors, X, rng)
        fit = _fit(truth, X, y, True)
        certificate = certify(fit, X, y, bias=True)
        found = inference(fit, X, y, bias=True)
        intervals, values = found.intervals(), _values(truth, found.network)
        inside = (intervals[:, 0] <= values) & (values <= intervals[:, 1])
        p = certificate.p_value
        return _said(certificate, truth) | {"covered": float(inside.mean()), "p": p if p is None else float(p)}

    @staticmethod
    def table(results: list[dict[str, Any]]) -> None:
        print("| φ, errors | fits | STATISTICAL | coverage given that | false | p ≤ 0.01 |\n|---|---|---|---|---|---|")
        for cell, group in _grouped(results, range(2)).items():
            claimed = [r for r in group if r["status"] == Status.STATISTICAL.name]
            tested = [r["p"] for r in group if r["p"] is not None]
            covered = f"{np.mean([r['covered'] for r in claimed]):.3f}" if claimed else "—"
            size = f"{np.mean(np.array(tested) <= 0.01):.3f} of {len(tested)}" if tested else "—"
            false = sum(r["false"] for r in group)
            print(f"| {', '.join(cell)} | {len(group)} | {len(claimed)} | {covered} | {false} | {size} |")


def _values(truth: Network, found: Network) -> np.ndarray:
    """The truth's parameters in normal form, in the order, and with the signs, of the units found."""
    cosines = (found.W / np.linalg.norm(found.W, axis=0)).T @ (truth.W / np.linalg.norm(truth.W, axis=0))
    odd = truth.activation.parity == "odd"
    partner = np.argmax(np.abs(cosines) if odd else cosines, axis=1)
    rows = []
    for i, j in enumerate(partner):
        sign = np.sign(cosines[i, j]) if odd else 1.0
        rows.append(np.concatenate([sign * truth.W[:, j], [sign * truth.b[j], sign * truth.a[j]]]))
    return np.concatenate(rows)


def _placed(X: np.ndarray, y: np.ndarray) -> tuple[Any, Any]:
    if not (device := os.environ.get("ACCEPTANCE_DEVICE")):
        return X, y
    import torch

    return torch.asarray(X, device=device), torch.asarray(y, device=device)


def _errors(law: str, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Of mean zero; of variance one, but for exp x."""
    n = len(X)
    if law == "t5":
        return np.asarray(rng.standard_t(5, n) / np.sqrt(5 / 3))
    if law == "exponential":
        return np.asarray(rng.exponential(size=n) - 1.0)
    size = {"|x|": np.abs(X[:, 0]), "exp x": np.exp(X[:, 0] - 1.0)}.get(law, np.ones(n))
    return np.asarray(size * rng.standard_normal(n))


def _real(name: str) -> np.ndarray:
    from sklearn import datasets
    from sklearn.preprocessing import StandardScaler

    return np.asarray(StandardScaler().fit_transform(getattr(datasets, f"load_{name}")().data))


def _grouped(results: list[dict[str, Any]], at: Any) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for result in results:
        groups[tuple(result["cell"][i] for i in at)].append(result)
    return groups


def _share(results: list[dict[str, Any]], status: str) -> float:
    return float(np.mean([r["status"] == status for r in results]))


def _rates(title: str, results: list[dict[str, Any]], at: list[int]) -> None:
    print(f"\n| {title} | trials | EXACT | STATISTICAL | PROVED | TESTED | units named, others certified | false | s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for cell, group in _grouped(results, at).items():
        certified = [r for r in group if r["status"] in (Status.EXACT.name, Status.STATISTICAL.name)]
        proved = sum(r["proved"] for r in certified)
        partly = sum(r["status"] == Status.AMBIGUOUS.name and r["certified"] > 0 for r in group)
        print(
            f"| {', '.join(map(str, cell))} | {len(group)} | {_share(group, 'EXACT'):.3f} | {_share(group, 'STATISTICAL'):.3f} "
            f"| {proved} | {len(certified) - proved} | {partly} | {sum(r['false'] for r in group)} "
            f"| {np.mean([r['seconds'] for r in group]):.2f} |"
        )


def _read(store: Path) -> dict[str, dict[str, Any]]:
    if not store.exists():
        return {}
    return {(r := json.loads(line))["key"]: r for line in store.read_text().splitlines() if line.strip()}


def _append(store: Path, result: dict[str, Any]) -> None:
    store.parent.mkdir(parents=True, exist_ok=True)
    with store.open("a") as file:
        file.write(json.dumps(result) + "\n")


SECTIONS: dict[str, Any] = {
    "exact": Exact,
    "large": Large,
    "custom": Custom,
    "beside": Beside,
    "noise": Noise,
    "real": Real,
    "float32": Float32,
    "invariance": Invariance,
    "coverage": Coverage,
    "timing": Timing,
}


if __name__ == "__main__":
    sys.exit(main())
