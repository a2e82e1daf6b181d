"""Citations as the sources write them, [zhong2017, Def. 5.1], linked to a bibliography whose labels are the keys."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

KEYS = tuple(re.findall(r"^@\w+\{(\w+),", (Path(__file__).parents[1] / "references.bib").read_text(), re.MULTILINE))
_KEY = "|".join(KEYS)
_CITATION = re.compile(rf"\[((?:{_KEY})\b[^\[\]`]*)\](?!\()")
_PART = re.compile(rf"({_KEY})(?:,\s*(.*))?")


def linked(text: str, role: str) -> str:
    """The text with each [key, place; key, place] made a citation; `role` is ":cite:p:" or, in Markdown, "{cite:p}"."""
    return _CITATION.sub(lambda match: _cited(match, role), text)


def _cited(match: re.Match[str], role: str) -> str:
    parts = [_PART.fullmatch(part.strip()) for part in match[1].split(";")]
    if not all(parts):
        return match[0]
    named = [(part[1], " ".join((part[2] or "").split())) for part in parts if part]
    return f"{role}`" + ",".join(key + (f"{{{place}}}" if place else "") for key, place in named) + "`"


def _link_pages(app: Any, name: str, source: list[str]) -> None:
    if name in ("assumptions", "mathematics", "notation"):
        parts = re.split(r"(`[^`\n]+`)", source[0])
        source[0] = "".join(linked(part, "{cite:p}") if i % 2 == 0 else part for i, part in enumerate(parts))
    elif name.startswith("auto_gallery"):  # code and output are indented
        prose = re.split(r"(^[ \t].*$)", source[0], flags=re.MULTILINE)
        source[0] = "".join(linked(part, ":cite:p:") if i % 2 == 0 else part for i, part in enumerate(prose))


def setup(app: Any) -> dict[str, bool]:
    from pybtex.plugin import register_plugin
    from pybtex.style.formatting.plain import Style
    from pybtex.style.labels import BaseLabelStyle

    class KeyLabels(BaseLabelStyle):
        """The keys themselves as labels."""

        def format_labels(self, sorted_entries: list[Any]) -> Any:
            return (entry.key for entry in sorted_entries)

    class Keys(Style):
        """pybtex's plain style under the labels that the sources cite."""

        default_label_style = "keys"

    register_plugin("pybtex.style.labels", "keys", KeyLabels)
    register_plugin("pybtex.style.formatting", "keys", Keys)
    app.connect("source-read", _link_pages)
    return {"parallel_read_safe": True}
