"""Linear agents whose records an audit makes up: one is replaced, or all of one person.

A person who comes too often to an agent that protects persons is here too.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Floats, Floats32, Ints
from fedbandits.environments import Linear
from fedbandits.environments.base import Environment
from fedbandits.environments.open_world import Visit
from fedbandits.errors import BoundExceededError
from fedbandits.facts import ContextualFacts
from fedbandits.federation.messages import Message, unpack
from fedbandits.learners.kernels.ridge import Record
from fedbandits.privacy.likelihood import Attacker, attacker, stated_pattern
from fedbandits.privacy.protocol_check import ProtocolCheck, Visited, visits_check
from fedbandits.random import Key
from fedbandits.systems.agents.audit_releases import stated_scales
from fedbandits.systems.agents.config import AgentsConfig
from fedbandits.systems.agents.noise import gram_noise
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.games import audit_key, contexts, packed_pair, packed_record
from fedbandits.systems.party_games import AuditedRun, Released, SmallWorld, sent_share

AGENTS, DIMENSION, ARMS = 4, 2, 2
#: The world that whole systems are audited in: no smaller one has others to react.
SMALL_WORLD = Linear(agents=AGENTS, dim=DIMENSION, arms=ARMS)
#: Rounds from one visit of the person to the next: others come in between.
_EVERY = 2
_PERSON = "the person"
#: The reward of every visit, in units of its bound.
_REWARD = 0.5


def facts_for(config: AgentsConfig, world: Environment) -> Any:
    """Return facts of a small world, with persons where the variant protects them."""
    facts = world.facts
    if config.protects_persons and isinstance(facts, ContextualFacts) and facts.persons is None:
        return msgspec.structs.replace(facts, persons=facts.parties)
    return facts


class Target(NamedTuple):
    """The agent whose record is replaced, and the round of the record."""

    agent: int
    round_: int


class AgentsRun(AuditedRun):
    """Agents whose contexts and rewards are made up, some with one replaced record each.

    ``pair`` is the replaced record in either world, and ``targets`` say where it comes. On a
    ``fixed`` log every decision set has one context only: no decision changes any record. If
    ``informed``, someone looks at the first target who knows all other records. ``key`` names the
    random draws of contexts.
    """

    def __init__(
        self, run: PartiesReplicate, pair: tuple[Any, Any], targets: Sequence[Target], fixed: bool,
        informed: bool, key: Key,
    ) -> None:  # fmt: skip
        agents = [target.agent for target in targets]
        super().__init__(run, agents, self._knows_others if informed else None)
        self._pair, self._target = pair, targets[0]
        #: Rounds of the replaced records, by agent.
        self._rounds = dict(targets)
        # On a fixed log contexts are the same in every run: the log is one.
        self._fixed, self._key = fixed, audit_key(0) if fixed else key
        plan: Any = run.plan
        self._sums = plan.secure is not None

    def _knows_others(self, steps: Ints) -> Attacker:
        plan: Any = self.run.plan
        return attacker(plan.priced, packed_pair(self._pair), steps, plan.constants.gram_noise)

    def play_round(self, world: int, round_: int) -> None:
        """Let all agents decide and observe; then the round is over."""
        for index, agent in enumerate(self.run.players):
            features, settled = self._decision_set(world, index, round_)
            decision = agent.decide(self._shown(features, index, round_))
            arm = int(decision.action)
            context = features[:, min(arm, features.shape[1] - 1)]  # one where arms have models
            reward = self._reward(index, round_, context, arm) if settled is None else settled
            self._observed(index, round_, context, arm, reward)
            with contextlib.suppress(BoundExceededError):  # a record beyond its bounds never was
                self.network.send(agent.observe(decision, self._paid(reward)))

        def hear(player: Any, messages: list[Message]) -> None:
            if self.informed and player is self.target and not self._sums:
                self._hear(world, round_, messages)

        self.run.end_round(round_, hear)
        if self.informed and self._sums:
            self._hear_total(world, round_)

    def _decision_set(self, world: int, agent: int, round_: int) -> tuple[Floats32, float | None]:
        """Return the contexts of a round, and the reward where it is settled beforehand."""
        drawn = self._contexts(agent, round_)
        if self._replaces(agent, round_):
            record = self._pair_of(agent)[world]
            return np.tile(record.context[:, None], drawn.shape[1]).astype(
                np.float32
            ), record.reward
        if self._fixed:
            drawn[:] = drawn[:, :1]
        return drawn.astype(np.float32), None

    def _contexts(self, agent: int, round_: int) -> Floats:
        """Draw contexts, (d, columns)."""
        config: AgentsConfig = self.run.plan.config
        bound = config.context_bound * (1.0 if agent in self._rounds else 0.5)
        return contexts(self._key, agent, round_, DIMENSION, ARMS, bound)

    def _replaces(self, agent: int, round_: int) -> bool:
        """Tell whether an agent's record of a round is a replaced one."""
        return self._rounds.get(agent) == round_

    def _pair_of(self, agent: int) -> tuple[Any, Any]:
        """Return the replaced record of an agent in either world."""
        del agent
        return self._pair

    def _shown(self, features: Floats32, agent: int, round_: int) -> Any:
        """Return the decision set, or the visit, that an agent decides on."""
        del agent, round_
        return features

    def _observed(
        self, agent: int, round_: int, context: Floats32, arm: int, reward: float
    ) -> None:
        """Note a record of any agent."""

    def _others(self, world: int, round_: int) -> Floats:
        """Return the sum of all records in the target's releases but the replaced ones."""
        others: Floats = self.target.state.statistic.reshape(-1)
        if round_ >= self._target.round_:
            others = others - packed_record(self._pair[world])
        return others

    def _entered(self, round_: int) -> int:
        """Return how many replaced records count for a release at the end of a round."""
        return int(round_ >= self._target.round_)

    def _reward(self, agent: int, round_: int, context: Floats32, arm: int) -> float:
        """Return a linear reward: other contexts earn other rewards."""
        del agent, round_, arm
        config: AgentsConfig = self.run.plan.config
        return float(context[0]) * config.reward_bound / config.context_bound

    def _paid(self, reward: float) -> float:
        """Return the reward that an application reports, for one that counts from the centre."""
        plan: Any = self.run.plan
        return reward + float(plan.constants.centre)

    def _hear(self, world: int, round_: int, messages: list[Message]) -> None:
        """Note the new releases, less the sum of all other records."""
        releases = {m.release: m.statistic for m in messages if hasattr(m, "statistic")}  # type: ignore[attr-defined]
        for statistic in releases.values():
            others = self._others(world, round_)
            self.note(unpack(statistic, others.size) - others, self._entered(round_))

    def _hear_total(self, world: int, round_: int) -> None:
        """Note a new secure sum, less all that is known of other records and agents."""
        total = self.new_total()
        if total is not None:
            known = self._others(world, round_) + self.known_in_total(_exact)
            self.note(total - known, self._entered(round_))

    def released(self, message: Any) -> Released | None:
        """Return a release, or the share of a secure sum, in deviations of one draw of all noise.

        A share moves as far as the sum does, whose noise is that of all honest agents.
        """
        if not hasattr(message, "statistic"):
            return None
        if getattr(message, "origin", message.sender) != message.sender:
            return None
        plan: Any = self.run.plan
        agent = self.places[message.sender]
        deviations = self._deviations(agent)
        if plan.secure is None:
            values = unpack(message.statistic, len(deviations))
        else:
            share = sent_share(self.run.players[agent].state.sending, message)
            values, deviations = (
                plan.constants.step * share,
                deviations * math.sqrt(plan.secure.honest),
            )
        return Released(message.release, values / deviations)

    def _deviations(self, agent: int) -> Floats:
        """Return the deviations of one draw of the agent's noise, (size,)."""
        plan: Any = self.run.plan
        pattern = stated_pattern(plan.facts.models, DIMENSION, gram_noise(plan.config))
        return np.asarray(stated_scales(plan)[agent] * pattern)


