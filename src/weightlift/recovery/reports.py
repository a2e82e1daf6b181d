"""What a recovery hands back: the network, its certificate, and what every stage did."""

from __future__ import annotations

import importlib
import os
import re
from dataclasses import dataclass, field

from weightlift import markup
from weightlift.certificate import Certificate, Inference, Status, Summary, inference, summarize
from weightlift.errors import ArgumentError
from weightlift.network import Network
from weightlift.samples import Columns, Samples
from weightlift.samples.columns import columns_of


@dataclass(frozen=True)
class Cost:
    """Gauss–Newton steps of one start, passes over the rows, and seconds."""

    work: float = 0.0
    passes: int = 0
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.work + other.work, self.passes + other.passes, self.seconds + other.seconds)


@dataclass(frozen=True)
class StageReport:
    """One stage of a recovery: what it did, at what cost, and why it ended."""

    name: str
    width: int
    starts: int
    work: float  # Gauss–Newton steps of one start
    passes: int  # over the data; opening the rows counts with the first stage
    risk: float  # ½ E r², relative to ½ E y²
    outcome: str
    seconds: float = field(default=0.0, compare=False)

    @property
    def outcome_in_brief(self) -> str:
        """A certificate's status without its sentence, which the last one repeats."""
        status = self.outcome.partition(":")[0]
        return status if status in Status.__members__ else self.outcome


@dataclass(frozen=True)
class Trial:
    """A model that was tried where the one asked for failed."""

    change: str
    status: Status
    left: float  # of the target's variance, corrected for the parameters

    def __str__(self) -> str:
        return f"{self.change:<24}{self.status.name:<12}{100 * self.left:8.3g} % of the variance left"


@dataclass(frozen=True)
class Recovery:
    """The network, its certificate, what was tried, and the evidence for the width when it was not given."""

    network: Network
    certificate: Certificate
    stages: tuple[StageReport, ...]
    width_evidence: tuple[str, ...] = field(default=())
    trials: tuple[Trial, ...] = field(default=())  # of an exploration, the most promising first
    call: str = field(default="", compare=False)  # that repeats it
    rows: Samples | None = field(default=None, repr=False, compare=False)  # that it was recovered from

    @property
    def columns(self) -> Columns:
        """Names of the inputs and of the targets, where the rows had any."""
        return columns_of(self.rows)

    def inference(self, *, robust: bool = True) -> Inference:
        """Standard errors and what follows from them; see `certificate.inference`.

        robust  whether the errors allow for noise whose size depends on x
        """
        if self.rows is None:
            raise ArgumentError("this recovery has no rows at hand; certificate.inference(network, X, y) takes them.")
        bias, offset = self.certificate.bias, self.certificate.offset
        return inference(self.network, self.rows, bias=bias, offset=offset, robust=robust)

    def summary(self, level: float = 0.95) -> Summary:
        """Estimates with standard errors and intervals, whatever the certificate says: its objection comes first.

        Where there are no standard errors (fewer rows than parameters), the estimates alone, with the reason.

        level  the probability with which an interval covers
        """
        return summarize(self.network, self.certificate, self.inference, level, self.columns)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write one self-contained HTML page with all of it; see `weightlift.report`.

        path  where to; it should end in .html
        """
        importlib.import_module("weightlift.report").write(self, path)

    def told(self) -> list[tuple[StageReport, str]]:
        """The stages and how they ended, each reason once in full; without those that did not run for a reason told before."""
        known: set[str] = set()
        found = []
        for stage in self.stages:
            kind = re.split("[:;]", stage.outcome)[0]
            if kind not in known or stage.starts:
                found.append((stage, kind if kind in known else stage.outcome_in_brief))
            known.add(kind)
        return found

    def stages_html(self) -> str:
        """What each stage cost and how it ended, and what else was tried."""
        rows = [(s.name, s.width, s.starts, s.work, s.passes, s.seconds, s.risk, ended) for s, ended in self.told()]
        head = ["stage", "units", "starts", "work", "passes", "seconds", "risk", "outcome"]
        shown = markup.table(head, rows, words=["stage", "outcome"])
        shown += markup.listing(self.width_evidence)
        if self.trials:
            tried = ((trial.change, trial.status.name, trial.left) for trial in self.trials)
            shown += markup.table(["tried", "status", "share of the variance left"], tried, words=["tried", "status"])
        return shown

    def _repr_html_(self) -> str:
        noisy = self.certificate.noise_std is not None and self.rows is not None
        errors = self.summary().errors if noisy else {}
        return f"{self.certificate._repr_html_()}{self.network.html(self.columns.inputs, errors)}{self.stages_html()}"

    @property
    def work(self) -> float:
        """Gauss–Newton steps of one start, of all stages."""
        return sum(stage.work for stage in self.stages)

    def __repr__(self) -> str:
        return f"Recovery({self.network!r}: {self.certificate.status.name})"

    def __str__(self) -> str:
        lines = [f"{self.network!r}: {self.certificate.status.name}", *(f"  {r}" for r in self.certificate.reasons)]
        columns = ("units", "starts", "work", "passes", "seconds", "risk")
        width = max([len("stage"), *(len(s.name) for s in self.stages)]) + 2
        header = f"  {'stage':<{width}}" + "".join(f"{name:>9}" for name in columns) + "  outcome"
        rows = [
            f"  {s.name:<{width}}{s.width:>9}{s.starts:>9}{s.work:>9.0f}{s.passes:>9}{s.seconds:>9.2f}{s.risk:>9.1e}  {ended}"
            for s, ended in self.told()
        ]
        explored = ["  tried:", *(f"    {trial}" for trial in self.trials)] if self.trials else []
        return "\n".join([*lines, header, *rows, *(f"  {e}" for e in self.width_evidence), *explored])
