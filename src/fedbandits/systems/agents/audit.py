"""Linear agents in two neighbouring worlds, for an audit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.learners.ridge import Record
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.likelihood import likelihood_weights, telling_releases
from fedbandits.random import Key
from fedbandits.systems.agents.audit_run import DIMENSION, SMALL_WORLD, AgentsRun
from fedbandits.systems.agents.config import AgentsConfig, Determinant
from fedbandits.systems.agents.plan import AgentsPlan, Constants
from fedbandits.systems.agents.play import simulate_release
from fedbandits.systems.agents.sync import next_sync
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.games import (
    ContentsGame,
    MessagesGame,
    audit_key,
    different_records,
    opposite_records,
    packed_record,
)

#: Rounds to try, until there are some releases.
_HORIZONS = (48, 240, 1200)
_ENOUGH_RELEASES = 3
#: In which round the audited agent has the replaced record, where a trigger is to be set off by it.
_TRIGGERING = 3


def agents_games(system: System[Any], plan: AgentsPlan, config: AgentsConfig) -> Sequence[Game]:
    """What an audit plays: the configured mechanism, then whole parties in a small world.

    Parameters
    ----------
    system
        The system whose parties play.
    plan
        Plan of the configured variant.
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
    _, size = plan.constants.statistic_shape
    scale = plan.constants.entry_scale[:size]
    moved = [packed_record(record) for record in pair]
    # Of the agent with the largest ε, which the claim goes by.
    constants = plan.constants._replace(
        models=1, entry_scale=scale, noise_deviation=np.array([plan.release.scale])
    )
    release, steps = plan.release, telling_releases(plan.release)
    which = "" if batch == 1 else f", a record of batch {batch}"
    all_of = "" if len(steps) == release.releases else f"{len(steps)} of "
    looks_at = f"contents of {all_of}{release.releases} releases of {size} numbers{which}"
    weights = likelihood_weights(release, moved[1] - moved[0], scale, steps, batch)
    play = partial(_released, constants, release, steps, moved, batch)
    return ContentsGame(looks_at, play, weights)


def _released(
    constants: Constants,
    release: ContinualPlan,
    steps: Ints,
    moved: list[Floats],
    batch: int,
    world: int,
    first: int,
    count: int,
) -> Floats:
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
    small = in_small_world(config)
    rounds = next((t for t in _HORIZONS if _releases(system, small, t)), 0)
    if not rounds:
        return []
    bounds = DIMENSION, config.context_bound, config.reward_bound
    pair = opposite_records(*bounds)
    found: list[Game] = [
        _messages_game(system, kind, "messages", small, rounds, pair, 1)
        for kind in ("fixed log", "interactive")
    ]
    late = next_sync(system.plan(small, SMALL_WORLD.facts, rounds).constants, 0) + 1
    if late <= rounds and not isinstance(config.schedule, Determinant):
        looks_at, pair = "messages, a record of batch 2,", different_records(*bounds)
        found.append(_messages_game(system, "fixed log", looks_at, small, rounds, pair, late))
    return found


def in_small_world(config: AgentsConfig) -> Any:
    """The variant as two agents play it; the least protected one's ε where each has its own."""
    epsilon = max(config.epsilon) if isinstance(config.epsilon, tuple) else config.epsilon
    # Bounds hold by construction; an environment that could exceed them would be refused.
    return msgspec.structs.replace(config, epsilon=epsilon, out_of_bounds="clip")


def _releases(system: System[Any], config: AgentsConfig, rounds: int) -> bool:
    plan = system.plan(config, SMALL_WORLD.facts, rounds)
    return bool(plan.release.releases >= _ENOUGH_RELEASES)


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
    plan = system.plan(config, SMALL_WORLD.facts, rounds)
    return PartiesReplicate(system, plan, SMALL_WORLD, 0, run)


def trigger_games(system: System[Any], config: AgentsConfig) -> list[Game]:
    """A trigger on raw data, with D set where one record decides whether it fires."""
    if not (config.is_private and isinstance(config.schedule, Determinant)):
        return []
    small = in_small_world(config)
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
