"""The configuration of a learner in plain Python: its own settings, and when agents share."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec
from msgspec.inspect import CustomType, Field, StructType, type_info

from fedbandits._checked import Checked
from fedbandits.errors import LearnerError
from fedbandits.learners.learner import Learner, settings_of
from fedbandits.learners.private_learner import PrivateLearner
from fedbandits.systems.agents.config import Evenly, Every, Growing
from fedbandits.systems.aggregation import Aggregation, Clear


class LearnerConfig(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of a learner that shares nothing."""

    #: What is said of a key that is no setting, but an attribute of the learner's class.
    HINTS: ClassVar[Mapping[str, str]] = {}


class SharingConfig(LearnerConfig, frozen=True, kw_only=True):
    """The settings of a learner that shares.

    Parameters
    ----------
    schedule
        When agents sync: ``growing(1.5)``, ``every(B)``, ``evenly(n)``.
    """

    schedule: Growing | Every | Evenly = msgspec.field(default_factory=Growing)


class PrivateConfig(SharingConfig, frozen=True, kw_only=True):
    """The settings of a private learner.

    Parameters
    ----------
    aggregation
        Who adds up releases. ``clear``: the controller sees each release. ``secure-sum``: nobody
        sees more than sums, so their noise is needed once (docs/secure-sums.md).
    """

    aggregation: Aggregation = msgspec.field(default_factory=Clear)


def config_of(learner: type[Learner]) -> type[LearnerConfig]:
    """Make the configuration type of a learner, from its annotated attributes.

    Raises
    ------
    LearnerError
        If a setting has a type that no configuration can hold, or a name that is taken.
    """
    base: type[LearnerConfig] = SharingConfig if learner.shares() else LearnerConfig
    settings = dict(settings_of(learner))
    taken = {"preset", "label", *PrivateConfig.__struct_fields__} & settings.keys()
    if taken:
        raise LearnerError(f"{learner.__name__}.{min(taken)}: the name is taken; choose another")
    if issubclass(learner, PrivateLearner):
        base = PrivateConfig
        settings |= _budget_settings(learner)
    fields = [(name, kind, getattr(learner, name)) for name, kind in settings.items()]
    try:
        made: Any = msgspec.defstruct(
            learner.__name__, fields, bases=(base,), module=learner.__module__,
            frozen=True, kw_only=True, forbid_unknown_fields=True,
            namespace={"HINTS": _untyped(learner, settings)},
        )  # fmt: skip
        made.__doc__ = learner.__doc__
        odd = [f.name for f in _fields(made) if _is_strange(f.type)]
    except TypeError as error:
        raise LearnerError(f"{learner.__name__}: its settings cannot be used: {error}") from None
    if odd:
        raise LearnerError(
            f"{learner.__name__}.{odd[0]}: has a type that a configuration cannot hold; settings "
            "are numbers, texts, and lists or tables of these"
        )
    config: type[LearnerConfig] = made
    return config


def _untyped(learner: type[Learner], settings: Mapping[str, Any]) -> dict[str, str]:
    """Find attributes that look like settings but have no type, and say how they become one."""
    own = {
        name: value
        for kind in reversed(learner.__mro__[: learner.__mro__.index(Learner)])
        for name, value in vars(kind).items()
    }
    return {
        name: f"{learner.__name__}.{name} has no type, so it is no setting; "
        f"write `{name}: {type(value).__name__} = …` in the class"
        for name, value in own.items()
        if isinstance(value, bool | int | float | str)
        and not name.startswith("_")
        and name not in settings
    }


def _budget_settings(learner: type[PrivateLearner]) -> dict[str, Any]:
    """Return the settings of every private learner, with their types.

    Subclasses change defaults alone: one that has a property in the place of a setting is refused.
    """
    own = dict(settings_of(PrivateLearner))
    for name in own:
        if isinstance(inspect.getattr_static(learner, name), property):
            if name == "record_bound":
                return {kept: kind for kept, kind in own.items() if kept != name}
            raise LearnerError(f"{learner.__name__}.{name}: is a setting, and can be no property")
    return own


def _fields(config: type[LearnerConfig]) -> tuple[Field, ...]:
    found = type_info(config)
    assert isinstance(found, StructType)  # noqa: S101 - what a struct type is
    return found.fields


def _is_strange(kind: Any) -> bool:
    """Tell whether a type is, or holds, what no file can."""
    if isinstance(kind, CustomType):
        return True
    inside = getattr(kind, "types", None) or [getattr(kind, "item_type", None)]
    return any(_is_strange(each) for each in inside if each is not None)
