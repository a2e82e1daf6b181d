"""Networks for other tools, and from them: scikit-learn, PyTorch, ONNX, safetensors. Predictions agree to rounding.

An activation that a target lacks is refused by its name. φ(c z) goes out as φ with c in the weights.
"""

from weightlift.export.mlp import from_sklearn, to_sklearn
from weightlift.export.onnx_model import from_onnx, to_onnx
from weightlift.export.pytorch import from_torch, to_torch
from weightlift.export.state_dict import from_safetensors, to_safetensors

__all__ = [
    "from_onnx",
    "from_safetensors",
    "from_sklearn",
    "from_torch",
    "to_onnx",
    "to_safetensors",
    "to_sklearn",
    "to_torch",
]
