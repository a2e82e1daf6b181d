"""The network f(x) = Σᵢ aᵢ φ(⟨wᵢ, x⟩ + bᵢ) + c, its normal form and its file.

Symmetries that leave f unchanged: permutation of units; scale, a φ(z) = (a/t^q) φ(tz), for φ homogeneous of
degree q; and, where φ(−z) = s φ(z) + p₀, the reflection (a, w, b, c) → (s a, −w, −b, c − s a p₀): joint sign for odd φ,
direction sign for even φ, the affine sign of the sigmoid.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from weightlift import activations
from weightlift.activations import Activation
from weightlift.errors import ActivationError, ArgumentError, FileFormatError, NotFiniteError, ShapeError
from weightlift.files import read_checked, weightlift_header, write_atomically
from weightlift.namespaces import Array, array_namespace, device, is_array, matrix, row_ranges, to_numpy

FORMAT, VERSION = "weightlift.network", 1
MAX_FILE_BYTES = 2**31
BLOCK_BYTES = 2**23


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Network:
    """One hidden layer: W (d, k) with the units' weights as columns, a (k,), b (k,), c, φ.

    >>> net = Network([[1.0, 0.0], [2.0, -1.0]], a=[1.0, -1.0], activation="relu")
    >>> net.predict(np.array([[1.0, 1.0]]))
    array([3.])
    """

    W: np.ndarray
    a: np.ndarray
    b: np.ndarray
    c: float
    activation: Activation

    def __init__(
        self,
        W: ArrayLike,
        a: ArrayLike | None = None,
        b: ArrayLike | None = None,
        c: ArrayLike = 0.0,
        activation: Activation | str = "relu",
    ) -> None:
        weights = _parameter("W", W, ndim=2)
        if 0 in weights.shape:
            raise ShapeError(f"W must have at least one input and one unit, not shape {weights.shape}.")
        k = weights.shape[1]
        values = {
            "W": weights,
            "a": np.ones(k) if a is None else _parameter("a", a, ndim=1, length=k),
            "b": np.zeros(k) if b is None else _parameter("b", b, ndim=1, length=k),
            "c": float(_parameter("c", c, ndim=0)),
            "activation": activations.get(activation),
        }
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    @property
    def n_inputs(self) -> int:
        return int(self.W.shape[0])

    @property
    def n_units(self) -> int:
        return int(self.W.shape[1])

    def predict(self, X: Array) -> Array:
        """f at the rows of X (n, d), in the namespace, dtype and on the device of X; memory O(8 MB) beside the result."""
        X = matrix(X, self.n_inputs)
        xp = array_namespace(X)
        W, a, b = (xp.asarray(p.copy(), dtype=X.dtype, device=device(X)) for p in (self.W, self.a, self.b))
        rows = max(1, BLOCK_BYTES // (8 * (self.n_units + self.n_inputs)))
        parts = [
            xp.matmul(self.activation(xp.matmul(X[i:j, :], W) + b), a) + self.c for i, j in row_ranges(X.shape[0], rows)
        ]
        return xp.concat(parts) if parts else xp.zeros((0,), dtype=X.dtype, device=device(X))

    def canonical(self) -> Network:
        """The normal form under the symmetries of φ.

        Homogeneous φ: ‖wᵢ‖ = 1 (a unit with w = 0 has |b| = 1). Odd φ, sigmoid: aᵢ > 0. Even φ: the leading coordinate of
        wᵢ is positive. Units in lexicographic order of (w, b, a), largest first.
        """
        net = self._unit_norms()._reflected(self._flips())
        order = np.lexsort((net.a, net.b, *net.W[::-1]))[::-1]
        return replace(net, W=net.W[:, order], a=net.a[order], b=net.b[order])

    def absorbed(self) -> Network:
        """The same function with |aᵢ| = 1, sizes moved into (wᵢ, bᵢ): a φ(z) = sign(a) φ(|a|^{1/q} z)  [zhong2017, §4]."""
        q = self.activation.degree
        if not q:
            raise ActivationError(f"output weights can be absorbed for homogeneous φ only; {self.activation.name} is not.")
        scale = np.abs(self.a) ** (1 / q)
        return replace(self, W=self.W * scale, b=self.b * scale, a=np.where(self.a < 0, -1.0, 1.0))

    def equivalent(self, other: Network, tol: float = 1e-8) -> bool:
        """Whether the two networks have the same units up to the symmetries, each parameter to relative `tol`."""
        same = self.activation == other.activation and self.W.shape == other.W.shape
        if not same:
            return False
        f, g = self.canonical(), other.canonical()
        far = unit_distances(f, g) > tol
        from scipy.optimize import linear_sum_assignment

        i, j = linear_sum_assignment(far)
        return bool(not far[i, j].any() and abs(f.c - g.c) <= tol * max(1.0, abs(f.c), np.abs(f.a).max()))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a safetensors file with a versioned JSON header, beside and renamed."""
        from safetensors.numpy import save

        header = {
            "format": FORMAT,
            "version": VERSION,
            "activation": activations.to_json(self.activation),
            "n_inputs": self.n_inputs,
            "n_units": self.n_units,
            "sha256": self._digest(),
        }
        tensors = {"W": self.W, "a": self.a, "b": self.b, "c": np.array([self.c])}
        tensors = {name: np.ascontiguousarray(value) for name, value in tensors.items()}
        write_atomically(path, save(tensors, metadata={"weightlift": json.dumps(header, sort_keys=True)}))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Network:
        """Read a file written by `save`; one that is truncated, altered or of another kind is refused."""
        content = read_checked(path, max_bytes=MAX_FILE_BYTES)
        header = weightlift_header(content, path, kind="a network", format=FORMAT, version=VERSION)
        net = cls._from_tensors(content, header, path)
        if net._digest() != header.get("sha256"):
            raise FileFormatError(f"{path}: the weights differ from those that were saved (checksum). Save it again.")
        return net

    def __repr__(self) -> str:
        biases = "with biases" if np.any(self.b) else "no biases"
        return f"Network({self.n_inputs} inputs, {self.n_units} units, {self.activation.name}, {biases}, c={self.c:g})"

    def _unit_norms(self) -> Network:
        q = self.activation.degree
        if q is None:
            return self
        length = np.linalg.norm(self.W, axis=0)
        length = np.where(length > 0, length, np.abs(self.b))
        length = np.where(length > 0, length, 1.0)
        return replace(self, W=self.W / length, b=self.b / length, a=self.a * length**q)

    def _flips(self) -> np.ndarray:
        """Units that the normal form reflects."""
        reflection = self.activation.reflection
        if reflection is None or len(reflection[1]) > 1:
            return np.zeros(self.n_units, dtype=bool)
        leading = self.W[np.argmax(np.abs(self.W), axis=0), np.arange(self.n_units)]
        negative = np.where(leading != 0, leading, self.b) < 0
        return negative if reflection[0] > 0 else np.where(self.a != 0, self.a < 0, negative)

    def _reflected(self, flips: np.ndarray) -> Network:
        if not flips.any():
            return self
        assert self.activation.reflection is not None
        s, polynomial = self.activation.reflection
        sign = np.where(flips, -1.0, 1.0)
        c = self.c - s * sum(polynomial) * float(self.a[flips].sum())
        return replace(self, W=self.W * sign, b=self.b * sign, a=np.where(flips, s * self.a, self.a), c=c)

    def _digest(self) -> str:
        content = b"".join(np.ascontiguousarray(v, dtype="<f8").tobytes() for v in (self.W, self.a, self.b, np.float64(self.c)))
        return hashlib.sha256(content).hexdigest()

    @classmethod
    def _from_tensors(cls, content: bytes, header: dict[str, Any], path: object) -> Network:
        from safetensors import SafetensorError
        from safetensors.numpy import load

        try:
            tensors = load(content)
            net = cls(
                tensors["W"], tensors["a"], tensors["b"], tensors["c"].reshape(()), activations.from_json(header["activation"])
            )
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"{path}: the weights cannot be read ({error}).") from error
        if (net.n_inputs, net.n_units) != (header.get("n_inputs"), header.get("n_units")):
            raise FileFormatError(f"{path}: header and weights disagree about the shape.")
        return net


