"""Digests of the source text that a kernel uses, in parts, so that an edit affects few kernels.

A kernel bakes in constants, layouts of structs and plain functions, of its own module and of any
other. Following single names would miss some, so whole rooms of the package count. A room's kernels
can reach the room and what lies below it: a system its own folder, the folders of systems that it
imports, what all systems share, and the ground below all systems.

Modules from outside the package come under one digest of all that are loaded.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pathlib
import re
import sys
import time
import uuid
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import NamedTuple

#: Where this package's modules lie.
PACKAGE = pathlib.Path(__file__).parent.parent
#: Below all systems; any room that is not named here counts as part of it.
_GROUND = "ground"
#: What all systems share.
_SHARED = "systems"
#: Above all systems: nothing below may depend on it. A kernel that lies there may reach anything.
_ABOVE = "above"
_ROOMS_ABOVE = frozenset(
    {"settings", "experiments", "deployment", "studio", "reproduce", "testing"}
    | {"console", "cli", "__main__"}
)
#: Folders of ``systems/`` that are no system but shared by several.
_SHARED_FOLDERS = frozenset({"agents", "servers"})
#: Modules whose business is to know all systems; kernels reach nothing through them.
_REGISTRIES = ("systems/__init__.py", "systems/registry.py")
#: How one system's module names another system.
_NAMED = (re.compile(rb"systems\.(\w+)"), re.compile(rb"from\s+\.\.+(\w+)"))
_NAMED_TOGETHER = (
    re.compile(rb"systems\s+import\s+(\([^)]*\)|[^\n(][^\n]*)"),
    re.compile(rb"from\s+\.\.+\s+import\s+(\([^)]*\)|[^\n(][^\n]*)"),
)
#: Libraries that every kernel rests on; their versions count, not their text.
_LIBRARIES = frozenset({"numba", "llvmlite", "numpy"})
_INSTALLED = ("site-packages", "dist-packages")
_STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep


#: When this package was loaded, in ns. Of its own files, one that changed later need not be what
#: was imported; what somebody else's functions are is in the name of what is compiled of them.
_BEGAN = time.time_ns()
#: Stands for code that nobody can name.
_NOBODY_ELSES = uuid.uuid4().hex


class _Source(NamedTuple):
    """One module: its digest, when its file last changed (ns), and the systems it names."""

    digest: bytes
    changed: int
    named: frozenset[str]


class Shards(NamedTuple):
    """The package's source text, room by room.

    Parameters
    ----------
    sources
        Room to its modules, by their paths within the package.
    needs
        Room to all rooms that its kernels can reach, itself among them.
    """

    sources: dict[str, dict[str, _Source]]
    needs: dict[str, frozenset[str]]

    def digest(self, room: str) -> str:
        """Digest of all that the kernels of one room can reach."""
        return self._digest(self.needs[room])

    def reachable(self) -> str:
        """Digest of all that any kernel below the experiments can reach."""
        return self._digest(self.sources.keys() - {_ABOVE})

    def settled(self, room: str) -> bool:
        """Whether all that the kernels of one room can reach is as it was imported."""
        return all(
            source.changed < _BEGAN
            for needed in self.needs[room]
            for source in self.sources[needed].values()
        )

    def _digest(self, rooms: Iterable[str]) -> str:
        digest = hashlib.sha256()
        for room in sorted(rooms):
            for path, source in sorted(self.sources[room].items()):
                digest.update(path.encode() + b"\0" + source.digest)
        return digest.hexdigest()


@functools.cache
def shards(package: pathlib.Path) -> Shards:
    """Read the source text of ``package`` and sort it into rooms."""
    sources: dict[str, dict[str, _Source]] = {_GROUND: {}, _SHARED: {}, _ABOVE: {}}
    for path, text, changed in _modules(package):
        named = frozenset() if path in _REGISTRIES else _systems_named(text)
        source = _Source(hashlib.sha256(text).digest(), changed, named)
        sources.setdefault(room_of(path), {})[path] = source
    return Shards(sources, {room: _needs(room, sources) for room in sources})


def room_of(path: str) -> str:
    """The room of a module, from its path within the package."""
    first, *rest = path.removesuffix(".py").split("/")
    if first in _ROOMS_ABOVE:
        return _ABOVE
    if first != "systems":
        return _GROUND
    return f"systems/{rest[0]}" if len(rest) > 1 and rest[0] not in _SHARED_FOLDERS else _SHARED


def kernels_digest(package: pathlib.Path) -> str:
    """Digest of all source text of ``package`` that results can depend on, however reached.

    If a file of this package was edited after the process began, what runs here need not be what
    stands there: then the digest is one that no other process has.
    """
    own = shards(package)
    edited = package == PACKAGE and not all(map(own.settled, own.sources.keys() - {_ABOVE}))
    return _NOBODY_ELSES if edited else own.reachable()[:16]


def _modules(package: pathlib.Path) -> Iterator[tuple[str, bytes, int]]:
    """Path within the package, text, and time of the last change of every module."""
    start = len(os.fspath(package)) + 1
    for folder, folders, files in os.walk(package):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in files:
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                text, changed = _read(path)
                yield path[start:].replace(os.sep, "/"), text, changed


def _read(path: str) -> tuple[bytes, int]:
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        return file.read(), max(status.st_mtime_ns, status.st_ctime_ns)


def _systems_named(text: bytes) -> frozenset[str]:
    """Every word of a module that may be the name of a system it imports, and a few others."""
    words = {word for pattern in _NAMED for word in pattern.findall(text)}
    for pattern in _NAMED_TOGETHER:
        for together in pattern.findall(text):
            words.update(re.findall(rb"\w+", together))
    return frozenset(f"systems/{word.decode()}" for word in words)


def _needs(room: str, sources: dict[str, dict[str, _Source]]) -> frozenset[str]:
    if room == _ABOVE:
        return frozenset(sources)
    needed: set[str] = set()
    waiting = {room, _GROUND} | ({_SHARED} if room.startswith("systems") else set())
    while waiting:
        needed.add(one := waiting.pop())
        for source in sources[one].values():
            waiting |= (source.named & sources.keys()) - needed
    return frozenset(needed)


def path_in_package(file: str) -> str | None:
    """Path within this package of a module's file; None for one that lies outside."""
    start = os.fspath(PACKAGE) + os.sep
    return file[len(start) :].replace(os.sep, "/") if file.startswith(start) else None


