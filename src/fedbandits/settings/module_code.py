"""How code that a configuration names is imported: from the very text that was read."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType, ModuleType


class _TextLoader(SourceFileLoader):
    """Runs a text that is at hand.

    The file may change meanwhile. What Python has compiled of it before may be of another text:
    Python compares size and time, and two texts can have both in common.
    """

    def __init__(self, name: str, path: str, text: bytes) -> None:
        super().__init__(name, path)
        self._text = text

    def get_code(self, fullname: str) -> CodeType:
        """The text, compiled."""
        code: CodeType = self.source_to_code(self._text, self.get_filename(fullname))
        return code


class TextFinder:
    """Finds modules, and what is inside packages, in texts that were read."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[pathlib.Path, Mapping[str, bytes]]] = {}

    def add(self, name: str, path: pathlib.Path, files: Mapping[str, bytes]) -> ModuleSpec | None:
        """Take note of a module; return how it is imported.

        Parameters
        ----------
        name
            What it is imported as.
        path
            Of its file, or of its package's folder.
        files
            Texts by their paths, seen from the folder that ``path`` lies in.
        """
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)
        self._known[name] = path, files
        return self.find_spec(name)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """How a module is imported; None where its text was not read. Python calls it."""
        del path, target
        root, *inside = name.split(".")
        if root not in self._known:
            return None
        place, files = self._known[root]
        base = "/".join((place.name.removesuffix(".py"), *inside))
        for key in (f"{base}/__init__.py", f"{base}.py"):
            if key in files:
                file = str(place.parent / key)
                return spec_from_file_location(
                    name, file, loader=_TextLoader(name, file, files[key])
                )
        return None


#: The one that this process uses.
FINDER = TextFinder()
