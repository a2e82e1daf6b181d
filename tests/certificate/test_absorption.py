"""What of a reflection the parameters can undo on the rows: against least squares with the Jacobian written out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from weightlift import Network, samples, teachers
from weightlift.certificate import absorption, certify
from weightlift.certificate.absorption import ReflectionProducts, absorbed_patterns
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.identifiability import reflect
from weightlift.risk import Students

SHAPES = [("relu", False, False), ("relu", True, True), ("squared_relu", True, False), ("softplus", True, False)]


def rows_and_network(
    rng: np.random.Generator, activation: str, bias: bool, offset: bool
) -> tuple[np.ndarray, np.ndarray, Network]:
    X, w = rng.normal(size=(80, 3)), rng.uniform(0.5, 2.0, size=80)
    b, c = (0.3 * rng.normal(size=3) if bias else None), (0.7 if offset else 0.0)
    return X, w, Network(rng.normal(size=(3, 3)), rng.normal(size=3), b, c, activation)


@pytest.mark.parametrize(("activation", "bias", "offset"), SHAPES)
def test_what_least_squares_leaves_of_every_reflection(
    activation: str, bias: bool, offset: bool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, w, net = rows_and_network(rng, activation, bias, offset)
    y = net.predict(X)
    source, gauge = samples.open(X, y, sample_weight=w), Gauge.of(net, bias=bias, offset=offset)
    students = Students.of(gauge.network)
    J = gauge.jacobian(X, students.preactivations(X), students) * np.sqrt(w)[:, None]
    patterns = np.array(list(itertools.product([False, True], repeat=3)))[1:]
    left = []
    for pattern in patterns:
        change = np.sqrt(w) * (reflect(gauge.network, pattern, offset=False).predict(X) - y)
        left.append(np.linalg.norm(change - J @ np.linalg.lstsq(J, change)[0]))
    size = np.sqrt(w @ y**2)
    for bound in np.sort(left)[:-1]:
        monkeypatch.setattr(absorption, "SUSPECT", bound * (1 + 1e-6) / size)
        found = absorbed_patterns(source, Information.of(source, gauge))
        expected = {tuple(p) for p in patterns[np.array(left) <= bound * (1 + 1e-6)]}
        assert found is not None
        assert {tuple(p) for p in found} == expected
        monkeypatch.setattr(absorption, "FEW", 0)  # subset sums instead of all sets
        found = absorbed_patterns(source, Information.of(source, gauge))
        assert found is None or {tuple(p) for p in found} == expected
        monkeypatch.undo()


def test_on_every_namespace(as_xp) -> None:
    rng = np.random.default_rng(0)
    X, w, net = rows_and_network(rng, "softplus", True, True)
    gauge = Gauge.of(net, bias=True, offset=True)
    plain = samples.open(X, net.predict(X), sample_weight=w).fold(ReflectionProducts(gauge))
    other = samples.open(as_xp(X), as_xp(net.predict(X)), sample_weight=as_xp(w)).fold(ReflectionProducts(gauge))
    for a, b in zip(plain, other, strict=True):
        np.testing.assert_allclose(np.asarray(b), a, rtol=1e-12, atol=1e-12)


def test_a_nearly_linear_sigmoid_unit_takes_up_the_constant_of_anothers_reflection(seed: int) -> None:
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(4, 2)) * np.array([1e-4, 1.0])
    net = Network(W, [1e4, 0.9], activation="sigmoid")
    X = rng.normal(size=(200, 4))
    certificate = certify(net, X, net.predict(X))
    assert certificate.status.name == "AMBIGUOUS"
    assert "reflected" in certificate.reasons[0]
    plain = Network(W * np.array([1e4, 1.0]), [1.3, 0.9], activation="sigmoid")
    assert certify(plain, X, plain.predict(X)).status.name == "EXACT"


def test_ordinary_networks_have_no_suspects(seed: int) -> None:
    net = teachers.conditioned(8, 4, activation="relu", rng=seed)
    X = np.random.default_rng(seed).normal(size=(150, 8))
    source, gauge = samples.open(X, net.predict(X)), Gauge.of(net, bias=False, offset=False)
    found = absorbed_patterns(source, Information.of(source, gauge))
    assert found is not None
    assert not len(found)
