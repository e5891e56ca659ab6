"""Agents of a private learner whose interactions an audit makes up, in two neighbouring worlds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Floats32, Ints
from fedbandits.federation.messages import Message, unpack
from fedbandits.privacy.likelihood import Attacker, attacker_of
from fedbandits.random import Purpose, uniforms
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.games import audit_key, contexts
from fedbandits.systems.party_games import AuditedRun, Released
from fedbandits.systems.python_learners.contributions import RecordSum
from fedbandits.systems.python_learners.plan import LearnerPlan

#: Contexts that are tried, to find two interactions whose records are far apart.
_TRIED = 32


class Interaction(NamedTuple):
    """A made-up interaction with the first arm, and what it adds to a sum."""

    context: Floats32  # (d,)
    reward: float
    record: Floats


class LearnersRun(AuditedRun):
    """Agents of a private learner; one interaction of one of them is replaced.

    Parameters
    ----------
    run
        The parties and their network.
    pair
        The interaction in either world.
    target
        The agent whose interaction it is, and the round.
    fixed
        All arms of a decision set are alike, so that no decision changes a context or a reward.
    informed
        Look at what is sent as someone who knows all other records would.
    number
        Of the run: names the draws of contexts and rewards.
    """

    def __init__(
        self,
        run: PartiesReplicate,
        pair: tuple[Interaction, Interaction],
        target: tuple[int, int],
        fixed: bool,
        informed: bool,
        number: int,
    ) -> None:
        super().__init__(run, target[0], self._knows_others if informed else None)
        plan: Any = run.plan
        self._plan: LearnerPlan = plan
        self._pair, (self._agent, self._round) = pair, target
        # On a fixed log contexts are the same in every run: the log is one.
        self._fixed, self._key = fixed, audit_key(0) if fixed else audit_key(number)
        self._maker, self._own = RecordSum(self._plan, self._agent), np.zeros(self._plan.size)

    def _knows_others(self, steps: Ints) -> Attacker:
        """Return who tells the two records with the first arm apart.

        With another arm the score is a linear statistic all the same: it tells no more of the
        records than is claimed.
        """
        pair, pattern = (self._pair[0].record, self._pair[1].record), np.ones(self._plan.size)
        return attacker_of(self._plan.release, pair, steps, pattern)

    def play_round(self, world: int, round_: int) -> None:
        """Let all agents decide and observe; then the round is over."""
        for index, agent in enumerate(self.run.players):
            if (index, round_) == (self._agent, self._round):
                self._play_target(self._pair[world])
                continue
            decision = agent.decide(self._decision_set(index, round_))
            reward = self._reward(index, round_, decision.action)
            self.network.send(agent.observe(decision, reward))

        def hear(player: Any, messages: list[Message]) -> None:
            if self.informed and player is self.target:
                self._hear(messages, round_)

        self.run.end_round(round_, hear)

    def _play_target(self, replaced: Interaction) -> None:
        """Play the interaction that differs; the arm may be another one than was thought."""
        context, reward, _ = replaced
        decision = self.target.decide(np.tile(context[:, None], self._columns))
        self._own = self._maker.record("audit", context.astype(np.float64), decision.action, reward)
        self.network.send(self.target.observe(decision, reward))

    @property
    def _columns(self) -> int:
        return int(self._plan.facts.features_shape[1])

    def _decision_set(self, agent: int, round_: int) -> Floats32:
        facts, count = self._plan.facts, self._columns
        drawn = contexts(self._key, agent, round_, facts.dimension, count, facts.context_norm)
        if self._fixed:
            drawn[:] = drawn[:, :1]
        return drawn.astype(np.float32)

    def _reward(self, agent: int, round_: int, arm: int) -> float:
        """Return the arm's reward: what matters is that other choices earn other rewards."""
        low, high = self._plan.facts.reward_range
        drawn = uniforms(self._plan.facts.arms, self._key, agent, round_, Purpose.REWARD)
        return float(low + (high - low) * drawn[0 if self._fixed else arm])

    def _hear(self, messages: list[Message], round_: int) -> None:
        """Note what is released, less what all other records add to it."""
        others = self.target.state.statistic - self._own
        for message in messages:
            sent: Any = message
            self.note(unpack(sent.statistic, others.size) - others, round_ >= self._round)

    def released(self, message: Any) -> Released:
        plan = self._plan
        return Released(message.release, unpack(message.statistic, plan.size) / plan.release.scale)


def furthest_pair(plan: LearnerPlan, agent: int) -> tuple[Interaction, Interaction]:
    """Return those two of some interactions whose records are furthest apart."""
    tried = list(_some_interactions(plan, agent))
    records = np.array([each.record for each in tried])
    apart = np.linalg.norm(records[:, None] - records[None, :], axis=2)
    one, other = np.unravel_index(int(apart.argmax()), apart.shape)
    return tried[int(one)], tried[int(other)]


def tells_of_arms(plan: LearnerPlan) -> bool:
    """Tell whether some record depends on the arm: then no log is fixed, for agents choose arms."""
    maker = RecordSum(plan, 0)

    def record(one: Interaction, arm: int) -> Floats:
        return maker.record("audit", one.context.astype(np.float64), arm, one.reward)

    return any(
        not np.array_equal(record(one, arm), one.record)
        for one in _some_interactions(plan, 0)
        for arm in range(1, int(plan.facts.arms))
    )


def _some_interactions(plan: LearnerPlan, agent: int) -> Iterator[Interaction]:
    maker, facts = RecordSum(plan, agent), plan.facts
    drawn = contexts(audit_key(0), 0, 0, facts.dimension, _TRIED, facts.context_norm)
    for context in drawn.astype(np.float32).T:
        for reward in facts.reward_range:
            record = maker.record("audit", context.astype(np.float64), 0, reward)
            yield Interaction(context, reward, record)
