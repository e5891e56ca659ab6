"""The interface of a learner in plain Python, for your own algorithm.

Such a learner is slower than the compiled systems of this package. It meets the same contexts and
the same rewards, and stands in the same tables, plots and reports.
"""

from __future__ import annotations

import inspect
import re
import types
import typing
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import LearnerError, SnapshotError
from fedbandits.facts import ContextualFacts

if TYPE_CHECKING:
    from fedbandits.draws import Draws

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
#: Settings of learners, kept because reading annotations takes long.
_settings: weakref.WeakKeyDictionary[type[Learner], Mapping[str, Any]] = weakref.WeakKeyDictionary()
#: Codes of packed values, kinds of their arrays, and types that need no packing.
_ARRAY, _SCALAR, _TUPLE = 1, 2, 3
_KINDS = "biuf"
_ENCODER, _PLAIN = msgspec.msgpack.Encoder(), (bool, int, float, str, bytes, type(None))


class Learner:
    """Base class of learners: the algorithm of one agent, in plain Python.

    In a subclass, annotated attributes with defaults are settings. It overrides :meth:`begin`,
    :meth:`decide` and :meth:`observe`. If agents share, it also overrides :meth:`release` and
    :meth:`receive`::

        @fb.register
        class Greedy(fb.Learner):
            "Plays the arm that looks best, and a random one now and then."

            explore: float = 0.05

            def begin(self):
                d = self.facts.dimension
                self.gram, self.sums = np.eye(d), np.zeros(d)

            def decide(self, contexts, draws):
                if draws.bernoulli(self.explore):
                    return draws.integer(len(contexts))
                return np.argmax(contexts @ np.linalg.solve(self.gram, self.sums))

            def observe(self, context, arm, reward):
                self.gram += np.outer(context, context)
                self.sums += reward * context

    ``fb.register`` makes the class a preset, here ``greedy``: ``fb.system("greedy", explore=0.1)``.
    To choose another name, write ``class Greedy(fb.Learner, name="my-greedy")``.

    All other attributes are the learner's memory, which is saved and restored with the agent. They
    must be numbers, texts, arrays of numbers, or lists and dicts of these. A learner with other
    attributes overrides :meth:`dump` and :meth:`load`. Settings must not change after
    :meth:`begin`, because they are not saved.

    Parameters
    ----------
    facts : ContextualFacts
        Public facts of the world: ``dimension`` d, ``arms``, ``models`` and bounds.
    rounds : int
        The horizon T, in rounds.
    agent : int
        Number of this agent. The first is 0.
    **settings
        Values of settings. Other settings have their defaults.

    Attributes
    ----------
    facts, rounds, agent
        The arguments of the constructor.
    """

    #: Name of the preset; by default the class's name, in small letters with dashes.
    NAME: ClassVar[str] = ""

    facts: ContextualFacts
    rounds: int
    agent: int

    def __init_subclass__(cls, name: str = "", **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if vars(cls).get("__slots__"):
            raise LearnerError(
                f"{cls.__name__}.__slots__: a learner has none; values in slots are not saved"
            )
        cls.NAME = name or _WORD.sub("-", cls.__name__).lower()

    def __init__(
        self, facts: ContextualFacts, rounds: int = 1, agent: int = 0, **settings: Any
    ) -> None:
        self.facts, self.rounds, self.agent = facts, rounds, agent
        known = settings_of(type(self))
        for name, value in settings.items():
            if name not in known:
                raise LearnerError(f"{type(self).__name__}: has no setting {name!r}")
            setattr(self, name, value)
        self.begin()
        self._begun = self._fixed()

    def begin(self) -> None:
        """Set up the memory of the learner; called once, before the first decision."""

    def decide(self, contexts: Floats, draws: Draws) -> int:
        """Choose an arm.

        Parameters
        ----------
        contexts : (arms, d) float64
            One row for each arm. If each arm has its own model (``facts.models > 1``), all rows are
            the same context.
        draws : Draws
            The source of randomness: ``draws.uniform()``, ``draws.normal(3)``,
            ``draws.integer(5)``, ``draws.generator()`` for all of numpy's distributions.

        Returns
        -------
        int
            Number of the chosen row.
        """
        raise NotImplementedError(f"{type(self).__name__} has no decide")

    def observe(self, context: Floats, arm: int, reward: float) -> None:
        """Learn from the reward of a decision; rewards may arrive late and in any order.

        Parameters
        ----------
        context : (d,) float64
            The context of the chosen arm.
        arm : int
            Number of the chosen arm.
        reward : float
            Reward of the chosen arm.
        """

    def release(self) -> Floats:
        """Return the numbers that this agent shares, (size,) float64, always of the same size.

        The numbers are sent unchanged. No noise is added, so they are not protected.
        """
        raise NotImplementedError(f"{type(self).__name__} shares nothing")

    def receive(self, total: Floats) -> None:
        """Use the sum of the numbers that all agents have shared, including this one.

        ``total``, (size,) float64, is the sum of the newest :meth:`release` of all agents.
        """
        raise NotImplementedError(f"{type(self).__name__} shares nothing")

    def _fixed(self) -> bytes:
        """Return the settings and public values, which are no memory, as bytes."""
        names = ("facts", "rounds", "agent", *settings_of(type(self)))
        return msgspec.msgpack.encode([getattr(self, name) for name in names], enc_hook=repr)

    def hold_settings(self) -> None:
        """Refuse a setting, or a public value, that has changed since :meth:`begin`.

        A restored learner would not have the change, and no guarantee covers it.

        Raises
        ------
        LearnerError
            If a setting or a public value has changed.
        """
        if self._fixed() != self._begun:
            raise LearnerError(
                f"{type(self).__name__}: a setting, facts, rounds or agent was changed after "
                "begin; set changing values in begin, as self.NAME, under another name"
            )

    def dump(self) -> bytes:
        """Return the memory as bytes."""
        self.hold_settings()
        settings = settings_of(type(self))
        fixed = {"facts", "rounds", "agent", "_begun", *settings}
        memory = {name: value for name, value in vars(self).items() if name not in fixed}
        return pack_memory(memory, type(self).__name__)

    def load(self, data: bytes) -> None:
        """Restore the memory from ``data``, which :meth:`dump` returned."""
        vars(self).update(unpack_memory(data))

    @classmethod
    def shares(cls) -> bool:
        """Tell whether agents share: the class overrides both ``release`` and ``receive``.

        Raises
        ------
        LearnerError
            If the class overrides only one of them.
        """
        overridden = [
            getattr(cls, name) is not getattr(Learner, name) for name in ("release", "receive")
        ]
        if any(overridden) and not all(overridden):
            raise LearnerError(
                f"{cls.__name__}: a learner that shares needs both release and receive, but one "
                "is missing"
            )
        return all(overridden)

    @classmethod
    def sees_own_records(cls) -> bool:
        """Tell whether agents learn from their own records at once: ``observe`` is overridden."""
        return cls.observe is not Learner.observe


#: Arguments of a learner's methods.
_CALLED = {
    "begin": (),
    "decide": ("contexts", "draws"),
    "observe": ("context", "arm", "reward"),
    "record": ("context", "arm", "reward"),
    "release": (),
    "receive": ("total",),
}


def refuse_unfinished(learner: type[Learner]) -> None:
    """Refuse, by LearnerError, a class that cannot play.

    Reasons are a missing method, a method that cannot take its arguments, or a taken name.
    """
    name = learner.__name__
    if learner.decide is Learner.decide:
        raise LearnerError(f"{name}: a learner needs decide, which chooses an arm")
    if any("__init__" in vars(cls) for cls in learner.__mro__ if _is_foreign(cls)):
        raise LearnerError(
            f"{name}.__init__: a learner has no constructor, and is no dataclass; set up its "
            "memory in begin"
        )
    for cls in filter(_is_foreign, learner.__mro__):
        taken = {"facts", "rounds", "agent"} & vars(cls).get("__annotations__", {}).keys()
        if taken:
            raise LearnerError(f"{name}.{min(taken)}: the name is taken; choose another")
    for method, arguments in _CALLED.items():
        function = inspect.getattr_static(learner, method, None)
        if isinstance(function, types.FunctionType):
            try:
                inspect.signature(function).bind("self", *arguments)
            except TypeError:
                called = f"{method}({', '.join(arguments)})"
                raise LearnerError(
                    f"{name}.{method}: must take the arguments of its calls: {called}"
                ) from None


def _is_foreign(cls: type) -> bool:
    """Tell whether a class of a learner is not from this package."""
    return cls is not object and not cls.__module__.startswith("fedbandits.")


def settings_of(learner: type[Learner]) -> Mapping[str, Any]:
    """Return the types of a learner's settings by name: annotated attributes with defaults.

    Raises LearnerError if a setting has no default, or an annotation is not valid.
    """
    settings = _settings.get(learner)
    if settings is None:
        settings = _settings[learner] = _read_settings(learner)
    return settings


def _read_settings(learner: type[Learner]) -> Mapping[str, Any]:
    try:
        hints = typing.get_type_hints(learner, include_extras=True)
    except (NameError, TypeError) as error:
        raise LearnerError(
            f"{learner.__name__}: an annotation cannot be understood: {error}"
        ) from None
    base = typing.get_type_hints(Learner)
    settings = {
        name: hint
        for name, hint in hints.items()
        if name not in base
        and not name.startswith("_")
        and not isinstance(getattr(learner, name, None), property)  # a computed value
        and typing.get_origin(hint) is not ClassVar
        and hint is not ClassVar
    }
    for name in [setting for setting in settings if not hasattr(learner, setting)]:
        if _holds_arrays(settings[name]):
            del settings[name]  # memory, declared for a type checker
            continue
        raise LearnerError(
            f"{learner.__name__}.{name}: a setting needs a default; set the memory of a learner "
            "in begin, without an annotation in the class"
        )
    return types.MappingProxyType(settings)


def _holds_arrays(hint: Any) -> bool:
    origin = typing.get_origin(hint) or hint
    return isinstance(origin, type) and issubclass(origin, np.ndarray)


def pack_memory(memory: dict[str, Any], owner: str) -> bytes:
    """Pack the memory of a learner, by the names of its attributes.

    The memory may be numbers, texts, arrays of numbers, and lists, tuples and tables of these.
    Raises LearnerError with the attribute of ``owner`` that holds another value.
    """
    return _ENCODER.encode({name: _packed(v, f"{owner}.{name}") for name, v in memory.items()})


def unpack_memory(data: bytes) -> dict[str, Any]:
    """Unpack a memory from :func:`pack_memory` into new arrays; SnapshotError if invalid."""
    try:
        memory = msgspec.msgpack.decode(data, type=dict[str, Any], ext_hook=_unpacked)
    except (msgspec.DecodeError, ValueError, TypeError) as error:
        raise SnapshotError(f"the saved memory of a learner has another layout: {error}") from None
    return memory


def _packed(value: Any, place: str) -> Any:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in _KINDS:
        return msgspec.msgpack.Ext(_ARRAY, _array_bytes(value))
    if isinstance(value, np.generic) and value.dtype.kind in _KINDS:
        return msgspec.msgpack.Ext(_SCALAR, _array_bytes(np.asarray(value)))
    if isinstance(value, list):
        return [_packed(inner, f"{place}[{i}]") for i, inner in enumerate(value)]
    if isinstance(value, tuple):
        inside = [_packed(inner, f"{place}[{i}]") for i, inner in enumerate(value)]
        return msgspec.msgpack.Ext(_TUPLE, _ENCODER.encode(inside))
    if isinstance(value, dict) and all(type(key) in (str, int) for key in value):
        return {key: _packed(inner, f"{place}[{key!r}]") for key, inner in value.items()}
    raise LearnerError(
        f"{place}: is a {type(value).__name__}, which cannot be saved; keep numbers, texts, arrays "
        "of numbers, and lists or tables of these, or write your own dump and load"
    )


def _array_bytes(value: np.ndarray[Any, Any]) -> bytes:
    little = value.dtype.newbyteorder("<")
    return _ENCODER.encode((little.str, value.shape, np.ascontiguousarray(value, little).tobytes()))


def _unpacked(code: int, data: memoryview) -> Any:
    if code == _TUPLE:
        return tuple(msgspec.msgpack.decode(data, type=list[Any], ext_hook=_unpacked))
    dtype, shape, content = msgspec.msgpack.decode(data, type=tuple[str, tuple[int, ...], bytes])
    if np.dtype(dtype).kind not in _KINDS:
        raise ValueError("an array of an unknown type")
    array = np.frombuffer(content, dtype).reshape(shape).copy()
    return array[()] if code == _SCALAR else array
