"""What an extraction found, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from weightlift import markup
from weightlift.certificate import Certificate
from weightlift.network import Network
from weightlift.samples import Samples


@dataclass(frozen=True, eq=False)
class Extraction:
    """The network inside a black box, its certificate, what was asked, and what could not be seen.

    fresh: the random rows on which the certificate rests, drawn from a density and not chosen by the answers.
    quantum: how the answers are rounded. notes: sentences on what was met. unseen: what the probed region cannot show.
    """

    network: Network
    certificate: Certificate
    queries: int
    calls: int
    replayed: int  # of the queries, those that the journal answered
    quantum: str
    seconds: float
    fresh: Samples | None = field(default=None, repr=False)
    asked: tuple[np.ndarray, np.ndarray] | None = field(default=None, repr=False)  # every row and its answer
    notes: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def precision(self) -> np.ndarray | None:
        """Relative precision of each unit, as the certificate claims it."""
        return self.certificate.precision

    @property
    def n_parameters(self) -> int:
        """Numbers in the network: weights, biases, output weights, offset, linear part."""
        net = self.network
        return int(net.W.size + net.a.size + net.b.size + np.size(net.c) + (0 if net.V is None else net.V.size))

    @property
    def remarks(self) -> tuple[str, ...]:
        """The notes that are not among the certificate's reasons."""
        return tuple(note for note in self.notes if note not in self.certificate.reasons)

    def summary(self) -> str:
        """The whole of it in plain words."""
        asked = f"{self.queries} queries in {self.calls} calls, {self.queries / max(self.n_parameters, 1):.2f} a parameter"
        replayed = f", {self.replayed} of them from the journal" if self.replayed else ""
        lines = [f"{self.network!r}", f"  {asked}{replayed}; {self.seconds:.1f} s; answers are {self.quantum} numbers"]
        lines += [f"  {note}" for note in self.remarks]
        lines += [f"  not seen: {sentence}" for sentence in self.unseen]
        return "\n".join([*lines, str(self.certificate)])

    def _repr_html_(self) -> str:
        asked = f"{self.queries} queries in {self.calls} calls, {self.replayed} of them from the journal; {self.seconds:.1f} s."
        words = [asked, *self.remarks, *(f"Not seen: {sentence}" for sentence in self.unseen)]
        return f"{self.certificate._repr_html_()}{self.network._repr_html_()}{markup.listing(words)}"

    def __repr__(self) -> str:
        return f"Extraction({self.network!r}: {self.certificate.status.name}, {self.queries} queries)"

    def __str__(self) -> str:
        return self.summary()
