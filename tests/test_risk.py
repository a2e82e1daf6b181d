"""Risk, gradient and Hessian against finite differences, loops and each other."""

import numpy as np
import pytest

from weightlift import samples
from weightlift.namespaces import to_numpy
from weightlift.network import Network
from weightlift.risk import Gradient, Hessian, HessianProduct, Risk, Students

D, K = 4, 3
SMOOTH = ["squared_relu", "tanh", "sigmoid", "softplus"]


def network(rng, activation="tanh"):
    return Network(rng.normal(size=(D, K)), rng.normal(size=K), rng.normal(size=K), rng.normal(), activation)


def source(rng, as_xp=np.asarray, n=40):
    X, y, w = rng.normal(size=(n, D)), rng.normal(size=n), rng.uniform(0.2, 2, size=n)
    return samples.open(as_xp(X), as_xp(y), sample_weight=as_xp(w)), (X, y, w)


def plain_risk(net, X, y, w):
    return 0.5 * np.average((net.predict(X) - y) ** 2, weights=w)


@pytest.mark.parametrize("activation", [*SMOOTH, "relu", "leaky_relu"])
def test_risk_and_gradient_of_a_batch(rng, as_xp, activation):
    """Each student's risk is its own; its gradient is the finite difference of it, in every parameter."""
    data, (X, y, w) = source(rng, as_xp)
    nets = [network(rng, activation) for _ in range(3)]
    students = Students.of(*nets)
    risks = to_numpy(data.mean(Risk(students))[0])
    np.testing.assert_allclose(risks, [plain_risk(net, X, y, w) for net in nets], rtol=1e-12)
    risk, dW, da, db, dc = (to_numpy(g) for g in data.mean(Gradient(students)))
    np.testing.assert_allclose(risk, risks, rtol=1e-12)
    h = 1e-6
    for s, net in enumerate(nets):
        for name, value, gradient in (("W", net.W, dW[:, s]), ("a", net.a, da[s]), ("b", net.b, db[s]), ("c", net.c, dc[s])):
            direction = rng.normal(size=np.shape(value))
            moved = []
            for sign in (1, -1):
                parameters = {"W": net.W, "a": net.a, "b": net.b, "c": net.c, name: value + sign * h * direction}
                moved.append(plain_risk(Network(**parameters, activation=activation), X, y, w))
            assert np.sum(gradient * direction) == pytest.approx((moved[0] - moved[1]) / (2 * h), rel=2e-6, abs=1e-8)


@pytest.mark.parametrize("activation", SMOOTH)
def test_hessian_is_the_derivative_of_the_gradient(rng, activation):
    data, _ = source(rng)
    net, U, h = network(rng, activation), rng.normal(size=(D, K)), 1e-6
    up, down = (
        data.mean(Gradient(Students.of(Network(net.W + s * h * U, net.a, net.b, net.c, activation))))[1][:, 0] for s in (1, -1)
    )
    product = data.mean(HessianProduct(net, U))[0]
    np.testing.assert_allclose(product, (up - down) / (2 * h), rtol=1e-5, atol=1e-7)
    H = data.mean(Hessian(net))[0]
    np.testing.assert_allclose(np.einsum("aibj,bj->ai", H, U), product, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(H, np.transpose(H, (2, 3, 0, 1)), atol=1e-13)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_gauss_newton_part_of_the_hessian(rng, as_xp, activation):
    """E aⱼaₗ φ′ⱼφ′ₗ xxᵀ block by block; for ReLU the φ″ term is absent."""
    data, (X, _, w) = source(rng, as_xp)
    net = network(rng, activation)
    H = to_numpy(data.mean(Hessian(net, curvature=False))[0])
    D1 = net.a * net.activation.derivative(X @ net.W + net.b)
    for j in range(K):
        for i in range(K):
            block = (X * (w * D1[:, j] * D1[:, i])[:, None]).T @ X / w.sum()
            np.testing.assert_allclose(H[:, j, :, i], block, rtol=1e-11, atol=1e-13)
    U = rng.normal(size=(D, K))
    product = to_numpy(data.mean(HessianProduct(net, U, curvature=False))[0])
    np.testing.assert_allclose(product, np.einsum("aibj,bj->ai", H, U), rtol=1e-11, atol=1e-12)
    if activation == "relu":
        np.testing.assert_allclose(to_numpy(data.mean(Hessian(net))[0]), H, rtol=1e-14)
