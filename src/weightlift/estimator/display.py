"""The certificate of a fitted estimator in a notebook."""

from __future__ import annotations

import html

from weightlift.certificate import Certificate
from weightlift.network import Network

COLORS = {"EXACT": "#009E73", "STATISTICAL": "#009E73", "AMBIGUOUS": "#E69F00", "FAILED": "#D55E00"}


def certificate_html(network: Network, certificate: Certificate) -> str:
    """A box beneath scikit-learn's diagram: status, what it claims, and the reasons."""
    name = certificate.status.name
    reasons = "".join(f"<li>{html.escape(reason)}</li>" for reason in certificate.reasons)
    precision = ""
    if certificate and certificate.precision is not None:
        precision = f"<p>Relative precision of the units: {float(certificate.precision.max()):.1e}.</p>"
    return (
        f'<div class="weightlift-certificate" style="border-left:4px solid {COLORS[name]};margin:0.6em 0;padding:0 0.8em">'
        f"<p><strong>{name}</strong> {html.escape(certificate.status.value)}</p>"
        f"<p><code>{html.escape(repr(network))}</code></p><ul>{reasons}</ul>{precision}</div>"
    )
