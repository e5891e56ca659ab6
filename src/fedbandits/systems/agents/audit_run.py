"""Linear agents whose records an audit makes up, in two neighbouring worlds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Floats32
from fedbandits.environments import Linear
from fedbandits.federation.messages import Message, unpack
from fedbandits.learners.kernels.ridge import Record
from fedbandits.privacy.likelihood import attacker, stated_pattern
from fedbandits.random import Key
from fedbandits.systems.agents.audit_contents import stated_scales
from fedbandits.systems.agents.config import AgentsConfig
from fedbandits.systems.agents.kernels.sync import next_sync
from fedbandits.systems.agents.noise import gram_noise
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.games import Look, audit_key, contexts, packed_record
from fedbandits.systems.party_games import Released

AGENTS, DIMENSION, ARMS = 2, 2, 2
#: The world that whole systems are audited in: no smaller one has others to react.
SMALL_WORLD = Linear(agents=AGENTS, dim=DIMENSION, arms=ARMS)


class Target(NamedTuple):
    """Whose record is replaced: that of which agent, in which round."""

    agent: int
    round_: int


class AgentsRun:
    """Agents whose contexts and rewards are made up: one record of one of them is replaced.

    Parameters
    ----------
    run
        The parties and their network.
    pair
        The record in either world.
    target
        Where that record comes.
    fixed
        Every decision set has one context only: no decision changes any record.
    informed
        Look at what is sent as someone who knows all other records would.
    key
        It names the random draws of contexts.
    """

    def __init__(
        self,
        run: PartiesReplicate,
        pair: tuple[Record, Record],
        target: Target,
        fixed: bool,
        informed: bool,
        key: Key,
    ) -> None:
        self.run, self.network = run, run.network
        self.audited: str = run.players[target.agent].name
        self._config: AgentsConfig = run.plan.config
        self._pair, self._target = pair, target
        # On a fixed log contexts are the same in every run: the log is one.
        self._fixed, self._key = fixed, audit_key(0) if fixed else key
        self._informed = informed
        #: Releases of the target, less what its other records add, in order.
        self._released: list[Floats] = []

    def play_round(self, world: int, round_: int) -> None:
        """All agents decide and observe; then the round is over."""
        for index, agent in enumerate(self.run.players):
            features, replaced = self._decision_set(world, index, round_)
            decision = agent.decide(self._shown(features, index, round_))
            context = features[:, decision.action]
            reward = self._reward(context) if replaced is None else replaced
            self._note(index, round_, context, reward)
            self.network.send(agent.observe(decision, reward))
        audited = self.run.players[self._target.agent]

        def hear(player: Any, messages: list[Message]) -> None:
            if self._informed and player is audited:
                self._hear(player, world, round_, messages)

        self.run.end_round(round_, hear)

    def _decision_set(self, world: int, agent: int, round_: int) -> tuple[Floats32, float | None]:
        if self._replaces(agent, round_):
            record = self._pair[world]
            return np.tile(record.context[:, None], ARMS).astype(np.float32), record.reward
        bound = self._config.context_bound * (1.0 if agent == self._target.agent else 0.5)
        drawn = contexts(self._key, agent, round_, DIMENSION, ARMS, bound)
        if self._fixed:
            drawn[:] = drawn[:, :1]
        return drawn.astype(np.float32), None

    def _replaces(self, agent: int, round_: int) -> bool:
        """Whether an agent's record of a round is a replaced one."""
        return (agent, round_) == self._target

    def _shown(self, features: Floats32, agent: int, round_: int) -> Any:
        """What an agent decides on."""
        del agent, round_
        return features

    def _note(self, agent: int, round_: int, context: Floats32, reward: float) -> None:
        """A record, as it came about."""

    def _others(self, agent: Any, world: int, round_: int) -> Floats:
        """What all records but the replaced ones add to the agent's releases."""
        others: Floats = agent.state.statistic.reshape(-1)
        if round_ >= self._target.round_:
            others = others - packed_record(self._pair[world])
        return others

    def _entered(self, ends: Sequence[int]) -> Floats:
        """How many replaced records count for the releases at the ends of some rounds."""
        return (np.array(ends) >= self._target.round_).astype(np.float64)

    def _reward(self, context: Floats32) -> float:
        """Linear, without noise: what matters is that other contexts earn other rewards."""
        return float(context[0]) * self._config.reward_bound / self._config.context_bound

    def _hear(self, agent: Any, world: int, round_: int, messages: list[Message]) -> None:
        """Note what is released, less what all other records add to it."""
        releases = {m.release: m.statistic for m in messages if hasattr(m, "statistic")}  # type: ignore[attr-defined]
        for statistic in releases.values():
            others = self._others(agent, world, round_)
            self._released.append(unpack(statistic, others.size) - others)

    def released(self, message: Any) -> Released | None:
        """A release of the audited agent; what it passes on of others is none of its own."""
        if (
            not hasattr(message, "statistic")
            or getattr(message, "origin", self.audited) != self.audited
        ):
            return None
        plan: Any = self.run.plan
        pattern = stated_pattern(plan.facts.models, DIMENSION, gram_noise(self._config))
        deviations = stated_scales(plan)[self._target.agent] * pattern
        return Released(message.release, unpack(message.statistic, len(pattern)) / deviations)

    def look(self) -> Look | None:
        """The likelihood ratio and numbers without noise, if others' records are known."""
        if not self._informed:
            return None
        plan: Any = self.run.plan
        values = np.array(self._released)[None, :, :]
        moved = packed_record(self._pair[0]), packed_record(self._pair[1])
        ends: list[int] = []
        sync = 0
        while len(ends) < plan.release.releases:
            sync = next_sync(plan.constants, sync)
            ends.append(sync)
        entered = self._entered(ends)[None, :]
        steps = np.arange(1, len(ends) + 1)
        sees = attacker(plan.release, moved, steps, plan.constants.gram_noise)
        scores = sees.scores(values, entered, np.ones(1))
        return Look(values.reshape(1, -1), scores, sees.bare(values, entered))
