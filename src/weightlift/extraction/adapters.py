"""What users hold, as a function on float64 arrays: scikit-learn estimators, PyTorch modules, ONNX sessions, functions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from weightlift import activations
from weightlift.errors import ArgumentError
from weightlift.network import Network


def as_function(oracle: Any) -> Callable[[np.ndarray], Any]:
    """The function to ask. A classifier is asked for its decision values or, for an MLPClassifier, its logits."""
    for known, adapt in ((_is_torch, _torch), (_is_session, _session), (_is_mlp_classifier, _logits)):
        if known(oracle):
            return adapt(oracle)
    if isinstance(oracle, Network) or hasattr(oracle, "predict"):
        method = getattr(oracle, "decision_function", None) or oracle.predict
        return method  # type: ignore[no-any-return]
    if callable(oracle):
        return oracle  # type: ignore[no-any-return]
    raise ArgumentError(
        f"oracle must be a function on (n, d) arrays, an estimator, a PyTorch module or an ONNX session, "
        f"not {type(oracle).__name__}."
    )


def _is_torch(oracle: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(oracle, torch.nn.Module)


def _torch(module: Any) -> Callable[[np.ndarray], Any]:
    """In evaluation mode, without gradients, in the dtype and on the device of its parameters."""
    import torch

    like = next(module.parameters(), torch.zeros(1, dtype=torch.float64))
    module.eval()

    def ask(X: np.ndarray) -> Any:
        with torch.no_grad():
            return module(torch.from_numpy(X).to(device=like.device, dtype=like.dtype)).cpu().numpy()

    return ask


def _is_session(oracle: Any) -> bool:
    return hasattr(oracle, "get_inputs") and hasattr(oracle, "run")


def _session(session: Any) -> Callable[[np.ndarray], Any]:
    """The first output of an onnxruntime session, whose one input has the element type that its model names."""
    inputs = session.get_inputs()
    if len(inputs) != 1:
        raise ArgumentError(f"oracle has {len(inputs)} inputs; wrap it in a function of one (n, d) array.")
    kind = {"tensor(double)": np.float64, "tensor(float)": np.float32, "tensor(float16)": np.float16}.get(inputs[0].type)
    if kind is None:
        raise ArgumentError(f"oracle takes {inputs[0].type}; wrap it in a function of a float64 array.")
    return lambda X: session.run(None, {inputs[0].name: X.astype(kind)})[0]


def _is_mlp_classifier(oracle: Any) -> bool:
    return hasattr(oracle, "coefs_") and hasattr(oracle, "intercepts_") and hasattr(oracle, "predict_proba")


def _logits(classifier: Any) -> Callable[[np.ndarray], Any]:
    """The last layer's values: logarithms of the probabilities up to a constant a row, which would be no network."""
    phi = activations.get(classifier.activation)

    def ask(X: np.ndarray) -> Any:
        layer = np.asarray(X)
        for i, (coefs, intercepts) in enumerate(zip(classifier.coefs_, classifier.intercepts_, strict=True)):
            layer = (phi(layer) if i else layer) @ coefs + intercepts
        return layer

    return ask
