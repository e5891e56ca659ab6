"""A guard against hidden memory of an object: bytes of its whole contents, for comparison.

The guard reads the object itself and calls no method of it, such as ``dump``. It reads the
attributes and slots, the classes, and their functions: default values, closures, and the globals
that they name. Objects of a library stand for themselves.
"""

from __future__ import annotations

import builtins
import functools
import io
import pickle
import types
from collections.abc import Callable
from typing import Any

import numpy as np

#: Attributes of a class that are no memory.
_NO_MEMORY = frozenset(
    ("__module__", "__doc__", "__dict__", "__weakref__", "__annotations__", "__abstractmethods__",
     "__annotate__", "__annotate_func__", "__annotations_cache__", "__static_attributes__",
     "__firstlineno__", "__slots__", "__parameters__", "__orig_bases__")
)  # fmt: skip
_NOTHING = "nothing"
_CODE = frozenset((types.FunctionType, type, types.ModuleType))


class Guard:
    """Compares the contents of objects of one class.

    Parameters
    ----------
    cls
        The class. Its author wrote this class, and all modules of its package, and of the packages
        of
        its base classes. fedbandits itself counts as a library.
    """

    def __init__(self, cls: type) -> None:
        packages = {_home(base) for base in cls.__mro__}
        self._own = packages - {"fedbandits", "builtins", ""}
        #: Classes and functions that were read already.
        self._known: dict[int, Any] = {}
        #: Names in these classes and functions with the dictionaries that hold them, and readers of
        #: further contents.
        self._names: list[tuple[Any, str]] = []
        self._held: list[Callable[[], Any]] = []
        self._look_through(cls)

    def held(self, thing: Any) -> bytes:
        """Return bytes that differ after any change of an object's contents.

        The bytes are for comparison in one process, and for nothing else.
        """
        values = _read(self._names, self._held)
        shared = [value if type(value) not in _CODE else id(value) for value in values]
        try:
            return self._written((thing, shared), fast=True)
        except (ValueError, RecursionError):  # a cycle of references
            return self._written((thing, shared), fast=False)

    def _written(self, things: Any, fast: bool) -> bytes:
        out = io.BytesIO()
        writer = _Writer(out, self._own, set(self._known))
        writer.fast = fast  # slow writing also distinguishes equal objects from identical ones
        writer.dump(things)
        return out.getvalue()

    def _look_through(self, thing: Any) -> None:
        """Collect the contents of a class or a function, and of classes and functions inside."""
        if isinstance(thing, staticmethod | classmethod):
            thing = thing.__func__
        if isinstance(thing, property):
            for function in (thing.fget, thing.fset):
                self._look_through(function)
        thing = getattr(thing, "py_func", thing)  # the Python function of a compiled function
        if not isinstance(thing, type | types.FunctionType) or id(thing) in self._known:
            return
        if not _packages(thing) & self._own:
            return
        self._known[id(thing)] = thing
        bases: tuple[type, ...] = ()
        if isinstance(thing, type):
            (names, held), bases = _in_class(thing), thing.__bases__
        else:
            names, held = _in_function(thing, self._own)
        self._names += names
        self._held += held
        for value in [*_read(names, held), *bases]:
            self._look_through(value)


#: Names with the dictionaries that hold them, and readers of further contents.
_Held = tuple[list[tuple[Any, str]], list[Callable[[], Any]]]


def _in_class(cls: type) -> _Held:
    space = vars(cls)
    return [(space, name) for name in space if name not in _NO_MEMORY], [lambda: sorted(space)]


def _in_function(function: types.FunctionType, packages: set[str]) -> _Held:
    names, space = _named(function.__code__), function.__globals__
    modules = [space[name] for name in names if isinstance(space.get(name), types.ModuleType)]
    spaces = [space, *(vars(scope) for scope in modules if _package(scope.__name__) in packages)]
    return [(scope, name) for scope in spaces for name in names], [
        lambda: (function.__defaults__, function.__kwdefaults__, vars(function)),
        *(functools.partial(_content, cell) for cell in function.__closure__ or ()),
    ]


