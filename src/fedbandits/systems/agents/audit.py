"""Linear agents in two neighbouring worlds, for an audit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from fedbandits.environments.base import Environment
from fedbandits.learners.kernels.ridge import Record
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.systems.agents.audit_contents import contents_games
from fedbandits.systems.agents.audit_noise import secure_numbers, simulated_numbers, small_world
from fedbandits.systems.agents.audit_persons import PersonRun, facts_for
from fedbandits.systems.agents.audit_run import (
    AGENTS,
    DIMENSION,
    SMALL_WORLD,
    AgentsRun,
    Target,
)
from fedbandits.systems.agents.config import AgentsConfig, Determinant, Evenly, Every
from fedbandits.systems.agents.kernels.sync import next_sync
from fedbandits.systems.agents.noise import gram_noise
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.games import (
    audit_key,
    different_records,
    drawn_targets,
    opposite_records,
)
from fedbandits.systems.paired_parties import covariance_of
from fedbandits.systems.party_games import (
    PARTY_RUNS,
    SECURE_RUNS,
    MessagesGame,
    play_parties,
)

#: Rounds to try, until there are some releases.
_HORIZONS = (48, 240, 1200)
_ENOUGH_RELEASES = 3
#: In which round the audited agent has the replaced record, where a trigger is to be set off by it.
_TRIGGERING = 3
#: Rounds from sync to sync where a data-dependent schedule is replaced by a fixed one.
_PERIOD = 4


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


def noise_checks(system: System[Any], plan: AgentsPlan, config: AgentsConfig) -> list[NoisyNumbers]:
    """All that agents release: as configured, and as two of them with the noise of a deployment.

    Parameters
    ----------
    system, plan, config
        See :func:`agents_games`.
    """
    if not plan.config.is_private or plan.release.releases == 0:
        return []
    found, world = [simulated_numbers(plan)], small_world(plan)
    small = in_small_world(config, whole=True)
    rounds = _rounds_of(system, small, world)
    if rounds:
        found.append(secure_numbers(system, small, world, rounds))
    return found


def messages_games(system: System[Any], config: AgentsConfig) -> list[Game]:
    """Whole parties in a small world: on a fixed log, and reacting.

    Where syncs are fixed in advance, once more with records that miss the first release; and with
    the noise of a deployment, with records of any time.
    """
    if not config.is_private:
        return []
    small = in_small_world(config)
    rounds = _rounds_of(system, small, SMALL_WORLD)
    if not rounds:
        return []
    bounds = DIMENSION, config.context_bound, config.reward_bound
    opposite = opposite_records(*bounds, gram_noise(config))
    different = different_records(*bounds)
    triggered = isinstance(config.schedule, Determinant)
    first = next_sync(system.plan(small, facts_for(small, SMALL_WORLD), rounds).constants, 0)
    # Of all rounds, where nobody knows which are in the first batch.
    early = (1, rounds if triggered else first)
    setting = _Setting(system, small, rounds, opposite, early)
    found: list[Game] = [_messages_game(setting, "fixed log", "messages")]
    found.append(_messages_game(setting, "interactive", "messages"))
    if first < rounds and not triggered:
        late = setting._replace(pair=different, rounds_of_record=(first + 1, rounds))
        looks_at = "messages, a record of a later batch,"
        found.append(_messages_game(late, "fixed log", looks_at))
        secure = late._replace(rounds_of_record=(1, rounds), secure=True)
        found.append(_messages_game(secure, "fixed log", "messages with secure noise"))
    return found


def in_small_world(config: AgentsConfig, whole: bool = False) -> Any:
    """The variant as two agents play it; the least protected one's ε where each has its own.

    ``whole``: with the ε of the most protected one too, if there is any other.
    """
    epsilon = config.epsilon
    if isinstance(epsilon, tuple):
        epsilon = (max(epsilon), min(epsilon)) if whole else max(epsilon)
    # Bounds hold by construction; an environment that could exceed them would be refused.
    small = msgspec.structs.replace(config, epsilon=epsilon, out_of_bounds="clip")
    if whole and isinstance(config.schedule, Determinant):
        # Which releases there are must not depend on the data.
        small = msgspec.structs.replace(small, schedule=Every(_PERIOD))
    if isinstance(config.schedule, Evenly):  # as often as a short run has room for
        syncs = min(config.schedule.syncs, _HORIZONS[0] // _PERIOD)
        small = msgspec.structs.replace(small, schedule=Evenly(syncs))
    return small


def _rounds_of(system: System[Any], config: AgentsConfig, world: Environment) -> int:
    """Rounds until there are some releases; 0 if none of those tried has enough."""
    for rounds in _HORIZONS:
        facts = facts_for(config, world)
        if system.plan(config, facts, rounds).release.releases >= _ENOUGH_RELEASES:
            return rounds
    return 0


class _Setting(NamedTuple):
    """Who plays, and which records may be the replaced one."""

    system: System[Any]
    config: AgentsConfig
    rounds: int
    pair: tuple[Record, Record]
    rounds_of_record: tuple[int, int]  # the first and the last
    agents: int = AGENTS  # from whom the audited one is drawn
    secure: bool = False


def _messages_game(setting: _Setting, neighbours: Any, looks_at: str) -> MessagesGame:
    config, fixed = setting.config, neighbours == "fixed log"
    # Whoever acts on releases alone has records that follow from them and from public facts.
    follows = fixed or config.local_view == "released"
    on_a_clock = not isinstance(config.schedule, Determinant)
    informed = follows and on_a_clock
    first, last = setting.rounds_of_record
    plan = setting.system.plan(config, facts_for(config, SMALL_WORLD), setting.rounds)
    play = PersonRun if config.protects_persons else AgentsRun

    def begin(run: int) -> AgentsRun:
        agent, after = drawn_targets(run, 1, setting.agents, last - first + 1)
        target = Target(int(agent[0]), first + int(after[0]))
        played = play_parties(setting.system, plan, SMALL_WORLD, run, setting.secure)
        return play(played, setting.pair, target, fixed, informed, audit_key(run))

    whose = "one drawn of 2 agents" if setting.agents > 1 else "2 agents"
    persons = " with all records of a person replaced" if config.protects_persons else ""
    looks_at = f"{looks_at} of {whose} in {setting.rounds} rounds{persons}"
    return MessagesGame(
        neighbours, looks_at, setting.rounds, begin,
        gaussian=informed, runs=SECURE_RUNS if setting.secure else PARTY_RUNS,
        covariance=covariance_of(plan.release) if on_a_clock and not setting.secure else None,
    )  # fmt: skip


def trigger_games(system: System[Any], config: AgentsConfig) -> list[Game]:
    """A trigger on raw data, with D set where one record decides whether it fires."""
    if not (config.is_private and isinstance(config.schedule, Determinant)):
        return []
    # One record is enough, also where all of a person's are protected.
    small = msgspec.structs.replace(in_small_world(config), unit="record", records_per_person=1)
    nothing, something = np.zeros(DIMENSION), np.zeros(DIMENSION)
    something[0] = config.context_bound * (1.0 - 1e-6)
    pair = Record(nothing, 0.0), Record(something, 0.0)
    sides = [_last_firing(system, small, pair, world) for world in (0, 1)]
    threshold = 0.5 * (sides[0] + sides[1])
    chosen = msgspec.structs.replace(small, schedule=Determinant(threshold))
    looks_at = f"messages, D = {threshold:.4g} where one record decides,"
    # The record that decides is this one alone.
    rounds, at = _HORIZONS[0], (_TRIGGERING, _TRIGGERING)
    setting = _Setting(system, chosen, rounds, pair, at, agents=1)
    return [_messages_game(setting, "fixed log", looks_at)]


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
        plan = system.plan(tried, SMALL_WORLD.facts, _HORIZONS[0])
        played = PartiesReplicate(system, plan, SMALL_WORLD, 0, 0)
        run = AgentsRun(played, pair, Target(0, _TRIGGERING), True, False, audit_key(0))
        for round_ in range(1, _TRIGGERING + 1):
            run.play_round(world, round_)
        said = any(m.sender == "agent-0" for _, m in run.network.transcript.deliveries)
        low, high = (middle, high) if said else (low, middle)
    return low
