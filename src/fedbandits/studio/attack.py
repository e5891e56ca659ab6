"""An attack to watch: a coin chooses one of two worlds, and the attacker guesses the world.

The two worlds differ in one record. The attacker sees the releases, and knows everything else. The
rule is chosen on training runs, so the counted guesses have no part in the choice. The bound on ε
is computed once, after the last guess: a bound with an optional stop would not hold.
"""

from __future__ import annotations

import math
import time
from collections import deque
from functools import cache
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from fedbandits._schema import convert
from fedbandits.environments import Clustered, Linear, Procurement
from fedbandits.environments.base import Environment
from fedbandits.errors import ConfigError
from fedbandits.experiments.audits.verdict import claimed_of
from fedbandits.experiments.signals import Stop
from fedbandits.privacy.attacks import Attack, Directions, Transcripts, choose, guess, with_learned
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.error_rates import direct_bound, gaussian_bound, rate_bound
from fedbandits.random import Purpose, replicate_key, uniforms
from fedbandits.settings.experiment import system
from fedbandits.studio.processes import Tell
from fedbandits.systems import find_system, systems
from fedbandits.systems.base import Plan

#: Small worlds in which systems are attacked, and their rounds.
_WORLDS: tuple[Environment, ...] = (
    Linear(agents=4, dim=4, arms=5),
    Clustered(users=8, clusters=2, dim=4, servers=2, items=5, placement="spread"),
    Procurement(agents=3, producers=6),
)
_ROUNDS = 200
_TRAINING, _MOST_TRIALS = 500, 100_000
#: The bound at the end holds with this probability.
_CONFIDENCE = 0.99
#: Seconds between two lines, and guesses that are made between two looks at the clock.
_PACE, _AT_ONCE = 0.1, 20
#: Number of the last guesses that the page shows one by one.
_RECENT = 60


class Attackable(NamedTuple):
    """A preset that can be attacked: its world, and whether the preset claims a finite ε."""

    world: Environment
    is_private: bool


@cache
def attackable() -> dict[str, Attackable]:
    """Return the presets that can be attacked: they claim an ε for the contents of releases."""
    return {
        name: Attackable(world, claim.is_private)
        for declared in systems()
        for world in _WORLDS
        if declared.plays_in(type(world))
        for name in declared.presets
        if _claims_epsilon(claim := declared.claim(system(name).plan(world, _ROUNDS)))
    }


def _claims_epsilon(claim: PrivacyClaim) -> bool:
    return bool(claim.events) and math.isfinite(claim.epsilon_contents)


class AttackJob(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An attack on a preset; without ``epsilon``, the preset keeps its default."""

    preset: str
    epsilon: float | None = None
    trials: Annotated[int, Meta(ge=1, le=_MOST_TRIALS)] = 1000
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0


class _Target(NamedTuple):
    """The target of an attack."""

    game: Game
    claim: PrivacyClaim
    delta: float

    def shown(self) -> dict[str, Any]:
        """Return the target as the page shows it."""
        return {"looks_at": self.game.looks_at, "expected": _most_right(self.claim)}


class _Rule(NamedTuple):
    """The rule by which the attacker guesses."""

    attack: Attack
    learned: Directions

    def guesses(self, runs: Transcripts) -> Any:
        """Decide for each run whether its world is number 1, (runs,)."""
        return guess(self.attack, with_learned(runs, self.learned), runs.patterns)


def attack(job: dict[str, Any], tell: Tell, stop: Stop) -> str:
    """Attack a preset, and report progress after every few guesses.

    Parameters
    ----------
    job
        An :class:`AttackJob`, by its keys.
    tell
        A function that reports to the server: the number of right guesses, then the verdict.
    stop
        A switch that ends the attack early.

    Returns
    -------
    str
        The end of the attack: ``complete`` or ``interrupted``.
    """
    asked: AttackJob = convert(job, AttackJob, "")
    trials, target = asked.trials, _target(asked.preset, asked.epsilon)
    rule = _trained(target)
    coins = uniforms(trials, replicate_key(asked.seed, 0), 0, 0, Purpose.WORLD) < 0.5
    tally, reported = _Tally(trials), -math.inf
    for begin in range(0, trials, _AT_ONCE):
        if stop:
            return "interrupted"
        for place in range(begin, min(begin + _AT_ONCE, trials)):
            world = int(coins[place])
            played = target.game.play(world, _TRAINING * 4 + place, 1)
            tally.count(int(rule.guesses(played)[0]), world)
        now = time.monotonic()
        if now - reported >= _PACE or tally.done == trials:
            reported = now
            tell(event="guessed", **tally.shown(), **target.shown())
    tell(event="verdict", verdict=_verdict(target, rule, tally))
    return "complete"


class _Tally:
    """Tally of guesses: the number of right guesses in each world, and the last guesses."""

    def __init__(self, total: int) -> None:
        self.total, self.errors, self.runs = total, [0, 0], [0, 0]
        self._recent = deque[dict[str, int]](maxlen=_RECENT)

    @property
    def done(self) -> int:
        """Number of guesses."""
        return sum(self.runs)

    def count(self, guessed: int, world: int) -> None:
        """Count one guess of a world."""
        self.runs[world] += 1
        self.errors[world] += guessed != world
        self._recent.append({"guess": guessed, "truth": world})

    def shown(self) -> dict[str, Any]:
        """Return the tally as the page shows it."""
        return {
            "done": self.done, "total": self.total, "right": self.done - sum(self.errors),
            "worlds": [
                {"right": of - wrong, "of": of}
                for of, wrong in zip(self.runs, self.errors, strict=True)
            ],
            "recent": list(self._recent),
        }  # fmt: skip


def _most_right(claim: PrivacyClaim) -> float | None:
    """Return the largest share of right guesses that a claim of μ allows."""
    if not math.isfinite(claim.mu):
        return None
    return 0.5 * (1.0 + math.erf(claim.mu / 2.0 / math.sqrt(2.0)))


def _target(preset: str, epsilon: float | None) -> _Target:
    if preset not in attackable():
        raise ConfigError(f"preset: given {preset!r}, allowed: {', '.join(attackable())}")
    world = attackable()[preset].world
    entry = system(preset) if epsilon is None else system(preset, epsilon=epsilon)
    declared = find_system(entry.system)
    plan: Plan = entry.plan(world, _ROUNDS)
    game = next((g for g in declared.games(plan, world) if g.sees == "contents"), None)
    if game is None:
        raise ConfigError(f"preset: given {preset!r}, which releases nothing that can be guessed")
    claim = declared.claim(plan)
    return _Target(game, claim, getattr(entry.config, "delta", claim.delta))


def _trained(target: _Target) -> _Rule:
    """Choose rules on training runs of both worlds; return the best rule on other runs."""
    game = target.game
    sides = [game.play(world, _TRAINING * world, _TRAINING) for world in (0, 1)]
    attacks, learned, _ = choose(sides[0], sides[1], game.gaussian, target.delta)
    others = [game.play(world, _TRAINING * (2 + world), _TRAINING) for world in (0, 1)]

    def errors(rule: _Rule) -> int:
        return sum(
            int((rule.guesses(side) != bool(world)).sum()) for world, side in enumerate(others)
        )

    return min((_Rule(attack, learned) for attack in attacks), key=errors)


def _verdict(target: _Target, rule: _Rule, tally: _Tally) -> dict[str, Any]:
    """Compute the bound on ε that the counted guesses show, and compare it with the claim."""
    failure = (1.0 - _CONFIDENCE) / 2.0
    positive, negative = (
        rate_bound(wrong, max(1, of), failure)
        for wrong, of in zip(tally.errors, tally.runs, strict=True)
    )
    bound = gaussian_bound if rule.attack.gaussian else direct_bound
    shown = bound((positive, negative), target.delta)
    claimed = claimed_of(target.claim)[1]
    text = "The claim holds against this attack." if shown <= claimed else "The claim is broken."
    return {
        "epsilon_claimed": claimed if math.isfinite(claimed) else None,
        "epsilon_at_least": shown if math.isfinite(shown) else None,
        "text": f"{text} With {_CONFIDENCE:.0%} confidence ε is at least {shown:.3g}.",
    }
