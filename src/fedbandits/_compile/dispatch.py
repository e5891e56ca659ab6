"""Dispatchers of kernels, made once Numba is imported."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import numba
from numba import types
from numba.core.registry import cpu_target

from fedbandits._compile import c_functions, vectors
from fedbandits._compile.cache import KernelCache
from fedbandits._compile.nested import KernelCompiler, TwoWays
from fedbandits._compile.shared import announce


def dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Make a kernel's dispatcher, with this package's cache; a plain function without Numba."""
    kernel: Any = numba.njit(pipeline_class=KernelCompiler, **options)(function)
    if kernel is not function:
        name = f"{function.__module__}.{function.__qualname__}"
        kernel._cache = KernelCache(function, functools.partial(announce, name))
        TwoWays(kernel)
        kernel.get_call_template = functools.partial(_ignoring_constants, kernel.get_call_template)
        check = _arrays_for_counting_callers if options["_nrt"] else _without_arrays
        kernel.get_call_template = functools.partial(check, kernel.get_call_template)
        kernel.compile = functools.partial(_noting, kernel.compile, not options["_nrt"])
    return kernel


#: For each kernel that this thread compiles, the innermost last: whether it is allocation-free.
_compiled_now = threading.local()


def _noting(compile_kernel: Callable[..., Any], bare: bool, signature: Any) -> Any:
    """Compile a kernel, and note meanwhile whether it is allocation-free."""
    stack = _compiled_now.__dict__.setdefault("stack", [])
    stack.append(bare)
    try:
        return compile_kernel(signature)
    finally:
        stack.pop()


def _has_arrays(signature: Any) -> bool:
    """Return whether a result has arrays in it, which need reference counts."""
    returned = signature.return_type
    parts = getattr(returned, "types", (returned,))  # parts of a tuple
    plain = types.Number | types.NoneType | types.Boolean
    return not all(isinstance(part, plain) for part in parts)


def _arrays_for_counting_callers(choose: Callable[..., Any], arguments: Any, named: Any) -> Any:
    """Check Numba's choice for a call of a kernel that counts: only counting callers get arrays.

    An allocation-free caller would never release the arrays, so their memory would never be freed.
    """
    choice = choose(arguments, named)
    bare = _compiled_now.__dict__.get("stack", [])[-1:] == [True]
    if bare and any(map(_has_arrays, choice[0].cases)):
        raise TypeError(
            f"an allocation-free kernel cannot call {choice[0]}, which returns arrays; "
            "let it be inlined"
        )
    return choice


def _without_arrays(choose: Callable[..., Any], arguments: Any, named: Any) -> Any:
    """Check Numba's choice for a call of an allocation-free kernel: it must not return arrays.

    A counting caller would release a returned array, though no reference was counted: its memory
    would be freed while it is in use.
    """
    choice = choose(arguments, named)
    for signature in filter(_has_arrays, choice[0].cases):
        returned = signature.return_type
        raise TypeError(f"an allocation-free kernel cannot return {returned}: {choice[0]}")
    return choice


def _ignoring_constants(choose: Callable[..., Any], arguments: Any, named: Any) -> Any:
    """Choose one compilation of a call for all constants, not one for each.

    A kernel that is called with 0 in one place and 1 in another would be compiled twice. Constants
    are folded all the same, wherever the kernel is inlined.
    """
    plain: Callable[[Any], Any] = types.unliteral
    by_name = {name: plain(value) for name, value in named.items()}
    return choose(tuple(plain(value) for value in arguments), by_name)


@functools.cache
def primitive(name: str) -> Any:
    """Return Numba's type of a name in ``vectors`` or ``c_functions``."""
    context: Any = cpu_target.typing_context
    context.refresh()
    home = vectors if hasattr(vectors, name) else c_functions
    return context.resolve_value_type(getattr(home, name))
