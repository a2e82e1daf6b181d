"""A diagnosis in words, as a table and as JSON; its parameters are counted in a gauge."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.catalogue import UNIQUE

from weightlift import Network, diagnose
from weightlift.identifiability import count_parameters


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("name", UNIQUE)
def test_parameters_are_counted_in_a_gauge(name, bias, offset):
    net = Network(np.ones((7, 3)), activation=name)
    found = diagnose.shape(7, 3, n=100, activation=name, bias=bias, offset=offset)
    assert found.parameters == count_parameters(net, bias=bias, offset=offset)
    assert found.rows_per_parameter == 100 / found.parameters


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
