"""Variants of a system: named ones, and settings that change nothing in some of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import msgspec

#: Settings of a budget, which say nothing where no noise is added.
BUDGET = ("epsilon", "delta")
#: Settings of what is protected, which say nothing then either.
UNIT = ("unit", "records_per_person")


class Preset(NamedTuple):
    """A named variant: a description, and the settings that differ from the system's defaults.

    Other systems are compared with one that ``stands_for`` parties ``alone``, and with one where
    they share all records in clear (``pooled``). A comparison is fair if both sides have the same
    settings, except those that say what is sent. These are named in ``sharing``.

    Parameters
    ----------
    description
        What it is, in a few words.
    settings
        Settings that differ from the defaults of the system's configuration.
    stands_for
        What other systems are compared with it for: ``"alone"``, ``"pooled"`` or nothing.
    sharing
        Settings that say what is sent, when, and how it is protected. Empty: those in ``settings``.
    at_best
        Settings with which it explores as people would, where nobody asks for a proof.
    """

    description: str
    settings: Mapping[str, Any]
    stands_for: Literal["", "alone", "pooled"] = ""
    sharing: tuple[str, ...] = ()
    at_best: Mapping[str, Any] = MappingProxyType({})


def refuse_unit(unit: str, records_per_person: int) -> None:
    """Refuse a number of records a person where single records are protected.

    Raises
    ------
    ValueError
        If they do not fit together.
    """
    if unit == "record" and records_per_person != 1:
        raise ValueError(
            f"records_per_person: given {records_per_person}, but it has no effect with unit = "
            '"record"; set unit = "person", or leave it out'
        )


def effective(config: msgspec.Struct) -> msgspec.Struct:
    """Return the configuration that is played, with all idle settings at their defaults.

    Its property ``idle``, where it has one, names the settings that change nothing in it.
    Decisions, messages and measurements of a simulation are the same, bit for bit. Claims are made
    from the configuration as it was given.
    """
    idle = getattr(config, "idle", ())
    if not idle:
        return config
    usual = {field.name: field.default for field in msgspec.structs.fields(config)}
    return msgspec.structs.replace(config, **{name: usual[name] for name in idle})
