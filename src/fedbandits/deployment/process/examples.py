"""A federation's file to begin with, for every preset that has parties: it works as it is."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping
from typing import Any

import tomli_w

from fedbandits._schema import convert
from fedbandits.errors import ConfigError
from fedbandits.facts import (
    ArmFacts,
    ClusteredFacts,
    ContextualFacts,
    Facts,
    ProcurementFacts,
)
from fedbandits.federation.seats import HELPER
from fedbandits.settings.federation import Federation
from fedbandits.settings.variants import system as variant_of
from fedbandits.settings.written import seconds
from fedbandits.systems import find_system

#: Facts of a small world of each kind.
_FACTS: Mapping[type[Facts], dict[str, Any]] = {
    ContextualFacts: {"parties": 3, "dimension": 4, "arms": 5},
    ArmFacts: {"parties": 3},
    ProcurementFacts: {
        "parties": 3, "producers": 4, "largest_capacity": 5, "quality_threshold": 0.5,
        "capacities": [[5, 4, 3, 5], [2, 5, 4, 3], [5, 5, 5, 5]],
    },
    ClusteredFacts: {
        "parties": 6, "home": [0, 0, 1, 1, 2, 2], "clusters": 2, "dimension": 4, "items": 5,
    },
}  # fmt: skip
_ROUNDS = 1000
#: Seconds of a round in which a usual message takes long.
_SHORT = 120.0
_ROUNDS_END = "Rounds end by the clock, whatever the data are; it decides when everything leaves."
_BEATS = "A beat: whoever has acted answers at the next one, so that nobody sees who was asked."
_NAMES = "north", "south", "east", "west"
_HELPERS = """\
# A helper holds keys, and no data. Any organisation can host one, members too. What matters is that
# the controller and all helpers are not in one hand: together they could see single releases.
"""

_TEXT = """\
# A federation of {title}. All members have this same file.
name = "{name}"          # names it, in certificates and on the broker
rounds = {rounds}             # how many rounds there are, at most
noise = "secure"         # "simulated" comes from a seed: for tests alone, it protects nobody
message_time = {message_time}    # a message takes no longer; after twice that nobody waits for it

# What is learned, and how: the keys of [[systems]] in an experiment's file.
[system]
preset = "{preset}"
{settings}
# What everybody may know of the world: state your own.
[facts]
{facts}
# Who takes part: one organisation a seat. Names are small letters, digits and dashes.
[members]
{members}
# {clock}
[clock]
kind = "live"
start = {start}
every = "{every}"

# Where members meet. It is no part of what they agree on: a broker may move.
[transport]
servers = ["tls://127.0.0.1:4222"]
"""


def example(preset: str, every: str | None = None, port: int = 4222) -> str:
    """Write the text of a small federation's file, for a preset that has parties.

    A round takes ``every``, by default an hour. Where messages set the pace it is a beat, at which
    all who have acted answer, and has to be short. Its broker listens at ``port`` of this machine.
    Raises ConfigError if there is no such preset, or nobody exchanges anything in it.
    """
    variant = variant_of(preset)
    system = find_system(variant.system)
    facts = _FACTS[system.facts_type]
    plan = system.plan(variant.config, convert(facts, system.facts_type, "facts"), _ROUNDS)
    roles = system.roles(plan)
    if roles is None:
        raise ConfigError(f"{preset!r} has no parties to run; see fedbandits list")
    settings = {
        key: getattr(variant.config, key)
        for key in ("epsilon", "delta")
        if math.isfinite(getattr(variant.config, key, math.inf))
    }
    acting = roles.acting.name
    members = {
        role: list(_called(role, len(parties), role == acting))
        for role, parties in roles.parties.items()
    }
    every = every or ("100 ms" if roles.messages_set_pace else "1 h")
    start = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    text = _TEXT.format(
        title=f"{len(roles.acting.parties)} {roles.acting.name}s",
        name=preset.replace("_", "-"),
        rounds=_ROUNDS,
        preset=preset,
        settings=tomli_w.dumps(settings),
        facts=tomli_w.dumps(facts),
        members=_hosted(members) + tomli_w.dumps(members),
        clock=_BEATS if roles.messages_set_pace else _ROUNDS_END,
        start=start.isoformat(),
        every=every,
        message_time=f'"{_message_time(every, HELPER in members, roles.messages_set_pace)}"',
    )
    return text.replace(":4222", f":{port}")


def _message_time(every: str, sums: bool, beats: bool) -> str:
    """Say how long a message may take: no longer than a round, in secure sums less than half."""
    round_ = seconds(every, "--every")
    if sums and round_ < _SHORT:
        return f"{round_ / 4.0:g} s"
    return "30 s" if beats else f"{min(30.0, round_):g} s"


def _called(role: str, count: int, acts: bool) -> Iterator[str]:
    """Give a role's members names, with their places where there are several.

    Those that act are organisations, and are called so. A name is one member's alone.
    """
    for place in range(count):
        if count == 1:
            yield role.replace("_", "-")
        elif acts and place < len(_NAMES):
            yield _NAMES[place]
        else:
            yield f"{role.replace('_', '-')}-{place}"


def _hosted(members: Mapping[str, Any]) -> str:
    """Say who may host helpers, where there are any."""
    return _HELPERS if HELPER in members else ""


def own_example(federation: Federation, member: str) -> dict[str, Any]:
    """Make up what a member alone would know and its system asks its settings for."""
    facts = federation.facts
    if isinstance(facts, ProcurementFacts) and federation.seat_of(member).role.acts:
        return {"costs": [round(0.1 + 0.1 * (i % 3), 1) for i in range(facts.producers)]}
    return {}
