"""Units that a few rows alone determine: others may stand there as well, and no certificate chooses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from weightlift import draw, teachers
from weightlift.certificate import certify
from weightlift.certificate.confirmation import Deciding
from weightlift.certificate.limits import LIMITS
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.network import Network
from weightlift.risk import Students
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
    X[:6] *= 12.0
    rows, gauge = open_samples(X, net.predict(X)), Gauge.of(net, bias=True, offset=False)
    assert gauge.size > LIMITS.sketched
    J = np.asarray(gauge.jacobian(X, (X @ net.W + net.b)[:, None, :], Students.of(net)))
    Q, _ = np.linalg.qr(J)
    high = (Q**2).sum(axis=1) > LIMITS.deciding
    deciding = Deciding.of(Information.of(rows, gauge), rng)
    (block,) = rows.map(deciding.without).blocks(200)
    np.testing.assert_array_equal(np.asarray(block.w) == 0.0, high)
    assert float(rows.fold(deciding)[0]) == high.sum()
    estimates = ((J @ deciding.sketch) ** 2).sum(axis=1) / (Q**2).sum(axis=1)
    assert np.median(estimates) == pytest.approx(1.0, abs=0.5)  # χ² of 24 over 24, a deviation of 0.3 each
