"""Units that a few rows alone determine: others may stand there as well, and no certificate chooses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from weightlift import draw, teachers
from weightlift.certificate import certify
from weightlift.certificate.confirmation import confirmed, unconfirmed
from weightlift.certificate.limits import LIMITS
from weightlift.certificate.scores import Deciding
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.network import Network
from weightlift.risk import Students
from weightlift.samples import Samples
from weightlift.samples import open as open_samples


def _step_and_slope(x: np.ndarray, rng: np.random.Generator) -> tuple[Network, Network, np.ndarray]:
    """A steep unit left of the rows x, or right of them, beside one that three rows of x then place: two networks.

    v = s (1.2 − a) + a tanh(wx + b), s = ±1 all over x, and ±1.2 far away. At three rows of equal distance each sign has a
    solution: wx + b = artanh((v − s (1.2 − a))/a) is linear for a root a of its second difference.
    """
    far = np.concatenate([rng.uniform(1.0, 3.0, 20), rng.uniform(-3.0, -1.0, 20)])
    three = np.array([-0.01, 0.0, 0.01])
    v = 0.2 + np.tanh([-0.5, -0.1, 0.3])

    def z(a: float) -> np.ndarray:
        return np.asarray(np.arctanh((v + 1.2 - a) / a))

    other = float(brentq(lambda a: z(a) @ [1.0, -2.0, 1.0], 0.8457, 5.0, xtol=1e-15, rtol=1e-14))
    nets = []
    for a, here, side in ((1.0, np.array([-0.5, -0.1, 0.3]), 1.0), (other, z(other), -1.0)):
        w, b = np.polyfit(three, here, 1)
        nets.append(Network([[w, 3e3]], [a, 1.2 - a], [b, side * 1.5e3], activation="tanh"))
    return nets[0], nets[1], np.concatenate([far, x])[:, None]


def test_as_many_rows_as_parameters_are_no_certificate(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other, X = _step_and_slope(np.array([-0.01, 0.0, 0.01]), rng)
    y = one.predict(X)
    np.testing.assert_allclose(other.predict(X), y, atol=1e-13)
    for net in (one, other):
        certificate = certify(net, X, y, bias=True)
        assert certificate.certified_units == ()
        assert any("no other row confirms" in s.sentence and 0 in s.units for s in certificate.failing)


def test_further_rows_confirm_the_unit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.sort(np.append(rng.uniform(-0.01, 0.01, 10), [-0.01, 0.01]))
    one, other, X = _step_and_slope(x, rng)
    y = one.predict(X)
    assert np.abs(other.predict(X) - y).max() > 1e-3
    assert certify(one, X, y, bias=True).certified_units == (0,)


@pytest.mark.parametrize("weight", [1.0, 1e12])
def test_heavy_rows_are_confirmed_by_light_ones(weight: float, seed: int) -> None:
    net = teachers.biased(3, 2, bias=0.5, activation="tanh", rng=seed)
    X, y = draw(net, 200, rng=seed + 1)
    w = np.ones(200)
    w[:10] = weight  # as many as parameters
    assert certify(net, X, y, sample_weight=w, bias=True).certified_units == (0, 1)


def test_rows_above_the_limit_are_those_of_the_hat_matrix(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = teachers.biased(9, 3, bias=0.5, activation="tanh", rng=seed)  # 33 parameters, more than are sketched
    X = rng.standard_normal((200, 9))
    w = np.where(np.arange(200) < 6, 1e6, 1.0)
    rows, gauge = open_samples(X, net.predict(X), sample_weight=w), Gauge.of(net, bias=True, offset=False)
    assert gauge.size > LIMITS.sketched
    J = np.sqrt(w)[:, None] * np.asarray(gauge.jacobian(X, (X @ net.W + net.b)[:, None, :], Students.of(net)))
    Q, _ = np.linalg.qr(J)
    high = (Q**2).sum(axis=1) > LIMITS.deciding
    assert high.sum() == 6
    deciding = Deciding.of(Information.of(rows, gauge), rng)
    (block,) = rows.map(deciding.without).blocks(200)
    np.testing.assert_array_equal(np.asarray(block.w) == 0.0, high)
    assert len(rows.fold(deciding)[0]) == high.sum()
    assert deciding.sketch.shape == (gauge.size, LIMITS.sketched)
    estimates = ((J @ deciding.sketch) ** 2).sum(axis=1) / (Q**2).sum(axis=1)
    assert np.median(estimates) == pytest.approx(1.0, abs=0.5)  # χ² of 24 over 24, a deviation of 0.3 each


def test_sketches_may_underrate_leverages_fourfold(seed: int) -> None:
    """Three rows that weigh as much as a billion others have leverages of one; at a fifth of that they are overlooked."""
    net = teachers.biased(3, 2, bias=0.5, activation="tanh", rng=seed)
    X = np.random.default_rng(seed).standard_normal((60, 3))
    w = np.where(np.arange(60) < 3, 1e9, 1.0)
    rows, gauge = open_samples(X, net.predict(X), sample_weight=w), Gauge.of(net, bias=True, offset=False)
    known = Information.of(rows, gauge)
    L = known.half_inverse
    assert Deciding.of(known, np.random.default_rng(0)).sketch is L  # as few as are sketched
    for share, found in ((1.0, 3), (0.3, 3), (0.2, 0)):
        assert len(rows.fold(Deciding(gauge, L, np.sqrt(share) * L))[0]) == found


def test_what_is_said_without_deciding_rows(seed: int) -> None:
    """The error of the others times the sizes by their (JᵀJ)⁻¹; ∞ of units that they leave open, unless all rows do."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.abs(rng.standard_normal((60, 2))) + 0.1, np.zeros(60)])
    X[30:, :2] *= -1.0
    X[2] = [0.3, 0.2, 50.0]  # an equation for the first unit's third weight alone, beside rows that hardly have it
    X[3:, 2] = 1e-3 * rng.standard_normal(57)
    X[:2, 2] = 1e-3
    net = Network([[1.0, -1.0], [0.5, -1.5], [0.2, 0.0]])
    rows, gauge = open_samples(X, net.predict(X)), Gauge.of(net, bias=False, offset=False)
    information = Information.of(rows, gauge)
    without = np.delete(np.arange(60), 2)
    known = Information.of(open_samples(X[without], net.predict(X)[without]), gauge)
    sizes = gauge.relative_sizes(known.unit_inverses())
    seen: list[float] = []

    def error(others: Samples) -> float:
        (block,) = others.blocks(60)
        assert block.w is not None
        seen.append(float(np.asarray(block.w).sum()))
        return 0.01

    assert confirmed(rows, information, error, 0.0101 * sizes[0], rng) is None
    found = confirmed(rows, information, error, 0.0099 * sizes[0], rng)
    assert found is not None
    assert (found.holds, found.units, found.number) == (False, (0,), pytest.approx(0.01 * sizes[0], rel=1e-6))
    assert found.sentence.startswith("A single row is all that determines unit 0,")
    assert seen == [59.0, 59.0]


@pytest.mark.parametrize(("sizes", "units"), [([0.9, 1.1, 1.0], (1,)), ([np.nan, 0.5, np.inf], (0, 2)), ([1.0, 0.2, 0.3], ())])
def test_units_beyond_the_limit_are_not_confirmed(sizes: list[float], units: tuple[int, ...]) -> None:
    found = unconfirmed(2, np.array(sizes), 1.0)
    assert (found.units if found else ()) == units
    assert found is None or found.sentence.startswith("2 rows are all that determines")
