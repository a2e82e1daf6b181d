"""Inputs that make a unit's region too wide are the ones that depend on others, and the rest is what the blocks say."""

from __future__ import annotations

import numpy as np
import pytest
from tests.certificate.fits import fitted
from tests.conftest import optional

from weightlift import teachers
from weightlift.certificate import Topic, certify
from weightlift.certificate.breadth import Breadth, breadth
from weightlift.certificate.limits import LIMITS
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.network import Network
from weightlift.samples import Columns
from weightlift.samples import open as open_samples


def _information(activation: str, seed: int, shared: float) -> Information:
    """Inputs 1 and 3 equal but for `shared` of their spread."""
    rng = np.random.default_rng(seed)
    net = teachers.biased(5, 2, bias=0.4, activation=activation, rng=seed)
    X = rng.standard_normal((400, 5))
    X[:, 3] = X[:, 1] + shared * X[:, 3]
    return Information.of(open_samples(X, net.predict(X)), Gauge.of(net, bias=True, offset=False))


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_two_inputs_that_are_nearly_one(activation: str, seed: int) -> None:
    information = _information(activation, seed, 1e-3)
    blocks = np.stack([information.unit_inverse(0), 0.5 * information.unit_inverse(0)])
    blocks *= (4.0 * LIMITS.noisy_region / information.gauge.relative_size(0, blocks[0])) ** 2
    found = breadth(information, 0, blocks)
    assert found.size == pytest.approx(information.gauge.relative_size(0, blocks[0]))
    assert set(found.inputs) == {1, 3}
    assert not found.bias
    assert found.rest <= LIMITS.noisy_region
    assert 1e5 < found.inflation < 1e7  # 1/(1 − R²) = 10⁶ + 1 for independent inputs, all rows alike


def test_the_rest_is_the_size_of_the_other_parameters(seed: int) -> None:
    """For tanh the normal form is (w, b, a) itself, and errors of some parameters are a block."""
    information = _information("tanh", seed, 0.3)
    net, block = information.gauge.network, information.unit_inverse(1)
    block = (3.0 / information.gauge.relative_size(1, block)) ** 2 * block
    found = breadth(information, 1, block[None])
    rest = [j for j in range(6) if j not in found.inputs and not (j == 5 and found.bias)]
    assert len(rest) < 6
    size = np.sqrt(np.linalg.eigvalsh(block[np.ix_(rest, rest)])[-1]) / np.hypot(np.linalg.norm(net.W[:, 1]), net.b[1])
    output = 0.0 if found.output else np.sqrt(block[-1, -1]) / abs(net.a[1])
    assert found.rest == pytest.approx(max(size, output))
    assert found.rest <= LIMITS.noisy_region < found.size


def test_a_certificate_names_the_inputs_of_each_wide_unit(seed: int) -> None:
    pandas = optional("pandas")
    rng = np.random.default_rng(seed)
    truth = teachers.biased(4, 2, bias=0.4, activation="relu", rng=seed)
    X = rng.standard_normal((300, 4))
    X[:, 2] = X[:, 0] + 0.02 * X[:, 2]
    y = truth.predict(X)
    y = y + 0.1 * y.std() * rng.standard_normal(300)
    frame = pandas.DataFrame(X, columns=["age", "height", "years", "weight"])
    certificate = certify(fitted(truth, X, y), frame, y, bias=True)
    wide = [s for s in certificate.failing if s.topic is Topic.PRECISION]
    assert wide
    for statement in wide:
        assert statement.number > statement.limit == LIMITS.noisy_region
        assert "column 'age'" in statement.sentence
        assert "column 'years'" in statement.sentence
        assert "'height'" not in statement.sentence
        assert statement.sentence.startswith(f"Unit {statement.units[0]} is")


@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_inputs_that_are_not_named_are_counted(count: int) -> None:
    found = Breadth(0.5, tuple(range(count)), False, False, 0.1, 30.0).sentence(0, Columns(), "no weight alone")
    said = found.split("Give")[0]  # "Give more rows" is another matter
    assert (f"{count - LIMITS.named_columns} more" if count > LIMITS.named_columns else "") in said
    assert ("more" in said) == (count > LIMITS.named_columns)
    assert all(Columns().input(j) in said for j in range(min(count, LIMITS.named_columns)))


