"""`python -m weightlift.reproduce`: the command line without any packages beside NumPy and SciPy."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from weightlift.errors import WeightliftError
from weightlift.reproduce import PAPERS
from weightlift.reproduce.command import OUT, Command, execute
from weightlift.reproduce.recipe import SIZES


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m weightlift.reproduce", description="figures of the papers, and ours")
    parser.add_argument("paper", help=f"{', '.join(PAPERS)}; all; list, to see what there is; page, to write the page anew")
    parser.add_argument("figure", nargs="?", help="all of the paper's by default")
    parser.add_argument("--size", choices=SIZES, default="quick", help="quick: minutes; paper: the paper's grid")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trials", type=int, help="at every point, instead of the grid's")
    parser.add_argument("--jobs", type=int, help="processes, one BLAS thread each; all cores by default")
    parser.add_argument("--out", type=Path, default=OUT, help="folder for cells, tables, figures and page")
    parser.add_argument("--merge", type=Path, action="append", default=[], help="take over the cells of another folder first")
    parser.add_argument("--docs", type=Path, help="with page: write reproduction.md and its images into this folder")
    try:
        return execute(Command(**vars(parser.parse_args(arguments))))
    except WeightliftError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
