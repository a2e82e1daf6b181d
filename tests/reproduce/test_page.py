"""From a recipe to its files: figure, table, page, documentation; the commands; and without matplotlib, rich or typer."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from weightlift.cli import app
from weightlift.reproduce import Claim, Grid, command, figures, page, recipes
from weightlift.reproduce.__main__ import main
from weightlift.reproduce.recipe import Cell, Recipe, Row, missing
from weightlift.reproduce.store import Store
from weightlift.reproduce.sweep import SweepError

CLAIMS = [
    Claim("a|b holds", "`x` < 1", True, "not shown"),
    Claim("c holds", "<no>", False, "few | trials"),
    Claim("d holds", "?", None, "one point"),
]


@pytest.fixture
def recipe(trials: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    """A small recipe that the page and the commands find, beside none."""

    def draw(figure: Any, rows: list[dict[str, Any]]) -> None:
        figure.subplots().plot([row["n"] for row in rows], [row["mean"] for row in rows])

    made = Recipe(
        "zhong2017",
        "figx",
        "A figure",
        "What is done.",
        "what is said.",
        {"quick": Grid.product(2, n=[3, 5]), "paper": Grid.product(3, n=[3, 5, 7])},
        trials.noisy,
        lambda rows: [{"n": row["n"], "trial": row["trial"], "mean": row["mean"]} for row in rows],
        draw,
        lambda rows: CLAIMS,
    )
    for module in (page, command):
        monkeypatch.setattr(module, "recipes", lambda *names: [made])
    return made


def test_files_and_page_show_claims_that_did_not_hold(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    (made,) = figures.reproduce([recipe], out, jobs=1)
    assert made.cells == 4
    table = list(csv.DictReader((out / "zhong2017" / "figx.csv").read_text().splitlines()))
    assert [float(row["mean"]) for row in table] == [row["mean"] for row in made.rows]
    assert (out / "zhong2017" / "figx.pdf").read_bytes().startswith(b"%PDF")
    text, web = (out / "index.md").read_text(), (out / "index.html").read_text()
    for part in ("1 figures; 1 of 2 claims held", "| a\\|b holds | `x` < 1 | held |", "**did not hold**", "zhong2017/figx.png"):
        assert part in text
    assert "**this grid cannot tell**: one point |" in text
    assert "**did not hold**: few \\| trials |" in text
    assert "not shown" not in text + web
    assert "`weightlift reproduce zhong2017 figx --size quick`" in text
    assert "<code>x</code> &lt; 1" in web
    assert "&lt;no&gt;<td class=no>did not hold: few | trials" in web
    again = {path: path.read_bytes() for path in out.rglob("*.*") if path.suffix != ".sqlite"}
    monkeypatch.setattr(figures, "machine", lambda: "a machine that drew only")
    figures.reproduce([recipe], out, jobs=1)
    assert again == {path: path.read_bytes() for path in out.rglob("*.*") if path.suffix != ".sqlite"}


def test_the_stored_page_explains_what_did_not_hold() -> None:
    text = (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text()
    verdicts = re.findall(r"\*\*(?:did not hold|this grid cannot tell)\*\*(.*) \|$", text, re.M)
    assert text.count("**did not hold**") + text.count("**this grid cannot tell**") == len(verdicts) > 0
    for rest in verdicts:
        assert re.match(r": \S.{10}", rest), rest


def test_other_sizes_and_trials_add_cells_to_the_same_store(recipe: Recipe, tmp_path: Path) -> None:
    figures.reproduce([recipe], tmp_path, jobs=1)
    (larger,) = figures.reproduce([recipe], tmp_path, size="paper", seed=0, jobs=1)
    (other,) = figures.reproduce([recipe], tmp_path, trials=1, seed=3, jobs=1)
    assert larger.cells == 9
    assert other.command == "weightlift reproduce zhong2017 figx --size quick --seed 3 --trials 1"
    with Store(tmp_path / figures.CELLS) as store:
        assert store._db.execute("SELECT count(*) FROM cells").fetchone()[0] == 9 + 2
    assert "--trials 1" in (tmp_path / "index.md").read_text()  # the last run is shown


def test_a_figure_may_be_complete_before_its_grid_is(recipe: Recipe, tmp_path: Path) -> None:
    """Trial by trial, and none at n = 5: asked again, nothing is run, and no line calls it short of trials."""

    def following(cells: Sequence[Cell], results: Mapping[str, Row]) -> list[Cell]:
        return [cell for cell in missing(cells, results) if cell.point["n"] != 5][:1]

    early = replace(recipe, following=following)
    for _ in range(2):
        (made,) = figures.reproduce([early], tmp_path, size="paper", jobs=1)
        assert (made.cells, len(made.rows), made.seconds > 0, made.trials) == (6, 6, True, 3)
    assert [(row["n"], row["trial"]) for row in made.rows] == [(n, trial) for n in (3, 7) for trial in range(3)]
    (fewer,) = figures.reproduce([early], tmp_path, size="paper", trials=2, jobs=1)
    assert (fewer.cells, fewer.trials, fewer.asked) == (4, 2, 3)
    with Store(tmp_path / figures.CELLS) as store:
        assert store._db.execute("SELECT count(*) FROM cells").fetchone()[0] == 6


def test_documentation_is_written_from_a_merged_store(
    recipe: Recipe, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures.reproduce([recipe], tmp_path / "there", jobs=1)
    docs = tmp_path / "docs"
    (docs / "images").mkdir(parents=True)
    here = tmp_path / "here"
    assert main(["page", "--merge", str(tmp_path / "there"), "--out", str(here), "--docs", str(docs)]) == 0
    assert "4 new cells" in capsys.readouterr().out
    text = (docs / "reproduction.md").read_text()
    assert "(images/reproduction/zhong2017/figx.png)" in text
    assert sorted(path.name for path in (docs / "images" / "reproduction" / "zhong2017").iterdir()) == ["figx.csv", "figx.png"]


def page_of(docs: Path) -> str:
    return (docs / "reproduction.md").read_text()


def test_a_page_keeps_what_the_store_has_not(recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From its table, to the same bytes; and says so once the trial is another."""
    figures.reproduce([recipe], tmp_path / "there", jobs=1)
    docs, nothing = tmp_path / "docs", tmp_path / "nothing"
    page.write_docs(tmp_path / "there", docs)
    before = {path: path.read_bytes() for path in docs.rglob("*.*")}
    assert len(before) == 4
    page.write_docs(nothing, docs)
    assert before == {path: path.read_bytes() for path in docs.rglob("*.*")}
    assert "earlier states" not in page_of(docs)
    monkeypatch.setattr(figures, "fingerprint", lambda trial: "another")
    page.write_docs(nothing, docs)
    assert "earlier states of the package, which their commands would make anew: zhong2017 figx." in page_of(docs)


