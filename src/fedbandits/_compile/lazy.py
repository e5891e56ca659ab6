"""Kernels that import Numba when they are first called: the import takes half a second.

Reading a configuration, showing help or refusing a key imports modules with kernels, and calls
none.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any, NamedTuple

_loaded: Any = None


def numba_side() -> Any:
    """Return the part of this package that needs Numba."""
    global _loaded
    if _loaded is None:
        from fedbandits._compile import dispatch

        _loaded = dispatch
    return _loaded


class Kernel:
    """A function that is compiled on the first call, by Python or by another compiled function.

    Attributes that it lacks, such as ``signatures`` and ``stats``, come from its Numba dispatcher.
    The plain function is ``py_func``; ``options`` are for Numba's ``njit``.
    """

    # With a slot of this name, calls go straight to the dispatcher, once it exists.
    __slots__ = ("__call__", "__dict__", "__weakref__")
    __call__: Callable[..., Any]

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._options = options
        self.__call__ = self._first_call

    def _first_call(self, *arguments: Any, **named: Any) -> Any:
        return self._load()(*arguments, **named)

    def _load(self) -> Any:
        """Return the dispatcher; two threads that make one at once get the same dispatcher."""
        known = self.__dict__.get("_dispatcher")
        if known is None:
            dispatcher = numba_side().dispatcher(self.py_func, self._options)
            known = self.__dict__.setdefault("_dispatcher", dispatcher)
            self.__call__ = known
        return known

    @property
    def _numba_type_(self) -> Any:
        """Numba's type of this kernel, as an argument or a global of compiled code."""
        return self._load()._numba_type_

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by tools that inspect any object
            raise AttributeError(f"{self!r} has no attribute {name!r}")
        return getattr(self._load(), name)

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        return self if owner is None else MethodType(self, owner)

    def __repr__(self) -> str:
        return f"<kernel {self.__module__}.{self.__qualname__}>"

    def __copy__(self) -> Kernel:
        return self

    def __deepcopy__(self, memo: Any) -> Kernel:
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Reduce to a name if another process can find the kernel by it, else to its arguments."""
        named: Any = None if self.__module__ == "__main__" else sys.modules.get(self.__module__)
        for name in self.__qualname__.split("."):
            named = getattr(named, name, None)
        return self.__qualname__ if named is self else (type(self), (self.py_func, self._options))


class LightKernel(Kernel):
    """A kernel that is plain Python until other code has imported Numba.

    Both give the same bits: without ``fastmath`` each operation rounds as Python's does.
    """

    __slots__ = ()

    def _first_call(self, *arguments: Any, **named: Any) -> Any:
        if _loaded is None:
            return self.py_func(*arguments, **named)
        return super()._first_call(*arguments, **named)


class Primitive:
    """An operation for compiled code only, named in ``vectors`` or ``c_functions``."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def _numba_type_(self) -> Any:
        return numba_side().primitive(self.name)

    def __deepcopy__(self, memo: Any) -> Primitive:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Primitive, (self.name,)


class LazyCFunction:
    """A C function for values of any type, compiled for each type on first use.

    See :class:`.c_functions.CFunction`; ``kernels`` distinguish it from others of the same
    ``make``.
    """

    def __init__(
        self, make: Callable[[Any], Any], kernels: Sequence[Any], result: type, integers: int
    ) -> None:
        self._make, self._kernels, self._result, self._integers = make, kernels, result, integers
        self._made: dict[Any, Any] = {}
        self._making = threading.Lock()

    def of(self, value: LaidOut) -> Any:
        """Return the :class:`.c_functions.CFunction` for values of the type of ``value``."""
        side, kind = numba_side().c_functions, value.kind
        with self._making:
            if kind not in self._made:
                self._made[kind] = side.CFunction(
                    self._make, kind, self._result, self._integers, self._kernels
                )
        return self._made[kind]


class LaidOut(NamedTuple):
    """A value in memory: a ctypes object, which must be kept alive, and Numba's type of it."""

    memory: Any
    kind: Any

    @property
    def address(self) -> int:
        """The address of the value."""
        return ctypes.addressof(self.memory)


def laid_out(value: Any) -> LaidOut:
    """Lay out a number, an array, or a tuple of such values in memory, as compiled code does.

    Arrays are not copied: keep them alive.
    """
    side = numba_side().c_functions
    kind = side.numba.typeof(value)
    return LaidOut(side.laid_out(value, kind), kind)
