"""Statements and the table: what each failure does to a status, and that units stand for themselves."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from weightlift import Network, draw, teachers
from weightlift.certificate import Kind, Statement, Status, Topic, certify
from weightlift.certificate.statement import CLAIMS, FATAL, UNITS, assumptions, named, of_width, status_of_units, symmetries
from weightlift.refinement.variable_projection import Model


def stated(topics: set[Topic], **failing: bool | None) -> list[Statement]:
    return [Statement(topic, Kind.TESTED, failing.get(topic.name, True), topic.name.lower()) for topic in topics]


@pytest.mark.parametrize(("topics", "status"), CLAIMS)
@pytest.mark.parametrize("holds", [False, None])
def test_every_failing_statement_has_its_consequence(topics: set[Topic], status: Status, holds: bool | None) -> None:
    assert status_of_units(stated(topics), 3) == (status,) * 3
    for topic in topics - {Topic.AGREEMENT, Topic.BOUNDED}:
        expected = Status.FAILED if topic in FATAL else Status.AMBIGUOUS
        assert status_of_units(stated(topics, **{topic.name: holds}), 3) == (expected,) * 3
        rest = [s for s in stated(topics) if s.topic is not topic]
        assert status_of_units(rest, 3) == (Status.FAILED,) * 3  # what was not stated was not examined


def test_units_stand_for_themselves() -> None:
    claim = stated(UNITS | {Topic.AGREEMENT})
    doubt = Statement(Topic.RIVALS, Kind.TESTED, False, "another", units=(1,))
    assert status_of_units([*claim, doubt], 3) == (Status.EXACT, Status.AMBIGUOUS, Status.EXACT)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("shift", [10.0, 1e5])
def test_neither_origin_nor_units_of_the_inputs_matter(activation: str, shift: float, seed: int) -> None:
    truth = teachers.biased(5, 2, bias=0.7, activation=activation, rng=seed)
    X, _ = draw(truth, 300, rng=seed)
    moved = replace(truth, b=truth.b - shift * truth.W.sum(axis=0))
    certificate = certify(moved, X + shift, moved.predict(X + shift))
    assert certificate.status is Status.EXACT
    assert certificate.locate(moved)[0].all()
    scale = 10.0 ** np.array([6.0, -6.0, 0.0, 3.0, -3.0])
    scaled = replace(truth, W=truth.W / scale[:, None])
    one, other = certify(scaled, X * scale, scaled.predict(X * scale)), certify(truth, X, truth.predict(X))
    assert one.status is other.status is Status.EXACT
    assert one.condition == pytest.approx(other.condition, rel=1.0)


@pytest.mark.parametrize("rounding", ["single", "decimals"])
def test_rounded_targets_have_bounded_errors(rounding: str, seed: int) -> None:
    """More rows do not change the verdict, and the truth is inside."""
    from weightlift import samples
    from weightlift.refinement.gauss_newton import gauss_newton

    truth = teachers.biased(4, 2, bias=0.7, activation="tanh", rng=seed)
    for n in (150, 3000):
        X, y = draw(truth, n, rng=seed)
        y = y.astype(np.float32).astype(float) if rounding == "single" else np.round(y, 5)
        net = gauss_newton(samples.open(X, y), truth, free="Wab", tol=1e-13).network
        certificate = certify(net, X, y, bias=True)
        assert certificate.status is Status.STATISTICAL, str(certificate)
        assert certificate.evidence.quantum is not None
        assert "confidence" not in certificate.headline  # a bound leaves no chance
        assert certificate.locate(truth)[0].all()
    off = replace(truth, W=truth.W * (1 + 1e-13))
    X, y = draw(truth, 300, rng=seed)
    assert certify(off, X, y, bias=True).evidence.quantum is None


def test_sentences_name_units_by_their_own_numbers(seed: int) -> None:
    """Beside a unit that no row sees, units that reflect each other, that are known too little, that rows see together."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((400, 4))
    W = np.column_stack([np.zeros(4), rng.standard_normal((4, 2)), np.zeros(4), rng.standard_normal((4, 1))])
    W[:, 4] = -W[:, 1] - W[:, 2]
    reflected = Network(W, np.ones(5))
    together = Network(np.column_stack([W[:, :2], 2.0 * W[:, 1] + 1e-9 * W[:, 2]]), np.ones(3), np.array([0.0, 0.2, 0.4]))
    noise = reflected.predict(X[:90]) + 3.0 * rng.standard_normal(90)
    cases = ((reflected, X, reflected.predict(X)), (together, X, together.predict(X)), (reflected, X[:90], noise))
    for net, rows, y in cases:
        certificate = certify(net, rows, y)
        told = [s for s in certificate.failing if re.search(r"[Uu]nits? \d", s.sentence)]
        assert told
        for statement in told:
            numbers = re.search(r"[Uu]nits? (\d+(?:, \d+)*(?: and \d+)?)", statement.sentence)
            assert numbers is not None
            assert {int(i) for i in re.findall(r"\d+", numbers[1])} <= set(statement.units), str(certificate)
    unseen = certify(reflected, X, reflected.predict(X)).statements
    assert any(s.units == (0, 3) for s in unseen)
    assert any(s.topic is Topic.RIVALS and s.units == (1, 2, 4) and "units 1, 2 and 4" in s.sentence for s in unseen)


