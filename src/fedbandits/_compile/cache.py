"""Compiled kernels on disk, filed under the text of all kernels instead of under a time stamp.

Numba's own cache is keyed on the file of a function, not on the files of its callees: after an edit
of a helper, a constant or a struct, callers go on running the old machine code. Kernels of this
package import nothing but kernels. So one digest of their text covers everything that a kernel can
reach. A compilation of another package's kernel, or for another package's types, is not kept.

Cached code runs without another check. So it lies in a folder that no other user can write to. A
folder that this user cannot write to either, as in an image that is mounted read-only, is read.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import stat
import sys
import uuid
import warnings
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core import caching, environment, serialize

from fedbandits._compile.nested import is_for_python, rebuilt, reduced
from fedbandits._compile.sources import PACKAGE, is_of_package, kernels_digest
from fedbandits.errors import CacheWarning

_FORMAT = 4
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
# Numba's type annotations of these names differ between versions.
types: Any = numba.types
_NullCache: Any = caching.NullCache
_serialize: Any = serialize
_environment: Any = environment
#: Numba's settings; they are attributes made at run time, missing in its type stubs.
numba_config: Any = numba.config
#: Settings of Numba's that do not affect compiled code.
_HARMLESS = {"NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS", "NUMBA_DEBUG_CACHE"}


def name_of_type(kind: Any) -> str | None:
    """Return the name of one of Numba's types, with the modules of named tuples in it.

    The name is None for a type of another package, or one that no other process can find again.
    """
    if isinstance(kind, types.Number | types.Boolean | types.NoneType):
        return str(kind)
    if isinstance(kind, types.Array):
        return str(kind) if isinstance(kind.dtype, types.Number | types.Boolean) else None
    if not isinstance(kind, types.BaseTuple):
        return None
    owner = getattr(kind, "instance_class", tuple)
    parts = [name_of_type(part) for part in kind.types]
    if None in parts or not (owner is tuple or is_of_package(owner)):
        return None
    return f"{owner.__module__}.{owner.__qualname__}({', '.join(map(str, parts))})"


def _circumstances(target: Any) -> str:
    settings = sorted(
        item for item in os.environ.items() if item[0].startswith("NUMBA_")
        and item[0] not in _HARMLESS
    )  # fmt: skip
    versions = (_FORMAT, sys.version, numba.__version__, np.__version__)
    return repr((versions, target.codegen().magic_tuple(), settings))


class KernelCache(_NullCache):  # type: ignore[misc]
    """The cache of one kernel, a plain Python function, for all its signatures.

    ``missed`` is called for a missing signature, just before it is compiled. ``name`` distinguishes
    the kernel from others at the same line of the same file; None if no name can.
    """

    def __init__(
        self, function: Callable[..., Any], missed: Callable[[], None], name: str | None = ""
    ) -> None:
        self._function, self._missed, self._name = function, missed, name
        self._files: dict[Any, str | None] = {}
        self._nested: set[Any] = set()
        #: The compilation that was last loaded or saved.
        self.latest: Any = None

    @property
    def cache_path(self) -> str | None:
        """The folder of all kernels."""
        return folder_of_kernels()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the kept compilation for a signature, or None."""
        target_context.refresh()
        self._files[sig] = file = self._file(sig, target_context)
        loaded = None if file is None else _read(file, target_context)
        if loaded is None:
            self._missed()
        elif not is_for_python(loaded):
            self._nested.add(sig)
        self.latest = loaded
        return loaded

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Keep the compilation for a signature, under its name from before the compilation."""
        if not is_for_python(cres):
            self._nested.add(sig)
        self.latest = cres
        file = self._files.get(sig)
        if file is not None and not cres.library.has_dynamic_globals:
            _write(file, reduced(cres))

    def save_again(self, sig: Any, cres: Any) -> None:
        """Keep a compilation that Python can call now, in place of an earlier nested one."""
        if sig in self._nested:
            self._nested.discard(sig)
            self.save_overload(sig, cres)

    def _file(self, signature: Any, target: Any) -> str | None:
        """Return the file of a compilation; None if it must not be kept."""
        arguments = getattr(signature, "args", signature)
        names = [name_of_type(argument) for argument in arguments]
        digest = kernels_digest(PACKAGE)
        if self._name is None or None in (*names, digest) or not is_of_package(self._function):
            return None
        top = self.cache_path
        folder = None if top is None else private_folder(os.path.join(top, str(digest)))
        if folder is None:
            return None
        place = (self._function.__module__, self._function.__qualname__, self._name)
        line = self._function.__code__.co_firstlineno
        what = hashlib.sha256(repr((place, line, names, _circumstances(target))).encode())
        return os.path.join(folder, f"{self._function.__name__}-{what.hexdigest()[:24]}.nbc")


class _Unpickler(pickle.Unpickler):
    """Reads the cache's own files, and completes environments."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the object behind a name; environments are made by this package."""
        loaded = super().find_class(module, name)
        return _environment_of if loaded is _environment._rebuild_env else loaded


