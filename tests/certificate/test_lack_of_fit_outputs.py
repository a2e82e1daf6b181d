"""Structure in the residuals of several outputs."""

from dataclasses import replace

import numpy as np
import pytest
from tests.certificate.joint_cases import fit, noisy, teacher

from weightlift import Network, samples
from weightlift.certificate import Topic, certify
from weightlift.certificate.lack_of_fit import ANGLES, RANK_TOLERANCE, FitProducts, _Columns, choose_units, lack_of_fit
from weightlift.certificate.scores import WhiteRows
from weightlift.certificate.signs import cells_of
from weightlift.evidence.stacked import Stacked, StackedInformation
from weightlift.refinement.variable_projection import Model


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
    assert joint.noise_std == pytest.approx(one.noise_std, rel=1e-12, abs=0)
    assert np.allclose(joint.precision, one.precision, rtol=0.2)  # of coordinates with another scale, for ReLU
    assert joint.detection_limit == pytest.approx(one.detection_limit, rel=0.2)  # of units drawn alike


CASES = [("tanh", True, "none"), ("tanh", False, "a target"), ("relu", False, "an input"), ("relu", True, "a curve")]


def problem(activation, linear, odd, seed):
    """Rows off centre, of weights far from one, and two outputs of unequal sizes whose errors depend on each other."""
    rng = np.random.default_rng(seed)
    X = rng.normal([2.0, -1.0, 0.5], [1.0, 2.0, 0.5], (90, 3))
    X[0] *= 8.0 if odd == "an input" else 1.0
    W = rng.normal(size=(3, 2)) / np.array([[1.0], [2.0], [0.5]])
    V = rng.normal(size=(3, 2)) * [1.0, 5.0] if linear else None
    net = Network(
        W, rng.normal(size=(2, 2)) * [2.0, 9.0], -np.array([2.0, -1.0, 0.5]) @ W + [0.3, -0.5], [0.4, -1.0], activation, V
    )
    Y = net.predict(X) + 0.1 * rng.normal(size=(90, 2)) @ [[1.0, 2.0], [0.0, 3.0]]
    Y[1] += [0.0, 9.0] if odd == "a target" else 0.0
    Y[:, 0] += 0.4 * X[:, 0] * X[:, 1] if odd == "a curve" else 0.0
    w = 5.0 * rng.uniform(0.3, 2.0, 90)
    rows = samples.open(X, Y, sample_weight=w)
    information = StackedInformation.of(rows, Stacked.of(net, Model(True, linear, True)))
    return X, Y, w, rows, information


