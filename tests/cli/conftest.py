"""Files that the commands read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import weightlift as wl


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[wl.Network, np.ndarray, np.ndarray]:
    """A network, and its samples in files of every kind: data.csv (columns p, y, q, r), data.npy (y in column 1), data.npz."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    truth = wl.teachers.conditioned(3, 2, activation="relu", rng=4)
    X, y = wl.draw(truth, 60, rng=5)
    table = np.insert(X, 1, y, axis=1)
    np.savetxt("data.csv", table, delimiter=",", header="p,y,q,r", comments="", fmt="%.17g")
    np.save("data.npy", table)
    np.savez("data.npz", X=X, y=y)
    return truth, X, y
