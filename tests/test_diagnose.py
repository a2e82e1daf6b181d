"""`diagnose`: the shapes of the papers fall into their regimes, networks show their ambiguities, data their width."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import weightlift as wl
from weightlift import Network, diagnose, teachers
from weightlift.activations import custom, get, polynomial, scaled
from weightlift.diagnose import MEASURED, Identifiable, Regime, generic_order, regions
from weightlift.diagnose.calibration import estimate_cost, estimate_rows
from weightlift.diagnose.identifiable import Shape
from weightlift.errors import ArgumentError, WeightliftError
from weightlift.identifiability import count_parameters, least_order, twin

CUBIC = polynomial([0.0, 1.0, 0.0, 1.0])


POLYNOMIALS = [CUBIC, polynomial([0, 1, 1, 1]), polynomial([0, 0, 1, 0, 1]), get("linear")]


@pytest.mark.parametrize("phi", [get("relu"), get("tanh"), *POLYNOMIALS])
def test_the_diagram_and_the_diagnosis_agree(phi):
    """On a grid of (d, k) the region of the figure that holds the point is the regime of the shape."""
    for d in (4, 9, 30, 200):
        for k in {2, d - 1, d, d + 1, 2 * d, round(d**1.4), round(d**1.6), d**2 // 3, d**2 + 1, d**3}:
            found = diagnose.shape(d, k, activation=phi).regime
            named = next(regime for end, regime, _ in regions(found.degree, found.symmetric, d) if k <= end)
            on_border = any(abs(k - end) <= 1 for end, *_ in regions(found.degree, found.symmetric, d))
            assert on_border or found.regime is named, (d, k)


def test_theorem_1_s_shape_is_conjectured_hard_for_its_activation_alone():
    """d = 1000, d^{3/2} < k < d²: hard for s₀ + s₁t + s₃t³; for tanh and ReLU of the same shape nothing is proved."""
    d, k = 1000, 100_000
    found = diagnose.shape(d, k, activation=CUBIC)
    assert found.regime.regime is Regime.CONJECTURED_HARD
    assert found.identifiability.answer is Identifiable.GENERICALLY  # k d < C(d+2, 3): hard to compute, not ambiguous
    assert not found.hopeful
    assert "not the obstacle" in str(found)
    assert not any(m.applies for m in found.methods if m.name.startswith(("recover", "decompose")))
    for phi in ("relu", "tanh"):
        assert diagnose.shape(d, k, activation=phi).regime.regime is Regime.OVERCOMPLETE
    assert diagnose.shape(d, 20_000, activation=CUBIC).regime.regime is Regime.DECOMPOSABLE
    assert diagnose.shape(d, 2_000_000, activation=CUBIC).regime.regime is Regime.NOT_COVERED
    assert diagnose.shape(d, 900, activation=CUBIC).regime.regime is Regime.INDEPENDENT


def test_generic_order_is_that_of_random_weights(rng):
    for d, k in [(4, 4), (4, 5), (4, 9), (4, 12), (3, 9), (2, 4)]:
        expected = least_order(rng.normal(size=(d, k))).order
        share = k <= 0.99 * math.comb(d + expected - 1, expected)
        assert generic_order(d, k) == (expected if share or k <= d else expected + 1)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("name", ["relu", "squared_relu", "tanh", "softplus"])
def test_parameters_are_counted_in_a_gauge(name, bias, offset):
    net = Network(np.ones((7, 3)), activation=name)
    found = diagnose.shape(7, 3, n=100, activation=name, bias=bias, offset=offset)
    assert found.parameters == count_parameters(net, bias=bias, offset=offset)
    assert found.rows_per_parameter == 100 / found.parameters


def test_polynomials_of_low_degree_do_not_determine_their_units():
    for phi in (get("linear"), get("quadratic"), polynomial([0, 1, 1])):
        found = diagnose.shape(10, 3, activation=phi)
        assert found.identifiability.answer is Identifiable.NO
        assert found.regime.regime is Regime.DEGENERATE
        assert "none suffice" in str(found)
        assert not found.hopeful
    counted = diagnose.shape(10, 40, activation=polynomial([0, 0, 0, 1]))  # k d = 400 > C(12, 3) = 220
    assert counted.identifiability.answer is Identifiable.NO
    assert "220" in counted.identifiability.reasons[0]
    assert diagnose.shape(10, 1, activation="quadratic").identifiability.answer is Identifiable.GENERICALLY


def test_a_twin_is_ambiguous_and_its_generic_neighbour_is_not(rng):
    f, _ = twin(rng.normal(size=(4, 6)), rng=rng)
    assert diagnose.network(f).identifiability.answer is Identifiable.AMBIGUOUS
    moved = Network(f.W, f.a * rng.uniform(0.5, 2.0, 6))
    found = diagnose.network(moved)
    assert found.identifiability.answer is Identifiable.YES
    assert found.regime.order == 2
    assert found.regime.smallest == least_order(moved).smallest > 0
    assert "s_min" in str(found)
    assert any("δ" in reason for reason in found.regime.reasons)


def test_networks_with_superfluous_units():
    net = Network([[1.0, 2.0, 0.5], [3.0, 6.0, 1.0]], a=[1.0, -1.0, 1.0])
    found = diagnose.network(net)
    assert found.identifiability.answer is Identifiable.NO
    assert "2 units suffice" in found.identifiability.reasons[0]
    zero = diagnose.network(Network([[1.0, 0.0], [3.0, 0.0]], b=[0.0, 1.0]))
    assert zero.identifiability.answer is Identifiable.NO


def test_units_beyond_the_reach_of_the_rows():
    """Φ(−3) = 0.00135: 12,000 rows leave 16.2 on the minority side, 2 (d + 1) = 22 are wanted."""
    net = teachers.conditioned(10, 3, activation="relu", rng=0)
    W = net.W / np.linalg.norm(net.W, axis=0)
    few = diagnose.network(Network(W, b=[3.0, 0.0, -3.0]), n=12_000)
    assert [note.split(":")[0] for note in few.notes] == ["Unit 0", "Unit 2"]
    assert "16.2" in few.notes[0]
    assert not diagnose.network(Network(W, b=[3.0, 0.0, -3.0]), n=20_000).notes


@pytest.mark.parametrize(("activation", "k"), [("relu", 3), ("squared_relu", 2)])
def test_data_show_their_width(activation, k, seed):
    X, y = wl.draw(teachers.conditioned(8, k, activation=activation, rng=seed), 30_000, rng=seed + 10)
    found = diagnose.data(X, y, activation=activation)
    assert (found.n_units, found.n_inputs, found.n_rows) == (k, 8, 30_000)
    assert found.hopeful
    assert found.methods[0].applies
    assert any("rank" in note for note in found.notes)


def test_data_that_moments_do_not_like(rng):
    X = rng.uniform(-1, 1, size=(3000, 5)) ** 3
    y = Network(np.eye(5)[:, :2]).predict(X)
    found = diagnose.data(X, y, n_units=2)
    assert not found.methods[0].applies
    assert "Gaussian" in found.methods[0].why
    assert found.methods[1].applies
    doubled = np.hstack([X, X[:, :1]])
    assert "whitened" in diagnose.data(doubled, y, n_units=2).methods[0].why
    with pytest.raises(ArgumentError, match="n_units"):
        diagnose.data(doubled, y)
    odd = wl.draw(teachers.conditioned(5, 2, activation="tanh", rng=0), 500, rng=1)
    with pytest.raises(ArgumentError, match="odd"):
        diagnose.data(*odd, activation="tanh")


def test_estimates_rest_on_the_measurements():
    """At a measured shape the range brackets what was seen: it begins above what failed and ends at what sufficed."""
    for m in MEASURED:
        phi = get(m.activation)
        given = Shape(m.n_inputs, m.n_units, phi, m.bias)
        p, found = given.parameters, estimate_rows(given)
        assert p < found.least <= found.few <= found.enough
        if not m.all_right and m.n_units <= m.n_inputs:
            assert found.enough > m.ratio * p
        if m.all_right and m.n_units <= m.n_inputs and m.ratio >= 2.5:
            assert found.few < m.ratio * p
    widths = [estimate_rows(Shape(100, k, get("relu"))).enough / (100 * k) for k in (3, 10, 30, 60, 90)]
    assert widths == sorted(widths)
    assert estimate_rows(Shape(100, 60, get("relu"))).extrapolated
    assert estimate_rows(Shape(5, 8, get("relu"))).extrapolated
    assert estimate_rows(Shape(20, 5, get("softplus"))).extrapolated
    five = estimate_rows(Shape(20, 5, get("relu")))
    assert not five.extrapolated
    assert (five.few, five.enough) == (135, 200)  # 4 of 8 at 135 rows, 8 of 8 at 150 and at 200, some failures at other widths


def test_costs_are_those_measured():
    """k = 30, d = 60, 8 rows a parameter: 1.6 GiB [gpu.md]; relu d=30 k=15 n=4p: 20 s, d=20 k=5 n=3p: 0.1 to 0.6 s."""
    phi = get("relu")
    assert 0.5 < estimate_cost(Shape(60, 30, phi), 14_400).bytes / (1.6 * 2**30) < 2.0
    assert 0.5 < estimate_cost(Shape(100, 50, phi), 50_000).bytes / (10.5 * 2**30) < 2.0
    for d, k, n, seconds in ((30, 15, 1800, 19.6), (20, 5, 300, 0.5), (50, 5, 750, 3.0)):
        cost = estimate_cost(Shape(d, k, phi), n)
        assert cost.seconds_least < seconds < cost.seconds_most
        assert 0.3 < cost.seconds_typical / seconds < 3.5


def test_words_table_and_json():
    found = diagnose.shape(20, 5, n=300, bias=True)
    text, lines = str(found), {name: (value, why) for name, value, why in found.table()}
    assert text.startswith("5 biased relu units of 20 inputs, 300 rows: 105 parameters, 2.86 rows a parameter.")
    for word in ("Units:", "Regime:", "Rows:", "Cost at 300 rows", "Methods:"):
        assert word in text
    assert lines["parameters p"][0] == "105"
    assert lines["regime"][0] == "independent"
    assert lines['recover(method="tensor")'][0] == "applies"
    plain = json.loads(json.dumps(found.as_dict()))
    assert plain["regime"]["regime"] == "INDEPENDENT"
    assert plain["rows_per_parameter"] == pytest.approx(300 / 105)
    few = diagnose.shape(20, 5, n=90)
    assert not few.hopeful
    assert few.determined is False
    assert "fewer than" in str(few)
    assert diagnose.shape(20, 5).determined is None
    assert "years" in str(diagnose.shape(500, 5000))


def test_methods_follow_the_shape():
    """Moments: k ≤ d, or biased ReLU up to d(d−1)/2 units; never where M3 = M4 = 0."""
    applies = [
        ({"n_inputs": 10, "n_units": 10}, True),
        ({"n_inputs": 10, "n_units": 11}, False),
        ({"n_inputs": 10, "n_units": 45, "bias": True}, True),
        ({"n_inputs": 10, "n_units": 46, "bias": True}, False),
        ({"n_inputs": 10, "n_units": 12, "bias": True, "activation": "tanh"}, False),
        ({"n_inputs": 10, "n_units": 1, "activation": "quadratic"}, False),
    ]
    for arguments, expected in applies:
        assert diagnose.shape(**arguments).methods[0].applies is expected, arguments
    assert not diagnose.shape(10, 3, n=30).methods[1].applies  # no more rows than parameters
    assert diagnose.shape(10, 3, n=31).methods[1].applies
    assert "days" in diagnose.shape(500, 5000).methods[1].why


def test_a_polynomial_network_is_counted(rng):
    """k d + k = 48 parameters against C(5, 3) + 3 = 13 coefficients; with 2 units 8 against 13."""
    many, few = (Network(rng.normal(size=(3, k)), activation=CUBIC) for k in (12, 2))
    assert diagnose.network(many).identifiability.answer is Identifiable.NO
    assert "13 coefficients" in diagnose.network(many).identifiability.reasons[0]
    assert diagnose.network(few).identifiability.answer is Identifiable.GENERICALLY


def test_users_activations_are_undecided(rng):
    phi = custom("swish", lambda z: z / (1 + np.exp(-z)), lambda z: (1 + np.exp(-z) * (1 + z)) / (1 + np.exp(-z)) ** 2)
    assert diagnose.shape(5, 3, activation=phi).identifiability.answer is Identifiable.UNKNOWN
    assert diagnose.network(Network(rng.normal(size=(5, 3)), activation=phi)).identifiability.answer is Identifiable.UNKNOWN
    steep = diagnose.shape(50, 350, activation=scaled(get("tanh"), 2.5))
    assert steep.identifiability.answer is Identifiable.GENERICALLY
    assert "T⁽⁵⁾" in str(steep)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: diagnose.shape(0, 3), "n_inputs"),
        (lambda: diagnose.shape(3, 1.5), "n_units"),
        (lambda: diagnose.shape(3, 2, n=0), "n must"),
        (lambda: diagnose.shape(3, 2, activation="rellu"), "relu"),
        (lambda: diagnose.network(np.eye(3)), "Network"),
        (lambda: diagnose.data(np.ones((3, 2)), np.ones(4)), "y"),
    ],
)
def test_mistakes_are_refused(call, words):
    with pytest.raises(WeightliftError, match=words):
        call()


def test_data_say_what_their_law_means_for_each_route(rng):
    X = rng.exponential(size=(400, 4))
    found = diagnose.data(X, X[:, 0], n_units=2)
    assert [note.split(":")[0] for note in found.notes[1:4]] == ["Moments", "Search and refinement", "Certificate"]
    assert "not usable" in found.notes[1]
