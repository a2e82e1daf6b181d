"""What a recovery hands back: the network, its certificate, and what every stage did."""

from __future__ import annotations

from dataclasses import dataclass, field

from weightlift.certificate import Certificate
from weightlift.network import Network


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


@dataclass(frozen=True)
class Recovery:
    """The network, its certificate, what was tried, and the evidence for the width when it was not given."""

    network: Network
    certificate: Certificate
    stages: tuple[StageReport, ...]
    width_evidence: tuple[str, ...] = field(default=())

    @property
    def work(self) -> float:
        """Gauss–Newton steps of one start, of all stages."""
        return sum(stage.work for stage in self.stages)

    def __str__(self) -> str:
        lines = [f"{self.network!r}: {self.certificate.status.name}", *(f"  {r}" for r in self.certificate.reasons)]
        columns = ("units", "starts", "work", "passes", "seconds", "risk")
        header = f"  {'stage':<34}" + "".join(f"{name:>9}" for name in columns) + "  outcome"
        rows = [
            f"  {s.name:<34}{s.width:>9}{s.starts:>9}{s.work:>9.0f}{s.passes:>9}{s.seconds:>9.2f}{s.risk:>9.1e}  {s.outcome}"
            for s in self.stages
        ]
        return "\n".join([*lines, header, *rows, *(f"  {e}" for e in self.width_evidence)])
