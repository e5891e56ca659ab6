"""Linear agents whose records an audit makes up, in two neighbouring worlds."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbandits._typing import Floats, Floats32
from fedbandits.environments import Linear
from fedbandits.federation.messages import Message, unpack
from fedbandits.learners.ridge import Record
from fedbandits.privacy.likelihood import likelihood_weights
from fedbandits.random import Key
from fedbandits.systems.agents.config import AgentsConfig
from fedbandits.systems.agents.sync import next_sync
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.games import audit_key, contexts, packed_record

AGENTS, DIMENSION, ARMS = 2, 2, 2
#: The world that whole systems are audited in: no smaller one has others to react.
SMALL_WORLD = Linear(agents=AGENTS, dim=DIMENSION, arms=ARMS)


class AgentsRun:
    """Agents whose contexts and rewards are made up: one record of the first one is replaced.

    Parameters
    ----------
    run
        The parties and their network.
    pair
        The record in either world.
    round_
        The round in which that record comes.
    fixed
        Every decision set has one context only: no decision changes any record.
    informed
        Score what is sent as someone who knows all other records would.
    key
        It names the random draws of contexts.
    """

    def __init__(
        self,
        run: PartiesReplicate,
        pair: tuple[Record, Record],
        round_: int,
        fixed: bool,
        informed: bool,
        key: Key,
    ) -> None:
        self.run, self.network = run, run.network
        self._config: AgentsConfig = run.plan.config
        self._pair, self._round = pair, round_
        # On a fixed log contexts are the same in every run: the log is one.
        self._fixed, self._key = fixed, audit_key(0) if fixed else key
        self._informed, self._score = informed, 0.0
        if informed:
            plan: Any = run.plan
            moved = packed_record(pair[1]) - packed_record(pair[0])
            steps = np.arange(1, plan.release.releases + 1)
            # Of the batch that the record is in: that which the first sync after it ends.
            batch, sync = 1, next_sync(plan.constants, 0)
            while sync < round_:
                batch, sync = batch + 1, next_sync(plan.constants, sync)
            scale = plan.constants.entry_scale
            self._weights = likelihood_weights(plan.release, moved, scale, steps, batch)

    def play_round(self, world: int, round_: int) -> None:
        """All agents decide and observe; then the round is over."""
        for index, agent in enumerate(self.run.players):
            features, replaced = self._decision_set(world, index, round_)
            arm = agent.decide(features)
            reward = self._reward(features[:, arm]) if replaced is None else replaced
            self.network.send(agent.observe(arm, reward))
        self.network.settle()
        for index, agent in enumerate(self.run.players):
            if agent.next_end == round_:
                messages = agent.end_round(round_)
                if self._informed and index == 0:
                    self._look(agent, world, messages)
                self.network.send(messages)
        self.network.settle()

    def _decision_set(self, world: int, agent: int, round_: int) -> tuple[Floats32, float | None]:
        if agent == 0 and round_ == self._round:
            record = self._pair[world]
            return np.tile(record.context[:, None], ARMS).astype(np.float32), record.reward
        bound = self._config.context_bound * (1.0 if agent == 0 else 0.5)
        drawn = contexts(self._key, agent, round_, DIMENSION, ARMS, bound)
        if self._fixed:
            drawn[:] = drawn[:, :1]
        return drawn.astype(np.float32), None

    def _reward(self, context: Floats32) -> float:
        """Linear, without noise: what matters is that other contexts earn other rewards."""
        return float(context[0]) * self._config.reward_bound / self._config.context_bound

    def _look(self, agent: Any, world: int, messages: list[Message]) -> None:
        """Add to the score what a release says of the record, all others being known."""
        releases = {m.release: m.statistic for m in messages if hasattr(m, "statistic")}  # type: ignore[attr-defined]
        for number, statistic in releases.items():
            others = agent.statistic.reshape(-1)
            if agent.round >= self._round:
                others = others - packed_record(self._pair[world])
            seen = unpack(statistic, others.size) - others
            self._score += float(self._weights[number - 1] @ seen)

    def scores(self) -> Floats:
        """The likelihood ratio, if others' records are known."""
        return np.array([self._score]) if self._informed else np.zeros(0)
