"""Runs of small worlds, step by step, for the page."""

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
#: The most turns, rounds times acting parties: more turns take longer than users wait.
MOST_TURNS = 12_000


class StepsJob(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A preset in a small world, to be recorded step by step."""

    preset: str
    parties: Annotated[int, Meta(ge=FEWEST, le=MOST)] = 4
    rounds: Annotated[int, Meta(ge=1, le=500)] = 30
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    off: tuple[str, ...] = ()


def _clustered(parties: int) -> Environment:
    users = max(6, 2 * parties)
    return Clustered(users=users, clusters=2, servers=parties, dim=3, items=4)


#: Makers of a small world with a number of acting parties, by the facts that systems plan from.
_WORLDS: dict[type[Facts], Callable[[int], Environment]] = {
    Linear.FACTS: lambda parties: Linear(agents=parties, dim=3, arms=4),
    Bernoulli.FACTS: lambda parties: Bernoulli(arms=parties),
    Procurement.FACTS: lambda parties: Procurement(agents=parties, producers=5, revenue=4.0),
    Clustered.FACTS: _clustered,
}
#: Settings for small worlds: a short key, short phases, a graph with neighbours.
_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "samba": {"paillier_bits": 2048},
    "feducb_p2p": {"graph": "ring", "gamma": 2},
    "fclub": {"schedule": {"kind": "growing", "first": 10}},
}


def steppable() -> list[dict[str, Any]]:
    """List the presets with a guide, each with the protections that a run may leave out."""
    presets = []
    for declared in systems():
        for name, preset in declared.presets.items():
            guide = _guide_of(declared, name)
            if guide is not None:
                off = [{"name": key, "about": text} for key, text in guide.protections.items()]
                presets.append({"preset": name, "about": preset.description, "protections": off})
    return presets


def _guide_of(declared: System[Any], preset: str) -> Guide | None:
    """Return the guide of a preset; None without a guide, or without a small world."""
    world = _world(declared, FEWEST)
    if world is None:
        return None
    try:
        return declared.guide(_variant(declared, preset).plan(world, _ROUNDS))
    except ConfigError:  # a user's own system that cannot play in so small a world
        return None


#: A horizon in which every preset can be planned.
_ROUNDS = 30


def record_steps(job: Mapping[str, Any]) -> dict[str, Any]:
    """Play a preset in a small world, and return every step as plain values.

    Parameters
    ----------
    job
        ``preset``, ``parties``, ``rounds``, ``seed``, and ``off``, the protections to leave out.
        Only the preset is required.

    Raises
    ------
    ConfigError
        If the preset has no guide, or a value is not allowed.
    """
    asked: StepsJob = convert(job, StepsJob, "")
    declared = find_preset(asked.preset)
    world = None if declared is None else _world(declared, asked.parties)
    if declared is None or world is None or _guide_of(declared, asked.preset) is None:
        names = [entry["preset"] for entry in steppable()]
        raise ConfigError(
            f"preset: given {asked.preset!r}, allowed: {did_you_mean(asked.preset, names)}"
            f"one of {', '.join(names)}"
        )
    _check_rounds(asked, declared)
    variant = _variant(declared, asked.preset)
    recording = record(variant, world, asked.rounds, asked.seed, asked.off)
    table: dict[str, Any] = msgspec.to_builtins(recording)
    return table


def _check_rounds(asked: StepsJob, declared: System[Any]) -> None:
    """Refuse fewer rounds than the parties need, and more rounds than users wait for."""
    # Each arm is pulled once.
    least = asked.parties if declared.facts_type is Bernoulli.FACTS else 1
    most = MOST_TURNS // asked.parties
    if not least <= asked.rounds <= most:
        raise ConfigError(
            f"rounds: given {asked.rounds}, allowed: {least} to {most} with {asked.parties} parties"
        )


def _world(declared: System[Any], parties: int) -> Environment | None:
    """Make a small world in which a system plays; None if no small world has its facts."""
    makers = (make for facts, make in _WORLDS.items() if issubclass(facts, declared.facts_type))
    make = next(makers, None)
    return None if make is None else make(parties)


def _variant(declared: System[Any], preset: str) -> Variant:
    return system(preset, **_SETTINGS.get(declared.name, {}))
