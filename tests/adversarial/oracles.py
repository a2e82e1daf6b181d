"""Bad black boxes: functions that fail, lie, change their shape or never answer, and bad settings of `extract`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from tests.adversarial.cases import Case, refused, same, uncertified

import weightlift as wl
from weightlift import errors

BOX = wl.teachers.biased(3, 2, rng=0)


def extract(oracle: Any = BOX.predict, n_inputs: Any = 3, **options: Any) -> wl.Extraction:
    return wl.extract(oracle, n_inputs, **{"retries": 0, **options})


def raising(X: np.ndarray) -> np.ndarray:
    raise RuntimeError("the service is down")


def failing_once(calls: list[int]) -> Any:
    def ask(X: np.ndarray) -> np.ndarray:
        calls.append(len(X))
        if len(calls) == 1:
            raise ConnectionError("try again")
        return BOX.predict(X)

    return ask


def changing(calls: list[int]) -> Any:
    def ask(X: np.ndarray) -> np.ndarray:
        calls.append(1)
        return BOX.predict(X) if len(calls) < 3 else np.stack([BOX.predict(X)] * 2, axis=1)

    return ask


def writing(X: np.ndarray) -> np.ndarray:
    """Overwrites its argument after answering."""
    y = BOX.predict(X)
    X[:] = 0.0
    return y


def patiently(seconds: float) -> Any:
    return lambda X: (time.sleep(seconds), BOX.predict(X))[1]


W = errors.OracleError

ORACLES = [
    refused("no function", lambda: extract(3), "oracle must be a function"),
    refused("None", lambda: extract(None), "oracle must be a function"),
    refused("a box that raises", lambda: extract(raising), "RuntimeError: the service is down", W),
    refused("a box that answers NaN", lambda: extract(lambda X: np.full(len(X), np.nan)), "NaN or infinity", W),
    refused("a box that answers infinity", lambda: extract(lambda X: np.full(len(X), np.inf)), "NaN or infinity", W),
    refused("NaN far away alone", lambda: extract(lambda X: np.where(np.abs(X).max(1) > 3, np.nan, BOX.predict(X))), "NaN", W),
    refused("a box that answers too few", lambda: extract(lambda X: BOX.predict(X)[:-1]), "returned shape", W),
    refused("a box that answers a number", lambda: extract(lambda X: 1.0), "returned shape", W),
    refused("a box that answers None", lambda: extract(lambda X: None), "real numbers|returned shape", W),
    refused("a box that answers text", lambda: extract(lambda X: ["one"] * len(X)), "must return real numbers", W),
    refused("a box that answers complex numbers", lambda: extract(lambda X: BOX.predict(X) * 1j), "complex", W),
    refused("a box of no outputs", lambda: extract(lambda X: np.zeros((len(X), 0))), "returned shape", W),
    refused("a box of three axes", lambda: extract(lambda X: np.zeros((len(X), 1, 1))), "returned shape", W),
    refused("another number of outputs later", lambda: extract(changing([]), batch_size=3), "outputs, and 1 before", W),
    refused("a box of other inputs", lambda: extract(BOX.predict, 5), "shape", W),
    refused("a constant box", lambda: extract(lambda X: np.ones(len(X))), "the oracle is constant", errors.WeightliftError),
    refused("a box that never answers", lambda: extract(patiently(30.0), max_time=0.2), "did not answer", W),
    refused("n_inputs = 0", lambda: extract(n_inputs=0), "n_inputs must be at least 1"),
    refused("n_inputs = 2.5", lambda: extract(n_inputs=2.5), "n_inputs must be an integer"),
    refused("n_units = 'two' to extract", lambda: extract(n_units="two"), "n_units must be an integer"),
    refused("n_units = 0 to extract", lambda: extract(n_units=0), "n_units must be at least 1"),
    refused("an unknown φ to extract", lambda: extract(activation="rellu"), "relu", errors.ActivationError),
    refused("linear = 'maybe' to extract", lambda: extract(linear="maybe"), "linear must be True, False or 'auto'"),
    refused("linear an array to extract", lambda: extract(linear=np.array([True, False])), "linear must be"),
    refused("budget = 0", lambda: extract(budget=0), "budget must be an integer, at least 1"),
    refused("budget = 1.5", lambda: extract(budget=1.5), "budget must be an integer"),
    refused("a budget too small", lambda: extract(budget=9), "one unit with 3 inputs needs"),
    refused("batch_size = 0", lambda: extract(batch_size=0), "batch_size must be an integer"),
    refused("retries = −1", lambda: extract(retries=-1), "retries must be an integer"),
    refused("max_time = 0", lambda: extract(max_time=0), "max_time must be a positive number"),
    refused("max_time = NaN", lambda: extract(max_time=float("nan")), "max_time must be a positive number"),
    refused("scale = 0", lambda: extract(scale=0.0), "scale must be positive"),
    refused("scale of another length", lambda: extract(scale=[1.0, 1.0]), "scale must be a number", errors.ShapeError),
    refused("scale of text", lambda: extract(scale="wide"), "scale must be a number", errors.ShapeError),
    refused("center = NaN", lambda: extract(center=np.nan), "center must be finite"),
    refused("a seed of −1 to extract", lambda: extract(rng=-1), "rng must be a seed"),
    refused("a journal in no folder", lambda: extract(journal="nowhere/j"), "nowhere/j", OSError),
    refused(
        "a journal of another kind",
        lambda: (Path("j").write_text("x\n"), extract(journal="j")),
        "not one of",
        errors.FileFormatError,
    ),
    uncertified("a box that is no network", lambda: extract(lambda X: X.prod(axis=1))),
    uncertified("a budget that ends midway", lambda: extract(budget=45)),
    uncertified("a width that is too small", lambda: extract(n_units=1)),
    same("a box that fails once", lambda: (extract(failing_once([]), retries=1).network.n_units, 2)),
    same("a box that writes into its argument", lambda: (extract(writing).network.W, extract().network.W)),
    same("a box that answers lists", lambda: (extract(lambda X: BOX.predict(X).tolist()).network.W, extract().network.W)),
    same("a box that answers a column", lambda: (extract(lambda X: BOX.predict(X)[:, None]).network.W, extract().network.W)),
]

CASES: dict[str, list[Case]] = {"oracles": ORACLES}
