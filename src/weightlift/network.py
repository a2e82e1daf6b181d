"""The network f(x) = Σᵢ aᵢ φ(⟨wᵢ, x⟩ + bᵢ) + Vᵀx + c, its normal form and its file.

One output (aᵢ and c numbers, V absent or in Rᵈ) or m of them (aᵢ, c ∈ Rᵐ, V absent or in R^{d×m}).

Symmetries that leave f unchanged: permutation of units; scale, a φ(z) = (a/t^q) φ(tz), for φ homogeneous of
degree q; and, where φ(−z) = s φ(z) + p₀ + p₁z, the reflection

    (a, w, b, c, V) → (s a, −w, −b, c + (p₀ − p₁b) a, V − p₁ w aᵀ):

joint sign for odd φ, direction sign for even φ, the affine sign of the sigmoid. Where p₁ ≠ 0 (ReLU, leaky ReLU, softplus) it
needs a linear part to move to, and is a symmetry of networks that have one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from weightlift import activations, markup
from weightlift.activations import Activation
from weightlift.errors import ActivationError, ArgumentError, FileFormatError, NotFiniteError, ShapeError
from weightlift.files import read_checked, sealed, unsealed, write_atomically
from weightlift.namespaces import Array, array_namespace, device, is_array, matrix, refuse_masked, row_ranges, to_numpy

FORMAT, VERSION = "weightlift.network", 3
MAX_FILE_BYTES = 2**31  # 2.7·10⁸ weights; a larger file is none of ours
BLOCK_BYTES = 2**23  # of rows predicted at a time: as the blocks of `samples`


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Network:
    """One hidden layer: W (d, k) with the units' weights as columns, a (k,) or (k, m), b (k,), c a number or (m,), φ, V.

    V is None, (d,) or, with several outputs, (d, m). k = 0, the linear part alone, is a network too.

    >>> net = Network([[1.0, 0.0], [2.0, -1.0]], a=[1.0, -1.0], activation="relu")
    >>> net.predict(np.array([[1.0, 1.0]]))
    array([3.])
    >>> two = Network([[1.0], [2.0]], a=[[1.0, -1.0]], c=[0.0, 5.0], V=[[1.0, 0.0], [0.0, 0.0]])
    >>> two.predict(np.array([[1.0, 1.0]]))
    array([[4., 2.]])
    """

    W: np.ndarray
    a: np.ndarray
    b: np.ndarray
    c: Any  # a float, or (m,)
    activation: Activation
    V: np.ndarray | None

    def __init__(
        self,
        W: ArrayLike,
        a: ArrayLike | None = None,
        b: ArrayLike | None = None,
        c: ArrayLike = 0.0,
        activation: Activation | str = "relu",
        V: ArrayLike | None = None,
    ) -> None:
        weights = _parameter("W", W, ndim=(2,))
        d, k = weights.shape
        if d == 0:
            raise ShapeError(f"W must have at least one input, not shape {weights.shape}.")
        linear = None if V is None else _parameter("V", V, ndim=(1, 2))
        outputs = _outputs(a, linear, k)
        several = outputs.shape[1:]  # () or (m,)
        if linear is not None and linear.shape != (d, *several):
            found = f"as W has {d} inputs and a the shape {outputs.shape}, not {linear.shape}"
            raise ShapeError(f"V must have shape {(d, *several)}, {found}.")
        constant = _parameter("c", c, ndim=(0, len(several)))
        if constant.ndim and constant.shape != several:
            raise ShapeError(f"c must be a number or have shape {several}, one entry an output, not {constant.shape}.")
        values = {
            "W": weights,
            "a": outputs,
            "b": np.zeros(k) if b is None else _parameter("b", b, ndim=(1,), length=k),
            "c": np.broadcast_to(constant, several).copy() if several else float(constant),
            "activation": activations.get(activation),
            "V": linear,
        }
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy or one sent to another process is made by the constructor: checked and frozen."""
        return Network, (self.W, self.a, self.b, self.c, self.activation, self.V)

    @property
    def n_inputs(self) -> int:
        return int(self.W.shape[0])

    @property
    def n_units(self) -> int:
        return int(self.W.shape[1])

    @property
    def n_outputs(self) -> int:
        return 1 if self.a.ndim == 1 else int(self.a.shape[1])

    @property
    def A(self) -> np.ndarray:
        """(k, m) output weights, also of a single output."""
        return self.a if self.a.ndim == 2 else self.a[:, None]

    def combined(self, u: ArrayLike) -> Network:
        """The network of one output ⟨u, f(x)⟩."""
        u = _parameter("u", u, ndim=(1,))
        if len(u) != self.n_outputs:
            raise ShapeError(f"u must have one entry an output: {self.n_outputs}, not {len(u)}.")
        if self.a.ndim == 1:
            return replace(self, a=self.a * u[0], c=self.c * u[0], V=None if self.V is None else self.V * u[0])
        return replace(self, a=self.a @ u, c=float(self.c @ u), V=None if self.V is None else self.V @ u)

    def output(self, number: int) -> Network:
        """The network of one output, y[:, number]."""
        m = self.n_outputs
        if isinstance(number, bool) or not (isinstance(number, int | np.integer) and -m <= number < m):
            raise ArgumentError(f"number must be one of the {self.n_outputs} outputs, counted from 0, not {number!r}.")
        if self.a.ndim == 1:
            return self
        V = None if self.V is None else self.V[:, number]
        return replace(self, a=self.a[:, number], c=float(self.c[number]), V=V)

    def predict(self, X: Array) -> Array:
        """f at the rows of X (n, d), (n,) or (n, m), in its namespace and dtype, on its device; memory O(8 MB) beside it."""
        X = matrix(X, self.n_inputs)
        xp = array_namespace(X)
        W, a, b = (xp.asarray(p.copy(), dtype=X.dtype, device=device(X)) for p in (self.W, self.a, self.b))
        c = self.c if self.a.ndim == 1 else xp.asarray(self.c.copy(), dtype=X.dtype, device=device(X))
        V = None if self.V is None else xp.asarray(self.V.copy(), dtype=X.dtype, device=device(X))
        rows = max(1, BLOCK_BYTES // (8 * (self.n_units + self.n_inputs)))
        parts = []
        for i, j in row_ranges(X.shape[0], rows):
            part = xp.matmul(self.activation(xp.matmul(X[i:j, :], W) + b), a) + c
            parts.append(part if V is None else part + xp.matmul(X[i:j, :], V))
        return xp.concat(parts) if parts else xp.zeros((0, *self.a.shape[1:]), dtype=X.dtype, device=device(X))

    def canonical(self) -> Network:
        """The normal form under the symmetries of φ.

        Homogeneous φ: ‖wᵢ‖ = 1 (a unit with w = 0 has |b| = 1). Odd φ, sigmoid: aᵢ > 0, its leading coordinate if it has
        several. Even φ, and ReLU or softplus beside a linear part: the leading coordinate of wᵢ is positive. φ that repeats:
        |bᵢ| ≤ T/2. Units in lexicographic order of (w, b, a), largest first.
        """
        net = self.normalized()
        order = np.lexsort((*net.A.T[::-1], net.b, *net.W[::-1]))[::-1]
        return replace(net, W=net.W[:, order], a=net.a[order], b=net.b[order])

    def normalized(self) -> Network:
        """Every unit in its normal form (see `canonical`), under the number that it has."""
        net = self._unit_norms()
        if net.activation.repeats is not None:
            net = net.shifted(-np.round(net.b / net.activation.repeats[0]))
        return net.reflected(net._flips())

    def absorbed(self) -> Network:
        """The same function with ‖aᵢ‖ = 1, sizes moved into (wᵢ, bᵢ): a φ(z) = (a/‖a‖) φ(‖a‖^{1/q} z)  [zhong2017, §4]."""
        q = self.activation.degree
        if not q:
            raise ActivationError(f"output weights can be absorbed for homogeneous φ only; {self.activation.name} is not.")
        if self.a.ndim == 1:
            scale, a = np.abs(self.a) ** (1 / q), np.where(self.a < 0, -1.0, 1.0)
        else:
            size = np.linalg.norm(self.a, axis=1)
            level = np.full(self.a.shape, self.n_outputs**-0.5)
            a = np.divide(self.a, size[:, None], out=level, where=size[:, None] > 0)
            scale = size ** (1 / q)
        return replace(self, W=self.W * scale, b=self.b * scale, a=a)

    def equivalent(self, other: Network, tol: float = 1e-8) -> bool:
        """Whether the two networks have the same units up to the symmetries, each parameter to relative `tol`.

        Where one of them has a linear part both are taken to have one, which may be zero.

        other  a network to compare with
        """
        if not isinstance(other, Network):
            raise ArgumentError(f"other must be a Network, not {type(other).__name__}.")
        if not tol >= 0:
            raise ArgumentError(f"tol must be a number, at least 0, not {tol!r}.")
        same = self.activation == other.activation and self.W.shape == other.W.shape and self.a.shape == other.a.shape
        if not same:
            return False
        f, g = (net.canonical() for net in alike(self, other))
        far = unit_distances(f, g) > tol
        from scipy.optimize import linear_sum_assignment

        i, j = linear_sum_assignment(far)
        if far[i, j].any():
            return False
        if f.V is not None:
            g = g.reflected(np.isin(np.arange(g.n_units), j[(f.W[:, i] * g.W[:, j]).sum(axis=0) < 0]) & g.turns)
        size = max(1.0, float(np.abs(f.c).max()), np.abs(f.a).max(initial=0.0))
        c_agrees = np.abs(f.c - g.c).max() <= tol * size
        return bool(c_agrees and (f.V is None or np.abs(f.V - g.V).max() <= tol * max(size, np.abs(f.V).max())))

    def save(
        self, path: str | os.PathLike[str], *, inputs: Sequence[str] | None = None, outputs: Sequence[str] | None = None
    ) -> None:
        """Write a safetensors file with a versioned JSON header, beside and renamed.

        inputs, outputs: names of the columns of X and of y, which `column_names` reads back. A custom φ goes to the file by its
        name, with some of its values, and has to be passed to `load`: no file brings code.

        path  of the file; one that is there is replaced
        """
        header: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "activation": activations.described(self.activation),
            "n_inputs": self.n_inputs,
            "n_units": self.n_units,
        }
        for key, names, count in (("inputs", inputs, self.n_inputs), ("outputs", outputs, self.n_outputs)):
            if names is not None:
                header[key] = _names(key, names, count)
        tensors = {"W": self.W, "a": self.a, "b": self.b, "c": np.atleast_1d(self.c)}
        tensors |= {} if self.V is None else {"V": self.V}
        write_atomically(path, sealed(tensors, header))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, activations: Sequence[Activation] = ()) -> Network:
        """Read a file written by `save`; one that is truncated, altered or of another kind is refused.

        path         of the file
        activations  custom ones, for a file that names one of them
        """
        return cls._from_tensors(*_opened(path), path, activations)

    def __repr__(self) -> str:
        biases = "with biases" if np.any(self.b) else "no biases"
        several = "" if self.a.ndim == 1 else f", {self.n_outputs} output{'s' * (self.n_outputs > 1)}"
        linear = "" if self.V is None else ", linear part"
        c = f"{self.c:g}" if self.a.ndim == 1 else "[" + ", ".join(f"{v:g}" for v in self.c) + "]"
        size = f"{self.n_inputs} inputs, {self.n_units} units{several}"
        return f"Network({size}, {self.activation.name}, {biases}{linear}, c={c})"

    def _repr_html_(self) -> str:
        return self.html()

    def html(self, inputs: Sequence[str] | None = None, errors: Mapping[str, float] = MappingProxyType({})) -> str:
        """The units in normal form, under their numbers.

        inputs  names of the columns of X
        errors  standard errors by the parameters' names, which stand in brackets
        """
        net = self.normalized()
        V = [] if net.V is None else net.V.reshape(net.n_inputs, -1).tolist()
        names = inputs or range(net.n_inputs)
        rows = ([name, *row] for name, row in zip(names, V, strict=True)) if V else ()
        line = markup.table(["V", *range(net.n_outputs)], rows) if V else ""
        units = markup.units(net.W, net.A, net.b, inputs, errors)
        return f"<p><code>{markup.escaped(repr(self))}</code></p>{units}{line}"

    def _unit_norms(self) -> Network:
        q = self.activation.degree
        if q is None:
            return self
        length = np.linalg.norm(self.W, axis=0)
        length = np.where(length > 0, length, np.abs(self.b))
        length = np.where(length > 0, length, 1.0)
        scale = length**q if self.a.ndim == 1 else (length**q)[:, None]
        return replace(self, W=self.W / length, b=self.b / length, a=self.a * scale)

    @property
    def turns(self) -> bool:
        """Whether a unit may be reflected: φ(−z) = ±φ(z) + p₀, or + p₁z where a linear part takes it up."""
        reflection = self.activation.reflection
        return reflection is not None and len(reflection[1]) <= (1 if self.V is None else 2)

    def _flips(self) -> np.ndarray:
        """Units that the normal form reflects."""
        if not self.turns:
            return np.zeros(self.n_units, dtype=bool)
        assert self.activation.reflection is not None
        negative = np.where(_leading(self.W) != 0, _leading(self.W), self.b) < 0
        a = self.a if self.a.ndim == 1 else _leading(self.a.T)
        return negative if self.activation.reflection[0] > 0 else np.where(a != 0, a < 0, negative)

    def reflected(self, flips: np.ndarray) -> Network:
        """The same function with the units at `flips` (k,) reflected, where φ and the linear part allow it (see `turns`)."""
        if not flips.any():
            return self
        if not self.turns:
            raise ActivationError(f"a {self.activation.name} unit is reflected only beside a linear part; pass V.")
        assert self.activation.reflection is not None
        s, polynomial = self.activation.reflection
        p0, p1 = (*polynomial, 0.0, 0.0)[:2]
        sign, A = np.where(flips, -1.0, 1.0), self.a[flips]
        turned = flips if self.a.ndim == 1 else flips[:, None]
        c, V = self.c + p0 * A.sum(axis=0), self.V
        if p1:
            c, V = c - p1 * (self.b[flips] @ A), V - p1 * (self.W[:, flips] @ A)
        return replace(self, W=self.W * sign, b=self.b * sign, a=np.where(turned, s * self.a, self.a), c=c, V=V)

    def shifted(self, times: np.ndarray) -> Network:
        """The same function with bᵢ + timesᵢ T, where φ(z + T) = s φ(z); times (k,) are whole numbers."""
        if not times.any():
            return self
        if self.activation.repeats is None:
            raise ActivationError(f"no period of a {self.activation.name} unit is known; its bias cannot be shifted.")
        T, s = self.activation.repeats
        sign = np.where((times % 2 != 0) & (s < 0), -1.0, 1.0)
        return replace(self, b=self.b + times * T, a=self.a * (sign if self.a.ndim == 1 else sign[:, None]))

    @classmethod
    def _from_tensors(
        cls, tensors: dict[str, np.ndarray], header: dict[str, Any], path: object, custom: Sequence[Activation]
    ) -> Network:
        try:
            c = tensors["c"] if tensors["a"].ndim == 2 else tensors["c"].reshape(())
            phi = activations.recognized(header["activation"], custom)
            return cls(tensors["W"], tensors["a"], tensors["b"], c, phi, tensors.get("V"))
        except ActivationError as error:
            raise FileFormatError(f"{path} cannot be loaded as it is; its activation: {error}") from error
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"{path}: the weights cannot be read; save it again ({error}).") from error


