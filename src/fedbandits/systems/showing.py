"""Texts that show a system: in a line, and in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from fedbandits._brief import titled
from fedbandits._html import table


class ShownSystem:
    """Shows a system by its name, where it was published, and its presets."""

    name: ClassVar[str]
    paper: ClassVar[str]
    presets: ClassVar[Mapping[str, Any]]

    def __repr__(self) -> str:
        count = len(self.presets)
        return f"<system {self.name!r}: {self.paper}; {count} preset{'s' if count != 1 else ''}>"

    def _repr_html_(self) -> str:
        rows = [(name, preset.description) for name, preset in self.presets.items()]
        return titled(f"{self.name}: {self.paper}", table(rows, ("preset", "what it is")))
