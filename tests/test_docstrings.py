"""Every parameter of a public function or method is named in its docstring."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator

import weightlift
from weightlift.samples.protocol import Samples, Statistic

UNDERSTOOD = {"self", "cls", "X", "y", "sample_weight", "z"}  # rows, targets and weights as everywhere; φ's own argument
PROTOCOLS = {"expectation", "on_network", "merge", *vars(Samples), *vars(Statistic)}  # explained once, at the protocol


def test_every_parameter_is_explained() -> None:
    unexplained = {
        name: missing
        for name, function in public()
        if (missing := [p for p in inspect.signature(function).parameters if p not in UNDERSTOOD and not named(p, function)])
    }
    assert not unexplained


def named(parameter: str, function: object) -> bool:
    return re.search(rf"\b{re.escape(parameter)}\b", inspect.getdoc(function) or "") is not None


def public() -> Iterator[tuple[str, object]]:
    """Functions and methods of what the rooms export, but for those that a protocol of the data's door explains."""
    rooms = [weightlift, *(importlib.import_module(m.name) for m in pkgutil.iter_modules(weightlift.__path__, "weightlift."))]
    for room in rooms:
        for name in getattr(room, "__all__", ()):
            value = getattr(room, name)
            if inspect.isfunction(value):
                yield f"{room.__name__}.{name}", value
            if inspect.isclass(value):
                for method, raw in vars(value).items():
                    function = getattr(raw, "__func__", raw)
                    ours = inspect.isfunction(function) and function.__name__ == method  # a field's default is none
                    if ours and not method.startswith("_") and method not in PROTOCOLS:
                        yield f"{room.__name__}.{name}.{method}", function
