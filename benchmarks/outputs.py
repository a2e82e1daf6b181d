"""Several outputs and a linear part: how often the units are found and certified, and whether a certificate was ever wrong.

    python -m benchmarks.outputs              3 seeds a line
    python -m benchmarks.outputs --full       10 seeds a line
    python -m benchmarks.outputs --only tanh  lines whose name has that
    python -m benchmarks.outputs --jobs 8     so many runs at once
    python -m benchmarks.outputs --start 100 --seeds 5   seeds 100 to 104

Teachers  20-5-m with biases: unit directions, |bᵢ| ≤ 0.3, ‖aᵢ‖ ∈ [½, 3/2], Gaussian rows; equations (rows × m) a parameter, the
          k(d + 1 + m) of W, b and A. Digits: MLPClassifier(16 or 32, ReLU) trained on standardised pixels, its logits as
          targets at 3 equations a parameter; Gaussian rows, or real rows with jitter of half a deviation. Units with fewer
          than d + 3 rows on their active side are not asked for.
          Noise: 6-3-m, a twentieth of the targets' size, and the width given or not.
Counts    certified: all units that are asked for; wrong: a certified unit farther than 1e-6 from every true one or, with noise,
          outside of its region, the narrow one.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

import weightlift as wl

INPUTS, UNITS, BIAS = 20, 5, 0.3
NEAR = 1e-6


@dataclass(frozen=True)
class Case:
    """Rows, what is asked of them, and the truth."""

    truth: wl.Network
    X: np.ndarray
    Y: np.ndarray
    options: dict[str, object]
    noise: float = 0.0
    margin: int = 3  # rows beyond d on a kinked unit's active side, below which it is not asked for

    @property
    def asked(self) -> np.ndarray:
        """(k,) units that the rows can determine."""
        net = self.truth
        if not net.activation.kinks:
            return np.ones(net.n_units, dtype=bool)
        on = (self.X @ net.W + net.b > 0).sum(axis=0)
        few = self.X.shape[1] + self.margin
        return (on >= few) & ((len(self.X) - on >= few) if self.options.get("linear") else True)


def planted(activation: str, m: int, ratio: float) -> Callable[[int], Case]:
    def case(seed: int) -> Case:
        units = wl.teachers.biased(INPUTS, UNITS, bias=BIAS, activation=activation, rng=1000 + seed)
        truth = wl.teachers.several(units, m, rng=2000 + seed)
        n = int(np.ceil(ratio * UNITS * (INPUTS + 1 + m) / m))
        X, Y = wl.draw(truth, n, rng=3000 + seed)
        return Case(truth, X, Y, {"n_units": UNITS, "activation": activation, "bias": True})

    return case


def digits(units: int, rows: str) -> Callable[[int], Case]:
    def case(seed: int) -> Case:
        from sklearn.datasets import load_digits
        from sklearn.neural_network import MLPClassifier
        from sklearn.preprocessing import StandardScaler

        data = load_digits()
        pixels = StandardScaler().fit_transform(data.data)
        model = MLPClassifier((units,), max_iter=300, random_state=seed).fit(pixels, data.target)
        truth, rng = wl.export.from_sklearn(model), np.random.default_rng(seed)
        n = int(np.ceil(3 * (units * (64 + 1 + 10) + 10) / 10))
        noise = rng.normal(size=(n, 64))
        X = noise if rows == "gaussian" else pixels[rng.choice(len(pixels), n)] + 0.5 * noise
        return Case(truth, X, truth.predict(X), {"n_units": units, "bias": True, "offset": True})

    return case


def linear_part(seed: int) -> Case:
    """Three ReLU units of ten inputs and a linear part, two rows a parameter."""
    truth = wl.teachers.several(wl.teachers.biased(10, 3, bias=BIAS, rng=seed), linear=True, rng=50 + seed)
    X, y = wl.draw(truth, 2 * (3 * 11 + 10), rng=99 + seed)
    return Case(truth, X, y, {"n_units": 3, "bias": True, "offset": True, "linear": True})


def always_on(seed: int) -> Case:
    """Eight ReLU units, the fourth on at every row."""
    plain = wl.teachers.biased(10, 8, bias=BIAS, rng=seed)
    truth = replace(plain, b=np.where(np.arange(8) == 3, 8.0, plain.b))
    X, y = wl.draw(truth, 3 * 8 * 11, rng=99 + seed)
    return Case(truth, X, y, {"n_units": 8, "bias": True, "offset": True, "linear": True})


def noisy(activation: str, m: int | None, *, linear: bool, width: int | str = 3) -> Callable[[int], Case]:
    """Three units of six inputs, noise a twentieth of the targets' size, twenty rows a parameter of one output."""

    def case(seed: int) -> Case:
        units = wl.teachers.biased(6, 3, bias=BIAS, activation=activation, rng=1000 + seed)
        truth = wl.teachers.several(units, m, linear=linear, rng=2000 + seed)
        X, exact = wl.draw(truth, 20 * (3 * 8 + 6 * linear), rng=3000 + seed)
        noise = 0.05 * exact.std(axis=0)
        Y = exact + noise * np.random.default_rng(seed).normal(size=exact.shape)
        options = {"n_units": width, "activation": activation, "bias": True, "offset": True, "linear": linear}
        return Case(truth, X, Y, options, noise=float(np.mean(noise)))

    return case


def unknown_width(activation: str, m: int, ratio: float) -> Callable[[int], Case]:
    def case(seed: int) -> Case:
        made = planted(activation, m, ratio)(seed)
        return replace(made, options={**made.options, "n_units": "auto"})

    return case