@pytest.mark.parametrize(("wide", "says"), [((5,), (True, False)), ((6,), (False, True)), ((5, 6), (True, True))])
def test_biases_and_output_weights_are_named_apart(wide: tuple[int, ...], says: tuple[bool, bool], seed: int) -> None:
    """(w, b, a) of five inputs: a region that is wide along b, along a, or along both."""
    information = _information("tanh", seed, 1.0)
    own = information.gauge.unit(0)[0]
    sizes = np.full(7, 0.01)
    sizes[list(wide)] = 3.0 * LIMITS.noisy_region * np.array([np.linalg.norm(own[:6]), abs(own[6])])[[j - 5 for j in wide]]
    sizes[:5] *= np.linalg.norm(own[:6])
    found = breadth(information, 0, np.diag(sizes**2)[None])
    assert (found.inputs, found.bias, found.output) == ((), *says)


def test_the_fewest_of_the_widest_coordinates_by_trying_all(seed: int) -> None:
    """Beside the sizes of (w, b) and of a, which differ by a thousand; inflation by the matrices of all parameters."""
    rng = np.random.default_rng(seed)
    net = Network(10.0 * rng.standard_normal((3, 2)), [0.01, 3.0], rng.standard_normal(2), 0.0, "tanh")
    X = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 3)) / 10.0
    information = Information.of(open_samples(X, net.predict(X)), Gauge.of(net, bias=True, offset=False))
    own = information.gauge.unit(0)[0]
    sizes = np.array([np.linalg.norm(own[:4])] * 4 + [abs(own[4])])
    roots = 1.5 * rng.standard_normal((2, 5, 5)) * [1.0, 0.1, 0.4, 1.0, 3.0 * seed]
    regions = np.swapaxes(roots, 1, 2) @ roots * np.outer(sizes, sizes)
    found = breadth(information, 0, regions)

    def size(gone: list[int]) -> float:
        inner, a = [j for j in range(4) if j not in gone], [4] * (4 not in gone)
        parts = [R[np.ix_(at, at)] / sizes[at[0]] ** 2 for R in regions for at in (inner, a) if at]
        return max((float(np.linalg.eigvalsh(part)[-1]) ** 0.5 for part in parts), default=0.0)

    order = np.argsort(-(np.diagonal(regions, axis1=1, axis2=2).max(axis=0) / sizes**2)).tolist()
    gone = next(order[:m] for m in range(6) if size(order[:m]) <= LIMITS.noisy_region)
    assert (found.inputs, found.bias, found.output) == (tuple(j for j in gone if j < 3), 3 in gone, 4 in gone)
    assert (found.size, found.rest) == (pytest.approx(size([])), pytest.approx(size(gone), abs=1e-12))
    at = information.gauge.coordinates(0)[list(found.inputs)]
    shared = np.diagonal(information.gram)[at] * np.diagonal(np.linalg.inv(information.gram))[at]
    assert found.inflation == pytest.approx(shared.max(initial=1.0), rel=1e-4)


@pytest.mark.parametrize(
    ("inputs", "bias", "output", "says"),
    [
        ((), False, False, "at 99.99 %; alone."),
        ((2,), False, False, ", by its weight of column 2 (variances up to 30 times those of unrelated inputs), and to 0.1 by"),
        ((2, 0), True, False, ", by its weights of column 2 and column 0 and its bias (variances"),
        ((), False, True, ", by its output weight, and to 0.1 by the others; alone."),
        ((2, 0, 1), True, True, "column 2, column 0 and column 1, its bias and its output weight (variances"),
    ],
)
def test_what_makes_a_unit_wide_in_words(inputs: tuple[int, ...], bias: bool, output: bool, says: str) -> None:
    assert says in Breadth(0.5, inputs, bias, output, 0.1, 30.0).sentence(0, Columns(), "alone")
