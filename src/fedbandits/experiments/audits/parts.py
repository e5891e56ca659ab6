"""Parts of an audit: attacks, checks of noise, what participants can read; and their times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from fedbandits.experiments.events import Part, PartKind
from fedbandits.privacy.auditing import Finding, Game
from fedbandits.privacy.auditing import audit as attack
from fedbandits.privacy.examined import Examined
from fedbandits.privacy.noise_check import ALARM, NoiseFinding, check_noise
from fedbandits.privacy.sensitivity_check import SensitivityFinding, check_sensitivity
from fedbandits.privacy.sizes import Tick, scaled
from fedbandits.settings import RUNS
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
    """Return the parts of an audit of one system.

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
    """Return the runs a world of a game, in proportion to those of an audit of the usual size."""
    return scaled(min(RUNS, game.runs), scale, LEAST_RUNS)


def _attack(game: Game, runs: int, delta: float, confidence: float, tick: Tick) -> Finding:
    return attack(game, runs, delta, confidence, tick=tick)


class Clock:
    """Times the parts of an audit. Parts of one kind take about as long as each other.

    Parameters
    ----------
    kinds
        Kinds of all parts, in order.
    now
        Seconds of some clock.
    """

    def __init__(
        self, kinds: Sequence[PartKind], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._kinds, self._now = kinds, now
        self._took: list[float] = []
        self._began = 0.0

    @property
    def parts(self) -> int:
        """Number of parts."""
        return len(self._kinds)

    def begin(self) -> None:
        """Begin the next part."""
        self._began = self._now()

    def end(self) -> None:
        """End that part."""
        self._took.append(self._now() - self._began)

    def left(self, share: float | None = None) -> float | None:
        """Return the seconds that are left.

        Parameters
        ----------
        share
            How much of the part that goes on is done; None between two parts.

        Returns
        -------
        float or None
            None if nothing is known yet.
        """
        took, rest = list(self._took), 0.0
        if share is not None:
            if not share > 0.0:
                return None
            elapsed = self._now() - self._began
            took.append(elapsed / share)
            rest = took[-1] - elapsed
        if not took:
            return None
        return rest + sum(self._guess(kind, took) for kind in self._kinds[len(took) :])

    def _guess(self, kind: PartKind, took: list[float]) -> float:
        """Estimate how long a part takes: as long as others of its kind, or else as any."""
        alike = [
            seconds for other, seconds in zip(self._kinds, took, strict=False) if other == kind
        ]
        chosen = alike or took
        return sum(chosen) / len(chosen)
