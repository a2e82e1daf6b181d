"""A recovery in tables and in JSON: units, stages, verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weightlift.cli.limits import LIMITS

if TYPE_CHECKING:
    import numpy as np
    from rich.table import Table

    from weightlift.certificate import Certificate, Summary
    from weightlift.network import Network
    from weightlift.recovery import Recovery

COLORS = {"EXACT": "green", "STATISTICAL": "green", "AMBIGUOUS": "yellow", "FAILED": "red"}


def network_table(
    network: Network,
    inputs: tuple[str, ...] | None = None,
    outputs: tuple[str, ...] | None = None,
    errors: Summary | None = None,
) -> Table:
    """One line a unit, in its normal form and under its number: output weight, bias, length of w, leading entries; then V.

    errors: the summary whose standard errors stand beside the estimates, in brackets.
    """
    import numpy as np
    from rich.markup import escape

    network = network.normalized()
    table = new_table(escape(f"{network!r}" + (f" of {', '.join(outputs)}" if outputs else "")))
    several = network.a.ndim == 2
    for name in ("unit", "‖a‖" if several else "a", "b", "‖w‖", leading_title(network.n_inputs, LIMITS.shown_weights, inputs)):
        table.add_column(name, justify="right")
    known = {} if errors is None else errors.errors
    lengths, a = np.linalg.norm(network.W, axis=0), np.linalg.norm(network.a, axis=1) if several else network.a
    columns = inputs or tuple(map(str, range(network.n_inputs)))
    for j in range(network.n_units):
        shown = [f"{network.W[i, j]:+.4f}{_beside(known, f'w[{j},{columns[i]}]')}" for i in range(network.n_inputs)]
        outer, bias = (f"{v[j]:.6g}{_beside(known, f'{name}[{j}]')}" for name, v in (("a", a), ("b", network.b)))
        table.add_row(f"{j}", outer, bias, f"{lengths[j]:.6g}", _leading(shown))
    for o, v in enumerate(() if network.V is None else network.V.reshape(network.n_inputs, -1).T):
        label = f"V {outputs[o] if outputs else o}" if several else "V"
        table.add_row(escape(label), "", "", f"{np.linalg.norm(v):.6g}", _leading([f"{value:+.4f}" for value in v]))
    if known:
        table.caption = "in brackets: standard errors; --summary has all of them, with 95 % intervals"
    return table


def _leading(shown: list[str]) -> str:
    return " ".join(shown[: LIMITS.shown_weights]) + " …" * (len(shown) > LIMITS.shown_weights)


def _beside(errors: dict[str, float], name: str) -> str:
    """The standard error of a parameter, in brackets."""
    return f" ({errors[name]:.2g})" if name in errors else ""


def stage_table(recovery: Recovery, seconds: float) -> Table:
    """What each stage cost and how it ended."""
    from rich.markup import escape

    table = new_table(f"Stages ({seconds:.2f} s in all)")
    table.add_column("stage")
    for name in ("units", "starts", "work", "passes", "risk"):
        table.add_column(name, justify="right")
    table.add_column("outcome", overflow="fold")
    for s, ended in recovery.told():
        risk = "–" if s.risk != s.risk else f"{s.risk:.1e}"
        table.add_row(s.name, f"{s.width}", f"{s.starts}", f"{s.work:.0f}", f"{s.passes}", risk, escape(ended))
    table.caption = "work: Gauss–Newton steps of one start; risk: E r² / E y²"
    return table


def width_lines(recovery: Recovery) -> list[str]:
    """The evidence for a width that was not given, as one text; none if it was given."""
    from rich.markup import escape

    return [escape("\n".join(recovery.width_evidence))] if recovery.width_evidence else []


def trial_lines(recovery: Recovery) -> list[Table]:
    """The ranking of an exploration; none if there was none."""
    if not recovery.trials:
        return []
    table = new_table("What else was tried")
    for name, justify in (("model", "left"), ("status", "left"), ("variance left", "right")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for trial in recovery.trials:
        table.add_row(trial.change, trial.status.name, f"{100 * trial.left:.3g} %")
    table.caption = "in the order of promise; variance left: E r²/(1 − p/n)², of that of the target"
    return [table]


def verdict(certificate: Certificate) -> Table:
    """The status in its colour and the headline, then every statement beside its ground."""
    from rich.markup import escape
    from rich.table import Table

    name = certificate.status.name
    table = Table.grid(padding=(0, 2))
    table.add_row(f"[bold {COLORS[name]}]{name}[/]", escape(certificate.headline))
    for statement in certificate.statements:
        mark = statement.mark if statement.holds else f"[bold]{statement.mark}[/]"
        table.add_row(mark, escape(statement.sentence))
    return table


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
    return {
        **certificate_json(recovery.certificate),
        "precision": recovery.certificate.precision,
        "network": network_json(recovery.network),
        "stages": [vars(s) for s in recovery.stages],
        "width_evidence": recovery.width_evidence,
        "trials": [{"change": t.change, "status": t.status.name, "left": t.left} for t in recovery.trials],
        "seconds": seconds,
    }


def certificate_json(certificate: Certificate) -> dict[str, Any]:
    return {
        "certified": bool(certificate),
        "status": certificate.status.name,
        "headline": certificate.headline,
        "reasons": certificate.reasons,
        "statements": [{"ground": s.mark, "sentence": s.sentence, "units": s.units} for s in certificate.statements],
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
