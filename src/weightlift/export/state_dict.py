"""safetensors with the names that PyTorch's nn.Sequential(Linear, φ, Linear) gives its parameters.

`load_file(path)` is then a state dictionary: "0.weight" (k, d), "0.bias" (k,), "2.weight" (m, k), "2.bias" (m,). The activation
stands in the header, and a linear part in "linear.weight" (m, d). (`Network.save` writes the package's own file,
which is checked by a hash and exact for every activation.)
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

from weightlift import activations
from weightlift.activations import Activation
from weightlift.errors import ArgumentError, FileFormatError
from weightlift.export.plain import checked_dtype
from weightlift.files import parsed_json, read_checked, write_atomically
from weightlift.network import MAX_FILE_BYTES, Network

LINEAR = "linear.weight"
KEYS = ("0.weight", "0.bias", "2.weight", "2.bias")


def to_safetensors(network: Network, path: str | os.PathLike[str], *, dtype: str = "float64") -> None:
    """Write the state dictionary.

    network  the network
    path     of the file, which is replaced at once or not at all
    dtype    of the numbers in the file, "float64" or "float32"
    """
    from safetensors.numpy import save

    kind = checked_dtype(dtype, network)
    values = dict(zip(KEYS, (network.W.T, network.b, network.A.T, np.atleast_1d(network.c)), strict=True))
    values |= {} if network.V is None else {LINEAR: np.atleast_2d(network.V.T)}
    tensors = {key: np.ascontiguousarray(value, dtype=kind) for key, value in values.items()}
    write_atomically(path, save(tensors, metadata={"activation": json.dumps(activations.to_json(network.activation))}))


def from_safetensors(path: str | os.PathLike[str], *, activation: str | Activation | None = None) -> Network:
    """The network of a state dictionary, or of a file of `Network.save`. activation: where the file does not name it.

    path  of the file
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    content = read_checked(path, max_bytes=MAX_FILE_BYTES)
    try:
        tensors, header = load(content), parsed_json(content[8 : 8 + int.from_bytes(content[:8], "little")])
    except (SafetensorError, TypeError, ValueError) as error:
        raise FileFormatError(f"{path} is not a safetensors file; save it again ({error}).") from error
    except (AttributeError, KeyError) as error:  # a number format that NumPy lacks, such as BF16
        raise FileFormatError(f"{path} holds numbers of type {error}; convert them to float32 first.") from error
    metadata = header.get("__metadata__") or {}
    if "weightlift" in metadata:
        return Network.load(path)
    if not {"0.weight", "2.weight"} <= set(tensors) <= {*KEYS, LINEAR} or any(tensors[k].ndim != 2 for k in KEYS[::2]):
        raise FileFormatError(f"{Path(path).name} must hold {', '.join(KEYS)}, weights as matrices; it has {sorted(tensors)}.")
    if activation is None and "activation" not in metadata:
        raise ArgumentError(f"{Path(path).name} does not name its activation; pass activation=….")
    phi = _described(metadata["activation"]) if "activation" in metadata else activations.get(activation or "")
    if activation is not None and activations.get(activation) != phi:
        raise ArgumentError(f"activation={activation!r}, but {Path(path).name} says {phi.name!r}; leave it out.")
    W, A = tensors["0.weight"].T, tensors["2.weight"].T
    b, c, V = tensors.get("0.bias"), tensors.get("2.bias", np.zeros(A.shape[1])), tensors.get(LINEAR)
    if A.shape[1] != 1:
        return Network(W, A, b, c, phi, None if V is None else V.T)
    return Network(W, A[:, 0], b, c.reshape(-1)[0] if c.size == 1 else c, phi, V if V is None else V.reshape(-1))


def _described(text: str) -> Activation:
    """As `to_safetensors` writes it, or a bare name, as others may."""
    try:
        described = parsed_json(text)
    except ValueError:
        return activations.get(text)
    return activations.from_json(described)
