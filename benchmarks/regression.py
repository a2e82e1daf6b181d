"""Ordinary regression data, which no network of ours made: is the fit useful, and is nothing claimed?

    python -m benchmarks.regression            one split a data set
    python -m benchmarks.regression --full     five splits

Data       diabetes (442 × 10); friedman1–3, 1,000 rows, noise 1, 50 and 0.1; a quarter of the rows is for the test.
Weightlift `OneHiddenLayerRegressor()`, nothing tuned by hand.
MLP        scikit-learn's MLPRegressor on standardised inputs and targets, tuned by `GridSearchCV` in three folds: adam or
           lbfgs, 10 or 50 units, ReLU or tanh, alpha = 0.1, 1 or 10 (24 settings).
Time       processor seconds of all fits, the choice included.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import weightlift as wl

ROWS = 1000
DATA: dict[str, Callable[[int], tuple[np.ndarray, np.ndarray]]] = {
    "diabetes": lambda seed: load_diabetes(return_X_y=True),
    "friedman1": lambda seed: make_friedman1(ROWS, noise=1.0, random_state=seed),
    "friedman2": lambda seed: make_friedman2(ROWS, noise=50.0, random_state=seed),
    "friedman3": lambda seed: make_friedman3(ROWS, noise=0.1, random_state=seed),
}
GRID = {
    "regressor__mlpregressor__solver": ["adam", "lbfgs"],
    "regressor__mlpregressor__hidden_layer_sizes": [(10,), (50,)],
    "regressor__mlpregressor__activation": ["relu", "tanh"],
    "regressor__mlpregressor__alpha": [0.1, 1.0, 10.0],
}
WITHIN = 0.02
LINE = "| {:<10} | {:>5} | {:>8} | {:>8} | {:>8} | {:>9} | {:>9} | {:<12} | {:<9} |"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="test R² on ordinary regression data")
    parser.add_argument("--full", action="store_true", help="five splits")
    options = parser.parse_args(arguments)
    print(LINE.format("data", "split", "R²", "R² MLP", "ahead by", "CPU s", "CPU s MLP", "certificate", "good"))
    print(LINE.format(*("-" * w for w in (10, 5, 8, 8, 8, 9, 9, 12, 9))))
    good = True
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in DATA.items():
            for split in range(5 if options.full else 1):
                good &= compare(name, split, *make(split))
    return 0 if good else 1


def compare(name: str, split: int, X: np.ndarray, y: np.ndarray) -> bool:
    parts = train_test_split(X, y, random_state=split)
    score, seconds, model = measured(ours, *parts)
    peer, peer_seconds, _ = measured(tuned_mlp, *parts)
    status = model.certificate_.status.name
    good = score >= peer - WITHIN and seconds < peer_seconds
    numbers = (f"{score:.3f}", f"{peer:.3f}", f"{score - peer:+.3f}", f"{seconds:.1f}", f"{peer_seconds:.1f}")
    print(LINE.format(name, split, *numbers, status, "yes" if good else "NO"), flush=True)
    return good


def measured(
    fit: Callable[..., Any], X: np.ndarray, X_test: np.ndarray, y: np.ndarray, y_test: np.ndarray
) -> tuple[float, float, Any]:
    began = time.process_time()
    model = fit(X, y)
    seconds = time.process_time() - began
    return float(r2_score(y_test, model.predict(X_test))), seconds, model


def ours(X: np.ndarray, y: np.ndarray) -> wl.OneHiddenLayerRegressor:
    return wl.OneHiddenLayerRegressor().fit(X, y)


def tuned_mlp(X: np.ndarray, y: np.ndarray) -> Any:
    network = MLPRegressor(max_iter=1000, random_state=0)
    model = TransformedTargetRegressor(make_pipeline(StandardScaler(), network), transformer=StandardScaler())
    return GridSearchCV(model, GRID, cv=3).fit(X, y)


if __name__ == "__main__":
    sys.exit(main())
