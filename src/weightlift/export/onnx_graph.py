"""A graph of ONNX operators, written down while φ is computed: its values are arrays that only remember what was done to them.

An activation asks its argument for a namespace; that of a `Value` is its graph, in which each function of the array-API
standard that φ calls becomes an operator, and what the graph lacks is refused by its name. Only operators with enough digits
are used: LeakyRelu and Elu store their parameter in float32, and onnxruntime has kernels of some others in float32 alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weightlift.activations import Activation
from weightlift.errors import ActivationError

SINGLE = {"Erf"}  # operators that onnxruntime computes in float32 alone


class Graph:
    """Nodes and constants, and the namespace of the values between them."""

    __name__ = "onnx"  # as a module's

    def __init__(self, helper: Any, numpy_helper: Any, kind: np.dtype) -> None:
        self.helper, self.numpy_helper, self.kind = helper, numpy_helper, kind
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, value: Any) -> str:
        self.constants.append(self.numpy_helper.from_array(np.array(value, dtype=self.kind), name))
        return name

    def node(self, operator: str, *inputs: str, output: str | None = None) -> str:
        """The name of the node's output."""
        name = output or f"v{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(operator, list(inputs), [name]))
        return name

    def activation(self, phi: Activation, z: str) -> str:
        """The name of φ(z)."""
        if phi.names.onnx == "Identity":
            return self.node("Identity", z)
        argument = Value(self, z)
        try:
            value = phi.value(argument)
        except (AttributeError, TypeError) as error:
            raise ActivationError(f"ONNX cannot say {phi.name!r} ({error}); export it to a weightlift file instead.") from error
        if phi.degree == 0:
            value = value + (argument - argument)  # a constant, in the shape of z
        lacking = sorted({node.op_type for node in self.nodes} & SINGLE)
        if lacking and self.kind == np.float64:
            raise ActivationError(
                f"onnxruntime has no float64 kernel for {lacking[0]}; export {phi.name!r} with dtype='float32'."
            )
        return str(value.name)

    def apply(self, operator: str, *inputs: Any) -> Value:
        """Of values and numbers."""
        names = [v.name if isinstance(v, Value) else self.constant(f"k{len(self.constants)}", [float(v)]) for v in inputs]
        return Value(self, self.node(operator, *names))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in ONE_ARGUMENT:
            raise AttributeError(f"ONNX export has no operator for {name!r}")
        return lambda z: self.apply(ONE_ARGUMENT[name], z)

    def where(self, condition: Value, left: Any, right: Any) -> Value:
        return self.apply("Where", condition, left, right)

    def clip(self, z: Value, low: float) -> Value:
        return self.apply("Relu", z) if low == 0.0 else self.apply("Max", z, low)

    def full_like(self, z: Value, value: float) -> Value:
        return self.apply("Identity", value)

    def zeros_like(self, z: Value) -> Value:
        return self.full_like(z, 0.0)

    def ones_like(self, z: Value) -> Value:
        return self.full_like(z, 1.0)

    def log1p(self, z: Value) -> Value:
        return self.apply("Log", z + 1.0)

    def expm1(self, z: Value) -> Value:
        return self.apply("Exp", z) - 1.0

    def erfc(self, z: Value) -> Value:
        return 1.0 - self.apply("Erf", z)


ONE_ARGUMENT = {
    name: name.capitalize() for name in ("abs", "exp", "log", "sqrt", "tanh", "sin", "cos", "atan", "sign", "erf", "floor")
}


def _operator(name: str, *, reflected: bool = False) -> Callable[..., Value]:
    def apply(self: Value, other: Any) -> Value:
        return self.graph.apply(name, *((other, self) if reflected else (self, other)))

    return apply


class Value:
    """The output of a node."""

    dtype = np.dtype(np.float64)

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    def __array_namespace__(self, *, api_version: str | None = None) -> Graph:
        return self.graph

    def __neg__(self) -> Value:
        return self.graph.apply("Neg", self)

    __add__, __radd__ = _operator("Add"), _operator("Add", reflected=True)
    __sub__, __rsub__ = _operator("Sub"), _operator("Sub", reflected=True)
    __mul__, __rmul__ = _operator("Mul"), _operator("Mul", reflected=True)
    __truediv__, __rtruediv__ = _operator("Div"), _operator("Div", reflected=True)
    __pow__ = _operator("Pow")
    __gt__, __lt__, __ge__, __le__ = map(_operator, ("Greater", "Less", "GreaterOrEqual", "LessOrEqual"))
