"""`weightlift diagnose`: can a network of this shape, this network, or the one behind these rows be recovered?"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weightlift.cli.console import Force, Json, check_output, print_json, print_parts, working
from weightlift.cli.report import new_table

if TYPE_CHECKING:
    from weightlift.diagnose import Diagnosis

SUFFIXES = (".png", ".pdf", ".svg")
NETWORK = ".safetensors"


def diagnose(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[NET|DATA]", help="A network (.safetensors) or samples; without it a shape is diagnosed."),
    ] = None,
    inputs: Annotated[int | None, typer.Option(min=1, help="Number of inputs of a shape.")] = None,
    units: Annotated[int | None, typer.Option(min=1, help="Number of units; for samples it is estimated unless given.")] = None,
    rows: Annotated[int | None, typer.Option(min=1, help="Number of rows, for a shape or a network.")] = None,
    target: Annotated[str | None, typer.Option(help="Column of y: its name, or its number from 0. An .npz needs none.")] = None,
    activation: Annotated[str, typer.Option(help="relu, squared_relu, leaky_relu, tanh, sigmoid, erf, …")] = "relu",
    bias: Annotated[bool, typer.Option("--bias", help="Units have biases.")] = False,
    offset: Annotated[bool, typer.Option("--offset", help="The output has a constant.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="FIGURE", help="Draw the phase diagram: .png, .pdf or .svg.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Say what is known before anything is computed: identifiable or not, how hard, which methods, how many rows, what cost.

    \b
    Examples
      weightlift diagnose --inputs 20 --units 5 --rows 300
      weightlift diagnose --inputs 50 --units 350 --activation tanh --out phases.png
      weightlift diagnose net.safetensors --rows 5000
      weightlift diagnose data.csv --target y
    """
    if out is not None:
        check_output(out, force=force, suffixes=SUFFIXES)
    with working("diagnosing"):
        from weightlift import diagnose as room

        if file is None:
            if inputs is None or units is None:
                raise typer.BadParameter("name a file, or the shape by --inputs and --units.", param_hint="NET|DATA")
            found = room.shape(inputs, units, n=rows, activation=activation, bias=bias, offset=offset)
        elif inputs is not None:
            raise typer.BadParameter(f"{file} has its own number of inputs; leave the option out.", param_hint="--inputs")
        elif file.suffix.lower() == NETWORK:
            from weightlift.network import Network

            found = room.network(Network.load(file), n=rows, offset=offset or None)
        else:
            found = room.data(_samples(file, target), n_units=units, activation=activation, bias=bias, offset=offset)
        if out is not None:
            from weightlift.files import write_atomically

            write_atomically(out, _figure(found, kind=out.suffix.lower()[1:]))
    if as_json:
        print_json({**found.as_dict(), "file": None if out is None else str(out)})
    else:
        print_parts(_table(found), _words(found), *([] if out is None else [f"Figure: {out}"]))


def _samples(file: Path, target: str | None) -> Any:
    from weightlift.cli.data import read_table

    table = read_table(file)
    if (column := table.target if target is None else target) is None:
        raise typer.BadParameter(f"name the column of y; there are {table.listing}.", param_hint="--target")
    return table.source(column)


def _table(found: Diagnosis) -> Any:
    from rich.markup import escape

    table = new_table(escape(found.title))
    for name in ("", "", ""):
        table.add_column(name, overflow="fold")
    for line in found.table():
        table.add_row(*map(escape, line))
    return table


def _words(found: Diagnosis) -> str:
    """The reasons, which the table has no room for."""
    from rich.markup import escape

    reasons = (*found.identifiability.reasons, *found.regime.reasons, *found.notes)
    return "\n".join(f"• {escape(reason)}" for reason in reasons)


def _figure(found: Diagnosis, *, kind: str) -> bytes:
    import matplotlib
    from matplotlib.figure import Figure

    from weightlift.cli.figure import SAVING, STYLE
    from weightlift.plots import PhaseDisplay

    with matplotlib.rc_context(STYLE):
        canvas = Figure(figsize=(7, 5), dpi=120, layout="constrained")
        display = PhaseDisplay.from_diagnosis(found, ax=canvas.subplots())
        display.ax_.set_title(found.title)
        buffer = io.BytesIO()
        canvas.savefig(buffer, format=kind, **SAVING[kind])
    return buffer.getvalue()
