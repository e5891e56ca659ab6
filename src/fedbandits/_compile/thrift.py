"""Work of Numba's that compiling a kernel can do without.

Numba infers the type of every operation anew: for each ``a + b`` it tries all templates of ``+``,
those of strings, sets and dates too, and writes down why most do not fit. Here the first answer for
types of arguments counts for all later calls. And no person reads the annotated listings of
kernels, which copy everything that Numba knows about a function, and keep the copies in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba.core import typed_passes as _typed_passes

_types: Any = numba.types
_passes: Any = _typed_passes
#: Passes that make listings for people.
_LISTINGS = (_passes.AnnotateTypes, _passes.DumpParforDiagnostics)
#: Signatures of Numba's own functions, by function and types of arguments.
_signatures: dict[tuple[int, Any], tuple[Any, Any]] = {}
_usual: Any = _types.BaseFunction.get_call_type


def is_of_use(step: tuple[Any, str]) -> bool:
    """Tell whether a pass of Numba's pipeline affects the compiled code."""
    return step[0] not in _LISTINGS


def _get_call_type(function: Any, context: Any, arguments: Any, named: Any) -> Any:
    """Choose the signature of a call, as Numba does, or from an earlier call for the same types.

    Signatures of overloads are chosen anew: Numba compiles an overload for the flags of its caller.
    A function is known by its identity, and kept alive for that: Numba makes another function when
    there are more templates.
    """
    place = id(function), arguments
    if named:
        return _usual(function, context, arguments, named)
    known = _signatures.get(place)
    if known is None:
        signature = _usual(function, context, arguments, named)
        if function.get_impl_key(signature) != function.typing_key:
            return signature
        _signatures[place] = known = function, signature
    return known[1]


@contextmanager
def remembered_signatures() -> Iterator[None]:
    """Let Numba remember signatures in the block; the caller holds the lock of Numba's compiler."""
    before = _types.BaseFunction.get_call_type
    _types.BaseFunction.get_call_type = _get_call_type
    try:
        yield
    finally:
        _types.BaseFunction.get_call_type = before
