"""What a compiled kernel depends on: the modules that it uses, and the values of their globals.

The text of whole rooms (see :mod:`fedbandits._compile.sources`) already covers nearly all. Here is
what text cannot tell: types and implementations that come from elsewhere, and values that were
computed when a module was imported, from the environment for example.
"""

from __future__ import annotations

import enum
import hashlib
import os
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from fedbandits._compile.sources import is_foundation, path_in_package, room_of

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
#: Found under a kernel's names, but fixed by the libraries' versions or by the text.
_INERT = (BuiltinFunctionType, np.ufunc, np.dtype, type(len), property)


class Implementation(NamedTuple):
    """What compiled code calls in place of ``stub`` if its first argument is a ``first``.

    If that is ``object``, for every type that has no implementation of its own.
    """

    stub: Callable[..., Any]
    first: type
    function: Callable[..., Any]


#: All that were registered in this process.
IMPLEMENTATIONS: list[Implementation] = []


class Reach:
    """Everything that a function, compiled for one signature, was found to bake in.

    Parameters
    ----------
    function
        The plain Python function that is compiled.
    signature
        The types of its arguments.

    Attributes
    ----------
    files : set of str
        Modules that hold its functions and types.
    known : bool
        Whether all was found; False for anything without a module's file.
    """

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        self.files: set[str] = set()
        self.known = True
        self._values = hashlib.sha256()
        self._seen: set[int] = set()
        self._classes: set[type] = set()
        self._waiting: list[Any] = [function]
        self._read_types(signature)
        while self._waiting:
            self._read_function(self._waiting.pop())
            if not self._waiting:  # what was read may have named further types
                self._waiting += self._implementations()

    @property
    def outside(self) -> set[str]:
        """Those files that do not belong to this package."""
        return {file for file in self.files if path_in_package(file) is None}

    @property
    def rooms(self) -> set[str]:
        """The package's rooms that it touches."""
        return {room_of(path) for file in self.files if (path := path_in_package(file)) is not None}

    def values(self) -> str:
        """Digest of the values that were found."""
        return self._values.hexdigest()

    def _read_types(self, signature: Any) -> None:
        """Note the classes behind Numba's types."""
        from numba.core.types import Type

        waiting, seen = [signature], set()
        while waiting:
            one = waiting.pop()
            if id(one) in seen:
                continue
            seen.add(id(one))
            if isinstance(one, type):
                self._read_class(one)
            elif isinstance(one, Type):
                self._read_class(type(one))
                waiting += vars(one).values()
                self.known &= not hasattr(one, "dispatcher")  # never found again: it has no name
            elif isinstance(one, dict):
                waiting += [*one.keys(), *one.values()]
            elif isinstance(one, tuple | list | set | frozenset):
                waiting += one
            elif hasattr(one, "args") and hasattr(one, "return_type"):
                waiting += one.args

    def _read_class(self, one: type) -> None:
        if one in self._classes:
            return
        self._classes.add(one)
        for base in one.__mro__:
            module = sys.modules.get(base.__module__)
            self._read_file(base.__module__, getattr(module, "__file__", None))

    def _read_file(self, module: str, file: str | None) -> bool:
        """Note a module; False if there is nothing to note, as it is part of Python or Numba."""
        if is_foundation(module, file):
            return False
        if module == "__main__" or file is None or not os.path.isfile(file):
            self.known = False
        else:
            self.files.add(file)
        return True

    def _read_function(self, function: Any) -> None:
        function = getattr(function, "py_func", function)
        if id(function) in self._seen:
            return
        self._seen.add(id(function))
        if not isinstance(function, FunctionType):
            self.known = False
            return
        file = function.__code__.co_filename
        if not self._read_file(str(function.__globals__.get("__name__")), file):
            return
        ours = path_in_package(file) is not None
        if not ours:  # its file may have been edited since it was imported
            self._note(function.__qualname__, "code", _instructions(function.__code__))
        names = sorted(_names(function.__code__))
        for name in names:
            if name in function.__globals__:
                self._read_value(name, function.__globals__[name], names, ours)
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            self._read_value(name, cell.cell_contents, names, ours)

    def _implementations(self) -> list[Any]:
        """Implementations for types that were found, but for those that were read.

        Only these: others that happen to be loaded cannot be chosen, as compiled code makes no
        value of a type that it does not name. So what other modules a process has imported does not
        count, nor in which order.
        """
        found = [one.function for one in IMPLEMENTATIONS if one.first in self._classes]
        plain = (getattr(function, "py_func", function) for function in found)
        unread = [function for function in plain if id(function) not in self._seen]
        return sorted(unread, key=lambda function: (function.__module__, function.__qualname__))

    def _read_value(self, name: str, value: Any, names: list[str], ours: bool) -> None:
        """Note a value; ``names`` are the attributes that may be read of a module."""
        if isinstance(value, ModuleType):
            self._read_module(value, names, ours)
        elif isinstance(value, enum.Enum):
            self._read_class(type(value))
            self._note(name, repr((type(value).__qualname__, value.name, value.value)))
        elif isinstance(value, _PLAIN):
            self._note(name, f"{type(value).__name__} {value!r}")
        elif isinstance(value, np.generic | np.ndarray):
            self._note(name, f"{value.dtype} {value.shape}", value.tobytes())
        elif isinstance(value, tuple | list):
            self._read_class(type(value))
            self._note(name, f"{type(value).__qualname__} of {len(value)}")
            for one in value:
                self._read_value(name, one, names, ours)
        elif isinstance(value, type):
            self._read_class(value)
        elif isinstance(value, FunctionType) or hasattr(value, "py_func"):
            self._waiting.append(value)
            self.known &= ours or hasattr(value, "py_func") or not _is_foreign_helper(value)
        elif not ours and not isinstance(value, _INERT) and not _is_library(value):
            self.known = False  # of our own modules the text is enough

    def _read_module(self, module: ModuleType, names: list[str], ours: bool) -> None:
        if id(module) in self._seen or is_foundation(module.__name__, vars(module).get("__file__")):
            return
        for name in names:
            if name in vars(module):
                value = vars(module)[name]
                if isinstance(value, ModuleType):
                    self._seen.add(id(module))
                self._read_value(name, value, names, ours)

    def _note(self, name: str, text: str, content: bytes = b"") -> None:
        self._values.update(f"{name}\0{text}\0{len(content)}\0".encode() + content)


def _instructions(code: CodeType) -> bytes:
    """What a function does, whatever its file says by now."""
    inside = [_instructions(one) for one in code.co_consts if isinstance(one, CodeType)]
    plain = [one for one in code.co_consts if not isinstance(one, CodeType)]
    text = repr((plain, code.co_names, code.co_varnames, code.co_freevars)).encode()
    return b"\0".join([code.co_code, text, *inside])


def _names(code: CodeType) -> set[str]:
    """All global names and attributes that a function uses, with those of functions inside it."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _is_library(value: Any) -> bool:
    """Whether a value is an object of Numba's or of numpy's, such as a type, or our ``fma``."""
    kind = type(value)
    intrinsic = hasattr(value, "_defn")  # somebody's own, and what it bakes in is not to be seen
    return kind.__module__ == __package__ or (
        is_foundation(kind.__module__, None) and not intrinsic
    )


def _is_foreign_helper(function: FunctionType) -> bool:
    """Whether a plain function is not ours: some overload that we do not know stands in for it."""
    file = function.__code__.co_filename
    stub = any(one.stub is function for one in IMPLEMENTATIONS)
    foundation = is_foundation(function.__module__, file)
    return not stub and not foundation and path_in_package(file) is None
