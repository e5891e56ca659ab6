"""Compilation in this package: one decorator, and a cache that notices edits.

``lazy`` keeps Numba out of a process until a kernel is called; ``dispatch`` makes the dispatchers
then. ``cache`` files compiled kernels under the digest that ``sources`` makes of the text of all
kernels, in a folder that no other user can write to. ``nested`` makes no machine code of kernels
that only kernels call, ``references`` passes large tuples by their addresses, and ``thrift`` saves
other work of Numba's. ``c_functions`` makes functions that are called by their addresses,
``vectors`` puts numbers side by side, and ``shared`` is common to both sides.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from fedbandits._compile.lazy import (
    Kernel,
    LazyCFunction,
    LightKernel,
    Primitive,
    laid_out,
)
from fedbandits._compile.shared import LANES, compilations
from fedbandits._compile.sources import PACKAGE, results_digest

__all__ = [
    "LANES",
    "PACKAGE",
    "LazyCFunction",
    "allocation_free",
    "among",
    "c_function",
    "call_float",
    "call_int",
    "compilations",
    "compiled",
    "counting",
    "fma",
    "inlined",
    "kernel_of",
    "laid_out",
    "lanes",
    "largest",
    "light",
    "load",
    "results_digest",
    "spread",
    "store",
    "summed",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: Options of every kernel. ``error_model="numpy"`` turns 1/0 into inf instead of a branch, so that
#: loops over arms vectorise; ``nogil`` lets replicates run side by side in threads. There is no
#: ``fastmath``: the simulation and the parties must agree to the last bit.
_OPTIONS: dict[str, Any] = {
    "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": True,
}  # fmt: skip


def compiled(function: _Function) -> _Function:
    """Compile a numeric kernel with Numba, cached on disk under the text of all kernels."""
    return cast(_Function, Kernel(function, _OPTIONS))


def kernel_of(function: Callable[..., Any]) -> Any:
    """Return another author's function as a kernel; a kernel is returned unchanged."""
    return function if isinstance(function, Kernel) else compiled(function)


@functools.cache
def c_function(
    make: Callable[..., Any], result: type, integers: int, *functions: Callable[..., Any]
) -> LazyCFunction:
    """Make a C function of kernels, or of functions that become kernels, once for each.

    ``make`` takes the kernels; see :class:`.c_functions.CFunction` for its result, and for
    ``result`` and ``integers``.
    """
    kernels = tuple(map(kernel_of, functions))
    return LazyCFunction(make(*kernels), kernels, result, integers)


def allocation_free(function: _Function) -> _Function:
    """Compile as :func:`compiled` does, for kernels that make no array and return none.

    They keep no reference counts of their arrays: their callers do. Counting is an atomic
    operation, for every array twice a call; it would cost more than a third of a decision.
    """
    return cast(_Function, Kernel(function, _OPTIONS | {"_nrt": False}))


def light(kernel: _Function) -> _Function:
    """Leave a kernel plain Python while nothing else needs Numba: for making plans.

    It is for kernels that plans call some hundred times, with numbers. Reading a federation's file
    would otherwise load Numba, which takes half a second.
    """
    dispatched = cast(Kernel, kernel)
    return cast(_Function, LightKernel(dispatched.py_func, dispatched._options))


def inlined(function: _Function) -> _Function:
    """Compile a kernel that is pasted into its callers, so that loops around it vectorise."""
    return cast(_Function, Kernel(function, _OPTIONS | {"inline": "always"}))


#: ``fma(a, b, c)`` is a * b + c with one rounding, wherever it is compiled. By default the compiler
#: may or may not fuse, differently in two callers. The fused form by name gives every driver the
#: same bits, and costs half as much.
fma: Any = Primitive("fma")

# Numbers side by side, see ``vectors``. Operators, ``max``, ``math.sqrt`` and ``math.copysign``
# also take lanes.
#: ``lanes(x)`` is the number x in every lane.
lanes: Any = Primitive("lanes")
#: ``counting(n)`` is n, n + 1, …, as uint64.
counting: Any = Primitive("counting")
#: ``spread(array, index)`` is one entry in every lane.
spread: Any = Primitive("spread")
#: ``load(array, index)`` loads LANES neighbours in a row from an entry on; integers become float32.
load: Any = Primitive("load")
#: ``store(array, index, values, most)`` writes neighbours in a row, at most the first ``most``.
store: Any = Primitive("store")
#: ``largest(values)`` is the largest number of all lanes.
largest: Any = Primitive("largest")
#: ``summed(values)`` is the sum of all lanes.
summed: Any = Primitive("summed")
#: ``among(x, values)`` tells whether a number is in a lane.
among: Any = Primitive("among")

# C functions by their addresses, see ``c_functions``.
#: ``call_int(address, a, b, c)`` calls a C function of three integers that returns an integer.
call_int: Any = Primitive("call_int")
#: ``call_float(address, a, b, c, d)`` calls a C function of four integers that returns a float64.
call_float: Any = Primitive("call_float")
