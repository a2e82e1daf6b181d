"""The command line: `weightlift demo | recover | extract | predict | show | convert | diagnose | reproduce`.

One file a command. Numerical packages load when a command runs, so that `weightlift --help` answers at once.
Exit codes: 0 when the network is certified (or nothing was to be certified), 3 when it is not, 2 for a mistake in usage.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from weightlift._version import __version__
from weightlift.cli.console import Commands
from weightlift.cli.convert import convert
from weightlift.cli.demo import demo
from weightlift.cli.diagnose import diagnose
from weightlift.cli.extract import extract
from weightlift.cli.predict import predict
from weightlift.cli.recover import recover
from weightlift.cli.reproduce import reproduce
from weightlift.cli.show import show

app = typer.Typer(name="weightlift", cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False)
for command in (demo, recover, extract, predict, show, convert, diagnose, reproduce):
    app.command()(command)


def main() -> None:
    """Entry point of the `weightlift` program."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # φ on a terminal that has no φ
    app()


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"weightlift {__version__}")
        raise typer.Exit


@app.callback()
def weightlift(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Recover one-hidden-layer networks from samples: the units themselves, with a certificate.

    \b
    Examples
      weightlift demo
      weightlift recover data.csv --target y --units 5 --out net.safetensors
      weightlift extract model.onnx --inputs 20
      weightlift show net.safetensors
      weightlift predict net.safetensors new.csv > predictions.txt
      weightlift reproduce zhong2017 fig1a
      weightlift diagnose --inputs 50 --units 350 --activation tanh
      weightlift convert net.safetensors --to onnx

    Exit codes: 0 certified, 3 not certified (the network is written all the same), 2 a mistake in usage.
    """
