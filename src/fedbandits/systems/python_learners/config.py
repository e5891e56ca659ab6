"""The configuration of a learner in plain Python: its own settings, and when agents share."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import inspect

from fedbandits._checked import Checked
from fedbandits.errors import LearnerError
from fedbandits.learners.learner import Learner, settings_of
from fedbandits.systems.agents.config import Evenly, Every, Growing


class LearnerConfig(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of a learner that shares nothing."""


class SharingConfig(LearnerConfig, frozen=True, kw_only=True):
    """The settings of a learner that shares.

    Parameters
    ----------
    schedule
        When agents sync: ``growing(1.5)``, ``every(B)``, ``evenly(n)``.
    """

    schedule: Growing | Every | Evenly = msgspec.field(default_factory=Growing)


def config_of(learner: type[Learner]) -> type[LearnerConfig]:
    """The configuration type of a learner, made from its annotated attributes.

    Raises
    ------
    LearnerError
        If a setting has a type that no configuration can hold, or a name that is taken.
    """
    base = SharingConfig if learner.shares() else LearnerConfig
    settings = settings_of(learner)
    taken = {"preset", "label", *base.__struct_fields__} & settings.keys()
    if taken:
        raise LearnerError(f"{learner.__name__}.{min(taken)}: the name is taken; choose another")
    fields = [(name, kind, getattr(learner, name)) for name, kind in settings.items()]
    try:
        made: Any = msgspec.defstruct(
            learner.__name__, fields, bases=(base,), module=learner.__module__,
            frozen=True, kw_only=True, forbid_unknown_fields=True,
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


def _fields(config: type[LearnerConfig]) -> tuple[inspect.Field, ...]:
    found = inspect.type_info(config)
    assert isinstance(found, inspect.StructType)  # noqa: S101 - what a struct type is
    return found.fields


def _is_strange(kind: Any) -> bool:
    """Whether a type is, or holds, what no file can."""
    if isinstance(kind, inspect.CustomType):
        return True
    inside = getattr(kind, "types", None) or [getattr(kind, "item_type", None)]
    return any(_is_strange(each) for each in inside if each is not None)
