"""The parts of an audit: attacks, checks of noise, and what participants can read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, TypeAlias

from fedbandits.experiments.events import Part
from fedbandits.privacy.auditing import Finding, Game
from fedbandits.privacy.auditing import audit as attack
from fedbandits.privacy.examined import Examined
from fedbandits.privacy.noise_check import ALARM, NoiseFinding, check_noise
from fedbandits.privacy.sensitivity_check import SensitivityFinding, check_sensitivity
from fedbandits.privacy.sizes import Tick, scaled
from fedbandits.settings.defaults import RUNS
from fedbandits.settings.experiment import Experiment, Variant
from fedbandits.systems import System, find_system
from fedbandits.systems.party_games import paired_games

#: Runs a world that a game has at least. Whatever tells the worlds apart in every one of so many
#: runs shows ε ≥ 1.7.
LEAST_RUNS = 50


#: What a part of an audit may come to.
Found: TypeAlias = Finding | SensitivityFinding | NoiseFinding | Examined


class AuditPart(NamedTuple):
    """One part of an audit: what is shown of it, and how it is played."""

    shown: Part
    play: Callable[[Tick], Found | None]


def parts_of(
    experiment: Experiment, entry: Variant, runs: int, confidence: float, delta: float
) -> list[AuditPart]:
    """What an audit of one system consists of.

    Parameters
    ----------
    experiment, entry
        The experiment, and which of its systems.
    runs
        How large the audit is.
    confidence
        Probability with which all bounds of the system hold together.
    delta
        The δ at which ε is bounded.
    """
    world, system, scale = experiment.environment, find_system(entry.system), runs / RUNS
    plan = entry.plan(world, experiment.rounds)
    games, checks = system.games(plan, world), system.noise_checks(plan, world)

    def parts() -> Iterator[AuditPart]:
        for game in games:
            share = 1.0 - (1.0 - confidence) / len(games)
            size = runs_of(game, scale)
            shown = Part(entry.label, game.sees, game.looks_at)
            yield AuditPart(shown, partial(_attack, game, size, delta, share))
        for paired in paired_games(games):
            shown = Part(entry.label, "sensitivity", paired.looks_at)
            yield AuditPart(shown, partial(check_sensitivity, paired, scale))
        for numbers in checks:
            shown = Part(entry.label, "noise", numbers.looks_at)
            yield AuditPart(shown, partial(check_noise, numbers, ALARM / len(checks), scale))
        if type(system).examine is not System.examine:
            shown = Part(entry.label, "sight", "what participants see and guess")
            yield AuditPart(shown, lambda _: system.examine(plan, world, scale))

    return list(parts())


def runs_of(game: Game, scale: float) -> int:
    """Runs a world of a game, in proportion to what it has in an audit of the usual size."""
    return scaled(min(RUNS, game.runs), scale, LEAST_RUNS)


def _attack(game: Game, runs: int, delta: float, confidence: float, tick: Tick) -> Finding:
    return attack(game, runs, delta, confidence, tick=tick)
