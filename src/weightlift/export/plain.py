"""What targets share: the activation without its factor, and the refusal of activations that a target lacks."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

import numpy as np

from weightlift import activations
from weightlift.activations.stretching import unstretched
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
    base, factor = unstretched(network.activation)
    return replace(network, W=network.W * factor, b=network.b * factor, activation=base)


def name_in(tool: str, network: Network, target: str) -> str:
    """What a tool calls φ; ActivationError where it has no name for it."""
    if not (name := getattr(network.activation.names, tool)):
        known = sorted(e.name for e in activations.examples() if getattr(e.names, tool))
        raise ActivationError(f"{target} has no activation {network.activation.name!r}; it has {', '.join(known)}.")
    return str(name)


def refuse_linear(network: Network, target: str) -> None:
    """ArgumentError for a network with a linear part, where the target has two layers in a row and nothing beside them."""
    if network.V is not None and network.V.any():
        raise ArgumentError(f"{target} has no place for the linear part V; export to ONNX, which has, or to a weightlift file.")


def checked_dtype(dtype: str, network: Network) -> np.dtype:
    """The numbers' type, in which no parameter of the network may become infinite."""
    if dtype not in DTYPES:
        raise ArgumentError(f"dtype must be one of {DTYPES}, not {dtype!r}.")
    kind = np.dtype(dtype)
    parameters = [p for p in (network.W, network.a, network.b, network.c, network.V) if p is not None]
    largest = max(float(np.abs(p).max(initial=0.0)) for p in parameters)
    if largest > float(np.finfo(kind).max):
        ends = f"{dtype} ends at {np.finfo(kind).max:.2g}"
        raise ArgumentError(f"dtype: {ends}, a parameter has the size {largest:.2g}; export in float64.")
    return kind
