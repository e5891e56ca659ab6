"""Recording a run: a variant's parties play in a world, and every step is noted."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from fedbandits.environments.base import Environment
from fedbandits.errors import ConfigError
from fedbandits.federation.roles import Roles
from fedbandits.recording.recorder import Recorder
from fedbandits.recording.recording import CodeLine, Recording, Sight
from fedbandits.settings.experiment import Variant, system
from fedbandits.systems import System, find_system
from fedbandits.systems.base import PartiesReplicate, Plan
from fedbandits.systems.guide import Found, Guide
from fedbandits.systems.simulated import plan_in


def record(
    variant: Variant | str, environment: Environment, rounds: int, seed: int = 0,
    off: Collection[str] = (),
) -> Recording:  # fmt: skip
    """Play a variant by its parties, and record every step.

    It is the run that :func:`federate` makes of the same seed. Noise and keys are simulated. A run
    without some of its protections shows what these hide. It cannot be deployed.

    Parameters
    ----------
    variant
        The variant, or the name of a preset.
    environment
        The world. A recording is for small ones, with a few parties.
    rounds
        The horizon T, in rounds. Long recordings are cut.
    seed
        The seed, which determines all random draws.
    off
        Names of protections that are left out. ``Guide.protections`` has those of a plan.

    Raises
    ------
    ConfigError
        If the variant has no parties, or no such protection.
    """
    found = system(variant) if isinstance(variant, str) else variant
    declared = find_system(found.system)
    plan: Plan = plan_in(declared, found.config, environment, rounds)
    guide = declared.guide(plan, off) or Guide()
    if off:
        declared = _without(declared, guide, found.preset, off)
        plan = plan_in(declared, found.config, environment, rounds)
    roles = declared.roles(plan)
    if roles is None:
        raise ConfigError(f"preset: given {found.preset!r}, allowed: a preset with parties")
    recorder = Recorder(guide, roles.codec)
    run = PartiesReplicate(declared, plan, environment, seed, 0, watch=recorder)
    _play(run, recorder, to_the_end=guide.find is not None)
    seen = guide.find(run, seed) if guide.find is not None else None
    return Recording(
        preset=found.preset,
        off=tuple(sorted(off)),
        parties=tuple(recorder.parties),
        steps=tuple(recorder.steps),
        pseudocode=_code(guide, roles, run),
        sight=_sight(seen),
        attack=seen.text if seen else None,
        cut=recorder.is_full,
    )


def _without(declared: System[Any], guide: Guide, preset: str, off: Collection[str]) -> System[Any]:
    """Return the system without some protections; refuse names that it does not have."""
    unknown = sorted(set(off) - set(guide.protections))
    if unknown or guide.without is None:
        allowed = ", ".join(guide.protections) or f"none, as {preset} has no protections"
        raise ConfigError(f"off: given {', '.join(unknown)}, allowed: {allowed}")
    return guide.without(declared, off)


def _play(run: PartiesReplicate, recorder: Recorder, to_the_end: bool) -> None:
    """Play round by round, until the end or until nothing more is recorded."""
    while run.done < run.rounds and (to_the_end or not recorder.is_full):
        recorder.round = run.done + 1
        run.advance(run.done + 1)


def _code(guide: Guide, roles: Roles, run: PartiesReplicate) -> dict[str, tuple[CodeLine, ...]]:
    """Return the pseudocode with keys written out."""
    tables = {role.name: run.of(role.name)[0].TRANSITIONS for role in roles.roles}
    return {
        role: tuple(
            CodeLine(each.text, tuple(each.keys(tables[role])), each.sends) for each in lines
        )
        for role, lines in guide.pseudocode.items()
    }


def _sight(seen: Found | None) -> Sight | None:
    return Sight(seen.who, seen.table) if seen and seen.table else None
