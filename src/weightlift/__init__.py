"""Weightlift recovers one-hidden-layer networks f(x) = Σᵢ aᵢ φ(⟨wᵢ, x⟩ + bᵢ) + c: the units themselves, with a certificate.

Public names load when they are used, so that `import weightlift` costs little more than NumPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from weightlift._version import __version__

if TYPE_CHECKING:
    from weightlift import (
        activations,
        certificate,
        decomposition,
        diagnose,
        errors,
        export,
        hermite,
        identifiability,
        initialization,
        learning,
        moments,
        plots,
        refinement,
        report,
        samples,
        teachers,
        theory,
    )
    from weightlift.certificate import Certificate, Status, certify
    from weightlift.decomposition import decompose
    from weightlift.estimator import OneHiddenLayerClassifier, OneHiddenLayerRegressor
    from weightlift.extraction import Extraction, extract
    from weightlift.geometry import distance
    from weightlift.matching import match
    from weightlift.network import Network
    from weightlift.recovery import Recovery, recover
    from weightlift.teachers import draw

_HOMES = {
    "Certificate": "certificate",
    "Extraction": "extraction",
    "Network": "network",
    "OneHiddenLayerClassifier": "estimator",
    "OneHiddenLayerRegressor": "estimator",
    "Recovery": "recovery",
    "Status": "certificate",
    "certify": "certificate",
    "decompose": "decomposition",
    "distance": "geometry",
    "draw": "teachers",
    "extract": "extraction",
    "match": "matching",
    "recover": "recovery",
}
_MODULES = {
    "activations",
    "certificate",
    "decomposition",
    "diagnose",
    "errors",
    "export",
    "hermite",
    "identifiability",
    "initialization",
    "learning",
    "moments",
    "plots",
    "refinement",
    "report",
    "samples",
    "teachers",
    "theory",
}

__all__ = [
    "Certificate",
    "Extraction",
    "Network",
    "OneHiddenLayerClassifier",
    "OneHiddenLayerRegressor",
    "Recovery",
    "Status",
    "__version__",
    "activations",
    "certificate",
    "certify",
    "decompose",
    "decomposition",
    "diagnose",
    "distance",
    "draw",
    "errors",
    "export",
    "extract",
    "hermite",
    "identifiability",
    "initialization",
    "learning",
    "match",
    "moments",
    "plots",
    "recover",
    "refinement",
    "report",
    "samples",
    "teachers",
    "theory",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"weightlift.{name}")
    if name in _HOMES:
        value = getattr(importlib.import_module(f"weightlift.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'weightlift' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})
