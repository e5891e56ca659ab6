"""Linear agents in two neighbouring worlds, for an audit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Floats32, Ints
from fedbandits.environments import Linear
from fedbandits.federation.messages import Message, unpack
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.likelihood import likelihood_weights, telling_releases
from fedbandits.random import Key
from fedbandits.systems.agents.config import AgentsConfig, Determinant
from fedbandits.systems.agents.plan import AgentsPlan, Constants
from fedbandits.systems.agents.play import simulate_release
from fedbandits.systems.agents.sync import next_sync
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.games import (
    ContentsGame,
    MessagesGame,
    Record,
    audit_key,
    contexts,
    different_records,
    opposite_records,
    packed_record,
)

#: The world that whole systems are audited in: no smaller one has others to react.
AGENTS, DIMENSION, ARMS = 2, 2, 2
#: Rounds to try, until there are some releases.
_HORIZONS = (48, 240, 1200)
_ENOUGH_RELEASES = 3
#: In which round the audited agent has the replaced record, where a trigger is to be set off by it.
_TRIGGERING = 3
_WORLD = Linear(agents=AGENTS, dim=DIMENSION, arms=ARMS)


def games(system: System[Any], plan: AgentsPlan, config: AgentsConfig) -> Sequence[Game]:
    """What an audit plays: the configured mechanism, then whole parties in a small world.

    Parameters
    ----------
    system
        Whose parties play.
    plan
        The configured mechanism.
    config
        The variant as a few agents play it.
    """
    return [
        *contents_games(plan),
        *messages_games(system, config),
        *trigger_games(system, config),
    ]


def contents_games(plan: AgentsPlan) -> list[Game]:
    """The releases of one agent as configured, of the model that the record is in.

    First a record of the first batch, which is in all releases; then one that is not in all of
    them: that noise is the same in two releases shows in their difference alone.
    """
    config = plan.config
    if not config.is_private or plan.release.releases == 0:
        return []
    bounds = plan.constants.dimension, config.context_bound, config.reward_bound
    found: list[Game] = [_contents_game(plan, opposite_records(*bounds), 1)]
    if plan.release.releases > 1:
        found.append(_contents_game(plan, different_records(*bounds), 2))
    return found


def _contents_game(plan: AgentsPlan, pair: tuple[Record, Record], batch: int) -> ContentsGame:
    size = len(plan.constants.pattern) // plan.constants.models
    pattern = plan.constants.pattern[:size]
    moved = [packed_record(record) for record in pair]
    # Of the agent with the largest ε, which the claim goes by.
    constants = plan.constants._replace(
        models=1, pattern=pattern, noise_deviation=np.array([plan.release.scale])
    )
    release, steps = plan.release, telling_releases(plan.release)
    which = "" if batch == 1 else f", a record of batch {batch}"
    all_of = "" if len(steps) == release.releases else f"{len(steps)} of "
    looks_at = f"contents of {all_of}{release.releases} releases of {size} numbers{which}"
    weights = likelihood_weights(release, moved[1] - moved[0], pattern, steps, batch)
    play = partial(_released, constants, release, steps, moved, batch)
    return ContentsGame(looks_at, play, weights)


def _released(
    constants: Constants, release: ContinualPlan, steps: Ints, moved: list[Floats], batch: int, world: int,
    first: int, count: int,
) -> Floats:  # fmt: skip
    values = np.zeros((count, len(steps), moved[0].size))
    sums = np.where(steps[:, None, None] >= batch, moved[world], 0.0)
    draws = np.zeros((min(release.slots, int(steps.max())), moved[0].size))  # no more are in use
    play_releases(constants, steps, sums, draws, audit_key(0), first, values)
    return values


@compiled
def play_releases(
    constants: Constants,
    steps: Ints,
    sums: Floats,
    draws: Floats,
    key: Key,
    first: int,
    values: Floats,
) -> None:
    """Run after run some releases, into ``values`` (runs, steps, p).

    What other records add to the ``sums`` (steps, 1, p) is known to the attacker and left out.
    """
    for run in range(values.shape[0]):
        draws[:] = 0.0
        for place in range(steps.size):
            name = (first + run) * steps.size + place
            noisy = values[run, place]
            simulate_release(constants, sums[place], draws, steps[place], key, 0, name, noisy)


def messages_games(system: System[Any], config: AgentsConfig) -> list[Game]:
    """Whole parties in a small world: on a fixed log, and reacting.

    Where syncs are fixed in advance, once more with a record that misses the first release.
    """
    if not config.is_private:
        return []
    small = small_world(config)
    rounds = next((t for t in _HORIZONS if _releases(system, small, t)), 0)
    if not rounds:
        return []
    bounds = DIMENSION, config.context_bound, config.reward_bound
    pair = opposite_records(*bounds)
    found: list[Game] = [
        _messages_game(system, kind, "messages", small, rounds, pair, 1)
        for kind in ("fixed log", "interactive")
    ]
    late = next_sync(system.plan(small, _WORLD.facts, rounds).constants, 0) + 1
    if late <= rounds and not isinstance(config.schedule, Determinant):
        looks_at, pair = "messages, a record of batch 2,", different_records(*bounds)
        found.append(_messages_game(system, "fixed log", looks_at, small, rounds, pair, late))
    return found


def small_world(config: AgentsConfig) -> Any:
    """The variant as two agents play it; the least protected one's ε where each has its own."""
    epsilon = max(config.epsilon) if isinstance(config.epsilon, tuple) else config.epsilon
    # Bounds hold by construction; an environment that could exceed them would be refused.
    return msgspec.structs.replace(config, epsilon=epsilon, out_of_bounds="clip")


