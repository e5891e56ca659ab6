"""Runs of small worlds for the page that shows one step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from fedbandits._schema import convert
from fedbandits._suggest import did_you_mean
from fedbandits.environments import Bernoulli, Clustered, Environment, Linear, Procurement
from fedbandits.errors import ConfigError
from fedbandits.facts import Facts
from fedbandits.recording.record import record
from fedbandits.settings.experiment import Variant, system
from fedbandits.systems import System, find_preset, systems
from fedbandits.systems.guide import Guide

#: The fewest parties that act, and the most.
FEWEST, MOST = 2, 60
#: The most rounds, times parties that act: beyond it a run takes longer than anybody waits.
MOST_TURNS = 12_000


class StepsJob(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A preset in a small world, to be recorded."""

    preset: str
    parties: Annotated[int, Meta(ge=FEWEST, le=MOST)] = 4
    rounds: Annotated[int, Meta(ge=1, le=500)] = 30
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    off: tuple[str, ...] = ()


def _clustered(parties: int) -> Environment:
    users = max(6, 2 * parties)
    return Clustered(users=users, clusters=2, servers=parties, dim=3, items=4)


#: A small world with so many parties that act, by the facts that systems plan from.
_WORLDS: dict[type[Facts], Callable[[int], Environment]] = {
    Linear.FACTS: lambda parties: Linear(agents=parties, dim=3, arms=4),
    Bernoulli.FACTS: lambda parties: Bernoulli(arms=parties),
    Procurement.FACTS: lambda parties: Procurement(agents=parties, producers=5, revenue=4.0),
    Clustered.FACTS: _clustered,
}
#: Settings that fit small worlds: a short key, phases that end soon, a graph with neighbours.
_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "samba": {"paillier_bits": 2048},
    "feducb_p2p": {"graph": "ring", "gamma": 2},
    "fclub": {"schedule": {"kind": "growing", "first": 10}},
}


def steppable() -> list[dict[str, Any]]:
    """List the presets that can be shown step by step, and what each may be shown without."""
    found = []
    for each in systems():
        for preset, about in each.presets.items():
            guide = _guide_of(each, preset)
            if guide is not None:
                off = [{"name": name, "about": text} for name, text in guide.protections.items()]
                found.append({"preset": preset, "about": about.description, "protections": off})
    return found


def _guide_of(each: System[Any], preset: str) -> Guide | None:
    """Return the guide of a preset; None where there is nothing to show."""
    world = _world(each, FEWEST)
    if world is None:
        return None
    try:
        return each.guide(_variant(each, preset).plan(world, _ROUNDS))
    except ConfigError:  # somebody's own system that cannot play in so small a world
        return None


#: A horizon in which every preset can be planned.
_ROUNDS = 30


def record_steps(job: Mapping[str, Any]) -> dict[str, Any]:
    """Play a preset in a small world, and return every step as plain values.

    Parameters
    ----------
    job
        ``preset``, ``parties``, ``rounds``, ``seed``, and ``off``, the protections that it is
        shown without. All but the preset may be left out.

    Raises
    ------
    ConfigError
        If the preset cannot be shown, or a value is not allowed.
    """
    asked: StepsJob = convert(job, StepsJob, "")
    each = find_preset(asked.preset)
    world = None if each is None else _world(each, asked.parties)
    if each is None or world is None or _guide_of(each, asked.preset) is None:
        names = [entry["preset"] for entry in steppable()]
        raise ConfigError(
            f"preset: given {asked.preset!r}, allowed: {did_you_mean(asked.preset, names)}"
            f"one of {', '.join(names)}"
        )
    _check_rounds(asked, each)
    recording = record(_variant(each, asked.preset), world, asked.rounds, asked.seed, asked.off)
    told: dict[str, Any] = msgspec.to_builtins(recording)
    return told


def _check_rounds(asked: StepsJob, each: System[Any]) -> None:
    """Refuse fewer rounds than the parties need, and more than anybody waits for."""
    least = asked.parties if each.facts_type is Bernoulli.FACTS else 1  # each arm is pulled once
    most = MOST_TURNS // asked.parties
    if not least <= asked.rounds <= most:
        raise ConfigError(
            f"rounds: given {asked.rounds}, allowed: {least} to {most} with {asked.parties} parties"
        )


def _world(each: System[Any], parties: int) -> Environment | None:
    """Make a small world in which a system plays; None if none has its facts."""
    make = next((_WORLDS[facts] for facts in _WORLDS if issubclass(facts, each.facts_type)), None)
    return None if make is None else make(parties)


def _variant(each: System[Any], preset: str) -> Variant:
    return system(preset, **_SETTINGS.get(each.name, {}))
