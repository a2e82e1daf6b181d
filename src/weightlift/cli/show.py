"""`weightlift show`: what is in a network file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weightlift.cli.console import Json, console, print_json
from weightlift.cli.report import network_json, network_table


def show(
    net: Annotated[Path, typer.Argument(metavar="NET", help="A network written by `weightlift recover` or Network.save.")],
    as_json: Json = False,
) -> None:
    """Show the units of a network file, in normal form: for homogeneous activations every ‖w‖ is 1 and a holds the size.

    \b
    Examples
      weightlift show net.safetensors
      weightlift show net.safetensors --json
    """
    from weightlift.network import Network, column_names

    network = Network.load(net).normalized()
    inputs, outputs = column_names(net)
    if as_json:
        print_json({**network_json(network), "inputs": inputs, "outputs": outputs})
    else:
        console().print(network_table(network, inputs, outputs))
