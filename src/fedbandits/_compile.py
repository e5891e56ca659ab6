"""How this package compiles: one decorator, and a cache that notices edits.

Numba's own cache is keyed on the time stamp of the file that holds a function, not on the
files of the functions it calls: edit a helper and its callers go on running the old machine
code. Here every module caches into a folder named after the text of itself and of every
package module it imports, so a stale kernel cannot be picked up.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import os
import pathlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import numba
from numba.extending import intrinsic

_PACKAGE = __name__.rpartition(".")[0]
#: Numba's settings; they are attributes made at run time, which its type stubs do not list.
numba_config: Any = numba.config
_Function = TypeVar("_Function", bound=Callable[..., Any])

#: Options of every kernel. ``error_model="numpy"`` turns 1/0 into inf instead of a branch, which
#: lets loops over arms vectorise; ``nogil`` lets replicates run side by side in threads. There is
#: no ``fastmath``: the simulation and the parties must agree to the last bit.
_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


def compiled(function: _Function) -> _Function:
    """Compile a numeric kernel with Numba, cached on disk under the digest of its sources."""
    with _cache_folder(_source_digest(function.__module__)):
        return cast(_Function, numba.njit(**_OPTIONS)(function))


def inlined(function: _Function) -> _Function:
    """Like :func:`compiled`, but pasted into its callers, so that loops around it vectorise."""
    with _cache_folder(_source_digest(function.__module__)):
        return cast(_Function, numba.njit(inline="always", **_OPTIONS)(function))


@functools.cache
def _source_digest(module: str) -> str:
    digest = hashlib.sha256()
    for name in sorted(_closure(module)):
        digest.update(_source(name))
    return digest.hexdigest()[:16]


def _closure(module: str) -> set[str]:
    """The module and every module of this package that it imports, directly or not."""
    seen: set[str] = set()
    todo = [module]
    while todo:
        name = todo.pop()
        if name not in seen and name.split(".")[0] == _PACKAGE:
            seen.add(name)
            todo.extend(_imports(name))
    return seen


@functools.cache
def _imports(module: str) -> tuple[str, ...]:
    names: list[str] = []
    for node in ast.walk(ast.parse(_source(module))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
            names.extend(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            names.extend(alias.name for alias in node.names)
    return tuple(name for name in names if name.split(".")[0] == _PACKAGE and _is_module(name))


def _is_module(name: str) -> bool:
    if name in sys.modules:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # the last part is a function or a class, not a module
        return False


def _source(module: str) -> bytes:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None or not os.path.exists(spec.origin):
        return module.encode()
    return pathlib.Path(spec.origin).read_bytes()


@contextmanager
def _cache_folder(digest: str) -> Iterator[None]:
    """Point Numba's cache at this digest's folder while one function is being decorated."""
    before = numba_config.CACHE_DIR
    numba_config.CACHE_DIR = str(_cache_root(before) / digest)
    try:
        yield
    finally:
        numba_config.CACHE_DIR = before


def _cache_root(chosen: str) -> pathlib.Path:
    if chosen:
        return pathlib.Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(base) / "fedbandits" / "numba"


@intrinsic
def _fused(typing_context: Any, a: Any, b: Any, c: Any) -> Any:

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return a(a, a, a), generate


#: ``fma(a, b, c)`` is a * b + c with one rounding, wherever it is compiled. Left to itself the
#: compiler may or may not fuse, differently in two callers; asking for the fused form by name keeps
#: every driver on the same bits and costs half as much.
fma: Any = _fused
