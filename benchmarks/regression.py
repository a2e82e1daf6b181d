"""Ordinary regression data, which no network of ours made: is the fit useful, and is nothing claimed?

    python -m benchmarks.regression            five folds of every data set, against ridge and a tuned MLP
    python -m benchmarks.regression --data diabetes wine    five folds of these
    python -m benchmarks.regression --peers    boosting, kernel ridge and Gaussian processes too

Data       diabetes; wine (alcohol, and malic acid, from the rest); breast cancer (mean radius from the rest); friedman1–3,
           1,000 rows, noise 1, 50 and 0.1; linnerud (weight from the exercises, 20 rows); digits (the pixel of the largest
           variance from the rest).
Weightlift `OneHiddenLayerRegressor()`, nothing tuned by hand.
Ridge      `RidgeCV` on standardised inputs.
MLP        scikit-learn's MLPRegressor on standardised inputs and targets, tuned by `GridSearchCV` in three folds: adam or
           lbfgs, 10 or 50 units, ReLU or tanh, alpha = 0.1, 1 or 10 (24 settings).
Good       mean R² ≥ ridge − 0.005 and ≥ MLP − 0.01, in less time than the MLP and its grid.
Time       processor seconds of a fit, the choice included.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_linnerud,
    load_wine,
    make_friedman1,
    make_friedman2,
    make_friedman3,
)
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import weightlift as wl

ROWS, FOLDS = 1000, 5


def column(X: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray]:
    """One column from the rest."""
    return np.delete(X, j, axis=1), X[:, j]


def brightest(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return column(X, int(np.argmax(X.var(axis=0))))


DATA: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "wine": lambda: column(load_wine().data, 0),
    "malic": lambda: column(load_wine().data, 1),
    "cancer": lambda: column(load_breast_cancer().data, 0),
    "friedman1": lambda: make_friedman1(ROWS, noise=1.0, random_state=0),
    "friedman2": lambda: make_friedman2(ROWS, noise=50.0, random_state=0),
    "friedman3": lambda: make_friedman3(ROWS, noise=0.1, random_state=0),
    "linnerud": lambda: (load_linnerud().data, load_linnerud().target[:, 0]),
    "digits": lambda: brightest(load_digits().data),
}
GRID = {
    "regressor__mlpregressor__solver": ["adam", "lbfgs"],
    "regressor__mlpregressor__hidden_layer_sizes": [(10,), (50,)],
    "regressor__mlpregressor__activation": ["relu", "tanh"],
    "regressor__mlpregressor__alpha": [0.1, 1.0, 10.0],
}
BELOW_RIDGE, BELOW_MLP = 0.005, 0.01
LINE = "| {:<9} | {:<9} | {:>8} | {:>8} | {:<24} | {:<4} |"


def standardised(model: Any) -> Any:
    """Inputs and target."""
    return TransformedTargetRegressor(make_pipeline(StandardScaler(), model), transformer=StandardScaler())


def tuned_mlp() -> Any:
    return GridSearchCV(standardised(MLPRegressor(max_iter=1000, random_state=0)), GRID, cv=3)


def tuned_kernel() -> Any:
    grid = {"regressor__kernelridge__alpha": [1e-2, 1e-1, 1.0], "regressor__kernelridge__gamma": [1e-3, 1e-2, 1e-1]}
    return GridSearchCV(standardised(KernelRidge(kernel="rbf")), grid, cv=3)


MODELS: dict[str, Callable[[], Any]] = {
    "ridge": lambda: make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))),
    "MLP": tuned_mlp,
    "weightlift": wl.OneHiddenLayerRegressor,
}
PEERS: dict[str, Callable[[], Any]] = {
    "boosting": lambda: HistGradientBoostingRegressor(random_state=0),
    "kernel": tuned_kernel,
    "Gaussian": lambda: standardised(GaussianProcessRegressor(RBF(3.0) + WhiteKernel(0.1))),
}


@dataclass(frozen=True)
class Score:
    r2: float
    seconds: float
    remark: str


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="R² in cross-validation on ordinary regression data")
    parser.add_argument("--peers", action="store_true", help="boosting, kernel ridge and Gaussian processes too")
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    options = parser.parse_args(arguments)
    print(LINE.format("data", "model", "mean R²", "CPU s", "remark", "good"))
    print(LINE.format(*("-" * w for w in (9, 9, 8, 8, 24, 4))))
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        good = [compare(name, peers=options.peers) for name in options.data]
    return 0 if all(good) else 1


def compare(name: str, *, peers: bool) -> bool:
    X, y = DATA[name]()
    found: dict[str, Score] = {}
    for model, make in {**(PEERS if peers else {}), **MODELS}.items():
        found[model] = score(make, X, y)
        if model != "weightlift":
            print(LINE.format(name, model, f"{found[model].r2:.3f}", f"{found[model].seconds:.2f}", "", ""), flush=True)
    ours, ridge, mlp = found["weightlift"], found["ridge"], found["MLP"]
    good = ours.r2 >= max(ridge.r2 - BELOW_RIDGE, mlp.r2 - BELOW_MLP) and ours.seconds < mlp.seconds
    numbers = f"{ours.r2:.3f}", f"{ours.seconds:.2f}", ours.remark
    print(LINE.format(name, "weightlift", *numbers, "yes" if good else "NO"), flush=True)
    return good


def score(make: Callable[[], Any], X: np.ndarray, y: np.ndarray) -> Score:
    """Means over the folds; what was certified, with the units of each fold."""
    values, seconds, remarks = [], 0.0, []
    for train, test in KFold(FOLDS, shuffle=True, random_state=0).split(X):
        began = time.process_time()
        model = make().fit(X[train], y[train])
        seconds += time.process_time() - began
        values.append(r2_score(y[test], model.predict(X[test])))
        if isinstance(model, wl.OneHiddenLayerRegressor):
            remarks.append(f"{model.n_units_}{'!' if model.certificate_ else ''}")
    return Score(float(np.mean(values)), seconds / FOLDS, f"units {', '.join(remarks)}" if remarks else "")


if __name__ == "__main__":
    sys.exit(main())