LINES: dict[str, Callable[[int], Case]] = {
    "tanh, m = 2, 2 equations": planted("tanh", 2, 2.0),
    "tanh, m = 5, 2 equations": planted("tanh", 5, 2.0),
    "tanh, m = 10, 2 equations": planted("tanh", 10, 2.0),
    "ReLU, m = 2, 2 equations": planted("relu", 2, 2.0),
    "ReLU, m = 5, 4 equations": planted("relu", 5, 4.0),
    "ReLU, m = 10, 5 equations": planted("relu", 10, 5.0),
    "tanh, m = 2, 1.5 equations": planted("tanh", 2, 1.5),
    "ReLU, m = 10, 3 equations (too few)": planted("relu", 10, 3.0),
    "three ReLU units + linear part": linear_part,
    "an always-on unit among eight": always_on,
    "tanh, m = 3, noise": noisy("tanh", 3, linear=False),
    "ReLU, m = 3, noise": noisy("relu", 3, linear=False),
    "ReLU, m = 2 + linear part, noise": noisy("relu", 2, linear=True),
    "ReLU, m = 1 + linear part, noise": noisy("relu", None, linear=True),
    "tanh, m = 3, noise, width unknown": noisy("tanh", 3, linear=False, width="auto"),
    "ReLU, m = 2 + linear part, noise, width unknown": noisy("relu", 2, linear=True, width="auto"),
    "tanh, m = 5, 4 equations, width unknown": unknown_width("tanh", 5, 4.0),
    "ReLU, m = 5, 6 equations, width unknown": unknown_width("relu", 5, 6.0),
    "digits 64-16-10, Gaussian rows": digits(16, "gaussian"),
    "digits 64-16-10, jittered rows": digits(16, "jittered"),
    "digits 64-32-10, Gaussian rows": digits(32, "gaussian"),
    "digits 64-32-10, jittered rows": digits(32, "jittered"),
}


@dataclass(frozen=True)
class Result:
    """All units asked for certified; units certified, asked for, wrong; largest relative residual; seconds of clock and CPU."""

    good: bool
    certified: int
    asked: int
    wrong: int
    residual: float
    seconds: float
    cpu: float


def measured(name: str, seed: int) -> Result:
    warnings.simplefilter("ignore")
    case = LINES[name](seed)
    began, cpu = time.perf_counter(), time.process_time()
    found = wl.recover(case.X, case.Y, **case.options, rng=seed)  # type: ignore[arg-type]
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    certified = list(found.certificate.certified_units)
    gaps = distances(found.network, case.truth)
    right = found.certificate.locate(case.truth, wide=False)[0] if case.noise else gaps.min(axis=0) <= NEAR
    wrong = int(np.count_nonzero(~right[certified]))
    claimed = np.isin(np.arange(case.truth.n_units), gaps.argmin(axis=0)[[i for i in certified if right[i]]])
    residual = float(np.abs(found.network.predict(case.X) - case.Y).max() / np.abs(case.Y).max())
    same_width = case.options["n_units"] != "auto" or found.network.n_units == case.truth.n_units
    good = bool(claimed[case.asked].all()) and same_width
    result = Result(good, int(claimed.sum()), int(case.asked.sum()), wrong, residual, seconds, cpu)
    print(f"{name}, seed {seed}: {result}", file=sys.stderr, flush=True)
    return result


def distances(found: wl.Network, truth: wl.Network) -> np.ndarray:
    """(k, k') of every true unit from every one found, of its size: (w, b, a), sizes in a where φ is homogeneous.

    Each unit for itself: an assignment of all to all may leave a right unit to make room for wrong ones.
    """
    units = []
    for net in (truth, found):
        inner = np.concatenate([net.W, net.b[None]])
        size = np.linalg.norm(inner, axis=0) if net.activation.degree else np.ones(net.n_units)
        units.append((inner / size, net.A.T * size ** (net.activation.degree or 0)))
    (true, A), (mine, B) = units
    sign = found.activation.reflection[0] if found.activation.reflection and found.turns else 0

    def apart(turn: int, output: int) -> np.ndarray:
        inner = np.linalg.norm(true[:, :, None] - turn * mine[:, None, :], axis=0) / np.linalg.norm(true, axis=0)[:, None]
        outer = np.linalg.norm(A[:, :, None] - output * B[:, None, :], axis=0) / np.linalg.norm(A, axis=0)[:, None]
        return np.hypot(inner, outer)

    return np.minimum(apart(1, 1), apart(-1, sign)) if sign else apart(1, 1)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--seeds", type=int)
    options = parser.parse_args(arguments)
    seeds = range(options.start, options.start + (options.seeds or (10 if options.full else 3)))
    names = [name for name in LINES if options.only in name]
    print("| problem | certified | units certified / determined | wrong | largest residual | seconds | CPU seconds |")
    print("|---|---|---|---|---|---|---|")
    wrong = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        runs = {name: [pool.submit(measured, name, seed) for seed in seeds] for name in names}
        for name, futures in runs.items():
            results = [future.result() for future in futures]
            wrong += sum(r.wrong for r in results)
            print(row(name, results), flush=True)
    return int(wrong > 0)


def row(name: str, results: list[Result]) -> str:
    good, units, asked, wrong = (sum(getattr(r, key) for r in results) for key in ("good", "certified", "asked", "wrong"))
    residual = max(r.residual for r in results)
    times = (
        f"{np.median(values):.1f} (at most {max(values):.1f})"
        for values in zip(*((r.seconds, r.cpu) for r in results), strict=True)
    )
    return f"| {name} | {good} of {len(results)} | {units} / {asked} | {wrong} | {residual:.1e} | {' | '.join(times)} |"


if __name__ == "__main__":
    sys.exit(main())
