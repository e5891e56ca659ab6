"""How this package compiles: one decorator, and a cache that notices edits.

``sources`` digests the text that kernels can reach, ``reach`` finds what text cannot tell,
``cache`` files compiled kernels under both, and ``folder`` sees that nobody else can write there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba import types
from numba.extending import intrinsic, overload

from fedbandits._compile.cache import KernelCache
from fedbandits._compile.reach import IMPLEMENTATIONS, Implementation
from fedbandits._compile.sources import PACKAGE, kernels_digest

__all__ = ["PACKAGE", "compiled", "fma", "implements", "inlined", "kernels_digest"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: Options of every kernel. ``error_model="numpy"`` turns 1/0 into inf instead of a branch, which
#: lets loops over arms vectorise; ``nogil`` lets replicates run side by side in threads. There is
#: no ``fastmath``: the simulation and the parties must agree to the last bit.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def compiled(function: _Function) -> _Function:
    """Compile a numeric kernel with Numba, cached on disk under all that it can reach."""
    return cast(_Function, _cached(numba.njit(**_OPTIONS)(function)))


def inlined(function: _Function) -> _Function:
    """Like :func:`compiled`, but pasted into its callers, so that loops around it vectorise."""
    return cast(_Function, _cached(numba.njit(inline="always", **_OPTIONS)(function)))


def _cached(dispatcher: Any) -> Any:
    dispatcher._cache = KernelCache(dispatcher.py_func, lambda: None)
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

        IMPLEMENTATIONS.append(Implementation(stub, first, implementation))
        return implementation

    return register


@intrinsic
def _fused(typing_context: Any, a: Any, b: Any, c: Any) -> Any:

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return a(a, a, a), generate


#: ``fma(a, b, c)`` is a * b + c with one rounding, wherever it is compiled. Left to itself the
#: compiler may or may not fuse, differently in two callers; asking for the fused form by name keeps
#: every driver on the same bits and costs half as much.
fma: Any = _fused
