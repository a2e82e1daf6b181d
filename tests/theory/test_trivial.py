"""Trivial predictors: orthogonality of their residuals, the paper's formulas for unit weights, and Monte Carlo."""

import numpy as np
import pytest
from tests.catalogue import KINDS

from weightlift import Network, draw, geometry, teachers
from weightlift.activations import custom
from weightlift.errors import ActivationError, ArgumentError, ShapeError
from weightlift.theory import trivial_predictors


def general(rng, activation, d=5, k=7):
    return Network(0.7 * rng.normal(size=(d, k)), rng.normal(size=k), rng.normal(size=k), 0.4, activation)


@pytest.mark.parametrize("activation", KINDS)
def test_risks_and_coefficients_are_those_of_least_squares(rng, activation):
    """Regression on 40,000 rows gives each predictor's coefficients within 6 standard errors, and its risk."""
    net = general(rng, activation, d=3)
    X, y = draw(net, 40_000, rng=rng)
    found = trivial_predictors(net)
    pairs = [X[:, i] * X[:, j] for i in range(3) for j in range(i, 3)]
    designs = {
        "constant": np.ones((len(y), 1)),
        "linear": np.column_stack([np.ones(len(y)), X]),
        "norm": np.column_stack([np.ones(len(y)), (X**2).sum(axis=1)]),
        "quadratic": np.column_stack([np.ones(len(y)), *pairs]),
    }
    for name, A in designs.items():
        best = getattr(found, name)
        fitted = A @ np.linalg.lstsq(A, y, rcond=None)[0]
        squares = (y - best.predict(X)) ** 2
        error = squares.std() / np.sqrt(len(y))
        assert abs(squares.mean() - best.risk) < 5 * error
        # least squares on n rows gains a little over the population's best: E (fitted − best)² ~ columns · risk/n
        assert np.mean((fitted - best.predict(X)) ** 2) < 40 * A.shape[1] * best.risk / len(y) + 1e-20


def test_residuals_are_uncorrelated_with_the_class(rng):
    """E (y − ŷ) g = 0 for every g of the class, by exact inner products with networks that are those g."""
    net = general(rng, "tanh")
    found, d = trivial_predictors(net), 5
    V = rng.normal(size=(d, 3))
    for v in V.T:
        linear = Network(v[:, None], activation="linear")
        square = Network(v[:, None], activation="quadratic")
        assert geometry.inner(net, linear) == pytest.approx(v @ found.linear.linear, abs=1e-13)
        A = found.quadratic.quadratic
        expected = found.quadratic.constant * (v @ v) + np.trace(A) * (v @ v) + 2 * v @ A @ v
        assert geometry.inner(net, square) == pytest.approx(expected, abs=1e-12)
    norm = Network(np.eye(d), activation="quadratic")
    b = found.norm.quadratic[0, 0]
    assert geometry.inner(net, norm) == pytest.approx(found.norm.constant * d + b * d * (d + 2), abs=1e-12)


@pytest.mark.parametrize("activation", ["relu", "absolute", "softplus"])
def test_unit_weights_have_the_printed_risks(rng, activation):
    """min_{a,b} = Var y − r²σ̂₂²/d and min_{a,A} = Var y − σ̂₂² Σ⟨wᵢ,wⱼ⟩²  [mondelli2019, §3]."""
    d, r = 6, 11
    net = teachers.centered_gaussian(d, r, activation=activation, rng=rng)
    s2 = net.activation.hermite_normalized(2)[2]
    found = trivial_predictors(net)
    assert found.norm.risk == pytest.approx(found.variance - r**2 * s2**2 / d, rel=1e-12)
    gram = ((net.W.T @ net.W) ** 2).sum()
    assert found.quadratic.risk == pytest.approx(found.variance - s2**2 * gram, rel=1e-12)
    b = s2 * r / (np.sqrt(2) * d)
    np.testing.assert_allclose(found.norm.quadratic, b * np.eye(d), atol=1e-13)
    assert found.norm.constant == pytest.approx(r * net.activation.hermite(0) - b * d, rel=1e-12)


def test_odd_units_leave_the_quadratic_ones_nothing(rng):
    net = teachers.haar(5, 10, rng=rng)
    found = trivial_predictors(net)
    assert found.constant.risk == found.norm.risk == found.quadratic.risk > found.linear.risk
    assert str(found).count("\n") == 4


def test_networks_that_are_trivial_have_zero_risk(rng):
    W, a = rng.normal(size=(4, 3)), rng.normal(size=3)
    assert trivial_predictors(Network(W, a, rng.normal(size=3), 1.0, "linear")).linear.risk == 0.0
    found = trivial_predictors(Network(W, a, c=1.0, activation="quadratic"))
    assert found.quadratic.risk == 0.0 < found.norm.risk
    np.testing.assert_allclose(found.quadratic.quadratic, (W * a) @ W.T, atol=1e-13)
    assert found.quadratic.constant == pytest.approx(1.0, abs=1e-13)


def test_mistakes_are_refused():
    found = trivial_predictors(Network(np.eye(3)))
    with pytest.raises(ShapeError, match="X"):
        found.norm.predict(np.zeros((2, 4)))
    with pytest.raises(ArgumentError, match="net"):
        trivial_predictors(np.eye(3))


@pytest.mark.parametrize("growth", [0.26, 1 / 3, 0.45])
def test_activations_without_a_second_moment_are_refused(growth):
    """E exp(2 s z²) is finite for s < 1/4 only; at s = 1/8 the error is 2 (1/√(1−4s) − 1/(1−2s)) for orthogonal units."""

    def network(s, W):
        phi = custom("bump", lambda z: np.exp(s * z * z), lambda z: 2 * s * z * np.exp(s * z * z))
        return Network(W, activation=phi)

    eye = np.eye(2)
    for function in (lambda: geometry.norm(network(growth, eye)), lambda: trivial_predictors(network(growth, eye))):
        with pytest.raises(ActivationError, match="square-integrable"):
            function()
    with pytest.raises(ActivationError, match="square-integrable"):
        geometry.norm(network(1 / 8, 2 * eye))
    f, g = (network(1 / 8, v[:, None]) for v in eye)
    assert geometry.distance(f, g).squared == pytest.approx(2 * (2**0.5 - 4 / 3), rel=1e-12)
