"""Hyperplanes beside a linear function: the model, its signs, and networks with more units than inputs."""

import numpy as np
import pytest

import weightlift as wl
from weightlift import activations, samples
from weightlift.network import Network
from weightlift.refinement.gauss_newton import project_outputs
from weightlift.refinement.normal_equations import Free, NormalEquations
from weightlift.risk import Risk, Students
from weightlift.search.hyperplanes import _signed, beside_line, hyperplanes, wide_enough

KINKED = ["relu", "leaky_relu", "absolute"]


@pytest.mark.parametrize("name", KINKED)
def test_the_last_unit_is_linear(name, rng, as_xp):
    """Value and gradient of φ-units beside ⟨ℓ, x⟩ + ℓ₀, the gradient by differences."""
    phi = activations.get(name)
    W, a, b = rng.normal(size=(3, 1, 4)), rng.normal(size=(1, 4)), rng.normal(size=(1, 4))
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    students = Students(W, a, b, np.zeros(1), beside_line(phi))
    f = phi(X @ W[:, 0, :3] + b[0, :3]) @ a[0, :3] + a[0, 3] * (X @ W[:, 0, 3] + b[0, 3])
    rows = samples.open(as_xp(X), as_xp(y))
    assert float(rows.mean(Risk(students))[0][0]) == pytest.approx(0.5 * np.mean((f - y) ** 2), rel=1e-13)
    moves, h = Free.of("Wab"), 1e-6
    equations = NormalEquations(students, moves)
    gradient = np.asarray(equations.assembled(rows.mean(equations))[1])[0]
    theta = moves.pack(students)
    ends = [moves.unpack(theta + s * h * np.eye(theta.shape[1])[i], students) for i in range(theta.shape[1]) for s in (1, -1)]
    plus, minus = (np.array([float(samples.open(X, y).mean(Risk(e))[0][0]) for e in ends[s::2]]) for s in (0, 1))
    np.testing.assert_allclose(gradient, (plus - minus) / (2 * h), atol=1e-7)


@pytest.mark.parametrize(("free", "offset"), [("Wa", False), ("Wab", False), ("Wac", True)])
def test_the_linear_unit_is_solved_for_with_the_outputs(free, offset, rng, as_xp):
    """What is left is that of least squares on the units, the inputs and, where it is free, a constant."""
    phi, w = activations.get("relu"), rng.uniform(0.5, 2.0, size=60)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    b = rng.normal(size=(2, 5)) * np.array([1, 1, 1, 1, 0])  # where b is not free, the linear unit has none
    students = Students(rng.normal(size=(3, 2, 5)), np.ones((2, 5)), b, np.zeros(2), beside_line(phi))
    rows = samples.open(as_xp(X), as_xp(y), sample_weight=as_xp(w))
    placed = students.like(as_xp(X))
    found = project_outputs(rows, placed, offset=offset, line=Free.of(free))
    risks = np.asarray(rows.mean(Risk(found))[0])
    for s in range(2):
        units = phi(X @ students.W[:, s, :4] + students.b[s, :4])
        F = np.column_stack([units, X, *([np.ones(60)] if free != "Wa" else [])]) * np.sqrt(w)[:, None]
        rest = np.sqrt(w) * y - F @ np.linalg.lstsq(F, np.sqrt(w) * y)[0]
        assert risks[s] == pytest.approx(0.5 * float(rest @ rest) / w.sum(), rel=1e-10)


@pytest.mark.parametrize("name", KINKED)
@pytest.mark.parametrize("offset", [False, True])
def test_signs_leave_nothing_of_the_linear_function(name, offset, rng):
    """A network whose units are reflected at random, with what that adds as the linear unit, comes back."""
    phi = activations.get(name)
    truth = Network(rng.normal(size=(6, 4)), rng.normal(size=4), rng.normal(size=4), 0.7 * offset, phi)
    sign = np.array([1.0, -1.0, -1.0, 1.0])
    slope = dict(enumerate(phi.reflection[1])).get(1, 0.0)  # φ(z) = φ(−z) − p₁ z
    line = -slope * (np.vstack([truth.W, truth.b]) * truth.a)[:, sign < 0].sum(axis=1) + np.append(np.zeros(6), truth.c)
    size = np.linalg.norm(line) or 1.0
    W, b = np.column_stack([truth.W * sign, line[:-1] / size]), np.append(truth.b * sign, line[-1] / size)
    students = Students(W[:, None], np.append(truth.a, size)[None], b[None], np.zeros(1), beside_line(phi))
    found = _signed(students, phi, offset)
    X = rng.normal(size=(20, 6))
    if slope:
        np.testing.assert_allclose(found.predict(X), truth.predict(X), atol=1e-9)
    else:
        np.testing.assert_allclose(found.predict(X) + truth.c, truth.predict(X), atol=1e-9)


@pytest.mark.parametrize(("name", "bias"), [("relu", True), ("relu", False), ("leaky_relu", True)])
def test_more_units_than_inputs(name, bias, seed):
    d, k = 5, 8
    rng = np.random.default_rng(seed)
    truth = Network(rng.normal(size=(d, k)), rng.choice([-1.0, 1.0], k), 0.5 * bias * rng.normal(size=k), activation=name)
    X, y = wl.draw(truth, int(9 * k * (d + bias)), rng=seed)
    rows, energy = samples.open(X, y), 0.5 * float(np.mean(y**2))
    width = wide_enough(rows, k, truth.activation, bias=bias)
    assert width == 2 * k
    starts = (hyperplanes(rows, k, width, truth.activation, free="Wa" + "b" * bias, energy=energy, rng=rng) for _ in range(4))
    found = next((f for f in starts if f.risk < 1e-24 * energy), None)
    assert found is not None
    X, y = wl.draw(truth, 50, rng=seed + 100)
    np.testing.assert_allclose(found.network.predict(X), y, atol=1e-9)


def test_rows_and_kind_decide(rng):
    rows = samples.open(rng.normal(size=(400, 10)), rng.normal(size=400))
    assert wide_enough(rows, 8, activations.get("tanh"), bias=False) == 0
    assert wide_enough(rows, 8, activations.get("squared_relu"), bias=False) == 0
    relu = activations.get("relu")
    assert wide_enough(rows, 8, relu, bias=False) == 10
    assert wide_enough(rows, 10, relu, bias=False) == 10, "as many units as asked for, where rows are few"
    assert wide_enough(samples.open(rng.normal(size=(200, 10)), rng.normal(size=200)), 10, relu, bias=False) == 0
    assert wide_enough(rows, 13, relu, bias=True) == 26
    assert wide_enough(rows, 30, relu, bias=True) == 0, "the student would interpolate"
