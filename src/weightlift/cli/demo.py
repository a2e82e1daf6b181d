"""`weightlift demo`: plant a network, recover it from few samples, say how it went and draw it.

The rows are recovered by `weightlift.recover`, which never sees the planted network. For the picture, and for comparison, other
routes then run on the same rows; see `comparison`.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weightlift.cli.console import NOT_CERTIFIED, Force, Json, check_output, failure, print_json, print_parts, working
from weightlift.cli.limits import LIMITS
from weightlift.cli.report import leading, leading_title, new_table, recovery_json, stage_table, verdict

if TYPE_CHECKING:
    from rich.table import Table

    from weightlift.cli.comparison import Route
    from weightlift.network import Network
    from weightlift.plots import AlignedUnits
    from weightlift.recovery import Recovery

FIGURE = Path("weightlift-demo.png")
FORMATS = (".png", ".pdf", ".svg")


def demo(
    units: Annotated[int, typer.Option(min=1, help="Units of the planted network, at most as many as inputs.")] = 5,
    inputs: Annotated[int, typer.Option(min=1, help="Inputs.")] = 20,
    rows: Annotated[
        int | None, typer.Option(min=1, help="Samples; unless given, 3 a parameter, or 30 a parameter with noise.")
    ] = None,
    activation: Annotated[str, typer.Option(help="relu, squared_relu, leaky_relu, tanh, sigmoid, erf, …")] = "relu",
    noise: Annotated[float, typer.Option(min=0.0, help="Standard deviation of the noise in y.")] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the network, the samples and the recovery.")] = 6,
    out: Annotated[Path | None, typer.Option(help=f"Figure: .png, .pdf or .svg. Unless given: {FIGURE}, overwritten.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Plant a network, recover it from a few samples, and show that it is the same one.

    \b
    Examples
      weightlift demo
      weightlift demo --units 8 --inputs 30 --activation squared_relu
      weightlift demo --noise 0.1 --seed 3
      weightlift demo --json --out figure.svg

    Ends with exit code 0 if the certificate is EXACT or STATISTICAL, else with 3.
    """
    if units > inputs:
        raise typer.BadParameter(f"{units} units with {inputs} inputs: use at most as many.", param_hint="--units")
    if not math.isfinite(noise):
        raise typer.BadParameter(f"{noise} is not a finite number.", param_hint="--noise")
    path = FIGURE if out is None else out
    check_output(path, force=force or out is None, suffixes=FORMATS)
    result = _run(units, inputs, rows, activation, noise, seed)
    with working("drawing"):
        from weightlift.cli.figure import figure
        from weightlift.files import write_atomically

        picture = figure(result, kind=path.suffix[1:].lower())
    unwritten = failure(lambda: write_atomically(path, picture))
    if as_json:
        print_json(_json(result, None if unwritten else path))
    else:
        _show(result, None if unwritten else path)
    if unwritten:
        raise unwritten
    if not result.recovery.certificate:
        raise typer.Exit(NOT_CERTIFIED)


@dataclass(frozen=True, eq=False)
class DemoResult:
    """What the demo shows."""

    truth: Network
    rows: int
    noise: float
    seed: int
    recovery: Recovery
    seconds: float  # of the recovery
    risk: float  # of the recovered network on all rows, relative
    units: AlignedUnits
    routes: tuple[Route, ...]

    @property
    def parameters(self) -> int:
        from weightlift.identifiability import count_parameters

        return count_parameters(self.truth)


def _run(units: int, inputs: int, rows: int | None, activation: str, noise: float, seed: int) -> DemoResult:
    with working("loading"):
        import numpy as np

        import weightlift as wl
        from weightlift.cli.comparison import compare
        from weightlift.plots import AlignedUnits

    phi = wl.activations.get(activation)
    planting, drawing, recovering, comparing = np.random.default_rng(seed).spawn(4)
    truth = wl.teachers.conditioned(inputs, units, activation=phi, rng=planting)
    if rows is None:
        a_parameter = LIMITS.noisy_rows_a_parameter if noise else LIMITS.rows_a_parameter
        rows = a_parameter * wl.identifiability.count_parameters(truth)
    X, y = wl.draw(truth, rows, noise_std=noise, rng=drawing)
    with working("recovering"):
        began = time.perf_counter()
        recovery = wl.recover(X, y, n_units=units, activation=phi, rng=recovering)
        seconds = time.perf_counter() - began
    risk = float(np.mean((recovery.network.predict(X) - y) ** 2) / np.mean(y**2))
    with working("comparing"):
        routes = compare(X, y, truth, tolerance=LIMITS.noisy_tolerance if noise else LIMITS.tolerance, rng=comparing)
    return DemoResult(truth, rows, noise, seed, recovery, seconds, risk, AlignedUnits.of(recovery.network, truth), routes)


