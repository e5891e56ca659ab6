"""How this package compiles: one decorator, and a cache that notices edits.

Numba's own cache is keyed on the time stamp of the file that holds a function, not on the
files of the functions it calls: edit a helper and its callers go on running the old machine
code. Here everything is cached in a folder named after the text of all modules that hold
kernels. Following imports would not do: which environment a loop calls is settled by the type
of its world, and leaves no import to follow.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pathlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import numba
from numba import types
from numba.extending import intrinsic, overload

#: Where this package's modules lie.
PACKAGE = pathlib.Path(__file__).parent
#: Numba's settings; they are attributes made at run time, which its type stubs do not list.
numba_config: Any = numba.config
_Function = TypeVar("_Function", bound=Callable[..., Any])

#: Options of every kernel. ``error_model="numpy"`` turns 1/0 into inf instead of a branch, which
#: lets loops over arms vectorise; ``nogil`` lets replicates run side by side in threads. There is
#: no ``fastmath``: the simulation and the parties must agree to the last bit.
_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


def compiled(function: _Function) -> _Function:
    """Compile a numeric kernel with Numba, cached on disk under the digest of all kernels."""
    with _cache_folder():
        return cast(_Function, _forgiving(numba.njit(**_OPTIONS)(function)))


def inlined(function: _Function) -> _Function:
    """Like :func:`compiled`, but pasted into its callers, so that loops around it vectorise."""
    with _cache_folder():
        return cast(_Function, _forgiving(numba.njit(inline="always", **_OPTIONS)(function)))


def _forgiving(dispatcher: Any) -> Any:
    """Let a kernel compile anew where its cache names a type that this process cannot import.

    A cached kernel is filed under the types of its arguments. A named tuple of a notebook or of a
    script is not there in the next process, and Numba would fail on its whole index.
    """
    file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if file is not None:
        load = file._load_index

        def load_what_is_known() -> Any:
            try:
                return load()
            except (ImportError, AttributeError):
                return {}

        file._load_index = load_what_is_known
    return dispatcher


def implements(stub: Callable[..., Any], first: type) -> Callable[[_Function], _Function]:
    """Register a compiled implementation of ``stub`` for one type of its first argument.

    Parameters
    ----------
    stub
        A plain function; compiled code that calls it gets the implementation that fits.
    first
        A named tuple type. Other arguments may be of any type.
    """

    def register(implementation: _Function) -> _Function:
        @overload(stub, strict=False, jit_options={"error_model": "numpy"})
        def choose(chosen: Any, *arguments: Any) -> Any:
            named = isinstance(chosen, types.NamedTuple | types.NamedUniTuple)
            if named and chosen.instance_class is first:
                return implementation
            return None

        return implementation

    return register


@functools.cache
def kernels_digest(package: pathlib.Path) -> str:
    """Digest of this file and of every module in ``package`` that imports it, however named."""
    digest = hashlib.sha256(pathlib.Path(__file__).read_bytes())
    for path in sorted(package.rglob("*.py")):
        text = path.read_bytes()
        if b"_compile import" in text or b"@implements" in text:
            digest.update(path.relative_to(package).as_posix().encode())
            digest.update(text)
    return digest.hexdigest()[:16]


@contextmanager
def _cache_folder() -> Iterator[None]:
    """Point Numba's cache at this version's folder while one function is being decorated."""
    before = numba_config.CACHE_DIR
    numba_config.CACHE_DIR = str(_cache_root(before) / kernels_digest(PACKAGE))
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
