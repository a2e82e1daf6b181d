"""A recovery in tables and in JSON: units, stages, verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weightlift.cli.limits import LIMITS

if TYPE_CHECKING:
    import numpy as np
    from rich.table import Table

    from weightlift.certificate import Certificate
    from weightlift.network import Network
    from weightlift.recovery import Recovery

COLORS = {"EXACT": "green", "STATISTICAL": "green", "AMBIGUOUS": "yellow", "FAILED": "red"}


def network_table(network: Network, inputs: tuple[str, ...] | None = None) -> Table:
    """One line a unit, in its normal form and under its number: output weight, bias, length of w, leading entries."""
    import numpy as np

    network = network.normalized()
    table = new_table(f"{network!r}")
    several = network.a.ndim == 2
    for name in ("unit", "‖a‖" if several else "a", "b", "‖w‖", leading_title(network.n_inputs, LIMITS.shown_weights, inputs)):
        table.add_column(name, justify="right")
    lengths, a = np.linalg.norm(network.W, axis=0), np.linalg.norm(network.a, axis=1) if several else network.a
    for j in range(network.n_units):
        numbers = (f"{v:.6g}" for v in (a[j], network.b[j], lengths[j]))
        table.add_row(f"{j}", *numbers, leading(network.W[:, j], LIMITS.shown_weights))
    return table


def stage_table(recovery: Recovery, seconds: float) -> Table:
    """What each stage cost and how it ended."""
    from rich.markup import escape

    table = new_table(f"Stages ({seconds:.2f} s in all)")
    table.add_column("stage")
    for name in ("units", "starts", "work", "passes", "risk"):
        table.add_column(name, justify="right")
    table.add_column("outcome", overflow="fold")
    for s in recovery.stages:
        risk = "–" if s.risk != s.risk else f"{s.risk:.1e}"
        table.add_row(s.name, f"{s.width}", f"{s.starts}", f"{s.work:.0f}", f"{s.passes}", risk, escape(s.outcome))
    table.caption = "work: Gauss–Newton steps of one start; risk: E r² / E y²"
    return table


def width_lines(recovery: Recovery) -> list[str]:
    """The evidence for a width that was not given, as one text; none if it was given."""
    from rich.markup import escape

    return [escape("\n".join(recovery.width_evidence))] if recovery.width_evidence else []


def verdict(certificate: Certificate) -> str:
    """The status in its colour, what it means, and the reasons."""
    from rich.markup import escape

    name = certificate.status.name
    reasons = (f"  • {escape(reason)}" for reason in certificate.reasons)
    lines = [f"[bold {COLORS[name]}]{name}[/]  {certificate.status.value}", *reasons]
    if certificate and certificate.precision is not None:
        lines.append(f"  • The units are claimed to a relative precision of {certificate.precision.max():.1e}.")
    return "\n".join(lines)


def network_json(network: Network) -> dict[str, Any]:
    from weightlift import activations

    return {
        "n_inputs": network.n_inputs,
        "n_units": network.n_units,
        "activation": activations.to_json(network.activation),
        "W": network.W,
        "a": network.a,
        "b": network.b,
        "c": network.c,
        **({} if network.V is None else {"V": network.V}),
    }


def recovery_json(recovery: Recovery, seconds: float) -> dict[str, Any]:
    certificate = recovery.certificate
    return {
        "certified": bool(certificate),
        "status": certificate.status.name,
        "reasons": certificate.reasons,
        "precision": certificate.precision,
        "network": network_json(recovery.network),
        "stages": [vars(s) for s in recovery.stages],
        "width_evidence": recovery.width_evidence,
        "seconds": seconds,
    }


def new_table(title: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.caption_justify = "left"
    return table


def leading(w: np.ndarray, count: int) -> str:
    """The first weights of a unit."""
    return " ".join(f"{v:+.4f}" for v in w[:count]) + (" …" if len(w) > count else "")


def leading_title(n_inputs: int, count: int, inputs: tuple[str, ...] | None = None) -> str:
    title = f"w, {count} of {n_inputs}" if n_inputs > count else "w"
    return title if inputs is None else f"{title}: {', '.join(inputs[:count])}"
