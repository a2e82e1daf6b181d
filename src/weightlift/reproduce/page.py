"""The page of a reproduction: every figure with the claims that it bears out or not, as Markdown and as HTML.

write_page(out)          out/index.md and out/index.html beside the figures
write_docs(out, docs)    docs/reproduction.md with its images in docs/images/reproduction, from the same store; a figure that it
                         has not is drawn from the table that is there, and named if an earlier state of the package made it
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from weightlift.files import write_atomically
from weightlift.reproduce import recipes
from weightlift.reproduce.figures import Reproduction, completed, write_files
from weightlift.reproduce.recipe import VERDICTS, Claim, missing
from weightlift.reproduce.store import RunRecord
from weightlift.reproduce.tables import from_csv

RUNS = "runs.json"

INTRODUCTION = (
    "Figures of four papers on one-hidden-layer networks, and Weightlift's own, each with the claims that it should bear out "
    "and whether it did. Beside a paper's method stands `recover` on the same data."
)
CSS = """
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; color: #333 }
img { max-width: 100%; height: auto } table { border-collapse: collapse; width: 100% }
td, th { border-bottom: 1px solid #ddd; padding: .3rem .6rem; text-align: left; vertical-align: top }
code { background: #f4f4f4; padding: .1rem .3rem } .no { color: #b33a00; font-weight: bold } .yes { color: #00604a }
"""


def write_page(out: Path) -> None:
    """index.md and index.html over all figures that the store has complete."""
    made = completed(recipes(), out)
    write_atomically(out / "index.md", markdown(made, lambda m: f"{m.recipe.paper}/{m.recipe.figure}").encode())
    write_atomically(out / "index.html", as_html(made).encode())


def write_docs(out: Path, docs: Path) -> list[Reproduction]:
    """reproduction.md and its images; beside the images the tables, and the runs that made them."""
    images = docs / "images" / "reproduction"
    images.mkdir(parents=True, exist_ok=True)
    new = {one.recipe.name: one for one in completed(recipes(), out)}
    found = {one.recipe.name: one for one in _recorded(images)} | new
    made = [found[recipe.name] for recipe in recipes() if recipe.name in found]
    for one in made:
        write_files(one, images / one.recipe.paper, kinds=("png",))
    runs = [{**asdict(one.run), "cells": one.cells, "seconds": round(one.seconds, 1), "code": one.code} for one in made]
    write_atomically(images / RUNS, (json.dumps(runs, indent=1) + "\n").encode())
    page = markdown(made, lambda m: f"images/reproduction/{m.recipe.paper}/{m.recipe.figure}", pdf=False)
    write_atomically(docs / "reproduction.md", page.encode())
    return made


def _recorded(images: Path) -> Iterator[Reproduction]:
    """What an earlier page had, from its tables."""
    known = {recipe.name: recipe for recipe in recipes()}
    for record in json.loads((images / RUNS).read_text("utf-8")) if (images / RUNS).is_file() else []:
        cost = [record.pop(name) for name in ("cells", "seconds", "code")]
        run = RunRecord(**record)
        recipe = known.get(f"{run.paper} {run.figure}")
        if recipe is not None:
            rows = from_csv((images / run.paper / f"{run.figure}.csv").read_text("utf-8"))
            yield Reproduction(recipe, run, rows, recipe.claims(rows), *cost)


def markdown(made: list[Reproduction], path: Callable[[Reproduction], str], *, pdf: bool = True) -> str:
    """One section a paper; `path` says where a figure's files are, without their endings."""
    lines = ["# Reproduction", "", INTRODUCTION, "", *_overview(made)]
    for paper, group in groupby(made, key=lambda m: m.recipe.paper):
        lines += ["", f"## {paper}"]
        for one in group:
            recipe, where = one.recipe, path(one)
            links = f"[table]({where}.csv)" + (f", [PDF]({where}.pdf)" if pdf else "")
            lines += ["", f"### {recipe.figure}: {recipe.title}", "", recipe.setting, ""]
            lines += [f"![{recipe.name}: {recipe.title}]({where}.png)", "", f"{_source(recipe.paper)}: {recipe.reported}", ""]
            lines += ["| claim | found | |", "|---|---|---|"]
            lines += [f"| {_cell(c.statement)} | {_cell(c.found)} | {_verdict(c)} |" for c in one.claims]
            lines += ["", f"`{one.command}`: {_cost(one)}; {one.run.machine}; {one.run.date}. {links}"]
    return "\n".join(lines) + "\n"


def as_html(made: list[Reproduction]) -> str:
    """The same in one file that a browser shows, images beside it."""
    parts = [f"<!doctype html><html lang=en><meta charset=utf-8><title>Reproduction</title><style>{CSS}</style>"]
    parts += [f"<h1>Reproduction</h1><p>{_inline(INTRODUCTION)}</p><p>{_inline(_count(made))}</p>"]
    for paper, group in groupby(made, key=lambda m: m.recipe.paper):
        parts.append(f"<h2>{paper}</h2>")
        for one in group:
            recipe, where = one.recipe, f"{paper}/{one.recipe.figure}"
            parts.append(f"<h3 id={paper}-{recipe.figure}>{recipe.figure}: {_inline(recipe.title)}</h3>")
            parts.append(f'<p>{_inline(recipe.setting)}</p><img src="{where}.png" alt="{html.escape(recipe.title)}">')
            parts.append(f"<p>{_source(paper)}: {_inline(recipe.reported)}</p><table><tr><th>claim<th>found<th></tr>")
            for claim in one.claims:
                kind, words = "yes" if claim.held else "no", (claim.statement, claim.found, claim.verdict)
                statement, found, verdict = (_inline(text) for text in words)
                parts.append(f"<tr><td>{statement}<td>{found}<td class={kind}>{verdict}</tr>")
            links = f'<a href="{where}.csv">table</a>, <a href="{where}.pdf">PDF</a>'
            source = f"<code>{one.command}</code>: {_cost(one)}; {html.escape(one.run.machine)}; {one.run.date}."
            parts.append(f"</table><p>{source} {links}</p>")
    return "\n".join(parts) + "\n"


def _overview(made: list[Reproduction]) -> list[str]:
    lines = [_count(made), "", *_smaller(made), *_earlier(made)]
    lines += ["| figure | size | trials a point | CPU minutes | claims that held |", "|---|---|---|---|---|"]
    for one in made:
        held, judged = _held(one.claims)
        cells = (f"{one.recipe.name}: {one.recipe.title}", one.run.size, _trials(one), f"{one.seconds / 60:,.1f}")
        lines.append(f"| {' | '.join(cells)} | {held} of {judged} |")
    return lines


def _smaller(made: list[Reproduction]) -> list[str]:
    """The figures that are not as large as the paper's grid, in words: a table alone would hide them."""
    quick = [one.recipe.name for one in made if one.run.size != "paper"]
    fewer = [one.recipe.name for one in made if one.run.size == "paper" and one.trials < one.asked]
    absent = [recipe.name for recipe in recipes() if recipe.name not in {one.recipe.name for one in made}]
    parts = [("on a smaller grid", quick), ("on the paper's grid with fewer trials", fewer), ("not run", absent)]
    words = "; ".join(f"{what} {', '.join(names)}" for what, names in parts if names)
    return [f"Not at the papers' size: {words}.", ""] if words else []


def _trials(one: Reproduction) -> str:
    most = "" if one.recipe.following is missing else "at most "
    return f"{most}{one.trials:.3g}" + (f" of {one.asked}" if one.trials < one.asked else "")


def _earlier(made: list[Reproduction]) -> list[str]:
    names = [one.recipe.name for one in made if not one.current]
    words = "Made by earlier states of the package, which their commands would make anew"
    return [f"The line under a figure says what made it, where and when. {words}: {', '.join(names)}.", ""] if names else []


def _count(made: list[Reproduction]) -> str:
    claims = [claim for one in made for claim in one.claims]
    held, judged = _held(claims)
    parts = [(judged - held, "did not"), (len(claims) - judged, "cannot be told from these grids")]
    rest = " and ".join(f"{count} {words}" for count, words in parts if count)
    return f"{len(made)} figures; {held} of {judged} claims held." + (f" {rest}: the cause stands beside them." if rest else "")


def _held(claims: list[Claim]) -> tuple[int, int]:
    judged = [claim.held for claim in claims if claim.held is not None]
    return sum(judged), len(judged)


def _source(paper: str) -> str:
    return "The expectation" if paper == "weightlift" else "The paper"


def _cost(one: Reproduction) -> str:
    return f"{one.cells:,} trials, {one.seconds / 60:,.1f} minutes of CPU time"


def _verdict(claim: Claim) -> str:
    plain = VERDICTS[claim.held]
    return plain if claim.held else f"**{plain}**{_cell(claim.verdict.removeprefix(plain))}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _inline(text: str) -> str:
    """Markdown's `code` and nothing else."""
    parts = html.escape(text).split("`")
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))
