"""`weightlift recover`: the network behind a file of samples."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from weightlift.cli.console import NOT_CERTIFIED, Force, Json, check_output, print_json, print_parts, working
from weightlift.cli.report import network_table, recovery_json, stage_table, verdict, width_lines

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
    out: Annotated[Path | None, typer.Option(metavar="NET", help="Write the network: .safetensors.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Recover the network behind samples, with a certificate.

    \b
    Examples
      weightlift recover data.csv --target y --units 5
      weightlift recover data.npz --units auto --activation tanh --out net.safetensors
      weightlift recover data.csv --target price --units 3 --bias --offset --json
      weightlift recover logits.csv --target 64,65,66 --units 16 --bias --offset --linear auto

    Ends with exit code 0 if the network is certified, else with 3; it is written in both cases.
    """
    if out is not None:
        check_output(out, force=force, suffixes=SUFFIXES)
    width = _width(units)
    if linear not in LINEAR:
        raise typer.BadParameter(f"{linear!r} is none of {', '.join(LINEAR)}.", param_hint="--linear")
    with working("reading"):
        from weightlift.cli.data import read_table

        table = read_table(data)
    if (column := table.target if target is None else target) is None:
        raise typer.BadParameter(f"name the column of y; there are {table.listing}.", param_hint="--target")
    X, y = table.split(column)
    inputs, outputs = table.split_names(column)
    with working("recovering") as told:
        import weightlift as wl

        began = time.perf_counter()
        found = wl.recover(
            X,
            y,
            n_units=width,
            activation=activation,
            bias=bias,
            offset=offset,
            linear=LINEAR[linear],
            method=method,
            max_work=max_work,
            callback=told,
            rng=seed,
        )
        seconds = time.perf_counter() - began
    if out is not None:
        found.network.save(out, inputs=inputs, outputs=outputs)
    if as_json:
        print_json({**recovery_json(found, seconds), "rows": len(X), "file": None if out is None else str(out)})
    else:
        listed = network_table(found.network, inputs)
        parts = [listed, stage_table(found, seconds), *width_lines(found), verdict(found.certificate)]
        print_parts(*parts, *([] if out is None else [f"Network: {out}"]))
    if not found.certificate:
        raise typer.Exit(NOT_CERTIFIED)


def _width(units: str) -> int | str:
    if units == "auto":
        return units
    if not units.isdecimal() or int(units) < 1:
        raise typer.BadParameter(f"{units!r} is neither a positive whole number nor 'auto'.", param_hint="--units")
    return int(units)
