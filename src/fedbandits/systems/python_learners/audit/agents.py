"""Whole agents of a private learner, of which one has a replaced interaction."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Floats32, Ints
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.likelihood import Attacker, attacker_of, covariance_of
from fedbandits.random import Purpose, uniforms
from fedbandits.systems.agents.audit_run import AgentsRun, Target
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.games import Neighbours, audit_key, contexts, stretched_records
from fedbandits.systems.party_games import MessagesGame, SmallWorld, Targets, moves
from fedbandits.systems.python_learners.contributions import RecordSum
from fedbandits.systems.python_learners.plan import LearnerPlan

#: Releases, and rounds from release to release, where whole agents are attacked.
RELEASES, PERIOD = 3, 4
#: Contexts that are tried, to find two interactions whose records are far apart.
_TRIED = 32
#: Lengths of others' contexts, relative to the bound: so a longer one shows where they are scaled.
_OTHERS = 0.5


def messages_games(small: SmallWorld) -> list[MessagesGame]:
    """Attack whole agents, on a fixed log and reacting; then with secure noise and any record."""
    return [
        _messages_game(small, "fixed log", "messages"),
        _messages_game(small, "interactive", "messages"),
        _messages_game(small, "fixed log", "messages with secure noise", secure=True),
    ]


def moves_games(small: SmallWorld) -> list[Game]:
    """Measure how far a record moves all releases, within its bounds and beyond."""
    told, words = _tells_of_arms(small.plan), f"{small.plan.release.releases} releases"
    neighbours: Neighbours = "interactive" if told else "fixed log"
    stretched = f"{words}, a context beyond its bound,"
    return moves(
        _messages_game(small, neighbours, words),
        _messages_game(small, neighbours, stretched, pair_of=_stretched_pair),
    )


def _messages_game(
    small: SmallWorld, neighbours: Neighbours, looks_at: str, secure: bool = False,
    pair_of: Callable[[LearnerPlan, int], tuple[_Interaction, _Interaction]] | None = None,
) -> MessagesGame:  # fmt: skip
    plan: LearnerPlan = small.plan
    learner: Any = plan.learner
    fixed, agents = neighbours == "fixed log", plan.facts.parties
    # Whoever acts on releases alone has records that follow from them and from public facts.
    informed = fixed or not learner.sees_own_records()
    pairs = [(pair_of or _furthest_pair)(plan, agent) for agent in range(agents)]
    early = plan.rounds - 1 if pair_of or secure else PERIOD

    def make(run: PartiesReplicate, number: int, targets: Targets) -> LearnersRun:
        replaced = [Target(agent, 1 + after) for agent, after in targets]
        return LearnersRun(run, pairs, replaced, fixed, informed, audit_key(number))

    known = not (fixed and _tells_of_arms(plan))
    looks_at = looks_at if plan.secure is None else f"sums by {looks_at}"
    return MessagesGame(
        neighbours, f"{looks_at} of one drawn of {agents} agents in {plan.rounds} rounds", small,
        (agents, min(early, plan.rounds - 1)), make, informed, secure,
        covariance_of(plan.priced) if known else None,
    )  # fmt: skip


class _Interaction(NamedTuple):
    """A made-up interaction with the first arm, and what it adds to a sum."""

    context: Floats32  # (d,)
    reward: float
    record: Floats


class LearnersRun(AgentsRun):
    """Agents of a private learner; one interaction of some of them is replaced.

    ``pairs`` are interactions, a pair an agent. The other parameters are those of
    :class:`.AgentsRun`. On a fixed log all arms of a decision set are alike: no decision changes a
    context or a reward.
    """

    def __init__(
        self, run: PartiesReplicate, pairs: Sequence[tuple[_Interaction, _Interaction]],
        targets: Sequence[Target], *others: Any,
    ) -> None:  # fmt: skip
        super().__init__(run, pairs[targets[0].agent], targets, *others)
        plan: Any = self.run.plan
        self._pairs = pairs
        self._plan: LearnerPlan = plan
        self._maker, self._own = RecordSum(plan, self._target.agent), np.zeros(plan.size)

    def _knows_others(self, steps: Ints) -> Attacker:
        """Return who tells the two records with the first arm apart.

        With another arm the score is a linear statistic all the same: it tells no more of the
        records than is claimed.
        """
        pair, pattern = (self._pair[0].record, self._pair[1].record), np.ones(self._plan.size)
        return attacker_of(self._plan.priced, pair, steps, pattern)

    def _pair_of(self, agent: int) -> tuple[_Interaction, _Interaction]:
        return self._pairs[agent]

    def _contexts(self, agent: int, round_: int) -> Floats:
        facts = self._plan.facts
        columns = int(facts.features_shape[1])
        bound = _OTHERS * facts.context_norm
        return contexts(self._key, agent, round_, facts.dimension, columns, bound)

    def _paid(self, reward: float) -> float:
        return reward

    def _reward(self, agent: int, round_: int, context: Floats32, arm: int) -> float:
        """Return the arm's reward: what matters is that other choices earn other rewards."""
        low, high = self._plan.facts.reward_range
        drawn = uniforms(self._plan.facts.arms, self._key, agent, round_, Purpose.REWARD)
        return float(low + (high - low) * drawn[0 if self._fixed else arm])

    def _observed(
        self, agent: int, round_: int, context: Floats32, arm: int, reward: float
    ) -> None:
        """Note the replaced record of the first target: the arm may not be the expected one."""
        if agent == self._target.agent and self._replaces(agent, round_):
            self._own = self._maker.record("audit", context.astype(np.float64), arm, reward)

    def _others(self, world: int, round_: int) -> Floats:
        others: Floats = self.target.state.statistic - self._own
        return others

    def _deviations(self, agent: int) -> Floats:
        plan = self._plan
        honest = 1 if plan.secure is None else plan.secure.honest
        return np.full(plan.size, plan.priced.scale / math.sqrt(honest))