def _show(result: DemoResult, path: Path | None) -> None:
    net = result.truth
    noise = f" with noise of standard deviation {result.noise:g}" if result.noise else ""
    size = f"{net.n_units} unit{'s' * (net.n_units > 1)}, {net.n_inputs} input{'s' * (net.n_inputs > 1)}"
    problem = (
        f"Planted: {net.activation.name}, {size}, {result.parameters} parameters (seed {result.seed}).\n"
        f"Drawn:   {result.rows:,} samples{noise}, {result.rows / result.parameters:.3g} a parameter."
    )
    stages, answer = stage_table(result.recovery, result.seconds), verdict(result.recovery.certificate)
    others = [_route_table(result)] if result.routes else []
    print_parts(problem, _unit_table(result.units), stages, answer, *others, *([] if path is None else [f"Figure: {path}"]))


def _unit_table(units: AlignedUnits) -> Table:
    """Truth against estimate, one line a unit."""
    d, k = units.truth.shape
    table = new_table("Units")
    for name in ("unit", "a", "estimate", leading_title(d, LIMITS.compared_weights), "estimate", "error"):
        table.add_column(name, justify="right", no_wrap=True)
    for j in range(k):
        a, a_hat = (f"{v:+.6f}" for v in units.a[:, j])
        w, w_hat = leading(units.truth[:, j], LIMITS.compared_weights), leading(units.estimate[:, j], LIMITS.compared_weights)
        table.add_row(f"{j}", a, a_hat, w, w_hat, f"{units.match.errors[j]:.1e}")
    scale = "; ‖w‖ = 1" if units.match.truth.activation.degree else ""
    table.caption = f"error: ‖w − ŵ‖ / ‖w‖, largest {units.match.max_error:.1e}{scale}"
    return table


def _route_table(result: DemoResult) -> Table:
    """What other routes made of the same rows."""
    table = new_table("The same samples by other routes")
    table.add_column("route")
    for name in ("steps", "risk", "unit error", "recovered"):
        table.add_column(name, justify="right")
    certified = "yes, certified" if result.recovery.certificate else "not certified"
    table.add_row("weightlift.recover", "", f"{result.risk:.1e}", f"{result.units.match.max_error:.1e}", certified)
    for route in result.routes:
        best, hits = route.best, route.recovered
        count = f"{hits.sum()} of {len(hits)}" if len(hits) > 1 else "yes" if hits[0] else "no"
        table.add_row(route.name, f"{len(route.risks) - 1}", f"{route.risks[-1, best]:.1e}", f"{route.errors[best]:.1e}", count)
    tolerance = result.routes[0].tolerance
    table.caption = f"unit error: the largest; recovered: at most {tolerance:.0%}; of random starts, the best one"
    return table


def _json(result: DemoResult, path: Path | None) -> dict[str, Any]:
    units, found = result.units, result.units.match
    return {
        "problem": {
            "inputs": result.truth.n_inputs,
            "units": result.truth.n_units,
            "activation": result.truth.activation.name,
            "parameters": result.parameters,
            "rows": result.rows,
            "rows_per_parameter": result.rows / result.parameters,
            "noise": result.noise,
            "seed": result.seed,
        },
        **recovery_json(result.recovery, result.seconds),
        "max_error": found.max_error,
        "units": [
            {
                "truth": {"a": units.a[0, j], "w": units.truth[:, j]},
                "estimate": {"a": units.a[1, j], "w": units.estimate[:, j]},
                "angle": found.angles[j],
                "error": found.errors[j],
            }
            for j in range(result.truth.n_units)
        ],
        "routes": [
            {
                "name": route.name,
                "steps": len(route.risks) - 1,
                "starts": len(route.errors),
                "recovered": route.recovered.sum(),
                "risk": route.risks[-1, route.best],
                "max_error": route.errors[route.best],
            }
            for route in result.routes
        ],
        "figure": None if path is None else str(path),
    }
