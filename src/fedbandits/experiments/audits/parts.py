"""Parts of an audit: attacks, checks of noise, and the sight of participants; and their times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import msgspec

from fedbandits.experiments.audits.verdict import claimed_of
from fedbandits.experiments.events import Part, PartKind
from fedbandits.privacy.auditing import Finding, Game, Tick, scaled
from fedbandits.privacy.auditing import audit as attack
from fedbandits.privacy.error_rates import Examined
from fedbandits.privacy.noise_check import ALARM, NoiseFinding, check_noise
from fedbandits.privacy.protocol_check import ProtocolFinding, check_protocol, process_check
from fedbandits.privacy.sensitivity_check import SensitivityFinding, check_sensitivity
from fedbandits.settings import RUNS
from fedbandits.settings.experiment import Experiment, Variant
from fedbandits.systems import System, find_system
from fedbandits.systems.party_games import attacked_games, not_played, paired_games

#: Least runs of a game in each world. An attack that is right in all of these runs shows ε ≥ 1.7.
LEAST_RUNS = 50
#: Least runs of a world for the choice of attacks, if few runs are left.
_LEAST_TRAINING = 25


#: The result of a part of an audit.
Result: TypeAlias = Finding | SensitivityFinding | NoiseFinding | ProtocolFinding | Examined


class AuditPart(NamedTuple):
    """Part of an audit: its description, and the function that plays it."""

    shown: Part
    play: Callable[[Tick], Result | None]
    left_out: tuple[str, ...] = ()  # games that the system's audit does not play, in words


def parts_of(
    experiment: Experiment, entry: Variant, runs: int, confidence: float, delta: float
) -> list[AuditPart]:
    """Return the parts of an audit of one system.

    Parameters
    ----------
    experiment, entry
        The experiment, and a system of it.
    runs
        Size of the audit.
    confidence
        Probability with which all bounds of the system hold together.
    delta
        The δ at which ε is bounded.
    """
    world, system, scale = experiment.environment, find_system(entry.system), runs / RUNS
    plan = entry.plan(world, experiment.rounds)
    games, checks = system.games(plan, world), system.noise_checks(plan, world)
    attacks = attacked_games(games)

    def parts() -> Iterator[AuditPart]:
        # Exact checks come first, because they take seconds.
        held = [*system.protocol_checks(plan, world), *([process_check()] if checks else [])]
        for check in held:
            shown = Part(entry.label, "protocol", check.looks_at)
            yield AuditPart(shown, partial(check_protocol, check))
        for paired in paired_games(games):
            shown = Part(entry.label, "sensitivity", paired.looks_at)
            yield AuditPart(shown, partial(check_sensitivity, paired, scale))
        for numbers in checks:
            shown = Part(entry.label, "noise", numbers.looks_at)
            yield AuditPart(shown, partial(check_noise, numbers, ALARM / len(checks), scale))
        claimed = claimed_of(system.claim(plan))[1]
        for game in attacks:
            share = 1.0 - (1.0 - confidence) / len(attacks)
            shown = Part(entry.label, game.sees, game.looks_at)
            yield AuditPart(
                shown, partial(_attack, game, runs_of(game, scale), delta, share, claimed)
            )
        if type(system).examine is not System.examine:
            shown = Part(entry.label, "sight", "what participants see and guess")
            yield AuditPart(shown, lambda _: system.examine(plan, world, scale))

    left_out = not_played(plan, games)
    return [part._replace(left_out=left_out) for part in parts()]


def runs_of(game: Game, scale: float) -> int:
    """Return the runs of a world of a game, for an audit of ``scale`` times the usual size."""
    return scaled(min(RUNS, game.runs), scale, LEAST_RUNS)


def _attack(
    game: Game, runs: int, delta: float, confidence: float, claimed: float, tick: Tick
) -> Finding:
    """Attack a game, until the bound exceeds the ``claimed`` ε.

    Without an exact covariance, few runs are looked at first. Both looks share the probability of
    failure.
    """
    exact = getattr(game, "covariance", None) is not None
    if game.sees == "contents" or exact or runs <= 2 * LEAST_RUNS:
        training = max(_LEAST_TRAINING, runs // 2) if exact else None
        return attack(game, runs, delta, confidence, training=training, tick=tick)
    shared = 1.0 - 0.5 * (1.0 - confidence)
    first = attack(game, LEAST_RUNS, delta, shared)
    if first.epsilon_low > claimed:
        return msgspec.structs.replace(first, confidence=confidence)
    second = attack(game, runs, delta, shared, tick=tick)
    return msgspec.structs.replace(second, confidence=confidence)


#: Usual times of parts of each kind, relative to each other.
_USUAL: dict[PartKind, float] = {
    "sensitivity": 1.5, "noise": 0.3, "protocol": 0.5, "contents": 3.0, "messages": 3.0,
    "sight": 3.0,
}  # fmt: skip


class Clock:
    """Clock of the parts of an audit. Parts of one kind take about the same time.

    Parameters
    ----------
    kinds
        Kinds of all parts, in order. A part is named by its place in this order, from 0.
    now
        A function that returns the seconds of some clock.
    jobs
        Number of parts that are played side by side.
    """

    def __init__(
        self, kinds: Sequence[PartKind], now: Callable[[], float] = time.monotonic, jobs: int = 1
    ) -> None:
        self._kinds, self._now, self._jobs = kinds, now, jobs
        self._began: dict[int, float] = {}
        self._share: dict[int, float] = {}
        self._took: dict[int, float] = {}

    @property
    def parts(self) -> int:
        """Number of parts."""
        return len(self._kinds)

    def begin(self, place: int) -> None:
        """Begin a part."""
        self._began[place] = self._now()

    def advance(self, place: int, share: float) -> None:
        """Note the finished share of a part."""
        self._share[place] = share

    def end(self, place: int) -> None:
        """End a part."""
        self._took[place] = self._now() - self._began.pop(place)
        self._share.pop(place, None)

    def left(self) -> float | None:
        """Return the remaining seconds, or None before an estimate is possible."""
        took, rest = dict(self._took), 0.0
        for place, share in self._share.items():
            if share > 0.0:
                elapsed = self._now() - self._began[place]
                took[place] = elapsed / share
                rest += took[place] - elapsed
        if not took:
            return None
        places = [place for place in range(self.parts) if place not in took]
        return (rest + sum(self._guess(place, took) for place in places)) / self._jobs

    def _guess(self, place: int, took: dict[int, float]) -> float:
        """Estimate the time of a part by the times of parts of the same kind.

        Without such parts, the usual time is scaled like the times of all other kinds.
        """
        kind, kinds = self._kinds[place], self._kinds
        alike = [seconds for other, seconds in took.items() if kinds[other] == kind]
        if alike:
            return sum(alike) / len(alike)
        paces = [seconds / _USUAL[kinds[other]] for other, seconds in took.items()]
        return _USUAL[kind] * sum(paces) / len(paces)
