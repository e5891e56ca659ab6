"""Numba's cache on disk, keyed by all that a compiled kernel depends on instead of a time stamp.

Numba's own is keyed on the file that holds a function, not on the files of what it calls: edit a
helper, a constant or a struct, and callers go on running the old machine code. Here a compilation
lies in a folder named after the source text that it can reach, under a name that holds the values
it bakes in. What cannot be named so is compiled anew in every process.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core import caching as _caching

from fedbandits._compile.folder import private, root
from fedbandits._compile.nested import is_for_python, rebuilt, reduced
from fedbandits._compile.reach import Reach
from fedbandits._compile.sources import PACKAGE, foreign_digest, shards

_FORMAT = 2
_numba_caching: Any = _caching  # which of its classes have types differs between versions
#: Numba's settings; they are attributes made at run time, which its type stubs do not list.
numba_config: Any = numba.config
#: Settings of Numba's that change nothing in what it compiles.
_HARMLESS = {"NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS", "NUMBA_DEBUG_CACHE"}


def name_of(function: Callable[..., Any], signature: Any) -> tuple[str, str] | None:
    """Under which folder and name a compilation is kept; None if it must not be.

    Parameters
    ----------
    function
        The plain Python function that is compiled.
    signature
        Numba's types of its arguments.
    """
    reach = Reach(function, signature)
    own = shards(PACKAGE)
    rooms = reach.rooms
    if not reach.known or not rooms <= own.sources.keys():
        return None
    if not all(map(own.settled, rooms)):
        return None
    digest = hashlib.sha256(_circumstances().encode())
    for room in sorted(rooms):
        digest.update(own.digest(room).encode())
    outside = reach.outside
    if outside:
        foreign = foreign_digest(outside)
        if foreign is None:
            return None
        digest.update(f"{own.reachable()} {foreign}".encode())
    return digest.hexdigest()[:24], reach.values()[:16]


def _circumstances() -> str:
    settings = sorted(
        item for item in os.environ.items() if item[0].startswith("NUMBA_")
        and item[0] not in _HARMLESS
    )  # fmt: skip
    return repr((_FORMAT, sys.version, numba.__version__, np.__version__, settings))


class KernelCache(_numba_caching.NullCache):  # type: ignore[misc]
    """The cache of one kernel, for all its signatures.

    Parameters
    ----------
    function
        The plain Python function that is compiled.
    missed
        Called when a signature is not found, just before it is compiled.
    """

    def __init__(self, function: Callable[..., Any], missed: Callable[[], None]) -> None:
        self._function = function
        self._missed = missed
        self._opened: dict[Any, _NamedCache | None] = {}
        self._saved: dict[Any, _NamedCache | None] = {}

    @property
    def cache_path(self) -> str | None:
        """Where all kernels are kept."""
        return private(root(numba_config.CACHE_DIR))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was kept for a signature, or None."""
        self._opened[sig] = cache = self._open(sig)
        found = None if cache is None else cache.load_overload(sig, target_context)
        if found is None:
            self._missed()
        elif not is_for_python(found):
            self._saved[sig] = cache
        return found

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Keep what was compiled for a signature, under the name it had before it was compiled."""
        self._saved[sig] = cache = self._opened.pop(sig, None)
        if cache is not None:
            cache.save_overload(sig, cres)

    def save_again(self, sig: Any, cres: Any) -> None:
        """Keep a compilation that Python can call now, in place of what was kept of it before."""
        cache = self._saved.pop(sig, None)
        if cache is not None:
            cache.save_overload(sig, cres)

    def _open(self, sig: Any) -> _NamedCache | None:
        name = name_of(self._function, sig)
        top = None if name is None else self.cache_path
        if name is None or top is None:
            return None
        folder = private(os.path.join(top, name[0], self._function.__module__))
        return None if folder is None else _NamedCache(self._function, folder, name[1])


class _Locator:
    """Where one compilation lies, as Numba asks for it."""

    def __init__(self, file: str, folder: str, name: str) -> None:
        self._py_file = file
        self._folder = folder
        self._name = name

    def ensure_cache_path(self) -> None:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)  # made before; it may be gone

    def get_cache_path(self) -> str:
        return self._folder

    def get_source_stamp(self) -> int:
        return _FORMAT  # what the stamp is for is in the name

    def get_disambiguator(self) -> str:
        return self._name


class _Implementation(_numba_caching.CompileResultCacheImpl):  # type: ignore[misc]
    def __init__(self, function: Callable[..., Any], locator: _Locator) -> None:
        self._lineno = function.__code__.co_firstlineno
        self._locator = locator
        flags = getattr(sys, "abiflags", "")
        self._filename_base = self.get_filename_base(function.__qualname__, flags)

    def reduce(self, cres: Any) -> Any:
        return super().reduce(cres) if is_for_python(cres) else ("nested", reduced(cres))

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        if payload[0] == "nested":
            return rebuilt(target_context, payload[1])
        return super().rebuild(target_context, payload)


class _Index(_numba_caching.IndexDataCacheFile):  # type: ignore[misc]
    def _load_index(self) -> Any:
        """Read the index, or start another where it names a type that cannot be imported here."""
        try:
            return super()._load_index()
        except (ImportError, AttributeError, EOFError, pickle.UnpicklingError):
            return {}


class _NamedCache(_numba_caching.FunctionCache):  # type: ignore[misc]
    """Numba's cache of one function, in a folder and under a name of our choice."""

    def __init__(self, function: Callable[..., Any], folder: str, values: str) -> None:
        line = function.__code__.co_firstlineno
        locator = _Locator(inspect.getfile(function), folder, f"{line}-{values}")
        self._name = repr(function)
        self._py_func = function
        self._impl = _Implementation(function, locator)
        self._cache_path = folder
        self._cache_file = _Index(folder, self._impl.filename_base, locator.get_source_stamp())
        self.enable()
