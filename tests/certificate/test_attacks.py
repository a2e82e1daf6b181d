"""Constructions that leave a second network, one instance of each: `python -m benchmarks.rivals_attack` has hundreds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.rivals_attack import judged, verdict
from benchmarks.rivals_constructions import CONSTRUCTIONS, Instance

from weightlift import Network
from weightlift.certificate import certify

SEEDS = {"held_out_copies": 1}  # held-out rows on the rays of fitted ones
WAITING: set[str] = set()


def marked(name: str) -> Any:
    return pytest.param(name, marks=pytest.mark.xfail(strict=True)) if name in WAITING else name


@pytest.mark.parametrize("name", [marked(name) for name in CONSTRUCTIONS])
def test_no_certificate_is_false(name: str) -> None:
    told = judged(name, SEEDS.get(name, 0))
    assert sum(told.values()) > 0
    assert not told["FALSE"]
    assert not told["error"]
    assert name != "control" or told["right"]


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("quantised", 900318),  # two units that cancel, in whose place a second could split the first
        ("rotated_lattice", 900408),  # half of a dual vector that is whole on the rows that were looked at
        ("unsettled", 2),  # a step along an input that hardly varies, measured in standard inputs
        ("flat_input", 6),  # a region whose matrix had no digits left for what is known
        ("repeating_outputs", 0),  # waves with several outputs: what concerns all units was dropped, having no rival by name
        ("flats_of_outputs", 11),  # rows fewer than one output needs, whose shape was not looked at
        ("flat_outputs", 3),  # a unit brought to the length of (w, b), of which only a sum was known
        ("quantised_line", 930039),  # a unit reflected, beside units that two rows leave open and that take up the square
    ],
)
def test_instances_that_were_false_once(name: str, seed: int) -> None:
    told = judged(name, seed)
    assert not told["FALSE"]
    assert not told["error"]


def test_a_unit_in_which_two_networks_differ_may_not_be_certified() -> None:
    rng = np.random.default_rng(0)
    X, W = rng.standard_normal((80, 3)), rng.standard_normal((3, 2))
    one = Network(W, np.ones(2))
    instance = Instance(X, (one, Network(W * [1.0, -1.0], np.ones(2))))
    assert verdict(instance, one, certify(one, X, one.predict(X))) == "FALSE"
    same = Instance(X, (one, Network(W.copy(), np.ones(2))))
    assert verdict(same, one, certify(one, X, one.predict(X))) == "refused"
