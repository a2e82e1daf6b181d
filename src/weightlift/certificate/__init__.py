"""Whether recovered units are right, and how precise: `certify`, and `inference` for noisy data."""

from weightlift.certificate.inference import Inference, cramer_rao, inference
from weightlift.certificate.parameters import Estimates
from weightlift.certificate.statement import Kind, Statement, Status, Topic
from weightlift.certificate.status import Certificate, Evidence, UnitVerdict
from weightlift.certificate.summary import Summary, summarize
from weightlift.certificate.verdict import certify

__all__ = [
    "Certificate",
    "Estimates",
    "Evidence",
    "Inference",
    "Kind",
    "Statement",
    "Status",
    "Summary",
    "Topic",
    "UnitVerdict",
    "certify",
    "cramer_rao",
    "inference",
    "summarize",
]
