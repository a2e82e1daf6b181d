"""`weightlift extract`: the network inside a model file or a function."""

from __future__ import annotations

import importlib
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

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
from weightlift.cli.report import certificate_json, network_json, network_table, verdict

SUFFIXES = (".safetensors",)


def extract(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="model.onnx, model.safetensors, or package.module:function.")],
    inputs: Annotated[int, typer.Option(min=1, metavar="D", help="Number of inputs.")],
    units: Annotated[str, typer.Option(help="The most units allowed, or auto.", metavar="K|auto")] = "auto",
    activation: Annotated[str, typer.Option(help="relu, leaky_relu, tanh, sigmoid, …, or auto.")] = "relu",
    budget: Annotated[int | None, typer.Option(min=1, metavar="N", help="Queries that are never exceeded.")] = None,
    journal: Annotated[Path | None, typer.Option(metavar="FILE", help="Keep every answer; go on from it.")] = None,
    center: Annotated[float, typer.Option(help="Where inputs are probed.")] = 0.0,
    scale: Annotated[float, typer.Option(help="How wide.")] = 1.0,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Rows a call.")] = None,
    retries: Annotated[int, typer.Option(min=0, help="Of a call that failed, with pauses.")] = 3,
    max_time: Annotated[float | None, typer.Option(min=0.0, help="Seconds.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same queries.")] = 0,
    out: Annotated[Path | None, typer.Option(metavar="NET", help="Write the network: .safetensors.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Extract the network inside a black box by queries, with a certificate.

    \b
    Examples
      weightlift extract model.onnx --inputs 20
      weightlift extract shop.pricing:quote --inputs 12 --budget 5000 --journal quotes.journal
      weightlift extract model.safetensors --inputs 64 --activation auto --out found.safetensors

    The function of package.module:function takes an (n, d) array and returns (n,) or (n, m) numbers.
    Ends with exit code 0 if the network is certified, else with 3; it is written in both cases.
    """
    if out is not None:
        check_output(out, force=force, suffixes=SUFFIXES)
    width: int | str = int(units) if units.isdecimal() else units
    oracle = _oracle(model)
    asked, most, found = [0], f" of at most {budget:,}" if budget else "", None  # queries so far
    with working("extracting") as told:
        import weightlift as wl

        def progress(queries: int) -> None:
            asked[0] = queries
            told.show(f"{queries:,}{most} queries")

        with suppress(KeyboardInterrupt):
            found = wl.extract(
                oracle,
                inputs,
                n_units=width,
                activation=activation,
                budget=budget,
                center=center,
                scale=scale,
                batch_size=batch_size,
                retries=retries,
                journal=journal,
                max_time=max_time or None,
                callback=progress,
                rng=seed,
            )
    if found is None:
        typer.echo(_kept(asked[0], journal), err=True)
        raise typer.Exit(INTERRUPTED)
    unwritten = None if out is None else failure(lambda: found.network.save(out))
    if as_json:
        print_json(_json(found, None if unwritten else out))
    else:
        cost = f"{found.queries} queries in {found.calls} calls, {found.replayed} from the journal, {found.seconds:.1f} s."
        lines = [cost, *found.remarks, *(f"Not seen: {sentence}." for sentence in found.unseen)]
        print_parts(network_table(found.network), "\n".join(lines), verdict(found.certificate))
    if unwritten:
        raise unwritten
    if not found.certificate:
        raise typer.Exit(NOT_CERTIFIED)


def _kept(queries: int, journal: Path | None) -> str:
    """What is left of an interrupted extraction."""
    if journal is None:
        return f"Interrupted after {queries} queries; nothing was kept. --journal FILE keeps every answer."
    return f"Interrupted after {queries} queries; their answers are in {journal}, and the same command goes on from them."


def _oracle(model: str) -> Any:
    """What to ask: an ONNX session, a saved network's prediction, or a function that is imported by name."""
    suffix = Path(model).suffix.lower()
    if suffix == ".onnx":
        try:
            import onnxruntime
        except ImportError:
            raise typer.BadParameter("an ONNX model needs onnxruntime; pip install 'weightlift[onnx]'.") from None
        if not Path(model).is_file():
            raise typer.BadParameter(f"there is no file {model}.")
        try:
            return onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's own error classes are not public
            raise typer.BadParameter(f"{model} is no model that onnxruntime can run: {error}.") from None
    if suffix == ".safetensors":
        from weightlift.export import from_safetensors

        return from_safetensors(model).predict
    module, colon, name = model.partition(":")
    if not module or not colon or not name:
        raise typer.BadParameter(f"{model!r} must be a file .onnx or .safetensors, or package.module:function.")
    sys.path.insert(0, "")  # as `python -m` does: modules of the working directory
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise typer.BadParameter(f"{model!r} cannot be imported: {error}.") from None
    finally:
        sys.path.remove("")


def _json(found: Any, out: Path | None) -> dict[str, Any]:
    return {
        **certificate_json(found.certificate),
        "precision": found.precision,
        "network": network_json(found.network),
        "queries": found.queries,
        "calls": found.calls,
        "replayed": found.replayed,
        "quantum": found.quantum,
        "notes": found.notes,
        "unseen": found.unseen,
        "seconds": found.seconds,
        "file": None if out is None else str(out),
    }
