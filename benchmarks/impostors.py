"""Oracles that are no network with one hidden layer of the activation asked for: `extract` may certify none of them.

    python -m benchmarks.impostors --cases 500 --store impostors.jsonl     resumes where it stopped; prints the table
    python -m benchmarks.impostors --cases 30 --first 7000                 other draws

Kinds change fastest, then what is asked for ("relu", a smooth φ, "auto" in turn), then whether the width is given. Budgets
keep a case at some seconds: 2,000 queries where lines are asked about, else six a parameter of four units, ten every third
time, which leaves rows for a search. A case counts as certified if the whole network is, or any unit of it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logsumexp

import weightlift as wl

Function = Callable[[np.ndarray], np.ndarray]

SMOOTH = ("tanh", "gelu", "sigmoid", "silu", "softplus", "erf", "sine", "elu")  # asked for in turn
SAME = ({"relu", "leaky_relu", "absolute"}, {"tanh", "sigmoid"})  # one is the other, with a linear part or an offset
TRIED_BY_AUTO = {"relu", "tanh", "sigmoid", "gelu", "silu", "softplus", "erf", "sine", "elu", "squared_relu"}
ELSEWHERE: dict[str, Function] = {  # φ outside of the catalogue
    "arctan": np.arctan,
    "softsign": lambda z: z / (1 + np.abs(z)),
    "bump": lambda z: np.exp(-(z**2)),
    "clipped": lambda z: np.clip(z, 0.0, 1.0) ** 2,
}


def case(seed: int) -> dict[str, Any]:
    """One extraction of what is no such network."""
    names = list(KINDS)
    turn, kind = divmod(seed, len(names))
    asked = ("relu", SMOOTH[turn // 3 % len(SMOOTH)], "auto")[turn % 3]
    rng = np.random.default_rng([seed, 41])
    d = int(rng.integers(2, 7))
    width = {"n_units": 4} if turn // 3 % 2 or names[kind] == "too wide" else {}
    oracle = KINDS[names[kind]](rng, d, asked)
    lines = asked == "relu" or (asked == "auto" and names[kind] not in CURVED)
    rounded = names[kind] in ("deep, 3 decimals", "deep part in float32")
    budget = 2_000 if lines and not rounded else (40 if turn // 3 % 3 == 0 else 24) * (d + 2)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = {"seed": seed, "kind": names[kind], "asked": asked}
        try:
            found = wl.extract(oracle, d, activation=asked, budget=budget, rng=seed, **width)
        except wl.errors.OracleError as error:  # a box that is constant where it is asked
            refused = {"status": "refused", "certified": False, "cut": False, "queries": 0, "units": 0}
            return {**told, **refused, "reasons": str(error), "seconds": time.process_time() - began}
    reasons = " ".join(found.certificate.reasons)
    return {
        **told,
        "status": found.certificate.status.name,
        "certified": bool(found.certificate) or bool(len(found.certificate.certified_units)),
        "cut": "budget is spent" in reasons,
        "queries": found.queries,
        "units": found.network.n_units,
        "reasons": reasons,
        "seconds": time.process_time() - began,
    }


def _single(network: wl.Network) -> Function:
    return lambda X: network.predict(X).reshape(len(X))


def _random(rng: np.random.Generator, d: int, k: int, phi: str = "relu", m: int = 1) -> wl.Network:
    W, A = rng.standard_normal((d, k)), rng.standard_normal((k, m))
    return wl.Network(W, A, rng.standard_normal(k), rng.standard_normal(m), phi)


def _within(rng: np.random.Generator, d: int, asked: str, k: int = 3) -> Function:
    """What is asked for."""
    return _single(_random(rng, d, k, "relu" if asked == "auto" else asked))


def _deep(rng: np.random.Generator, d: int, phi: str = "relu") -> Function:
    """Two hidden layers; of ReLU so that the second bends inside the first one's values, else the two may be one."""
    first, X = _random(rng, d, 4, phi, 5), rng.standard_normal((500, d))
    while True:
        second = _random(rng, 5, 3, phi)
        on = (first.predict(X) @ second.W + second.b > 0).mean(axis=0)
        if phi != "relu" or ((on > 0.05) & (on < 0.95)).all():
            return lambda X: _single(second)(first.predict(X))


def _clipped(rng: np.random.Generator, d: int, asked: str) -> Function:
    inside = _within(rng, d, asked)
    low, high = np.quantile(inside(rng.standard_normal((500, d))), [0.2, 0.8])
    return lambda X: np.clip(inside(X), low, high)


