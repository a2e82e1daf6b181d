"""`weightlift convert`: a network file for another tool, or from one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weightlift.cli.console import Force, Json, check_output, print_json

if TYPE_CHECKING:
    from weightlift.network import Network

SUFFIXES = {"onnx": ".onnx", "torch": ".safetensors", "sklearn": ".joblib", "safetensors": ".safetensors"}
DTYPES = ("float64", "float32")
HINTS = {
    "onnx": 'onnxruntime.InferenceSession("{path}").run(None, {{"X": X}})',
    "torch": 'model.load_state_dict(safetensors.torch.load_file("{path}"))  # nn.Sequential(Linear, activation, Linear)',
    "sklearn": 'joblib.load("{path}").predict(X)',
    "safetensors": 'weightlift.Network.load("{path}")',
}


def convert(
    net: Annotated[Path, typer.Argument(metavar="NET", help="A network: .safetensors (ours, or a state dictionary) or .onnx.")],
    to: Annotated[str, typer.Option("--to", metavar="TARGET", help="onnx, torch, sklearn or safetensors.")],
    out: Annotated[Path | None, typer.Option(help="The file to write; by default NET with the target's suffix.")] = None,
    dtype: Annotated[str, typer.Option(help="float64 or float32; sklearn and safetensors keep float64.")] = "float64",
    activation: Annotated[str | None, typer.Option(help="Of a state dictionary that does not name it.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Convert a network; its predictions stay the same to rounding.

    torch writes a state dictionary in safetensors, sklearn an MLPRegressor in joblib, safetensors the package's own file.

    \b
    Examples
      weightlift convert net.safetensors --to onnx
      weightlift convert net.safetensors --to torch --dtype float32 --out model.safetensors
      weightlift convert model.onnx --to safetensors --out net.safetensors
    """
    if to not in SUFFIXES:
        raise typer.BadParameter(f"{to!r} is none of {', '.join(SUFFIXES)}.", param_hint="--to")
    if dtype not in DTYPES:
        raise typer.BadParameter(f"{dtype!r} is neither float64 nor float32.", param_hint="--dtype")
    if net.is_dir():
        raise typer.BadParameter(f"{net} is a folder; name a file.", param_hint="NET")
    path = out if out is not None else net.with_suffix(".torch.safetensors" if to == "torch" else SUFFIXES[to])
    check_output(path, force=force, suffixes=(SUFFIXES[to],))
    network = _read(net, activation)
    _write(network, to, path, dtype)
    hint = HINTS[to].format(path=path)
    if as_json:
        print_json({"file": str(path), "to": to, "dtype": dtype, "n_inputs": network.n_inputs, "n_units": network.n_units})
    else:
        typer.echo(f"{network!r}\nWritten: {path}\n  {hint}")


def _read(path: Path, activation: str | None) -> Network:
    from weightlift.errors import FileFormatError
    from weightlift.export import from_onnx, from_safetensors

    readers = {".safetensors": lambda: from_safetensors(path, activation=activation), ".onnx": lambda: from_onnx(path)}
    if path.suffix.lower() not in readers:
        raise FileFormatError(f"{path}: the suffix must be one of {', '.join(readers)}.")
    return readers[path.suffix.lower()]()


def _write(network: Network, to: str, path: Path, dtype: str) -> None:
    import io

    from weightlift import export
    from weightlift.files import write_atomically

    if to == "onnx":
        export.to_onnx(network, path, dtype=dtype)
    elif to == "torch":
        from weightlift.export.plain import name_in, unscaled

        plain = unscaled(network)
        name_in("torch", plain, "PyTorch's nn")
        export.to_safetensors(plain, path, dtype=dtype)
    elif to == "safetensors":
        network.save(path)
    else:
        import joblib

        buffer = io.BytesIO()
        joblib.dump(export.to_sklearn(network), buffer)
        write_atomically(path, buffer.getvalue())
