"""A recovery in tables and in JSON: every unit under its number, every stage with its cost, the verdict with its reasons."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from rich.console import Console

import weightlift as wl
from weightlift.cli.console import print_json
from weightlift.cli.report import leading, leading_title, network_table, recovery_json, stage_table, verdict


@pytest.fixture(scope="module")
def found() -> wl.Recovery:
    truth = wl.teachers.conditioned(5, 2, activation="relu", rng=0)
    return wl.recover(*wl.draw(truth, 60, rng=1), n_units=2)


def shown(table: object) -> str:
    console = Console(file=io.StringIO(), width=400)
    console.print(table)
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def test_a_network_is_shown_in_its_normal_form(found: wl.Recovery) -> None:
    net = found.network.normalized()
    lines = [line.split() for line in shown(network_table(found.network)).splitlines() if line.strip()[:1].isdigit()]
    assert [line[0] for line in lines] == ["0", "1"]
    for i, line in enumerate(lines):
        assert [float(v) for v in line[1:4]] == pytest.approx(
            [net.a[i], net.b[i], np.linalg.norm(net.W[:, i])], rel=1e-5, abs=1e-9
        )
        assert float(line[4]) == pytest.approx(net.W[0, i], abs=1e-4)
    several = wl.Network(np.eye(2), [[3.0, 4.0], [0.0, 1.0]])
    assert "5" in shown(network_table(several)).splitlines()[-2].split()  # ‖a‖ of two outputs


def test_stages_are_shown_with_their_cost(found: wl.Recovery) -> None:
    text = shown(stage_table(found, 1.25))
    assert "1.25 s" in text
    for stage in found.stages:
        assert stage.name in text


def test_the_verdict_has_the_headline_and_every_statement_with_its_ground(found: wl.Recovery) -> None:
    lines = [line.rstrip() for line in shown(verdict(found.certificate)).splitlines()]
    assert lines[0].split(maxsplit=1) == ["EXACT", found.certificate.headline]
    assert [line.split(maxsplit=1) for line in lines[1:]] == [[s.mark, s.sentence] for s in found.certificate.statements]
    assert f"{found.certificate.precision.max():.1g}" in lines[0]
    assert any(line.startswith("ASSUMED") for line in lines)
    wrong = wl.certify(wl.Network(found.network.W + 0.1, found.network.a), *wl.draw(found.network, 60, rng=1))
    lines = shown(verdict(wrong)).splitlines()
    assert lines[0].startswith("FAILED")
    assert any(line.startswith("FAILS") for line in lines)


def test_json_holds_the_whole_network(found: wl.Recovery, capsys: pytest.CaptureFixture[str]) -> None:
    print_json(recovery_json(found, 0.5))
    told = json.loads(capsys.readouterr().out)
    assert told["certified"] is True
    assert told["status"] == "EXACT"
    np.testing.assert_array_equal(told["network"]["W"], found.network.W)
    np.testing.assert_array_equal(told["network"]["a"], found.network.a)
    assert [stage["name"] for stage in told["stages"]] == [stage.name for stage in found.stages]
    assert "V" not in told["network"]


def test_leading_weights_say_how_many_there_are() -> None:
    assert leading(np.array([1.0, -2.0, 3.0]), 2) == "+1.0000 -2.0000 …"
    assert leading(np.array([1.0, -2.0]), 2) == "+1.0000 -2.0000"
    assert leading_title(3, 2, ("p", "q", "r")) == "w, 2 of 3: p, q"
    assert leading_title(2, 2) == "w"


def test_the_linear_part_is_shown_below_the_units():
    net = wl.Network([[3.0], [4.0]], [[1.0, 2.0]], V=[[0.6, 1.0], [0.8, -1.0]])
    lines = shown(network_table(net, ("age", "size"), ("low", "high"))).splitlines()
    assert any(line.split()[:3] == ["V", "low", "1"] and "+0.6000 +0.8000" in line for line in lines)
    assert any(line.split()[:2] == ["V", "high"] and "+1.0000 -1.0000" in line for line in lines)