@pytest.mark.parametrize(("activation", "linear", "odd"), CASES)
def test_every_number_by_brute_force(limits, activation, linear, odd, seed):
    """From matrices as large as the data: columns ψ ⊗ e_o off J by projection, and every row's own (m, m) leverages."""
    X, Y, w, rows, information = problem(activation, linear, odd, seed)
    stacked = information.gauge
    limits("weightlift.certificate.lack_of_fit", redrawn=(1.0, 1.0))  # 511 draws
    found = lack_of_fit(rows, information, 80.0, rng=np.random.default_rng(seed))
    net, (n, m), root = stacked.network, Y.shape, np.sqrt(w)
    rng = np.random.default_rng(seed)
    units = choose_units(rows, stacked, rng)
    key = int(rng.integers(2**31))

    J = (root[:, None, None] * np.asarray(stacked.linearized(X)[0])).reshape(n * m, -1)
    length = np.linalg.norm(J, axis=0)
    left, sizes, _ = np.linalg.svd(J / length, full_matrices=False)
    Q = left[:, sizes > 1e-6 * sizes[0]]
    inverse = stacked.in_slice(np.linalg.pinv(J / length, rcond=1e-6) / length[:, None])

    def off(v):
        return v - Q @ (Q.T @ v)

    r = off((root[:, None] * (net.predict(X) - Y)).reshape(-1)).reshape(n, m)
    noise = r.T @ r / (80 - stacked.size / 2)
    features, probes, near = (net.activation(X @ u.W + u.b) for u in units)
    V = np.hstack([features, np.ones((n, 1)), X])
    psi = [off(np.kron((root * v)[:, None], np.eye(m))) for v in V.T]  # (n m, m) each
    psi = [p for p, v in zip(psi, V.T, strict=True) if (p**2).sum(axis=0).min() > RANK_TOLERANCE * (w * v**2).sum()]
    halves = [np.linalg.inv(np.linalg.cholesky(p.T @ np.kron(np.eye(n), noise) @ p)) for p in psi]
    tests = np.hstack([p @ half.T for p, half in zip(psi, halves, strict=True)])  # (n m, columns m), of covariance one

    def largest(v):
        return np.linalg.norm((tests.T @ v).reshape(len(psi), m, -1), axis=1).max(axis=0)

    blocks = [Q[i * m : (i + 1) * m] @ Q[i * m : (i + 1) * m].T for i in range(n)]
    half = np.array([inverse_root(np.eye(m) - H) @ e for H, e in zip(blocks, r, strict=True)])
    whole = np.array([np.linalg.solve(np.eye(m) - H, e) for H, e in zip(blocks, r, strict=True)])
    cells = np.asarray(cells_of(next(iter(rows.blocks(n))), key))
    signs = 1.0 - 2.0 * (np.bitwise_count(cells[:, None] & np.arange(1, 512)) % 2)
    draws = largest((signs[:, None, :] * half[:, :, None]).reshape(n * m, -1))
    assert found.p_value == pytest.approx((1 + (draws >= largest(r.reshape(-1, 1))[0]).sum()) / 512)
    critical = np.sort(draws)[-5] + 3.1

    planted = [np.kron((root * v)[:, None], np.eye(m)[:, [o]])[:, 0] for v in probes.T for o in range(m)]
    amounts = critical / largest(off(np.array(planted).T))
    size = np.sqrt(np.average(probes**2, axis=0, weights=w))
    np.testing.assert_allclose(found.limits, (amounts.reshape(-1, m) * size[:, None]).max(axis=0), rtol=1e-6)
    expected = inverse @ np.array(planted).T * amounts
    np.testing.assert_allclose(found.shifts, expected, atol=1e-6 * np.abs(expected).max())

    like = np.repeat(np.arange(2), len(ANGLES))
    strength = np.linalg.norm(net.A, axis=1) * np.sqrt(w @ net.activation(X @ net.W + net.b) ** 2)
    twins = np.array([np.kron(root * v, net.A[i] / np.linalg.norm(net.A[i])) for v, i in zip(near.T, like, strict=True)]).T
    amounts = np.minimum(critical / largest(off(twins)), strength[like] / np.linalg.norm(twins, axis=0))
    expected = (inverse @ twins * amounts).reshape(-1, 2, len(ANGLES))
    np.testing.assert_allclose(found.splits, expected, atol=1e-6 * np.abs(expected).max())

    jackknife = [e @ Q[i * m : (i + 1) * m] for i, e in enumerate(whole)]
    shares = (np.sum(np.square(jackknife), axis=1), (r**2).sum(axis=1))
    assert found.leverage == pytest.approx(max(np.linalg.eigvalsh(H)[-1] for H in blocks), rel=1e-6)
    assert (found.pull, found.influence) == pytest.approx([s.max() / s.sum() for s in shares], rel=1e-6)
    L = information.half_inverse
    expected = sum(np.outer(v, v) for v in (np.array([e @ J[i * m : (i + 1) * m] for i, e in enumerate(whole)]) @ L))
    np.testing.assert_allclose(found.meat, expected, atol=1e-6 * np.abs(expected).max())


def inverse_root(A):
    values, vectors = np.linalg.eigh(A)
    return vectors / np.sqrt(values) @ vectors.T


def test_parts_of_the_rows_add_up(seed):
    """Sums of products, the largest of leverages, influences and residuals, whichever part they are in."""
    X, Y, w, rows, information = problem("tanh", False, "none", seed)
    flips = FitProducts(information, choose_units(rows, information.gauge, np.random.default_rng(seed)), 3)
    (whole,) = rows.blocks(90)
    keys = whole.keys
    parts = [replace(whole, X=X[at], y=Y[at], w=w[at], keys=lambda at=at: keys()[at]) for at in (slice(0, 30), slice(30, 90))]
    for one, other in (parts, parts[::-1]):
        for value, wanted in zip(flips.merge(flips(one), flips(other)), flips(whole), strict=True):
            np.testing.assert_allclose(value, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("share", "rank"), [(3e-8, 2), (0.3e-8, 1)])