def _releases(system: System[Any], config: AgentsConfig, rounds: int) -> bool:
    plan = system.plan(config, _WORLD.facts, rounds)
    return plan.release.releases >= _ENOUGH_RELEASES


def _messages_game(
    system: System[Any], neighbours: Any, looks_at: str, config: AgentsConfig, rounds: int,
    pair: tuple[Record, Record], round_: int,
) -> MessagesGame:  # fmt: skip
    fixed = neighbours == "fixed log"
    # Whoever acts on releases alone has records that follow from them and from public facts.
    follows = fixed or config.local_view == "released"
    informed = follows and not isinstance(config.schedule, Determinant)

    def begin(run: int) -> AgentsRun:
        played = _parties(system, config, rounds, run)
        return AgentsRun(played, pair, round_, fixed, informed, audit_key(run))

    return MessagesGame(
        neighbours, f"{looks_at} of 2 agents in {rounds} rounds", "agent-0", rounds, begin,
        gaussian=informed, scores=int(informed),
    )  # fmt: skip


def _parties(system: System[Any], config: AgentsConfig, rounds: int, run: int) -> PartiesReplicate:
    plan = system.plan(config, _WORLD.facts, rounds)
    return PartiesReplicate(system, plan, _WORLD, 0, run)


class AgentsRun:
    """Agents whose records an audit makes up: the first one's record of one round is replaced.

    Parameters
    ----------
    run
        The parties and their network.
    pair
        The record in either world.
    round_
        When it comes.
    fixed
        Every decision set has one context only: no decision changes any record.
    informed
        Score what is sent as someone who knows all other records would.
    key
        Of the contexts.
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
        self._config, self._pair, self._round = run.plan.config, pair, round_
        # On a fixed log contexts are the same in every run: the log is one.
        self._fixed, self._key = fixed, audit_key(0) if fixed else key
        self._informed, self._score = informed, 0.0
        if informed:
            plan: AgentsPlan = run.plan
            moved = packed_record(pair[1]) - packed_record(pair[0])
            steps = np.arange(1, plan.release.releases + 1)
            # Of the batch that the record is in: that which the first sync after it ends.
            batch, sync = 1, next_sync(plan.constants, 0)
            while sync < round_:
                batch, sync = batch + 1, next_sync(plan.constants, sync)
            self._weights = likelihood_weights(
                plan.release, moved, plan.constants.pattern, steps, batch
            )

    def play_round(self, world: int, round_: int) -> None:
        """All agents decide and observe."""
        for index, agent in enumerate(self.run.players):
            features, replaced = self._decision_set(world, index, round_)
            arm = agent.decide(features)
            reward = self._reward(features[:, arm]) if replaced is None else replaced
            messages = agent.observe(arm, reward)
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


def trigger_games(system: System[Any], config: AgentsConfig) -> list[Game]:
    """A trigger on raw data, with D set where one record decides whether it fires."""
    if not (config.is_private and isinstance(config.schedule, Determinant)):
        return []
    small = small_world(config)
    nothing, something = np.zeros(DIMENSION), np.zeros(DIMENSION)
    something[0] = config.context_bound * (1.0 - 1e-6)
    pair = Record(nothing, 0.0), Record(something, 0.0)
    sides = [_last_firing(system, small, pair, world) for world in (0, 1)]
    threshold = 0.5 * (sides[0] + sides[1])
    chosen = msgspec.structs.replace(small, schedule=Determinant(threshold))
    looks_at = f"messages, D = {threshold:.4g} where one record decides,"
    rounds, round_ = _HORIZONS[0], _TRIGGERING
    return [_messages_game(system, "fixed log", looks_at, chosen, rounds, pair, round_)]


def _last_firing(
    system: System[Any], config: AgentsConfig, pair: tuple[Record, Record], world: int
) -> float:
    """The largest D at which the audited agent sends something by the round of its record.

    Before the first sync S = Mρ_min I has no noise in it: whether the trigger fires is a function
    of raw contexts alone, the same in every run.
    """
    low, high = 0.0, 1e6
    for _ in range(60):
        middle = 0.5 * (low + high)
        tried = msgspec.structs.replace(config, schedule=Determinant(middle))
        played = _parties(system, tried, _HORIZONS[0], 0)
        run = AgentsRun(played, pair, _TRIGGERING, True, False, audit_key(0))
        for round_ in range(1, _TRIGGERING + 1):
            run.play_round(world, round_)
        said = any(m.sender == "agent-0" for _, m in run.network.transcript.deliveries)
        low, high = (middle, high) if said else (low, middle)
    return low
