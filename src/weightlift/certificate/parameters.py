"""Names and values of a network's parameters in the order of every table: unit by unit w, b, a, then the line, c last."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from weightlift.network import Network
from weightlift.samples import Columns


def parameter_names(network: Network, *, bias: bool, offset: bool, columns: Columns) -> tuple[str, ...]:
    """w[unit,input], b[unit], a[unit] or a[unit,output], V[input], c; inputs and outputs by their names, if they have any."""
    inputs = columns.inputs or tuple(map(str, range(network.n_inputs)))
    several = network.a.ndim == 2
    outputs = (columns.outputs or tuple(map(str, range(network.n_outputs)))) if several else ("",)
    names: list[str] = []
    for i in range(network.n_units):
        names += [f"w[{i},{j}]" for j in inputs] + ([f"b[{i}]"] if bias else [])
        names += [f"a[{i},{o}]" if several else f"a[{i}]" for o in outputs]
    if network.V is not None:
        names += [f"V[{j},{o}]" if several else f"V[{j}]" for j in inputs for o in outputs]
    if offset:
        names += [f"c[{o}]" if several else "c" for o in outputs]
    return tuple(names)


def parameter_values(network: Network, *, bias: bool, offset: bool) -> np.ndarray:
    """(P,) in the order of the names."""
    units = np.concatenate([network.W, *([network.b[None, :]] if bias else []), network.A.T]).T.reshape(-1)
    line = [] if network.V is None else [network.V.reshape(-1)]
    return np.concatenate([units, *line, *([np.atleast_1d(network.c)] if offset else [])])


def described(network: Network) -> str:
    """2 units and a line, relu."""
    units = f"{network.n_units} unit{'s' * (network.n_units != 1)}"
    return f"{units}{' and a line' * (network.V is not None)}, {network.activation.name}"


@dataclass(frozen=True, eq=False)
class Estimates:
    """The parameters of a fit that has no standard errors, with the reason; it fills the same table as an `Inference`."""

    network: Network  # in normal form
    bias: bool
    offset: bool
    n_rows: int
    reason: str
    columns: Columns = field(default_factory=Columns)

    def named(self, inputs: tuple[str, ...]) -> Estimates:
        """The same under these names of inputs."""
        return replace(self, columns=Columns(inputs, self.columns.outputs))

    @property
    def names(self) -> tuple[str, ...]:
        return parameter_names(self.network, bias=self.bias, offset=self.offset, columns=self.columns)

    @property
    def estimates(self) -> np.ndarray:
        return parameter_values(self.network, bias=self.bias, offset=self.offset)

    @property
    def standard_errors(self) -> np.ndarray:
        return np.full(len(self.names), np.nan)

    z_values = p_values = standard_errors

    def intervals(self, level: float = 0.95) -> np.ndarray:
        """(P, 2), of which nothing is known at any level."""
        return np.full((len(self.names), 2), np.nan)

    def facts(self) -> list[tuple[str, str]]:
        rows = [("Rows", str(self.n_rows))] if self.n_rows else []
        return [("Model", described(self.network)), ("Inputs", str(self.network.n_inputs)), *rows]

    def remarks(self) -> tuple[str, ...]:
        return (self.reason,)