def test_the_table_of_the_documentation_is_the_code() -> None:
    page = Path(__file__).parents[2] / "docs" / "certificate.md"
    lines = [line.strip("|").split("|") for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    told = {cells[0].strip().replace(" ", "").upper(): [cell.strip() for cell in cells[1:5]] for cells in lines[1:]}
    assert set(told) == {topic.name for topic in Topic} - {"ASSUMPTION", "LAW"}  # these are assumed, or true by construction
    for name, (fails, *asked) in told.items():
        topic = Topic[name]
        expected = "FAILED" if topic in FATAL else "–" if topic in (Topic.AGREEMENT, Topic.BOUNDED) else "AMBIGUOUS, its units"
        assert fails == expected
        assert [cell == "yes" for cell in asked] == [topic in topics for topics, _ in CLAIMS]


def test_what_is_assumed_of_a_class() -> None:
    """Each free part by its name; outputs where there are several; units that the rows show where they are fewer."""
    one = Network([[1.0, 2.0]])
    two = Network([[1.0, 2.0]], [[1.0, 2.0, 3.0], [1.0, 0.0, 1.0]])
    for net, model, words in (
        (one, Model(False, False, False), "It has neither biases nor an offset."),
        (one, Model(True, False, True), "It has biases and an offset."),
        (two, Model(False, True, False), "It has a linear part, and 3 outputs."),
    ):
        width, has, law = assumptions(net, model)
        assert has.sentence == words
        assert width.sentence.endswith("of at most 2 units.")
        assert (width.kind, has.kind, law.topic) == (Kind.ASSUMED, Kind.ASSUMED, Topic.LAW)
    assert of_width(one, 1).sentence.endswith("of at most 1 unit that the rows show.")


@pytest.mark.parametrize(
    ("network", "told"),
    [
        (Network([[1.0]]), ["scale, a φ(z) = (a/t) φ(tz)"]),
        (Network([[1.0, 2.0]], activation="squared_relu"), ["the order of the units", "scale, a φ(z) = (a/t^2) φ(tz)"]),
        (Network([[1.0]], activation="tanh"), ["the reflection of a unit, (a, w, b) → (−a, −w, −b)"]),
        (Network([[1.0]], [1.0], [1.0], 0.5, "sigmoid"), ["the reflection of a unit, (a, w, b) → (−a, −w, −b), which moves c"]),
        (
            Network([[1.0]], [1.0], [1.0], activation="sine"),
            ["the reflection of a unit, (a, w, b) → (−a, −w, −b)", "multiples of 3.142 in a bias, with the sign of a"],
        ),
        (Network([[1.0]], activation="sine"), ["the reflection of a unit, (a, w, b) → (−a, −w, −b)"]),
    ],
)
def test_symmetries_in_words(network: Network, told: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    periods = {"sine": (np.pi, -1)}  # which a search takes a second for
    monkeypatch.setattr("weightlift.certificate.statement.shift", lambda phi: periods.get(phi.name))
    assert list(symmetries(network)) == told


@pytest.mark.parametrize(
    ("units", "subject", "object_"),
    [
        ((), "The parameters are", "all parameters"),
        ((3,), "Unit 3 is", "unit 3"),
        ((1, 4), "Units 1 and 4 are", "units 1 and 4"),
        ((0, 2, 5), "Units 0, 2 and 5 are", "units 0, 2 and 5"),
    ],
)
def test_units_in_words(units: tuple[int, ...], subject: str, object_: str) -> None:
    assert (named(units), named(units, verb=False)) == (subject, object_)
