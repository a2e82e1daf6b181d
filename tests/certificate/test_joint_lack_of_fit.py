"""Structure in the residuals of several outputs."""

from dataclasses import replace

import numpy as np
import pytest
from tests.certificate.joint_cases import fit, noisy, teacher

from weightlift.certificate import Topic, certify


def test_a_missing_unit_at_one_output_is_found_out():
    truth = teacher("tanh", 3, False)
    extra = replace(
        truth, W=np.hstack([truth.W, [[0.0], [0.0], [1.5], [0.0]]]), b=np.append(truth.b, 0.2),
        a=np.vstack([truth.a, [[0.0, 0.35, 0.0]]]),
    )  # fmt: skip
    X, Y = noisy(extra, 700, 3)
    certificate = certify(fit(truth, X, Y), X, Y, bias=True, offset=True)
    assert certificate.status.name == "FAILED"
    assert any(s.topic is Topic.STRUCTURE and not s.holds for s in certificate.statements)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_one_output_by_both_routes(activation):
    truth = teacher(activation, None, False)
    X, y = noisy(truth, 500, 1)
    network = fit(truth, X, y)
    column = replace(network, a=network.A, c=np.atleast_1d(network.c))
    one, joint = (certify(net, X, Y, bias=True, offset=True) for net, Y in ((network, y), (column, y[:, None])))
    assert joint.status is one.status
    assert joint.noise_std == pytest.approx(one.noise_std, rel=1e-12)
    assert np.allclose(joint.precision, one.precision, rtol=0.2)  # of coordinates with another scale, for ReLU
    assert joint.detection_limit == pytest.approx(one.detection_limit, rel=0.2)  # of units drawn alike
