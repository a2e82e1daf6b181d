"""`weightlift predict`: a network's values at the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from weightlift.cli.console import Force, Json, check_output, print_json

SUFFIXES = (".csv", ".npy")


def predict(
    net: Annotated[Path, typer.Argument(metavar="NET", help="A network written by `weightlift recover` or Network.save.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Inputs: .csv, .parquet, .npy, or .npz with X.")],
    target: Annotated[str | None, typer.Option(help="A column to leave out, as in `weightlift recover`.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write to a .csv or .npy file instead of the terminal.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Predict y for every row of a file: a line a row, its outputs between commas, with all their digits.

    \b
    Examples
      weightlift predict net.safetensors new.csv
      weightlift predict net.safetensors data.csv --target y --out predictions.npy
    """
    if out is not None:
        check_output(out, force=force, suffixes=SUFFIXES)
    from weightlift.cli.data import read_table
    from weightlift.errors import ShapeError
    from weightlift.network import Network, column_names

    network = Network.load(net)
    table = read_table(data)
    column = table.target if target is None else target
    inputs, outputs = column_names(net)
    if inputs is not None and table.named:
        X = table.ordered(inputs, (*(outputs or ()), *((column, *column.split(",")) if column else ())))
    else:
        if inputs is not None:
            typer.echo(f"Note: {data} names no columns; they are taken in the order {', '.join(inputs)}.", err=True)
        X = table.values if column is None else table.split(column)[0]
    if X.shape[1] != network.n_inputs:
        found = f"{data} has {X.shape[1]} input columns and the network {network.n_inputs} inputs"
        raise ShapeError(f"{found}; --target leaves a column out; there are {table.listing}.")
    values = network.predict(X)
    lines = "\n".join(",".join(map(repr, row)) if isinstance(row, list) else repr(row) for row in values.tolist())
    if out is not None:
        _write(out, lines, values, outputs)
    if as_json:
        print_json({"predictions": values, "file": None if out is None else str(out)})
    elif out is None:
        typer.echo(lines)
    else:
        typer.echo(f"{len(values)} predictions: {out}")


def _write(out: Path, lines: str, values: Any, outputs: tuple[str, ...] | None) -> None:
    """A CSV file has the names of the targets above its columns, where the network knows them."""
    import csv
    import io

    import numpy as np

    from weightlift.files import write_atomically

    if out.suffix.lower() == ".csv":
        numbered = ["prediction"] if values.ndim == 1 else [f"prediction {i}" for i in range(values.shape[1])]
        header = io.StringIO()
        csv.writer(header, lineterminator="\n").writerow(outputs or numbered)
        content = f"{header.getvalue()}{lines}\n".encode()
    else:
        buffer = io.BytesIO()
        np.save(buffer, np.asarray(values), allow_pickle=False)
        content = buffer.getvalue()
    write_atomically(out, content)