def _environment_of(module: str, constants: list[Any], name: str) -> Any:
    """Make the environment of a kernel, or return the existing one with all constants.

    A process has one environment for each kernel. The environment of a nested compilation lacks the
    last constants, which hand results to Python. Without them such a call would end the process.
    """
    environment = _environment._rebuild_env(module, constants, name)
    environment.consts.extend(constants[len(environment.consts) :])
    return environment


def _read(file: str, target: Any) -> Any:
    """Return the content of a file; None if it is missing or ends too early."""
    try:
        with open(file, "rb") as opened:
            kept = _Unpickler(opened).load()
    except (FileNotFoundError, PermissionError, EOFError, pickle.UnpicklingError):
        return None
    return rebuilt(target, kept)


def _write(file: str, kept: Any) -> None:
    """Write a file whole, or not at all: several processes may write it at once."""
    draft = f"{file}.{uuid.uuid4().hex[:16]}"
    try:
        os.makedirs(
            os.path.dirname(file), mode=0o700, exist_ok=True
        )  # the folder may have been deleted
        with open(draft, "wb") as opened:
            opened.write(_serialize.dumps(kept))
        os.replace(draft, file)
    except OSError as error:  # such as a full disk: a compilation that is not kept is compiled anew
        if os.path.exists(draft):
            os.unlink(draft)
        _warn(f"{os.path.dirname(file)} cannot be written to ({error.strerror or error})")


def _root(chosen: str) -> str:
    """Return the folder of compiled kernels: a chosen folder, the service's, or the user's cache.

    systemd gives a service with ``CacheDirectory=`` its folder; the service's user may have no
    home.
    """
    if chosen:
        return chosen
    if service := os.environ.get("CACHE_DIRECTORY", "").partition(":")[0]:
        return os.path.join(service, "numba")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "fedbandits", "numba")


def folder_of_kernels() -> str | None:
    """Return the folder of compiled kernels; None if there is no safe folder."""
    return private_folder(_root(numba_config.CACHE_DIR))


@functools.cache
def private_folder(path: str) -> str | None:
    """Make a folder that at most this user can write to, mode 0700, and return its real path.

    The result is None, with a :class:`~fedbandits.errors.CacheWarning` the first time, if the path
    is not absolute, if the folder belongs to another user than this one or root, if others can
    write to it, if another user can replace a folder above it, or if it cannot be made or read.
    """
    refusal = _refusal(path)
    if refusal is None:
        return os.path.realpath(path)
    _warn(refusal)
    return None


def are_kept() -> bool:
    """Tell whether all kernels compiled so far are kept; a warning has told why not."""
    folder = folder_of_kernels()
    if folder is not None and not os.access(folder, os.W_OK | os.X_OK):
        _warn(f"{folder} cannot be written to")
    return not _warn.cache_info().currsize


@functools.cache
def _warn(reason: str) -> None:
    """Warn, once for each reason in a process, that kernels are not kept."""
    warnings.warn(
        f"compiled kernels are not kept, so every run compiles them anew: {reason}. "
        "NUMBA_CACHE_DIR names another folder.",
        CacheWarning,
        stacklevel=3,
    )


def _refusal(path: str) -> str | None:
    """Return the reason against a folder, or None; missing folders are made."""
    if not os.path.isabs(path):
        return f"the cache folder {path!r} is not an absolute path"
    parts = os.path.realpath(path).split(os.sep)
    try:
        for length in range(1, len(parts) + 1):
            here, last = os.sep.join(parts[:length]) or os.sep, length == len(parts)
            os.makedirs(here, mode=0o700, exist_ok=True)
            refusal = _insecure(here, os.lstat(here), last)
            if refusal is not None:
                return refusal
        if not os.access(path, os.R_OK | os.X_OK):
            return f"{path} cannot be read"
    except OSError as error:
        return f"{path} cannot be made ({error.strerror or error})"
    return None


def _insecure(path: str, status: os.stat_result, last: bool) -> str | None:
    if not hasattr(os, "getuid"):
        return None  # no owners and modes here; folders of a user are private by default
    if status.st_uid not in {os.getuid(), 0}:  # root replaces whatever it likes anyway
        return f"{path} belongs to another user"
    # In a sticky folder, such as /tmp, users cannot replace files of others.
    if status.st_mode & _WRITABLE_BY_OTHERS and (last or not status.st_mode & stat.S_ISVTX):
        mode = stat.S_IMODE(status.st_mode)
        return f"{path} can be written by others (mode {mode:04o}; chmod go-w mends it)"
    return None