def _exact(agent: Any) -> Floats:
    """Return the sum of the records of an agent's releases."""
    exact: Floats = agent.state.statistic.reshape(-1)
    return exact


class PersonRun(AgentsRun):
    """All visits of one person to one agent are replaced; parameters as of :class:`AgentsRun`.

    The person comes to the agent again and again: k times as the claim counts visits, in different
    batches, and then many times more. A target is the first visit of a person to an agent. Others
    come in between, each once. The records of others are known as they are, not as the agent says:
    so an agent that counts more of the person's records shows.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        plan: Any = self.run.plan
        #: The sum of the other records of the audited agent.
        self._known: Floats = np.zeros(plan.constants.release_size)

    def _replaces(self, agent: int, round_: int) -> bool:
        since = round_ - self._rounds.get(agent, round_ + 1)
        return since >= 0 and since % _EVERY == 0

    def _shown(self, features: Floats32, agent: int, round_: int) -> Any:
        somebody = f"{agent} {round_}"
        return Visit(_PERSON if self._replaces(agent, round_) else somebody, features)

    def _observed(
        self, agent: int, round_: int, context: Floats32, arm: int, reward: float
    ) -> None:
        if agent == self._target.agent and not self._replaces(agent, round_):
            self._known += packed_record(Record(context.astype(np.float64), reward))

    def _others(self, world: int, round_: int) -> Floats:
        return self._known

    def _entered(self, round_: int) -> int:
        since = round_ - self._target.round_
        visits = since // _EVERY + 1 if since >= 0 else 0
        return min(visits, int(self.run.plan.config.records_per_person))


def person_checks(small: SmallWorld) -> list[ProtocolCheck]:
    """Return a check of a person that comes too often; none where records are protected."""
    if not small.plan.config.protects_persons:
        return []
    most = int(small.plan.config.records_per_person)
    return [visits_check("one agent", most, partial(_visited, small))]


def _visited(small: SmallWorld) -> Visited:
    agent: Any = small.begin(0, secure=False).players[0]
    return Visited(agent, partial(_released, agent), partial(_visit, small, agent))


def _released(agent: Any) -> Floats:
    """Return the released sum, (size,), of one model, added up over estimators."""
    statistic: Floats = agent.state.statistic
    summed: Floats = statistic.reshape(-1, statistic.shape[-1]).sum(axis=0)
    return summed


def _visit(small: SmallWorld, agent: Any, visit: int) -> Floats:
    """Let the person come, and return the record of the visit, (size,)."""
    config, facts = small.plan.config, small.plan.facts
    dimension, columns = facts.features_shape
    drawn = contexts(audit_key(0), 0, visit, dimension, columns, config.context_bound)
    features = drawn.astype(np.float32)
    decision = agent.decide(Visit("a person", features))
    reward = _REWARD * float(config.reward_bound)
    agent.observe(decision, reward + float(small.plan.constants.centre))
    agent.end_round(visit)  # or the next record would be kept for a later release
    context = features[:, min(int(decision.action), columns - 1)]
    return packed_record(Record(context.astype(np.float64), reward))
