"""The keys of a federation's file, each with its meaning and what it may be."""

from __future__ import annotations

import datetime
from typing import Annotated, Any

from msgspec import Meta

from fedbandits._checked import Checked
from fedbandits.federation.terms import NoiseOrigin

_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z"  # _schema.PATTERNS has it in words


class Live(
    Checked,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="kind",
    tag="live",
):
    """Rounds end by the clock, at fixed intervals that do not depend on data.

    Parameters
    ----------
    start
        Time at which the first round begins, with its time zone. It determines when all messages
        are sent.
    every
        Length of a round, in seconds or as ``"1 h"``.
    """

    start: datetime.datetime
    every: float | str


class RoundsClock(
    Checked,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="kind",
    tag="rounds",
):
    """Rounds end when enough decisions have been made; for tests only.

    The time of a release then reveals how many decisions a party has made.
    """


class Rewards(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules for rewards that do not arrive in time.

    Parameters
    ----------
    default
        Reward that is used in place of a missing one. By default the decision is left out.
    after
        Time after which a reward is missing, in seconds or as ``"7 days"``.
    """

    default: float | None = None
    after: float | str = "7 days"


class Transport(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Addresses of the broker through which members exchange messages.

    They are not part of the terms, because a broker may move.

    Parameters
    ----------
    servers
        Addresses of the broker's servers, ``tls://host:port``.
    """

    servers: tuple[str, ...] = ("tls://127.0.0.1:4222",)


class FederationFile(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a federation's file, one field for each key.

    ``rounds`` is the horizon T. ``system`` is the preset with its settings, and ``facts`` are the
    facts of the world. ``members`` has the names of the members by role. ``message_time`` is the
    longest time that a message may take, in seconds or as ``"30 s"``. ``noise`` is ``secure`` or
    ``simulated``. ``name``, ``clock``, ``rewards``, ``transport``: see their classes.
    """

    name: Annotated[str, Meta(pattern=_NAME)]
    rounds: Annotated[int, Meta(ge=1, le=4_000_000_000)]
    system: dict[str, Any]
    facts: dict[str, Any]
    members: dict[str, list[str]]
    clock: Live | RoundsClock
    message_time: float | str = "30 s"
    rewards: Rewards = Rewards()
    noise: NoiseOrigin = "secure"
    transport: Transport = Transport()
