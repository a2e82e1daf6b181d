"""Where each decomposition stops: exact tensors Σ wᵢ^{⊗p} of k unit vectors in d dimensions, as k/d grows.

    python -m benchmarks.overcomplete                d = 12 (order 3) and 8 (order 4), 2 tensors a cell, a minute of one core
    python -m benchmarks.overcomplete --full         d = 20 and 12, 8 tensors a cell
    python -m benchmarks.overcomplete --order 3      the third-order table alone

Weights: "random", uniform on the sphere; "separated", orthonormal bases side by side, isotropic (mondelli2019's Haar weights,
not centred). Methods of `decompose`: kcl (joint diagonalisation, k ≤ d only), power iteration from random and from contracted
starts, the subspace power method (order 4), implicit CP by L-BFGS; all end with least squares on the tensor. "fixed points" is
the power iteration alone, one round without deflation or least squares: components with |cos| ≥ 0.9 to a fixed point.
A cell holds the mean share of components found, |cos| ≥ 0.999; • marks cells in which every tensor was decomposed in full.
"isolated" counts the weights at which the Jacobian of Σ wᵢ^{⊗p} has rank k d. At others it does not determine them to first
order, and not to find the planted ones is no failure: where k d > C(d+p−1, p), and for p = 3 at two orthonormal bases already,
since all of one moved by v and all of the other by −v change the tensor by sym(v ⊗ I) − sym(v ⊗ I) = 0.
The subspace power method refuses (–) two whole bases: their squares wwᵀ are dependent, Σ wwᵀ = I for each.
"""

from __future__ import annotations

import argparse
import math
import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

import weightlift as wl
from weightlift.decomposition import compose, power_iteration
from weightlift.errors import WeightliftError

RATIOS = {3: (0.5, 1.0, 1.5, 2.0, 3.0), 4: (0.5, 1.0, 2.0, 3.0, 4.0)}
METHODS = {
    3: ("kcl", "power_iteration", "contracted_power", "implicit_cp"),
    4: ("kcl", "power_iteration", "contracted_power", "subspace_power", "implicit_cp"),
}
SIDE, FULL_SIDE = {3: 12, 4: 8}, {3: 20, 4: 12}
FOUND, NEAR = 0.999, 0.9


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="overcomplete decompositions over k/d")
    parser.add_argument("--full", action="store_true", help="larger tensors, more of them")
    parser.add_argument("--order", type=int, choices=sorted(METHODS), help="this order alone")
    options = parser.parse_args(arguments)
    side, trials = (FULL_SIDE, 8) if options.full else (SIDE, 2)
    with threadpool_limits(limits=1):
        for order in [options.order] if options.order else sorted(METHODS):
            print_table(order, side[order], trials)
    return 0


def print_table(order: int, d: int, trials: int) -> None:
    names = ("fixed points", *METHODS[order])
    print(f"\nOrder {order}, d = {d}, {trials} tensors a cell\n")
    print(f"| weights   | k/d |   k | isolated | {' | '.join(f'{name:>16}' for name in names)} |")
    print(f"|-----------|-----|-----|----------|{'|'.join('-' * 18 for _ in names)}|")
    spent = dict.fromkeys(names, 0.0)
    for kind in ("random", "separated"):
        for ratio in RATIOS[order]:
            k = round(ratio * d)
            alone = sum(isolated(weights(kind, d, k, trial), order) for trial in range(trials))
            cells = []
            for name in names:
                began = time.process_time()
                shares = [share(name, weights(kind, d, k, trial), order, seed=1000 + trial) for trial in range(trials)]
                spent[name] += time.process_time() - began
                cells.append(cell(shares, name))
            row = f"| {kind:<9} | {ratio:>3} | {k:>3} | {f'{alone} of {trials}':>8} | {' | '.join(cells)} |"
            print(row, flush=True)
    print("\nCPU seconds: " + ", ".join(f"{name} {seconds:.1f}" for name, seconds in spent.items()))


def isolated(W: np.ndarray, order: int) -> bool:
    """Whether the Jacobian of W ↦ Σ wᵢ^{⊗p} has full rank: blocks of JᵀJ/p, ⟨wᵢ,wⱼ⟩^{p−1} I + (p−1)⟨wᵢ,wⱼ⟩^{p−2} wⱼwᵢᵀ."""
    d, k = W.shape
    G = W.T @ W
    blocks = np.einsum("ij,ab->iajb", G ** (order - 1), np.eye(d))
    blocks += (order - 1) * np.einsum("ij,aj,bi->iajb", G ** (order - 2), W, W)
    values = np.linalg.eigvalsh(blocks.reshape(k * d, k * d))
    return bool(values[0] > 1e-10 * values[-1])


def weights(kind: str, d: int, k: int, seed: int) -> np.ndarray:
    if kind == "separated":
        return wl.teachers.haar(d, k, center=False, rng=seed).W
    W = np.random.default_rng(seed).standard_normal((d, k))
    return np.asarray(W / np.linalg.norm(W, axis=0))


def share(name: str, W: np.ndarray, order: int, *, seed: int) -> float:
    """The share of the columns of W that the method finds in Σ wᵢ^{⊗p}; NaN where it refuses."""
    k = W.shape[1]
    T = compose(np.ones(k), W, order)
    if name == "fixed points":
        return found(power_iteration(T, rank=k, deflate=False, rng=seed).factors, W, NEAR)
    try:
        return found(wl.decompose(T, k, method=name, rng=seed).factors, W, FOUND)
    except WeightliftError:
        return math.nan


def found(U: np.ndarray, W: np.ndarray, cosine: float) -> float:
    return float((np.abs(U.T @ W).max(axis=0) >= cosine).mean())


def cell(shares: list[float], name: str) -> str:
    if np.isnan(shares).all():
        return f"{'–':>16}"
    mean = float(np.nanmean(np.nan_to_num(shares)))
    return f"{mean:>14.2f} {'•' if min(np.nan_to_num(shares)) == 1.0 else ' '}"


if __name__ == "__main__":
    sys.exit(main())