def unit_distances(f: Network, g: Network) -> np.ndarray:
    """(k, k') relative distance between the units of two canonical networks: the larger of that of (w, b) and that of a.

    For even φ the nearer of the two directions counts.
    """
    from scipy.spatial.distance import cdist

    F, G = (np.vstack([net.W, net.b]).T for net in (f, g))
    gap = np.minimum(cdist(F, G), cdist(F, -G)) if f.activation.parity == "even" else cdist(F, G)
    size = np.maximum(np.linalg.norm(F, axis=1)[:, None], np.linalg.norm(G, axis=1)[None, :])
    output_gap = np.abs(f.a[:, None] - g.a[None, :])
    output_size = np.maximum(np.abs(f.a)[:, None], np.abs(g.a)[None, :])
    tiny = np.finfo(float).tiny
    return np.asarray(np.maximum(gap / np.maximum(size, tiny), output_gap / np.maximum(output_size, tiny)))


def _parameter(name: str, value: Any, *, ndim: int, length: int | None = None) -> np.ndarray:
    try:
        array = to_numpy(value) if is_array(value) else np.asarray(value)
    except ValueError as error:
        raise ShapeError(f"{name} is not a rectangular array ({error}).") from error
    if np.iscomplexobj(array):
        raise NotFiniteError(f"{name} is complex; a network has real parameters.")
    try:
        array = np.array(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name} must hold numbers ({error}).") from error
    if array.ndim != ndim:
        raise ShapeError(f"{name} must have {ndim} axes, not {array.ndim} (shape {array.shape}).")
    if length is not None and len(array) != length:
        raise ShapeError(f"{name} must have one entry a unit: {length}, not {len(array)}.")
    if not np.isfinite(array).all():
        raise NotFiniteError(f"{name} holds NaN or infinity; remove those units.")
    return array