def is_foundation(module: str, file: str | None) -> bool:
    """Whether a module belongs to Python or to the libraries that every kernel rests on."""
    if module.partition(".")[0] in _LIBRARIES or module == "builtins":
        return True
    return file is not None and file.startswith(_STANDARD_LIBRARY) and not _installed_in(file)


def _installed_in(file: str) -> str | None:
    """The installed package that a file belongs to, by its folder or module; None if to none."""
    parts = file.split(os.sep)
    for position, part in enumerate(parts[:-1]):
        if part in _INSTALLED:
            return os.sep.join(parts[: position + 2])
    return None


def foreign_digest(files: Iterable[str]) -> str | None:
    """Digest of what kernels from outside the package can reach.

    That is every module that is loaded, but for Python's own and installed ones; of the latter the
    packages that hold one of ``files``, and which versions are installed of the others.

    Parameters
    ----------
    files
        Modules that hold such kernels or their types.

    Returns
    -------
    str or None
        None where that cannot be known: a file cannot be read, or changed after this process began.
    """
    plugins = {_installed_in(file) for file in files} - {None}
    parts = {("", os.path.basename(file), file) for file in files}
    for name, module in list(sys.modules.items()):
        file = vars(module).get("__file__") if isinstance(module, ModuleType) else None
        if not isinstance(file, str) or name == "__main__" or path_in_package(file) is not None:
            continue
        installed = _installed_in(file)
        if installed in plugins if installed else not is_foundation(name, file):
            parts.add((name, os.path.basename(file), file))
    digest = hashlib.sha256(repr(_installed_versions(tuple(sys.path))).encode())
    for name, base, file in sorted(parts):
        try:
            text, changed = _read(file)
        except OSError:
            return None
        if changed >= _BEGAN:
            return None
        digest.update(f"{name}\0{base}\0".encode() + hashlib.sha256(text).digest())
    return digest.hexdigest()


@functools.cache
def _installed_versions(search: tuple[str, ...]) -> list[tuple[str, int]]:
    """What is installed, and when: the names hold the versions."""
    found = []
    for folder in search:
        if os.path.basename(folder) in _INSTALLED and os.path.isdir(folder):
            found += [
                (entry.name, entry.stat().st_mtime_ns)
                for entry in os.scandir(folder)
                if entry.name.endswith((".dist-info", ".egg-info"))
            ]
    return sorted(found)
