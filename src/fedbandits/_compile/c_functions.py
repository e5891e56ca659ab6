"""C functions made of kernels, which callers call by their address without knowing any type.

A C function takes the address of its value, and integers. The value at the address is laid out as
compiled code lays out arrays and named tuples. Only the function itself knows that layout.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import numba
from llvmlite import ir
from numba.core import ccallback, datamodel
from numba.extending import intrinsic

from fedbandits._compile.cache import KernelCache, name_of_type
from fedbandits._compile.nested import KernelCompiler, make_known
from fedbandits._compile.references import loaded
from fedbandits._compile.shared import announce
from fedbandits._compile.sources import is_of_package

# Numba's type annotations of these names differ between versions.
types: Any = numba.types
_CFunc: Any = ccallback.CFunc
_datamodel: Any = datamodel
_WORD = ir.IntType(64)
_C_TYPES: dict[type, Any] = {int: ctypes.c_int64, float: ctypes.c_double}
#: Ctypes of a kernel's numbers in memory.
_NUMBERS: dict[Any, Any] = {
    types.int64: ctypes.c_int64,
    types.uint64: ctypes.c_uint64,
    types.float64: ctypes.c_double,
    types.float32: ctypes.c_float,
    types.boolean: ctypes.c_uint8,
}


def _call(result: Any, integers: int) -> Callable[..., Any]:
    """Make an intrinsic that calls a C function by its address, with so many integers."""
    words = [types.int64] * integers

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(context.get_value_type(result), [_WORD] * integers)
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    # Intrinsics state their number of arguments.
    if integers == 3:

        def call(context: Any, address: Any, a: Any, b: Any, c: Any) -> Any:
            return result(types.int64, *words), generate

        return intrinsic(call)

    def call_with_four(context: Any, address: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        return result(types.int64, *words), generate

    return intrinsic(call_with_four)


call_int = _call(types.int64, 3)
call_float = _call(types.float64, 4)


def _reader(kind: Any) -> Any:
    """Make an intrinsic that reads a value of one type from an address."""

    @intrinsic
    def read(context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            model = _datamodel.default_manager.lookup(kind)
            made = model.get_data_type()
            pointer = builder.inttoptr(arguments[0], made.as_pointer())
            if made == model.get_value_type():
                return loaded(builder, pointer)
            return model.load_from_data_pointer(builder, pointer)

        return kind(types.int64), generate

    return read


class CFunction:
    """A C function of one kernel, for values of one type.

    ``make(read)`` is the Python function to compile. It takes an address and other integers,
    ``integers`` in all, and returns a ``result``: an ``int`` or a ``float``. ``read(address)`` is
    the value, of Numba's type ``kind``. The function calls ``kernels``, and is kept on disk only if
    all of them are of this package.
    """

    def __init__(
        self, make: Callable[[Any], Any], kind: Any, result: type, integers: int,
        kernels: Sequence[Any],
    ) -> None:  # fmt: skip
        function = make(_reader(kind))
        names = [f"{kernel.__module__}.{kernel.__qualname__}" for kernel in kernels]
        typed = name_of_type(kind)
        kept = repr((names, typed)) if typed and all(map(is_of_package, kernels)) else None
        # Numba names machine code and its constants by this name, and counts within one process
        # only.
        unique = hashlib.sha256(kept.encode()).hexdigest() if kept else uuid.uuid4().hex
        function.__qualname__ += f".of_{unique[:32]}"
        returned = types.int64 if result is int else types.float64
        self._made = _CFunc(
            function, ([types.int64] * integers, returned), {},
            {"error_model": "numpy", "_nrt": False}, KernelCompiler,
        )  # fmt: skip
        cache = KernelCache(function, functools.partial(announce, names[0]), kept)
        self._made._cache = cache
        self._made.compile()
        make_known(cache.latest)
        self.address = int(self._made.address)
        self.call = ctypes.CFUNCTYPE(_C_TYPES[result], *[ctypes.c_int64] * integers)(self.address)


def laid_out(value: Any, kind: Any) -> Any:
    """Lay out a value of a type in memory, as compiled code does.

    The value is a number, an array, or a tuple of such values. Arrays are not copied: keep them
    alive. The result is a ctypes object, whose memory a :class:`CFunction` reads.
    """
    if isinstance(kind, types.Array):
        words = [0, 0, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides]
        return (ctypes.c_int64 * len(words))(*words)
    if isinstance(kind, types.BaseTuple):
        parts = [
            laid_out(part, part_kind) for part, part_kind in zip(value, kind.types, strict=True)
        ]
        return _structure(kind, tuple(map(type, parts)))(*parts)
    return _NUMBERS[kind](value)


@functools.cache
def _structure(kind: Any, parts: tuple[Any, ...]) -> Any:
    """Make the ctypes type of a tuple whose parts have these types."""
    fields = [(f"field_{i}", part) for i, part in enumerate(parts)]
    return type(kind.name, (ctypes.Structure,), {"_fields_": fields})