def _tree(rng: np.random.Generator, d: int, _: str) -> Function:
    cut, leaf, nodes = rng.standard_normal(7), rng.standard_normal(8), rng.integers(0, d, 7)

    def value(X: np.ndarray) -> np.ndarray:
        node = np.zeros(len(X), dtype=int)
        for _ in range(3):
            node = 2 * node + 1 + (X[np.arange(len(X)), nodes[node]] > cut[node])
        return np.asarray(leaf[node - 7])

    return value


def _other(rng: np.random.Generator, d: int, asked: str) -> Function:
    """Another φ."""
    same = TRIED_BY_AUTO if asked == "auto" else next((group for group in SAME if asked in group), {asked})
    names = [name for name in (*SMOOTH, "relu", "squared_relu", *ELSEWHERE) if name not in same]
    name = str(rng.choice(names))
    net = _random(rng, d, 3)
    if name not in ELSEWHERE:
        return _single(wl.Network(net.W, net.a, net.b, net.c, name))
    return lambda X: (ELSEWHERE[name](X @ net.W + net.b) @ net.a)[:, 0]


def _mixed(rng: np.random.Generator, d: int, asked: str) -> Function:
    """One unit of another φ beside two that are asked for."""
    inside = _within(rng, d, asked, 2)
    first = "tanh" if asked in ("relu", "gelu", "silu", "softplus", "sine", "elu") else "gelu"
    other = _single(_random(rng, d, 1, first))
    return lambda X: inside(X) + other(X)


def _nearly(rng: np.random.Generator, d: int, asked: str) -> Function:
    """A network with a part of 1e-1 … 1e-6 that is deep."""
    inside, deep, part = _within(rng, d, asked), _deep(rng, d, str(rng.choice(["relu", "tanh"]))), 10.0 ** -rng.integers(1, 7)
    return lambda X: inside(X) + part * deep(X)


def _polynomial(rng: np.random.Generator, d: int, _: str) -> Function:
    A, B = rng.standard_normal((2, d, 3))
    return lambda X: ((X @ A) * (X @ B) ** 2).sum(axis=1) + (X @ A[:, 0]) * (X @ B[:, 0])


def _zigzag(rng: np.random.Generator, d: int, _: str) -> Function:
    """Piecewise linear with kinks without end."""
    W, b = rng.standard_normal((d, 2)), rng.standard_normal(2)
    return lambda X: np.abs((X @ W + b) % 2.0 - 1.0) @ np.array([1.0, 0.7])


def _centres(rng: np.random.Generator, d: int, _: str) -> Function:
    C, a = rng.standard_normal((5, d)), rng.standard_normal(5)
    return lambda X: np.exp(-((X[:, None] - C) ** 2).sum(axis=2) / (2 * d)) @ a


def _gated(rng: np.random.Generator, d: int, _: str) -> Function:
    W, V = rng.standard_normal((2, d, 3))
    return lambda X: ((X @ V) / (1 + np.exp(-X @ W))).sum(axis=1)


def _log_sum(rng: np.random.Generator, d: int, _: str) -> Function:
    W, b = rng.standard_normal((d, 4)), rng.standard_normal(4)
    return lambda X: np.asarray(logsumexp(X @ W + b, axis=1))


def _wave(rng: np.random.Generator, d: int, _: str) -> Function:
    w, v = rng.standard_normal((2, d))
    return lambda X: np.sin(X @ w) * (X @ v)


def _product(rng: np.random.Generator, d: int, asked: str) -> Function:
    first, second = _within(rng, d, asked), _within(rng, d, asked)
    return lambda X: first(X) * second(X)


def _maximum(rng: np.random.Generator, d: int, _: str) -> Function:
    nets = _random(rng, d, 4, m=5)
    return lambda X: np.asarray(nets.predict(X).max(axis=1))


def _largest(rng: np.random.Generator, d: int, _: str) -> Function:
    """The largest of three affine functions and 0."""
    W, b = rng.standard_normal((d, 3)), rng.standard_normal(3)
    return lambda X: np.maximum((X @ W + b).max(axis=1), 0.0)


def _absolute(rng: np.random.Generator, d: int, asked: str) -> Function:
    inside = _within(rng, d, asked)
    middle = np.median(inside(rng.standard_normal((500, d))))
    return lambda X: np.abs(inside(X) - middle)