def _furthest_pair(plan: LearnerPlan, agent: int) -> tuple[_Interaction, _Interaction]:
    """Return those two of some interactions whose records are furthest apart.

    Of those that are as far apart as any, their contexts are furthest apart: a learner may act on
    contexts that its records say nothing of.
    """
    tried = list(_some_interactions(plan, agent))
    apart = _distances(np.array([each.record for each in tried]))
    contexts_apart = _distances(np.array([each.context for each in tried]))
    as_far = apart >= apart.max() * (1.0 - 1e-9)
    one, other = np.unravel_index(int(np.where(as_far, contexts_apart, -1.0).argmax()), apart.shape)
    return tried[int(one)], tried[int(other)]


def _distances(points: Floats) -> Floats:
    return np.asarray(np.linalg.norm(points[:, None] - points[None, :], axis=2))


def _stretched_pair(plan: LearnerPlan, agent: int) -> tuple[_Interaction, _Interaction]:
    """Return two interactions, one with a short context, one with a context beyond its bound.

    What they add is for the parties to say: no learner may have seen them before.
    """
    del agent
    facts, unknown = plan.facts, np.zeros(plan.size)
    pair = stretched_records(facts.dimension, facts.context_norm, 1.0)
    short, far = (found.context.astype(np.float32) for found in pair)
    low, high = facts.reward_range
    return _Interaction(short, low, unknown), _Interaction(far, high, unknown)


def _tells_of_arms(plan: LearnerPlan) -> bool:
    """Tell whether some record depends on the arm: then no log is fixed, for agents choose arms."""
    maker = RecordSum(plan, 0)

    def record(one: _Interaction, arm: int) -> Floats:
        return maker.record("audit", one.context.astype(np.float64), arm, one.reward)

    return any(
        not np.array_equal(record(one, arm), one.record)
        for one in _some_interactions(plan, 0)
        for arm in range(1, int(plan.facts.arms))
    )


def _some_interactions(plan: LearnerPlan, agent: int) -> Iterator[_Interaction]:
    maker, facts = RecordSum(plan, agent), plan.facts
    drawn = contexts(audit_key(0), 0, 0, facts.dimension, _TRIED, facts.context_norm)
    for context in drawn.astype(np.float32).T:
        for reward in facts.reward_range:
            record = maker.record("audit", context.astype(np.float64), 0, reward)
            yield _Interaction(context, reward, record)