@pytest.mark.parametrize(
    ("size", "fewer", "words", "share"),
    [
        ("quick", None, "Not at the papers' size: on a smaller grid zhong2017 figx.", "| quick | 2 |"),
        ("paper", 2, "Not at the papers' size: on the paper's grid with fewer trials zhong2017 figx.", "| paper | 2 of 3 |"),
        ("paper", None, "", "| paper | 3 |"),
    ],
)
def test_sizes_below_the_papers_are_named(
    recipe: Recipe, tmp_path: Path, size: str, fewer: int | None, words: str, share: str
) -> None:
    figures.reproduce([recipe], tmp_path, size=size, trials=fewer, jobs=1)
    text = (tmp_path / "index.md").read_text()
    assert share in text
    assert words in text
    assert ("Not at" in text) == bool(words)


def test_incomplete_figures_are_left_out_of_the_page(recipe: Recipe, tmp_path: Path) -> None:
    (made,) = figures.reproduce([recipe], tmp_path, jobs=1)
    with Store(tmp_path / figures.CELLS) as store:
        store.record(replace(made.run, size="paper"))
    page.write_page(tmp_path)
    assert "0 figures" in (tmp_path / "index.md").read_text()


def test_both_command_lines(recipe: Recipe, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = CliRunner().invoke(app, ["reproduce", "zhong2017", "figx", "--jobs", "1", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "[did not hold] c holds: <no>" in result.output
    assert main(["zhong2017", "figx", "--jobs", "1", "--out", str(tmp_path)]) == 0
    assert "[held] a|b holds" in capsys.readouterr().out
    assert main(["list"]) == 0
    assert "4 trials at --size quick, 9 trials at --size paper" in capsys.readouterr().out


def test_mistakes_are_sentences(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["zhong2017", "fig9", "--out", str(tmp_path)]) == 2
    assert "Error: zhong2017 has no recipe 'fig9'" in capsys.readouterr().err
    assert main(["zhong2017", "fig1c", "--trials", "0", "--out", str(tmp_path)]) == 2
    result = CliRunner().invoke(app, ["reproduce", "nobody2020", "--out", str(tmp_path)])
    assert result.exit_code == 2


def test_ctrl_c_ends_in_a_sentence(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*args: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "reproduce", interrupted)
    assert main(["zhong2017", "figx", "--out", str(tmp_path)]) == 130
    assert "the same command goes on from there" in capsys.readouterr().err


BARE = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"matplotlib", "rich", "typer", "sklearn", "numba", "safetensors"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from collections.abc import Mapping, Sequence
from dataclasses import replace
from weightlift.reproduce import Grid, figures, recipes
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "matplotlib" else found(name, *rest)

if __name__ == "__main__":
    recipe = replace(recipes("zhang2019", "fig2a")[0], grids={"quick": Grid.product(1, d=4, n=300, k=2)})
    (made,) = figures.reproduce([recipe], Path(sys.argv[1]), jobs=1)
    assert len(recipes()) > 8
    print(made.cells)
"""


def test_cells_and_tables_need_numpy_and_scipy_alone(tmp_path: Path) -> None:
    (tmp_path / "bare.py").write_text(BARE)
    done = subprocess.run([sys.executable, "bare.py", str(tmp_path)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1\n"
    assert {path.name for path in (tmp_path / "zhang2019").iterdir()} == {"fig2a.csv"}


def test_a_figure_that_fails_does_not_keep_the_others_from_being_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = recipes("zhong2017", "fig1c") + recipes("zhang2019", "fig2a")

    def fail_first(recipe: object, *arguments: object) -> object:
        if recipe is chosen[0]:
            raise SweepError("1 of 5 cells failed.")
        made.append(recipe)
        raise SweepError("and this one too.")

    made: list[object] = []
    monkeypatch.setattr(figures, "_reproduced", fail_first)
    with pytest.raises(SweepError, match=r"(?s)fig1c: 1 of 5 cells failed.*fig2a: and this one too"):
        figures.reproduce(chosen, tmp_path)
    assert made == [chosen[1]]
    made.clear()
    monkeypatch.setattr(command, "recipes", lambda *names: chosen)
    with pytest.raises(SweepError, match=r"(?s)fig1c: 1 of 5 cells failed.*fig2a: and this one too"):
        command.execute(command.Command("all", out=tmp_path))
    assert made == [chosen[1]]
