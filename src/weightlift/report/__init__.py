"""One page that says all of a recovery: certificate, units, intervals, residuals, stages, provenance, and how to repeat it.

The page stands alone: pictures lie inside it, it has no script, and its own policy forbids a browser to fetch anything. It is
written for a screen of any width and for paper; a phone has intervals beside the estimates, without t and its p-value.
"""

from __future__ import annotations

import hashlib
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version

import numpy as np

from weightlift import markup
from weightlift._version import __version__
from weightlift.certificate import Summary
from weightlift.errors import ArgumentError
from weightlift.files import write_atomically
from weightlift.namespaces import to_numpy
from weightlift.network import Network
from weightlift.recovery import Recovery
from weightlift.report.pictures import interval_picture, residual_picture, stage_picture, unit_picture
from weightlift.samples import Samples

__all__ = ["page", "write"]

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
STYLE = """
:root { color-scheme: light; }
body { max-width: 60rem; margin: 0 auto; padding: 1rem; font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; }
h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { font-size: 0.875rem; font-variant-numeric: tabular-nums; }
img { max-width: 100%; height: auto; } pre { overflow-x: auto; background: #f4f4f4; padding: 0.6rem; }
pre, code { font-size: 0.875rem; overflow-wrap: anywhere; white-space: pre-wrap; }
.pictures { display: flex; flex-wrap: wrap; gap: 1rem; } .pictures > * { flex: 1 1 19rem; max-width: 27rem; }
.wide { overflow-x: auto; }
@media screen and (max-width: 40rem) {
  .wide img { max-width: none; width: 36rem; } table { font-size: 0.75rem; } th, td { padding: 0.15rem 0.3rem !important; }
  #estimates :is(th, td):is(:nth-child(4):nth-last-child(4), :nth-child(5):nth-last-child(3)) { display: none; }
}
@media print {
  body { max-width: none; font-size: 10pt; } div { overflow-x: visible !important; } table { font-size: 8pt; }
  h2 { break-after: avoid; } img, tr { break-inside: avoid; }
}
"""


def write(found: Recovery, path: str | os.PathLike[str], *, command: str = "") -> None:
    """Write the page; a file that is there already is replaced as a whole.

    found    what `recover` returned
    path     where to; it should end in .html
    command  the line that repeats the recovery, where it was not a call of `recover`
    """
    write_atomically(path, page(found, command=command).encode())


def page(found: Recovery, *, command: str = "") -> str:
    """The page as a text.

    found    what `recover` returned
    command  the line that repeats the recovery, where it was not a call of `recover`
    """
    if not isinstance(found, Recovery):
        raise ArgumentError(f"found must be what `recover` returns, a Recovery, not {type(found).__name__}.")
    title = f"{found.certificate.status.name}: {_model(found)}"
    table = found.summary()
    sections = [
        ("Certificate", found.certificate._repr_html_()),
        ("Units", _units(found, table) + unit_picture(found)),
        ("Estimates and intervals", table._repr_html_() + interval_picture(found)),
        ("Residuals", residual_picture(found) or "<p>The rows are not at hand.</p>"),
        ("Stages", found.stages_html() + stage_picture(found)),
        ("Provenance", _provenance(found)),
        ("To repeat it", f"<pre>{markup.escaped(command or found.call or 'weightlift.recover(X, y, …)')}</pre>"),
    ]
    body = "".join(f'<section id="{name.split()[0].lower()}"><h2>{name}</h2>{content}</section>' for name, content in sections)
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    head += f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><title>{markup.escaped(title)}</title>'
    return (
        f'<!doctype html><html lang="en"><head>{head}<style>{STYLE}</style></head>'
        f"<body><h1>{markup.escaped(title)}</h1>{body}</body></html>\n"
    )


def _model(found: Recovery) -> str:
    """The network in a few words."""
    net, outputs = found.network, found.columns.outputs
    words = f"{net.n_units} {net.activation.name} unit{'s' * (net.n_units != 1)} of {net.n_inputs} inputs"
    beside = {"biases": net.b.any(), "an offset": np.any(net.c), "a linear part": net.V is not None}
    parts = [name for name, there in beside.items() if there]
    return words + (f" with {', '.join(parts)}" if parts else "") + (f", for {', '.join(outputs)}" if outputs else "")


def _units(found: Recovery, table: Summary) -> str:
    """The table of the units under the names of their inputs; of noisy rows with standard errors."""
    net, errors = found.network.normalized(), table.errors if found.certificate.noise_std is not None else {}
    words = "Every ‖w‖ is 1, and a holds the size." if net.activation.degree else "Weights as they are; φ has no scale to fix."
    words += " In brackets: standard errors." if errors else ""
    return f"<p>{words}</p>{markup.units(net.W, net.A, net.b, found.columns.inputs, errors)}"


def _provenance(found: Recovery) -> str:
    """What the numbers came from."""
    columns, rows = found.columns, found.rows
    facts = [
        ("written", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"),
        ("weightlift", __version__),
        ("NumPy, SciPy", f"{version('numpy')}, {version('scipy')}"),
        ("Python", f"{platform.python_version()}, {platform.system()} {platform.machine()}"),
        ("inputs", ", ".join(columns.inputs) if columns.inputs else f"{found.network.n_inputs}, without names"),
        ("target", ", ".join(columns.outputs) if columns.outputs else "without a name"),
        ("network", f"sha256 {_digest(found.network)}"),
    ]
    if rows is not None:
        facts.insert(4, ("rows", f"{int(rows.n):,}, fingerprint {_fingerprint(rows)}"))
    return markup.table(["", ""], facts, words=[""])


def _digest(net: Network) -> str:
    """Of the weights, as they are."""
    arrays = (net.W, net.a, net.b, np.asarray(net.c), *([] if net.V is None else [net.V]))
    return hashlib.sha256(b"".join(np.ascontiguousarray(v, dtype="<f8").tobytes() for v in arrays)).hexdigest()


def _fingerprint(rows: Samples) -> str:
    """The sum of the rows' hashes modulo 2⁶⁴: of the same rows the same, in any order and wherever they lie."""
    total = np.uint64(0)
    with np.errstate(over="ignore"):
        for block in rows.blocks(4096):
            total += np.sum(to_numpy(block.key).astype(np.uint64), dtype=np.uint64)
    return f"{int(total):016x}"
