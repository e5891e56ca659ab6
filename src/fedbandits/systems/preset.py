"""Named variants of a system."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple


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
    """

    description: str
    settings: Mapping[str, Any]
    stands_for: Literal["", "alone", "pooled"] = ""
    sharing: tuple[str, ...] = ()
