"""The summary of an inference says everything, in three forms."""

from __future__ import annotations

import builtins
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from weightlift import draw, samples, teachers
from weightlift.certificate import inference
from weightlift.network import Network
from weightlift.refinement.gauss_newton import gauss_newton


def fit(truth: Network, X: np.ndarray, y: np.ndarray, free: str, weight: np.ndarray | None = None) -> Network:
    return gauss_newton(samples.open(X, y, sample_weight=weight), truth, free=free, tol=1e-13).network


def problem(activation: str, seed: int, *, offset: bool = False, n: int = 400) -> tuple[Network, np.ndarray, np.ndarray]:
    truth = teachers.biased(3, 2, bias=0.6, activation=activation, rng=seed)
    truth = replace(truth, c=0.4 if offset else 0.0)
    X, y = draw(truth, n, noise_std=0.1, rng=seed + 10)
    free = "Wb" + ("" if truth.activation.degree else "a") + ("c" if offset else "")
    return fit(truth, X, y, free), X, y


def test_summary_says_everything_in_three_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    net, X, y = problem("relu", 6, offset=True)
    result = inference(net, X, y)
    table = result.summary(0.9)
    text, page = str(table), table._repr_html_()
    for word in (*result.names, "AIC", "BIC", "Noise std", "Rows", "400", "robust", "90 % low", "P>|t|"):
        assert word in text
        assert word.replace(">", "&gt;") in page
    assert "[1] " in text
    assert len({len(line) for line in text.splitlines() if line.startswith("=")}) == 1
    assert any(p < 1e-15 for p in result.p_values)
    assert "<1e-15" in text
    assert "&lt;1e−15" in page
    columns = table.columns()
    np.testing.assert_array_equal(columns["P>|t|"], result.p_values)
    assert columns["parameter"] == list(result.names)
    np.testing.assert_array_equal(columns["estimate"], result.estimates)
    np.testing.assert_array_equal(columns["90 % low"], result.intervals(0.9)[:, 0])
    _without_pandas(monkeypatch)
    assert table.frame() == columns


def _without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def blocked(name: str, *rest: Any, **options: Any) -> Any:
        if name == "pandas":
            raise ImportError(name)
        return original(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", blocked)