def _steps(rng: np.random.Generator, d: int, _: str) -> Function:
    W, b, a = rng.standard_normal((d, 4)), rng.standard_normal(4), rng.standard_normal(4)
    return lambda X: (X @ W + b > 0) @ a + X[:, 0]


def _distance(rng: np.random.Generator, d: int, _: str) -> Function:
    centre = rng.standard_normal(d)
    return lambda X: np.linalg.norm(X - centre, axis=1)


def _beside(rng: np.random.Generator, d: int, asked: str) -> Function:
    """Two outputs, one of which is what is asked for."""
    inside, deep = _within(rng, d, asked), _deep(rng, d)
    return lambda X: np.column_stack([inside(X), deep(X)])


def _rounded(decimals: int) -> Callable[[np.random.Generator, int, str], Function]:
    def kind(rng: np.random.Generator, d: int, _: str) -> Function:
        deep = _deep(rng, d, str(rng.choice(["relu", "tanh"])))
        return lambda X: np.round(deep(X), decimals)

    return kind


def _single_precision(rng: np.random.Generator, d: int, asked: str) -> Function:
    nearly, deep = _within(rng, d, asked), _deep(rng, d)
    return lambda X: (nearly(X) + 0.1 * deep(X)).astype(np.float32)


def _divided(rng: np.random.Generator, d: int, asked: str) -> Function:
    inside = _within(rng, d, asked)
    return lambda X: inside(X) / (1 + (X**2).mean(axis=1))


KINDS: dict[str, Callable[[np.random.Generator, int, str], Any]] = {
    "deep ReLU": lambda rng, d, _: _deep(rng, d),
    "deep tanh": lambda rng, d, _: _deep(rng, d, "tanh"),
    "nearly": _nearly,
    "mixed φ": _mixed,
    "other φ": _other,
    "too wide": lambda rng, d, asked: _within(rng, d, asked, 5 + int(rng.integers(0, 4))),
    "one of two outputs": _beside,
    "tree": _tree,
    "steps": _steps,
    "polynomial": _polynomial,
    "product": _product,
    "gated": _gated,
    "divided": _divided,
    "maximum of networks": _maximum,
    "largest of affine functions": _largest,
    "absolute value of a network": _absolute,
    "clipped network": _clipped,
    "log-sum-exp": _log_sum,
    "distance": _distance,
    "radial": _centres,
    "wave": _wave,
    "zigzag": _zigzag,
    "deep, 3 decimals": _rounded(3),
    "deep part in float32": _single_precision,
}


CURVED = ("deep tanh", "polynomial", "product", "gated", "divided", "log-sum-exp", "distance", "radial", "wave")


def cases(first: int, n: int, store: Path | None) -> Iterator[dict[str, Any]]:
    """Those of the store, and the others as they are done."""
    done: dict[int, dict[str, Any]] = {}
    if store is not None and store.exists():
        done = {(row := json.loads(line))["seed"]: row for line in store.read_text().splitlines() if line.strip()}
    for seed in range(first, first + n):
        if seed not in done:
            done[seed] = case(seed)
            if store is not None:
                with store.open("a") as file:
                    file.write(json.dumps(done[seed]) + "\n")
        yield done[seed]


def table(rows: list[dict[str, Any]]) -> str:
    """By what was asked for: cases, certified, cut by the budget, seconds of CPU."""
    lines = ["| asked for | oracles | certified | cut by the budget | CPU s, median–largest |", "|---|---|---|---|---|"]
    group = lambda row: row["asked"] if row["asked"] in ("relu", "auto") else "a smooth φ"  # noqa: E731
    for name, members in itertools.groupby(sorted(rows, key=group), key=group):
        part = list(members)
        s = [row["seconds"] for row in part]
        counts = len(part), sum(row["certified"] for row in part), sum(row["cut"] for row in part)
        lines.append(f"| {name} | {counts[0]} | {counts[1]} | {counts[2]} | {np.median(s):.1f}–{max(s):.1f} |")
    wrong = [(row["seed"], row["kind"], row["asked"]) for row in rows if row["certified"]]
    kinds = Counter(row["kind"] for row in rows)
    return "\n".join([*lines, "", f"{len(rows)} oracles of {len(kinds)} kinds, {len(wrong)} certified {wrong or ''}"])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--store", type=Path, default=None, help="where cases are kept; what is there is not run again")
    options = parser.parse_args(arguments)
    rows = list(cases(options.first, options.cases, options.store))
    print(table(rows))
    return int(any(row["certified"] for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
