"""Weightlift recovers one-hidden-layer networks f(x) = Σᵢ aᵢ φ(⟨wᵢ, x⟩ + bᵢ) + c: the units themselves, with a certificate.

Public names load when they are used, so that `import weightlift` costs little more than NumPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from weightlift._version import __version__

if TYPE_CHECKING:
    from weightlift import activations, errors, hermite, moments, samples, teachers
    from weightlift.distance import distance
    from weightlift.matching import match
    from weightlift.network import Network
    from weightlift.teachers import draw

_HOMES = {
    "Network": "network",
    "distance": "distance",
    "draw": "teachers",
    "match": "matching",
    "Recovery": "recovery",
    "recover": "recovery",
    "Certificate": "certificate",
    "Status": "certificate",
    "certify": "certificate",
    "decompose": "decomposition",
}
_MODULES = {"activations", "errors", "hermite", "moments", "samples", "teachers"}

__all__ = [
    "Network",
    "__version__",
    "activations",
    "distance",
    "draw",
    "errors",
    "hermite",
    "match",
    "moments",
    "samples",
    "teachers",
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