def _opened(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    content = read_checked(path, max_bytes=MAX_FILE_BYTES)
    return unsealed(content, path, kind="a network", format=FORMAT, version=VERSION)


def column_names(path: str | os.PathLike[str]) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """Names of the columns of X and of y in a file written by `Network.save`; None where it has none."""
    _, header = _opened(path)
    inputs, outputs = header.get("inputs"), header.get("outputs")
    try:
        found = _names("inputs", inputs, int(header["n_inputs"])) if inputs is not None else None
        targets = _names("outputs", outputs, len(outputs)) if outputs is not None else None
    except (ArgumentError, KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"{path}: the names of the columns cannot be read; save it again ({error}).") from error
    return None if found is None else tuple(found), None if targets is None else tuple(targets)


def _names(key: str, names: Sequence[str], count: int) -> list[str]:
    listed = [names] if isinstance(names, str) else list(names)
    if len(listed) != count or len(set(listed)) < count or not all(isinstance(name, str) for name in listed):
        raise ArgumentError(f"{key} must be {count} names, each of its own, not {listed[:12]!r}.")
    return listed


def alike(f: Network, g: Network) -> tuple[Network, Network]:
    """Both as networks with a linear part, zero where there is none, if one of them has one."""
    if f.V is None and g.V is None:
        return f, g
    f, g = (net if net.V is not None else replace(net, V=np.zeros((net.n_inputs, *net.a.shape[1:]))) for net in (f, g))
    return f, g


def unit_distances(f: Network, g: Network) -> np.ndarray:
    """(k, k') relative distance between the units of two canonical networks: the larger of that of (w, b) and that of a.

    For even φ, and where a linear part allows a reflection with s = 1, the nearer of the two directions counts; for φ that
    repeats the nearest of what differs by one period from g's units and their reflections.
    """
    from scipy.spatial.distance import cdist

    if f.activation.repeats is not None:
        turned = [g.reflected(np.full(g.n_units, flip)) for flip in ((False, True) if g.turns else (False,))]
        ways = [net.shifted(np.full(net.n_units, times)) for net in turned for times in (-1.0, 0.0, 1.0)]
        return np.asarray(np.min([_unit_distances(f, way, cdist(_inner(f), _inner(way))) for way in ways], axis=0))
    F, G = _inner(f), _inner(g)
    either = f.turns and f.activation.reflection is not None and f.activation.reflection[0] > 0
    return _unit_distances(f, g, np.minimum(cdist(F, G), cdist(F, -G)) if either else cdist(F, G))


def _inner(net: Network) -> np.ndarray:
    """(k, d + 1) rows (w, b)."""
    return np.vstack([net.W, net.b]).T


def _unit_distances(f: Network, g: Network, gap: np.ndarray) -> np.ndarray:
    """The larger of `gap` (k, k'), that of (w, b), and that of a, both relative."""
    from scipy.spatial.distance import cdist

    F, G = _inner(f), _inner(g)
    size = np.maximum(np.linalg.norm(F, axis=1)[:, None], np.linalg.norm(G, axis=1)[None, :])
    output_gap = cdist(f.A, g.A)
    output_size = np.maximum(np.linalg.norm(f.A, axis=1)[:, None], np.linalg.norm(g.A, axis=1)[None, :])
    tiny = np.finfo(float).tiny
    return np.asarray(np.maximum(gap / np.maximum(size, tiny), output_gap / np.maximum(output_size, tiny)))


def require_single(network: Network, purpose: str) -> None:
    """ShapeError for a network of several outputs or with a linear part, where the mathematics is that of one without."""
    if not isinstance(network, Network):
        raise ArgumentError(f"network must be a Network, not {type(network).__name__}.")
    if network.a.ndim != 1:
        raise ShapeError(f"{purpose} is for one output, and a has the shape {network.a.shape}; take network.output(i).")
    if network.V is not None:
        raise ShapeError(f"{purpose} is for networks without linear part, and this one has V; pass the same with V=None.")


def _outputs(a: ArrayLike | None, V: np.ndarray | None, k: int) -> np.ndarray:
    """a (k,) or (k, m); ones where it is not given, as many a unit as V has columns."""
    if a is None:
        return np.ones((k, *(() if V is None else V.shape[1:])))
    outputs = _parameter("a", a, ndim=(1, 2), length=k)
    if outputs.ndim == 2 and outputs.shape[1] == 0:
        raise ShapeError(f"a must have at least one output, not shape {outputs.shape}.")
    return outputs


def _leading(columns: np.ndarray) -> np.ndarray:
    """(k,) the entry of largest size of every column of (d, k)."""
    return np.asarray(columns[np.argmax(np.abs(columns), axis=0), np.arange(columns.shape[1])])


def _parameter(name: str, value: Any, *, ndim: tuple[int, ...], length: int | None = None) -> np.ndarray:
    try:
        array = to_numpy(value) if is_array(value) else np.asarray(value)
    except ValueError as error:
        raise ShapeError(f"{name} must be a rectangular array ({error}).") from error
    refuse_masked(name, value)
    if np.iscomplexobj(array):
        raise NotFiniteError(f"{name} is complex; a network has real parameters.")
    try:
        array = np.array(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"{name} must hold numbers ({error}).") from error
    if array.ndim not in ndim:
        axes = " or ".join(str(n) for n in sorted(set(ndim)))
        raise ShapeError(f"{name} must have {axes} axes, not {array.ndim} (shape {array.shape}).")
    if length is not None and len(array) != length:
        raise ShapeError(f"{name} must have one entry a unit: {length}, not {len(array)}.")
    if not np.isfinite(array).all():
        raise NotFiniteError(f"{name} holds NaN or infinity; remove those units.")
    return array
