"""`.. room:: weightlift.NAME`: the reference of one module, from its docstring and the names that it makes public.

What the module makes public is documented, so that the reference cannot lag behind the code. A name that the package offers
itself, as weightlift.recover, is documented there, and linked from its module.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

TOP = "weightlift"


def public_names(module_name: str) -> list[str]:
    """The names in `__all__`; without it, the functions and classes that the module defines and does not hide."""
    module = importlib.import_module(module_name)
    if hasattr(module, "__all__"):
        return [name for name in module.__all__ if not name.startswith("__")]
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module_name and callable(value)
    ]


def target(module_name: str, name: str) -> str:
    """Where the reference documents a module's name."""
    top = importlib.import_module(TOP)
    value = getattr(importlib.import_module(module_name), name)
    return f"{TOP}.{name}" if name in top.__all__ and getattr(top, name) is value else f"{module_name}.{name}"


def documentation(module_name: str) -> str:
    """The module's page below its title, as reStructuredText."""
    from plain_docstrings import plain

    module = importlib.import_module(module_name)
    names = [name for name in public_names(module_name) if not inspect.ismodule(getattr(module, name))]
    rooms = [getattr(module, name).__name__ for name in public_names(module_name) if inspect.ismodule(getattr(module, name))]
    lines = [f".. py:module:: {module_name}", "", plain(inspect.getdoc(module) or ""), ""]
    lines += [".. list-table::", "   :class: rooms", ""]
    for name in names:
        lines += [f"   * - :py:obj:`{name} <{target(module_name, name)}>`", f"     - {_summary(getattr(module, name))}"]
    for name in rooms:
        lines += [f"   * - :py:mod:`{name.rpartition('.')[2]} <{name}>`", f"     - {_summary(importlib.import_module(name))}"]
    lines.append("")
    for name in names:
        if target(module_name, name) == f"{module_name}.{name}":
            lines += _entry(module_name, name, getattr(module, name))
    if module_name != TOP:
        lines += [line for name in rooms for line in [*documentation(name).split("\n"), ""]]
    return "\n".join(lines)


def _entry(module_name: str, name: str, value: Any) -> list[str]:
    if inspect.isclass(value):
        directive = "autoexception" if issubclass(value, BaseException) else "autoclass"
        return [f".. {directive}:: {module_name}.{name}", ""]
    if inspect.isroutine(value):
        return [f".. autofunction:: {module_name}.{name}", ""]
    return [f".. py:data:: {module_name}.{name}", "", f"   {_summary(value)}", ""]


def _summary(value: Any) -> str:
    """The first sentence of its docstring; of a value, its type and how it prints."""
    from plain_docstrings import inline

    if not (inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value)):
        text = repr(value)
        return f"``{text}``" if len(text) <= 80 else f"``{text[:60]} …``"
    first = (inspect.getdoc(value) or "").split("\n\n")[0]
    return inline(" ".join(first.split()))


def setup(app: Any) -> dict[str, bool]:
    from docutils.statemachine import StringList
    from sphinx.util.docutils import SphinxDirective
    from sphinx.util.parsing import nested_parse_to_nodes

    class Room(SphinxDirective):
        required_arguments = 1

        def run(self) -> list[Any]:
            module_name = self.arguments[0]
            source = importlib.import_module(module_name).__file__ or module_name
            content = StringList(documentation(module_name).splitlines(), source=source)
            return nested_parse_to_nodes(self.state, content, allow_section_headings=False)

    app.add_directive("room", Room)
    return {"parallel_read_safe": True}
