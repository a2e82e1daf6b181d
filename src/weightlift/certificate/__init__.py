"""Whether recovered units are right, and how precise: `certify`, and `inference` for noisy data."""

from weightlift.certificate.inference import Inference, cramer_rao, inference
from weightlift.certificate.status import Certificate, Evidence, Status
from weightlift.certificate.summary import Summary
from weightlift.certificate.verdict import certify

__all__ = ["Certificate", "Evidence", "Inference", "Status", "Summary", "certify", "cramer_rao", "inference"]