def _read(names: list[tuple[Any, str]], held: list[Callable[[], Any]]) -> list[Any]:
    """Read the current contents of classes and functions."""
    return [space.get(name, _NOTHING) for space, name in names] + [read() for read in held]


class _Writer(pickle.Pickler):
    """Writes objects as bytes for comparison, which are never read again."""

    def __init__(self, out: io.BytesIO, own: set[str], known: set[int]) -> None:
        super().__init__(out, protocol=4)
        self._own, self._known = own, known

    def reducer_override(self, thing: Any) -> Any:
        """Return a stand-in for an object that is not of a plain type."""
        if thing is list:  # a shortcut: most stand-ins are lists
            return NotImplemented
        kind = type(thing)
        if kind is np.ndarray and thing.dtype.kind in "biufcSUmM":
            return list, ((thing.dtype.str, thing.shape, thing.tobytes()),)
        if isinstance(thing, type):
            # Built-in types need no name.
            return NotImplemented if _home(thing) == "builtins" else (list, (_name(thing),))
        if kind is types.FunctionType:
            return self._function(thing)
        if kind is types.ModuleType:
            return list, (thing.__name__,)
        if kind is types.CellType:
            return list, (_content(thing),)
        if kind is types.MethodType:
            return list, ((thing.__func__, thing.__self__),)
        if kind is types.GeneratorType:
            frame = thing.gi_frame
            return list, ((frame.f_lasti, dict(frame.f_locals)) if frame else _NOTHING,)
        return self._instance(thing)

    def _function(self, function: types.FunctionType) -> Any:
        if id(function) in self._known or not _packages(function) & self._own:
            return list, ((_name(function), id(function)),)
        self._known.add(id(function))
        return list, (_read(*_in_function(function, self._own)),)

    def _instance(self, thing: Any) -> Any:
        if _home(type(thing)) in self._own:
            return list, ((type(thing),),), (_attributes(thing), _contents(thing))
        try:
            reduced = thing.__reduce_ex__(4)
        except Exception:  # the object cannot be read
            return list, ((type(thing).__qualname__, id(thing)),)
        return (list, ((reduced,),)) if isinstance(reduced, str) else reduced


def _package(module: str | None) -> str:
    return (module or "").partition(".")[0]


def _home(thing: Any) -> str:
    """Return the package of a class or function; ``exec`` for code that ``exec`` made."""
    package = _package(thing.__module__)
    if package == "builtins" and getattr(builtins, thing.__qualname__, None) is not thing:
        return "exec"
    return package


def _packages(thing: Any) -> set[str]:
    """Return the packages of a class or a function; a wrapped function has two."""
    wrapped_in = getattr(thing, "__globals__", {}).get("__name__")
    return {_home(thing), _package(wrapped_in)}


def _name(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _NOTHING


def _named(code: types.CodeType) -> list[str]:
    """Return the names that a function's code uses, with those of functions inside it."""
    inside = [
        _named(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)
    ]
    return sorted({*code.co_names, *(name for names in inside for name in names)})


def _attributes(thing: Any) -> dict[str, Any]:
    """Return attributes of an object, including slots."""
    kind: Any = type(thing)
    slots = {name: getattr(thing, name, _NOTHING) for name in _slots(kind)}
    return {**getattr(thing, "__dict__", {}), **slots}


@functools.lru_cache
def _slots(cls: type) -> tuple[str, ...]:
    attributes = [item for base in cls.__mro__ for item in vars(base).items()]
    return tuple(name for name, value in attributes if type(value) is types.MemberDescriptorType)


def _contents(thing: Any) -> Any:
    """Return the contents of a container of a foreign class."""
    if isinstance(thing, np.ndarray):
        return np.asarray(thing)
    if isinstance(thing, dict):
        return dict(thing)
    return list(thing) if isinstance(thing, list | tuple | set | frozenset) else None
