"""The report: one page that stands alone, holds everything, and can be read at any width; and what notebooks show."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import weightlift as wl
from weightlift import report
from weightlift.recovery import Recovery
from weightlift.report import page

CHROMIUM = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")


@pytest.fixture(scope="module")
def found() -> Recovery:
    truth = wl.teachers.conditioned(4, 2, activation="relu", rng=0)
    X, y = wl.draw(truth, 400, noise_std=0.05, rng=1)
    result = wl.recover(X, y, n_units=2, rng=3)
    named = replace(result.rows, columns=wl.samples.Columns(("age", "<b>bmi</b>", "bp", "s1"), ("load",)))  # type: ignore[type-var]
    return replace(result, rows=named)


def text(source: str) -> str:
    return html.unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", source, flags=re.S))


def test_the_page_says_all_of_it(found: Recovery) -> None:
    shown = text(page(found))
    for statement in found.certificate.statements:
        assert statement.sentence in shown
    table = found.summary().inference
    for word in (*table.names, "Adjusted R²", "95 % low", "fingerprint", "sha256", "load", wl.__version__):
        assert word in shown
    for stage in found.stages:
        assert stage.name in shown
    assert "weightlift.recover(X, y, n_units=2, rng=3)" in shown
    assert page(found).count("<img ") == 5


def test_the_page_stands_alone_and_is_escaped(found: Recovery) -> None:
    source = page(found, command="weightlift recover '<script>' & more")
    assert not re.findall(r"(?:src|href)=[\"'](?!data:)", source)
    assert "http" not in re.sub(r"base64,[^\"]+|http-equiv", "", source)
    assert "<script" not in source
    assert "&lt;b&gt;bmi" in source
    assert "<b>bmi" not in source
    assert "default-src 'none'" in source


def test_units_have_standard_errors_beside_them(found: Recovery) -> None:
    errors, units = found.summary().errors, text(page(found).partition('id="units"')[2].partition("</section>")[0])
    assert len(errors) == 2 * 5
    for error in errors.values():
        assert f"({error:.2g})" in units
    exact = wl.recover(*wl.draw(wl.Network([[1.0], [-0.5]]), 40, rng=0), n_units=1)
    assert "standard errors" not in text(page(exact).partition('id="units"')[2].partition("</section>")[0])
    assert page(found).partition("<h1>")[2].partition("</h1>")[0]== "STATISTICAL: 2 relu units of 4 inputs, for load"


def test_results_are_one_line_at_a_prompt(found: Recovery) -> None:
    assert repr(found) == "Recovery(Network(4 inputs, 2 units, relu, no biases, c=0): STATISTICAL)"
    assert repr(found.certificate).startswith("Certificate(STATISTICAL: Among networks of at most 2 relu units")
    assert repr(found.summary()) == str(found.summary())
    shown = text(found._repr_html_())
    assert "bmi" in shown
    for error in found.summary().errors.values():  # beside every estimate, in a notebook too
        assert f"({error:.2g})" in shown


def test_the_call_repeats_the_recovery(found: Recovery) -> None:
    truth = wl.teachers.biased(3, 1, activation="tanh", rng=1)
    X, y = wl.draw(truth, 60, rng=2)
    result = wl.recover(X, y, n_units=1, activation="tanh", bias=True, output_weights=truth.a, max_work=500.0, rng=5)
    again = eval(result.call, {"weightlift": wl, "X": X, "y": y})
    np.testing.assert_array_equal(again.network.W, result.network.W)
    assert again.call == result.call


def test_the_same_rows_have_the_same_fingerprint(found: Recovery) -> None:
    X, y = wl.draw(wl.teachers.conditioned(4, 2, activation="relu", rng=0), 400, noise_std=0.05, rng=1)
    same = (wl.samples.open(X, y), wl.samples.open(X[::-1], y[::-1]), wl.samples.open(X.astype(object).tolist(), y.tolist()))
    assert {report._fingerprint(rows) for rows in same} == {report._fingerprint(found.rows)}  # type: ignore[arg-type]
    assert report._fingerprint(wl.samples.open(X, y + 1e-9)) not in page(found)


@pytest.mark.parametrize("kind", ["exact", "lost rows", "few rows", "line", "outputs"])
def test_every_recovery_has_a_page(kind: str, tmp_path: Path) -> None:
    truth = wl.Network([[1.0], [-0.5]], [2.0])
    X, y = wl.draw(truth, 40, rng=0)
    if kind == "few rows":
        result = wl.recover(X[:3], y[:3], n_units=2, max_work=20)
    elif kind == "line":
        result = wl.recover(X, y + X[:, 0], n_units=1, linear=True, max_work=100)
    elif kind == "outputs":
        result = wl.recover(X, np.column_stack([y, -y]), n_units=1, max_work=100)
    else:
        result = wl.recover(X, y, n_units=1)
        result = replace(result, rows=None) if kind == "lost rows" else result
    result.report(tmp_path / "page.html")
    written = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert result.certificate.status.name in written
    assert written.endswith("</html>\n")
    for part in (result, result.network, result.certificate):
        assert "<script" not in part._repr_html_()
        assert "<table" in part._repr_html_()


def test_an_extraction_in_a_notebook() -> None:
    truth = wl.Network([[1.0, 0.3], [-0.5, 1.0]], [2.0, -1.0], [0.1, -0.2])
    result = wl.extract(truth.predict, n_inputs=2)
    shown = text(result._repr_html_())
    assert result.certificate.status.name in shown
    assert f"{result.queries} queries" in shown


@in_a_browser
@pytest.mark.parametrize("width", [360, 1200])
def test_a_browser_lays_the_page_out_without_scrolling_sideways(found: Recovery, width: int, tmp_path: Path) -> None:
    """The page in a frame of that width: as wide as the frame, and every picture drawn."""
    inner = html.escape(re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page(found)), quote=True)
    measure = (
        "const d = document.querySelector('iframe').contentDocument;"
        "const drawn = [...d.images].every(i => i.complete && i.naturalWidth > 0);"
        "const whole = [...d.images].filter(i => i.getBoundingClientRect().right <= d.documentElement.clientWidth).length;"
        "const sizes = [d.documentElement.scrollWidth, d.documentElement.clientWidth, d.images.length, whole];"
        "document.title = [...sizes, drawn].join(' ');"
    )
    frame = f'<iframe style="border:0" width="{width}" height="900" onload="{measure}" srcdoc="{inner}"></iframe>'
    (tmp_path / "frame.html").write_text(f"<!doctype html><title></title><body>{frame}</body>", encoding="utf-8")
    shown = browser("--dump-dom", f"file://{tmp_path}/frame.html")
    match = re.search(r"<title>(\d+) (\d+) (\d+) (\d+) (\w+)</title>", shown)
    assert match is not None
    assert int(match[1]) <= int(match[2]) <= width
    assert int(match[4]) >= 4  # the map of the weights alone may scroll, in its own box
    assert (match[3], match[5]) == ("5", "true")


@in_a_browser
def test_a_browser_prints_it(found: Recovery, tmp_path: Path) -> None:
    found.report(tmp_path / "page.html")
    browser(f"--print-to-pdf={tmp_path}/page.pdf", f"file://{tmp_path}/page.html")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


def browser(*arguments: str) -> str:
    assert CHROMIUM is not None
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000"]
    done = subprocess.run([CHROMIUM, *options, *arguments], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout
