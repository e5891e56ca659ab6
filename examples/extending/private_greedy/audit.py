"""What an audit plays: the release code on one log, whole parties, and a check of all noise."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.draws import Draws
from fedbandits.environments import Linear
from fedbandits.errors import BoundExceededError
from fedbandits.federation.messages import unpack
from fedbandits.privacy import running_sum
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.likelihood import (
    attacker_of,
    covariance_of,
    telling_releases,
)
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.random import Purpose, normals
from fedbandits.systems import System
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.games import (
    ContentsGame,
    Neighbours,
    ReplacedRecord,
    audit_key,
    look_at_sums,
)
from fedbandits.systems.noisy_releases import stated_sums, sums_listener
from fedbandits.systems.party_games import (
    AuditedRun,
    MessagesGame,
    Released,
    SmallWorld,
    Targets,
    moves,
)

from .messages import Upload
from .plan import GreedyPlan
from .roles.agent import AgentSupply

#: Agents that play, and their arms at most.
_AGENTS, _ARMS = 4, 8
#: Rounds that they play at least, in all and from release to release.
_ROUNDS, _PERIOD = 24, 2
#: Releases of those that are attacked, at most: runs are dear.
_ATTACKED = 6
#: A reward that is beyond all bounds, in these.
_BEYOND = 6.0
#: No agent makes so many decisions.
_OTHER = 2**20


def games(system: System[Any], plan: GreedyPlan) -> Sequence[Game]:
    """Attacks on the claim; none where nothing is claimed."""
    if not plan.mechanism.slots:
        return ()
    times = (False, True) if plan.mechanism.releases > 1 else (False,)
    return [
        *(_contents_game(plan, late) for late in times),
        _messages_game(system, plan, "fixed log", _ATTACKED),
        _messages_game(system, plan, "interactive", _ATTACKED),
        # Not attacked: how far an interaction moves all releases is measured exactly.
        *moves(
            within=_messages_game(system, plan, "fixed log"),
            beyond=_messages_game(system, plan, "fixed log", beyond=True),
        ),
    ]


def noise_checks(system: System[Any], plan: GreedyPlan) -> Sequence[NoisyNumbers]:
    """All numbers that a few agents release: with the noise of a deployment, and with simulated."""
    if not plan.mechanism.slots:
        return ()
    small = _small(system, plan, plan.config.explore)
    mechanism, size = small.plan.mechanism, small.plan.size
    steps, scales = np.arange(1, mechanism.releases + 1), np.full(_AGENTS, mechanism.scale)
    numbers = stated_sums(f"{_AGENTS} agents", "agent", mechanism, steps, scales, np.ones(size))
    listener = sums_listener(lambda agent, upload: agent.state.own)
    return [numbers.deployed(small, listener, secure) for secure in (True, False)]


def _contents_game(plan: GreedyPlan, late: bool) -> ContentsGame:
    """An agent's releases, where one interaction is with another arm; all else is known.

    It is in the first batch, which is in all releases. ``late``: in one that is drawn.
    """
    steps, pair = telling_releases(plan.mechanism), _farthest_pair(plan)
    record = ReplacedRecord(pair, attacker_of(plan.mechanism, pair, steps, plan.pattern), late)
    which = ", an interaction of a drawn batch" if late else ""
    looks_at = f"contents of {len(steps)} releases of {plan.size} numbers{which}"
    size = len(steps) * plan.size
    look = look_at_sums(record, steps, partial(_released, plan))
    return ContentsGame(looks_at, size, look, len(steps) * size, late)


def _released(plan: GreedyPlan, sums: Floats, first: int) -> Floats:
    """Sums of runs from ``first`` on, (runs, releases, size), as an agent releases them."""
    count, releases, size = sums.shape
    draws = np.stack([
        normals(releases * size, audit_key(0), 0, run, Purpose.PRIVACY_NOISE)
        for run in range(first, first + count)
    ]).reshape(sums.shape)  # fmt: skip
    # All runs at once: the noise of every number is its own.
    state = running_sum.init(plan.mechanism, count * size)
    pattern, values = np.tile(plan.pattern, count), np.empty(sums.shape)
    for place in range(releases):
        state, noisy = running_sum.release(
            plan.mechanism, state, sums[:, place].reshape(-1), pattern,
            lambda step: draws[:, step - 1].reshape(-1),
        )  # fmt: skip
        values[:, place] = noisy.reshape(count, size)
    return values


def _farthest_pair(plan: GreedyPlan) -> tuple[Floats, Floats]:
    """The two records that lie farthest apart, in deviations of the noise.

    They are of two arms, or of one arm with the smallest and the largest reward.
    """
    low, high = plan.facts.reward_range
    most = max(abs(low), abs(high))
    pairs = (
        (plan.record(0, most), plan.record(1, most)),
        (plan.record(0, low), plan.record(0, high)),
    )
    return max(pairs, key=lambda pair: float(np.linalg.norm((pair[0] - pair[1]) / plan.pattern)))


def _small(
    system: System[Any], plan: GreedyPlan, explore: float, releases: int = 2**31
) -> SmallWorld:
    """Few agents with the same budget, and as many releases as planned, or as given."""
    world = Linear(agents=_AGENTS, dim=2, arms=min(plan.facts.arms, _ARMS))
    releases = min(plan.mechanism.releases, releases)
    config = msgspec.structs.replace(plan.config, releases=releases, explore=explore)
    rounds = max(_ROUNDS, _PERIOD * releases)
    return SmallWorld(system, system.plan(config, world.facts, rounds), world)


def _messages_game(
    system: System[Any], plan: GreedyPlan, neighbours: Neighbours, releases: int = 2**31,
    beyond: bool = False,
) -> MessagesGame:  # fmt: skip
    """Whole parties, where one interaction of a drawn agent in a drawn round is another.

    ``beyond``: its reward is far beyond its bounds, so it must be refused, or be cut down.
    """
    fixed = neighbours == "fixed log"
    # Whoever only explores plays the same arms in both worlds: the rest of the log is fixed.
    small = _small(system, plan, 1.0 if fixed else plan.config.explore, releases)
    rounds, reward = small.plan.rounds, _BEYOND if beyond else 1.0

    def make(run: PartiesReplicate, number: int, targets: Targets) -> _PlayedRun:
        rounds_of = {agent: 1 + round_ for agent, round_ in targets}
        return _PlayedRun(run, rounds_of, fixed, reward)

    looks_at = f"messages of one drawn of {_AGENTS} agents in {rounds} rounds"
    return MessagesGame(
        neighbours, looks_at, small, (_AGENTS, rounds), make,
        covariance=covariance_of(small.plan.mechanism),
    )  # fmt: skip


class _PlayedRun(AuditedRun):
    """Agents in either world, some with one replaced interaction each, in the round of that agent.

    In world 1 the interaction has another drawn arm, if nobody reacts: no two interactions are
    farther apart. If agents react, the interaction earns ``reward`` instead of nothing.
    """

    def __init__(
        self, run: PartiesReplicate, rounds_of: dict[int, int], fixed: bool, reward: float
    ) -> None:
        super().__init__(run, rounds_of)
        self._rounds_of, self._fixed, self._most = rounds_of, fixed, reward

    def play_round(self, world: int, round_: int) -> None:
        """All agents play; then the round is over."""
        for place, player in enumerate(self.run.players):
            replaced = self._rounds_of.get(place) == round_
            supply = player.supply
            if replaced and self._fixed and world == 1:
                player.supply = supply._replace(draws=_others_of(supply))
            decision = player.decide(None)
            player.supply = supply
            # Nothing else is earned: whoever looked at own records would go by this one reward.
            earned = self._most * float(replaced and (self._fixed or world == 1))
            with contextlib.suppress(BoundExceededError):  # refused, as if it never was
                self.network.send(player.observe(decision, earned))
        self.run.end_round(round_)

    def released(self, message: Any) -> Released | None:
        """An upload of an audited agent, in deviations of one draw's noise."""
        if not isinstance(message, Upload):
            return None
        plan: Any = self.run.plan
        deviations = plan.mechanism.scale * plan.pattern
        return Released(message.release, unpack(message.statistic, len(deviations)) / deviations)


def _others_of(supply: AgentSupply) -> Callable[[int], Draws]:
    """Other draws of decisions: those of decisions that do not come in so few rounds."""
    return lambda number: supply.draws(number + _OTHER)