def test_directions_in_which_outputs_depend_on_each_other_say_nothing(share, rank):
    """N^{-½} of N = ‖ψ‖² Σ where J is orthogonal to ψ: 1/√λ along each eigenvector, none below 1e-8 of the largest."""
    _, _, _, _, information = problem("tanh", False, "none", 0)
    c, s = np.cos(0.7), np.sin(0.7)
    R = np.array([[c, -s], [s, c]])
    noise = R @ np.diag([7.0 * share, 7.0]) @ R.T
    r = information.half_inverse.shape[1]
    none, rows = np.zeros(0), 1.0 + information.gauge.size / 2
    columns = _Columns(
        information, rows, np.zeros((r, 2, 2)), np.zeros((2, 0)), np.array([4.0, 9.0]), *[none] * 6, noise, none
    )
    for half, square in zip(columns.halves, (4.0, 9.0), strict=True):
        wanted = R @ np.diag([(rank == 2) / (7.0 * share), 1 / 7.0]) @ R.T / square
        np.testing.assert_allclose(half.T @ half, wanted, rtol=1e-5, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize("leverage", [0.5, 1 - 1e-4, 1 - 2e-6, 1 - 1e-8, 1.0])
def test_residuals_of_rows_that_decide_alone(leverage, seed):
    """H of eigenvalues 0.3 and h along orthogonal outputs: 1 − h is 1e-6 at least, along that output alone."""
    v, w = np.linalg.qr(np.random.default_rng(seed).normal(size=(2, 2)))[0]
    white = np.stack([np.sqrt(leverage) * v, np.sqrt(0.3) * w], axis=1)[None]
    r = np.array([[2.0, -3.0]])
    rows = WhiteRows(np.ones(1), r, white)
    largest, (half, whole) = rows.leverage, rows.shrunk(r)
    left, (along, across) = max(1.0 - leverage, 1e-6), (r[0] @ v, r[0] @ w)
    assert largest[0] == pytest.approx(leverage, rel=1e-12)
    np.testing.assert_allclose(half[0], along / np.sqrt(left) * v + across / np.sqrt(0.7) * w, rtol=1e-5)
    np.testing.assert_allclose(whole[0], along / left * v + across / 0.7 * w, rtol=1e-5)


def test_the_size_of_all_weights_together_says_nothing(seed):
    """Weights 2⁻⁶⁰ times as large."""
    X, Y, w, rows, information = problem("tanh", True, "none", seed)
    stacked, rng = information.gauge, np.random.default_rng
    one = lack_of_fit(rows, information, 90, rng=rng(seed))
    light = samples.open(X, Y, sample_weight=2.0**-60 * w)
    other = lack_of_fit(light, StackedInformation.of(light, stacked), 90, rng=rng(seed))
    for name in ("p_value", "leverage", "influence", "pull"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-9), name
    np.testing.assert_allclose(other.limits, one.limits, rtol=1e-9)
    np.testing.assert_allclose(other.shifts, one.shifts, atol=1e-9 * np.abs(one.shifts).max())
    np.testing.assert_allclose(other.splits, one.splits, atol=1e-9 * np.abs(one.splits).max())


@pytest.mark.parametrize(("activation", "linear"), [("tanh", True), ("relu", False)])
def test_what_is_left_of_columns_off_the_jacobian(activation, linear, seed):
    """The least ‖ψ ⊗ e_o‖² of the outputs, by projection; beside a linear part nothing of inputs and the constant."""
    X, _, w, rows, information = problem(activation, linear, "none", seed)
    stacked, (n, m), root = information.gauge, (90, 2), np.sqrt(w)
    rng = np.random.default_rng(seed)
    units = [Network(rng.normal(size=(3, k)), np.ones(k), rng.normal(size=k), 0.0, activation) for k in (4, 1, 1)]
    columns = _Columns.of(rows, FitProducts(information, tuple(units), 3), 90.0)
    J = (root[:, None, None] * np.asarray(stacked.linearized(X)[0])).reshape(n * m, -1)
    left, sizes, _ = np.linalg.svd(J / np.linalg.norm(J, axis=0), full_matrices=False)
    Q = left[:, sizes > 1e-6 * sizes[0]]
    V = np.hstack([units[0].activation(X @ units[0].W + units[0].b), np.ones((n, 1)), X])
    planted = np.array([np.kron((root * v)[:, None], np.eye(m)) for v in V.T])
    expected = ((planted - Q @ (Q.T @ planted)) ** 2).sum(axis=1).min(axis=1)
    np.testing.assert_allclose(columns.left, expected, rtol=1e-6, atol=1e-9 * (w @ V**2).max())
    assert (expected[4:] < 1e-9 * (w @ V**2).max()).tolist() == [True] + 3 * [linear]
