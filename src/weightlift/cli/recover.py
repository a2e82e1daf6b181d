"""`weightlift recover`: the network behind a file of samples."""

from __future__ import annotations

import shlex
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weightlift.cli.console import (
    INTERRUPTED,
    NOT_CERTIFIED,
    Force,
    Json,
    check_output,
    failure,
    print_json,
    print_parts,
    working,
)
from weightlift.cli.report import network_table, recovery_json, stage_table, trial_lines, verdict, width_lines

if TYPE_CHECKING:
    from weightlift.cli.console import Remembered
    from weightlift.recovery import Recovery
    from weightlift.samples import Columns

SUFFIXES = (".safetensors",)
LINEAR: dict[str, bool | str] = {"no": False, "yes": True, "auto": "auto"}


def recover(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Samples: .csv, .parquet, .npy, or .npz with X and y.")],
    units: Annotated[str, typer.Option(help="Number of units, or auto.", metavar="K|auto")],
    target: Annotated[str | None, typer.Option(help="Column of y, or several, a,b,c: names, or numbers from 0.")] = None,
    activation: Annotated[str, typer.Option(help="relu, squared_relu, leaky_relu, tanh, sigmoid, erf, …")] = "relu",
    bias: Annotated[bool, typer.Option("--bias", help="Units have biases.")] = False,
    offset: Annotated[bool, typer.Option("--offset", help="The output has a constant.")] = False,
    linear: Annotated[str, typer.Option(metavar="no|yes|auto", help="A linear part beside the units.")] = "no",
    method: Annotated[str, typer.Option(help="auto, tensor (moments alone) or search.")] = "auto",
    max_work: Annotated[float | None, typer.Option(min=0.0, help="Bound on all stages, in Gauss–Newton steps.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same answer.")] = 0,
    explore: Annotated[bool, typer.Option("--explore", help="Where it FAILED, try other models, quickly.")] = False,
    summary: Annotated[bool, typer.Option("--summary", help="Print standard errors and 95 % intervals too.")] = False,
    report: Annotated[Path | None, typer.Option(metavar="PAGE", help="Write one page with all of it: .html.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="NET", help="Write the network: .safetensors.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Recover the network behind samples, with a certificate.

    \b
    Examples
      weightlift recover data.csv --target y --units 5
      weightlift recover data.npz --units auto --activation tanh --out net.safetensors
      weightlift recover data.csv --target price --units 3 --bias --offset --summary
      weightlift recover logits.csv --target 64,65,66 --units 16 --bias --offset --linear auto

    Ends with exit code 0 if the network is certified, else with 3; it is written in both cases.
    """
    check_output(out, force=force, suffixes=SUFFIXES)
    check_output(report, force=force, suffixes=(".html",), option="--report")
    width = _width(units)
    if linear not in LINEAR:
        raise typer.BadParameter(f"{linear!r} is none of {', '.join(LINEAR)}.", param_hint="--linear")
    with working("reading"):
        from weightlift.cli.data import read_table

        table = read_table(data)
    if (column := table.target if target is None else target) is None:
        raise typer.BadParameter(f"name the column of y; there are {table.listing}.", param_hint="--target")
    rows = table.source(column)
    with working("recovering") as told:
        import weightlift as wl

        began, found = time.perf_counter(), None
        with suppress(KeyboardInterrupt):
            found = wl.recover(
                rows,
                n_units=width,
                activation=activation,
                bias=bias,
                offset=offset,
                linear=LINEAR[linear],
                method=method,
                max_work=max_work,
                callback=told,
                explore=explore,
                rng=seed,
            )
        seconds = time.perf_counter() - began
    if found is None:
        typer.echo(_kept(told, rows.columns, out), err=True)
        raise typer.Exit(INTERRUPTED)
    written, unwritten = _written(found, out, report)
    if as_json:
        print_json({**_json(found, seconds, with_summary=summary), "rows": rows.n, "file": written[0], "report": written[1]})
    else:
        files = [f"{name}: {path}" for name, path in zip(("Network", "Report"), written, strict=True) if path]
        print_parts(*_parts(found, seconds, with_summary=summary), *files)
    if unwritten:
        raise unwritten
    if not found.certificate:
        raise typer.Exit(NOT_CERTIFIED)


def _written(found: Recovery, out: Path | None, report: Path | None) -> tuple[tuple[str | None, str | None], OSError | None]:
    """The paths of what was written, and why something was not."""

    def save() -> None:
        if out is not None:
            found.network.save(out, inputs=found.columns.inputs, outputs=found.columns.outputs)

    def write_report() -> None:
        if report is not None:
            from weightlift.report import write

            write(found, report, command=shlex.join(["weightlift", *sys.argv[1:]]))

    no_network, no_report = failure(save), failure(write_report)
    network = None if out is None or no_network else str(out)
    return (network, None if report is None or no_report else str(report)), no_network or no_report


def _json(found: Recovery, seconds: float, *, with_summary: bool) -> dict[str, Any]:
    summary = found.summary() if with_summary else None
    more = {} if summary is None else {"summary": summary.columns(), "caveats": summary.first}
    return {**recovery_json(found, seconds), "inputs": found.columns.inputs, "outputs": found.columns.outputs, **more}


def _parts(found: Recovery, seconds: float, *, with_summary: bool) -> list[Any]:
    """Tables and texts; of noisy rows the units with their standard errors."""
    from rich.markup import escape

    errors = found.summary() if with_summary or found.certificate.noise_std is not None else None
    listed = network_table(found.network, found.columns.inputs, found.columns.outputs, errors)
    table = [escape(str(errors))] if with_summary else []
    return [listed, *table, stage_table(found, seconds), *width_lines(found), *trial_lines(found), verdict(found.certificate)]


def _kept(told: Remembered, columns: Columns, out: Path | None) -> str:
    """What is left of an interrupted recovery: the best network so far, where there is a file for it."""
    last, best = told.last, told.best
    if last is None or best is None or best.network is None:
        return "Interrupted before there was a network; nothing was kept."
    where = f"Interrupted after {last.seconds:.0f} s in {last.stage}, best risk {best.best_risk:.1e}"
    if out is None:
        return f"{where}; nothing was kept. --out NET keeps the best network so far."
    best.network.save(out, inputs=columns.inputs, outputs=columns.outputs)
    return f"{where}; the best network so far is in {out}: {best.network!r}, not certified."


def _width(units: str) -> int | str:
    if units == "auto":
        return units
    if not units.isdecimal() or int(units) < 1:
        raise typer.BadParameter(f"{units!r} is neither a positive whole number nor 'auto'.", param_hint="--units")
    return int(units)
