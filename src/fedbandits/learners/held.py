"""A guard against hidden memory of an object: bytes of everything that it holds, to compare.

It looks at the object itself and asks no method of it, such as ``dump``. It finds what is in its
attributes and slots, in its classes, and in their functions: default values, closures, and the
globals that they name. What belongs to a library stands for itself.
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
        The class. Its author wrote it, and all modules of its package, and those of its base
        classes. fedbandits itself counts as a library.
    """

    def __init__(self, cls: type) -> None:
        packages = {_home(each) for each in cls.__mro__}
        self._own = packages - {"fedbandits", "builtins", ""}
        #: Classes and functions that were looked through.
        self._known: dict[int, Any] = {}
        #: Names that they hold, and where each is looked up; and what else they hold, as it is now.
        self._names: list[tuple[Any, str]] = []
        self._held: list[Callable[[], Any]] = []
        self._look_through(cls)

    def held(self, thing: Any) -> bytes:
        """Return bytes that differ if anything has changed that an object holds.

        They are good to compare in one process, and for nothing else.
        """
        values = _read(self._names, self._held)
        shared = [value if type(value) not in _CODE else id(value) for value in values]
        try:
            return self._written((thing, shared), fast=True)
        except (ValueError, RecursionError):  # something in it holds itself
            return self._written((thing, shared), fast=False)

    def _written(self, things: Any, fast: bool) -> bytes:
        out = io.BytesIO()
        writer = _Writer(out, self._own, set(self._known))
        writer.fast = fast  # else equal things are told apart by whether they are one thing
        writer.dump(things)
        return out.getvalue()

    def _look_through(self, thing: Any) -> None:
        """Note the contents of a class or a function, and of classes and functions in it."""
        if isinstance(thing, staticmethod | classmethod):
            thing = thing.__func__
        if isinstance(thing, property):
            for each in (thing.fget, thing.fset):
                self._look_through(each)
        thing = getattr(thing, "py_func", thing)  # of a compiled function
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


#: Names, each with the dictionary that it is looked up in, and what returns the rest.
_Held = tuple[list[tuple[Any, str]], list[Callable[[], Any]]]


def _in_class(cls: type) -> _Held:
    space = vars(cls)
    return [(space, name) for name in space if name not in _NO_MEMORY], [lambda: sorted(space)]


def _in_function(function: types.FunctionType, own: set[str]) -> _Held:
    names, space = _named(function.__code__), function.__globals__
    modules = [space[name] for name in names if isinstance(space.get(name), types.ModuleType)]
    spaces = [space, *(vars(each) for each in modules if _package(each.__name__) in own)]
    return [(each, name) for each in spaces for name in names], [
        lambda: (function.__defaults__, function.__kwdefaults__, vars(function)),
        *(functools.partial(_content, cell) for cell in function.__closure__ or ()),
    ]


def _read(names: list[tuple[Any, str]], held: list[Callable[[], Any]]) -> list[Any]:
    """Read all that was found in classes and functions, as it is now."""
    return [space.get(name, _NOTHING) for space, name in names] + [each() for each in held]


class _Writer(pickle.Pickler):
    """Writes objects as bytes that are only compared, and never read again."""

    def __init__(self, out: io.BytesIO, own: set[str], known: set[int]) -> None:
        super().__init__(out, protocol=4)
        self._own, self._known = own, known

    def reducer_override(self, thing: Any) -> Any:
        """Return a stand-in for an object that is not of a plain type."""
        if thing is list:  # of which most of what is written here is made
            return NotImplemented
        kind = type(thing)
        if kind is np.ndarray and thing.dtype.kind in "biufcSUmM":
            return list, ((thing.dtype.str, thing.shape, thing.tobytes()),)
        if isinstance(thing, type):
            # A plain one needs no words.
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
        except Exception:  # nobody can look into it
            return list, ((type(thing).__qualname__, id(thing)),)
        return (list, ((reduced,),)) if isinstance(reduced, str) else reduced


def _package(module: str | None) -> str:
    return (module or "").partition(".")[0]


def _home(thing: Any) -> str:
    """Return the package of a class or function; what ``exec`` made says that it is Python's."""
    package = _package(thing.__module__)
    if package == "builtins" and getattr(builtins, thing.__qualname__, None) is not thing:
        return "exec"
    return package


def _packages(thing: Any) -> set[str]:
    """Return the packages of a class or a function; a wrapped one has two."""
    own = getattr(thing, "__globals__", {}).get("__name__")
    return {_home(thing), _package(own)}


def _name(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _NOTHING


def _named(code: types.CodeType) -> list[str]:
    """Return the names that a function's code uses, with those of functions inside it."""
    inside = [_named(each) for each in code.co_consts if isinstance(each, types.CodeType)]
    return sorted({*code.co_names, *(name for names in inside for name in names)})


def _attributes(thing: Any) -> dict[str, Any]:
    """Return attributes of an object, those in slots too."""
    kind: Any = type(thing)
    slots = {name: getattr(thing, name, _NOTHING) for name in _slots(kind)}
    return {**getattr(thing, "__dict__", {}), **slots}


@functools.lru_cache
def _slots(cls: type) -> tuple[str, ...]:
    attributes = [item for each in cls.__mro__ for item in vars(each).items()]
    return tuple(name for name, value in attributes if type(value) is types.MemberDescriptorType)


def _contents(thing: Any) -> Any:
    """Return the contents of a container of a foreign class."""
    if isinstance(thing, np.ndarray):
        return np.asarray(thing)
    if isinstance(thing, dict):
        return dict(thing)
    return list(thing) if isinstance(thing, list | tuple | set | frozenset) else None
