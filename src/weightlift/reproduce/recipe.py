"""What a figure is: a grid of points, a trial at each, a summary of the trials, a drawing, and the claims that it bears out.

A *cell* is one trial at one point. Its key is a hash of the trial's source, of what of the package it calls, of the point, the
number of the trial and the seed: a changed recipe or a changed algorithm has other keys, so that no old number is shown for
it, and figures that share a trial share its cells. Its random numbers depend on the point, the trial's number and the seed
alone: not on the order of work, nor on the rest of the grid.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from weightlift.errors import ArgumentError
from weightlift.reproduce.fingerprint import digest, fingerprint

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, Any]
Trial = Callable[..., Row]  # trial(rng, **point): JSON's types and NumPy's, the same for the same rng

SIZES = ("quick", "paper")
VERDICTS = {True: "held", False: "did not hold", None: "this grid cannot tell"}


@dataclass(frozen=True)
class Grid:
    """Points, and how often the trial is run at each."""

    points: tuple[Row, ...]
    trials: int

    @classmethod
    def product(cls, trials: int, **axes: Any) -> Grid:
        """Every combination of the axes' values; a value that is no list or tuple is the same at all points.

        trials  at every point

        >>> [point["n"] for point in Grid.product(10, d=(5, 9), n=[1, 2], k=3).points]
        [1, 2, 1, 2]
        """
        values = [value if isinstance(value, list | tuple | range) else [value] for value in axes.values()]
        return cls(tuple(dict(zip(axes, combination, strict=True)) for combination in itertools.product(*values)), trials)

    def __add__(self, other: Grid) -> Grid:
        return Grid(self.points + other.points, self.trials)


@dataclass(frozen=True)
class Claim:
    """A sentence that the figure should bear out, what was found, and whether it held; None where the grid cannot tell.

    cause: why, where it did not: the paper's claim, the setting, too few trials or a defect, with what was measured of it.
    """

    statement: str
    found: str
    held: bool | None
    cause: str

    @property
    def verdict(self) -> str:
        """In words, with the cause where there is something to explain."""
        return VERDICTS[self.held] + ("" if self.held else f": {self.cause}")


def every(cases: Iterable[bool]) -> bool | None:
    """Whether all hold; None where there is no case: nothing is borne out by nothing."""
    found = [bool(case) for case in cases]
    return all(found) if found else None


def none_wrong(rows: list[Row], certified: str = "certified") -> Claim:
    """That no certificate is wrong: the claim whose failure nothing excuses."""
    wrong = sum(row["certified_but_wrong"] for row in rows)
    return Claim(
        f"no network is {certified} that is not the planted one",
        f"{wrong} wrong certificates",
        wrong == 0,
        "a defect of the certificate, and not chance; the table's column certified_but_wrong says where",
    )


def missing(cells: Sequence[Cell], results: Mapping[str, Row]) -> list[Cell]:
    """All cells that have no result."""
    return [cell for cell in cells if cell.key not in results]


@dataclass(frozen=True)
class Recipe:
    """A figure, declared.

    A trial takes a Generator and a point's values. `summarize` turns the trials' rows, each the point with `trial` and what the
    trial returned, into the table behind the figure; `draw` and `claims` see that table alone. `following` says which cells
    of the grid to run next, given the results so far by key; with none left the figure is complete.
    """

    paper: str
    figure: str
    title: str
    setting: str  # what is done, in sentences
    reported: str  # what the paper says of it
    grids: Mapping[str, Grid]  # one a size
    trial: Trial
    summarize: Callable[[list[Row]], list[Row]]
    draw: Callable[[Figure, list[Row]], None]
    claims: Callable[[list[Row]], list[Claim]]
    following: Callable[[Sequence[Cell], Mapping[str, Row]], list[Cell]] = missing
    cost: Callable[[Row], float] = lambda point: 1.0  # relative, for the order of work and the time left
    width: float = 9.0  # inches
    height: float = 4.0

    @property
    def name(self) -> str:
        return f"{self.paper} {self.figure}"

    def cells(self, size: str, *, seed: int = 0, trials: int | None = None) -> list[Cell]:
        """All trials of the grid of that size, or `trials` of them at every point, with this seed."""
        if size not in self.grids:
            raise ArgumentError(f"size must be one of {tuple(self.grids)}, not {size!r}.")
        if trials is not None and trials < 1:
            raise ArgumentError(f"trials must be at least 1, not {trials}.")
        grid, code = self.grids[size], fingerprint(self.trial)
        numbers = range(grid.trials if trials is None else trials)
        return [Cell(code, point, i, seed) for point in grid.points for i in numbers]


@dataclass(frozen=True)
class Cell:
    """One trial at one point."""

    code: str  # fingerprint of the trial
    point: Row
    trial: int
    seed: int

    @cached_property
    def key(self) -> str:
        return digest([self.code, self.point, self.trial, self.seed])

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(int(digest([self.point, self.trial, self.seed]), 16))
