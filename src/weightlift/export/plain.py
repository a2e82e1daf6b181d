"""What targets share: the activation without its factor, and the refusal of activations that a target lacks."""

from __future__ import annotations

import importlib
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from weightlift import activations
from weightlift.errors import ActivationError, ArgumentError
from weightlift.network import Network

EXTRAS = {"torch": "torch", "onnx": "onnx"}
DTYPES = ("float64", "float32")


def needed(package: str) -> Any:
    """An optional package, or the sentence that says how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ArgumentError(f"this needs {package}; pip install 'weightlift[{EXTRAS[package]}]'.") from error


def unscaled(network: Network) -> Network:
    """φ(c z) written as φ with c in W and b."""
    inner = network.activation.value
    base, factor = getattr(inner, "base", None), getattr(inner, "factor", 1.0)
    if not isinstance(base, activations.Activation):
        return network
    return replace(network, W=network.W * factor, b=network.b * factor, activation=base)


def refuse_unknown(network: Network, target: str, known: Collection[str]) -> None:
    """ActivationError for a φ that the target has no name for."""
    name = network.activation.name
    if name not in known:
        raise ActivationError(f"{target} has no activation {name!r}; it has {', '.join(sorted(known))}.")


def refuse_linear(network: Network, target: str) -> None:
    """ArgumentError for a network with a linear part, where the target has two layers in a row and nothing beside them."""
    if network.V is not None and network.V.any():
        raise ArgumentError(f"{target} has no place for the linear part V; export to ONNX, which has, or to a weightlift file.")


def checked_dtype(dtype: str) -> np.dtype:
    if dtype not in DTYPES:
        raise ArgumentError(f"dtype must be one of {DTYPES}, not {dtype!r}.")
    return np.dtype(dtype)


def slope_of(activation: activations.Activation) -> float:
    """The slope of a leaky ReLU."""
    return float(dict(activation.parameters)["slope"])
