"""Linear agents in two neighbouring worlds, for an audit.

First the mechanism as configured, then whole agents in a small world. Peers play on a graph that
few agents have too. Where an agent keeps several estimators a record is in one of them alone: the
releases of one are attacked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from fedbandits.environments import Classification, Linear
from fedbandits.environments.base import Environment
from fedbandits.federation.graphs import Complete
from fedbandits.learners.kernels.ridge import Record
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.likelihood import covariance_of
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.privacy.protocol_check import MORE_VISITS, MOST_VISITS, ProtocolCheck
from fedbandits.systems.agents.audit_releases import (
    contents_games,
    played_numbers,
    simulated_numbers,
)
from fedbandits.systems.agents.audit_run import (
    AGENTS,
    ARMS,
    DIMENSION,
    SMALL_WORLD,
    AgentsRun,
    PersonRun,
    Target,
    facts_for,
    person_checks,
)
from fedbandits.systems.agents.config import AgentsConfig, Determinant, Evenly, Every
from fedbandits.systems.agents.kernels.sync import next_sync
from fedbandits.systems.agents.noise import gram_noise
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.aggregation import of_few
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.games import (
    Neighbours,
    audit_key,
    different_records,
    opposite_records,
    stretched_records,
)
from fedbandits.systems.party_games import MessagesGame, SmallWorld, Targets, moves
from fedbandits.systems.sums_audit import sums_checks
from fedbandits.systems.sums_audit.run import MEMBERS, SUMS, SumsAudited

#: Rounds to try, until there are some releases.
_HORIZONS = (24, 48, 240, 1200)
#: Rounds where nobody reacts: the reactions of others to a record take longer to show.
_BRIEF = 12
_ENOUGH_RELEASES = 3
#: In which round the audited agent has the replaced record, where a trigger is to be set off by it.
_TRIGGERING = 3
#: Rounds from sync to sync where a data-dependent schedule is replaced by a fixed one.
_PERIOD = 4
#: Releases that whole agents make where they make all, and budgets that they have, at most.
_MOST_RELEASES, _MOST_BUDGETS = 24, 16


def games(system: System[Any], plan: AgentsPlan) -> Sequence[Game]:
    """Return the audit's games: the configured mechanism, then whole parties in a small world."""
    return [
        *contents_games(_of_few(system, plan)),
        *messages_games(system, plan.config, plan.facts.parties),
        *trigger_games(system, plan.config),
        *moves_games(system, plan),
    ]


def noise_checks(system: System[Any], plan: AgentsPlan) -> list[NoisyNumbers]:
    """Return all numbers that agents release: as configured, and as a few of them play."""
    if not _releases(plan):
        return []
    small = _making_all(system, plan, plan.facts.models)
    return [simulated_numbers(plan), *played_numbers(small, plan.release.releases)]


def protocol_checks(system: System[Any], plan: AgentsPlan) -> list[ProtocolCheck]:
    """Return checks beside noise: how often persons count, and secure sums."""
    if not _releases(plan):
        return []
    small = _releasing_at_once(system, plan)
    checks = person_checks(small)
    if plan.secure is not None:
        covariance = covariance_of(small.plan.priced)
        checks += sums_checks(SumsAudited(system, plan, small, "agent", covariance))
    return checks


def _releases(plan: AgentsPlan) -> bool:
    """Tell whether agents release anything with noise."""
    return plan.config.is_private and plan.release.releases > 0


def _releasing_at_once(system: System[Any], plan: AgentsPlan) -> SmallWorld:
    """Return agents that release after every round; one agent may be absent.

    They play for so long that a person comes too often.
    """
    world = Linear(agents=MEMBERS, dim=DIMENSION, arms=ARMS)
    small = in_small_world(plan.config, plan.facts.parties, MEMBERS)
    small = msgspec.structs.replace(
        small, schedule=Every(1), records_per_person=min(small.records_per_person, MOST_VISITS)
    )
    rounds = max(SUMS, small.records_at_once + MORE_VISITS) + 1  # nothing is released at the last
    return SmallWorld(system, system.plan(small, facts_for(small, world), rounds), world)


def messages_games(system: System[Any], config: AgentsConfig, parties: int = AGENTS) -> list[Game]:
    """Attack whole parties in a small world: on a fixed log, and reacting.

    It stands for a federation of so many ``parties``. Where syncs are fixed in advance, once more
    with records that miss the first release; and with the noise of a deployment, with records of
    any time.
    """
    if not config.is_private:
        return []
    few = in_small_world(config, parties)
    # A person comes again and again, in as many batches as there are.
    brief = _HORIZONS[0] if config.protects_persons else min(_BRIEF, _HORIZONS[0])
    small = _playing(system, few, SMALL_WORLD, (brief, *_HORIZONS))
    reacting = _playing(system, few, SMALL_WORLD, _HORIZONS)
    if small is None or reacting is None:
        return []
    bounds, rounds = (DIMENSION, config.context_bound, config.reward_bound), small.plan.rounds
    triggered = isinstance(config.schedule, Determinant)
    early = _early(small)
    pair = opposite_records(*bounds, gram_noise(config))
    found: list[Game] = [
        _messages_game(small, pair, "fixed log", "messages", early),
        _messages_game(reacting, pair, "interactive", "messages", _early(reacting)),
    ]
    if early[1] < rounds and not triggered:
        pair, late = different_records(*bounds), (early[1] + 1, rounds)
        words = "messages, a record of a later batch,", "messages with secure noise"
        found += [
            _messages_game(small, pair, "fixed log", words[0], late),
            _messages_game(small, pair, "fixed log", words[1], (1, rounds), secure=True),
        ]
    return found


def _early(small: SmallWorld) -> tuple[int, int]:
    """Return the first and the last round of the first batch.

    Of all rounds, where nobody knows which are in it.
    """
    plan = small.plan
    triggered = isinstance(plan.config.schedule, Determinant)
    return 1, plan.rounds if triggered else next_sync(plan.constants, 0)


def moves_games(system: System[Any], plan: AgentsPlan) -> list[Game]:
    """Measure how far a record moves all releases of the plan, within its bounds and beyond."""
    if not _releases(plan):
        return []
    small, config = _making_all(system, plan), plan.config
    bounds = DIMENSION, config.context_bound, config.reward_bound
    rounds, words = (1, small.plan.rounds), f"{small.plan.release.releases} releases"
    within = opposite_records(*bounds, gram_noise(config))
    return moves(
        _messages_game(small, within, "fixed log", words, rounds),
        _messages_game(
            small, stretched_records(*bounds), "fixed log",
            f"{words}, a record beyond its bounds,", rounds,
        ),
    )  # fmt: skip


def _making_all(system: System[Any], plan: AgentsPlan, models: int = 1) -> SmallWorld:
    """Return agents that make all releases of a plan, if not too many, one a round.

    Among them are all budgets; agents after those have the smallest ε again. With ``models`` above
    1 they have a model an arm.
    """
    config = plan.config
    given = config.epsilon if isinstance(config.epsilon, tuple) else (config.epsilon,)
    budgets = sorted(set(given), reverse=True)[:_MOST_BUDGETS]
    budgets += [budgets[-1]] * (AGENTS - len(budgets))
    releases = min(plan.release.releases, _MOST_RELEASES)
    # Which releases there are must not depend on the data.
    small = msgspec.structs.replace(
        in_small_world(config, plan.facts.parties, len(budgets)), schedule=Every(1),
        epsilon=tuple(budgets) if len(set(budgets)) > 1 else budgets[0],
    )  # fmt: skip
    world: Environment = Linear(agents=len(budgets), dim=DIMENSION, arms=ARMS)
    if models > 1:
        world = Classification(agents=len(budgets), dataset="wine", components=2)
    return SmallWorld(system, system.plan(small, facts_for(small, world), releases + 1), world)


def in_small_world(config: AgentsConfig, parties: int = AGENTS, few: int = AGENTS) -> Any:
    """Return the variant of so many ``parties`` as a ``few`` agents play it.

    It has the ε of the least protected one.
    """
    epsilon = max(config.epsilon) if isinstance(config.epsilon, tuple) else config.epsilon
    # Bounds hold by construction; an environment that could exceed them would be refused.
    small = msgspec.structs.replace(config, epsilon=epsilon, out_of_bounds="clip")
    if hasattr(small, "graph"):
        small = msgspec.structs.replace(small, graph=Complete())
    if hasattr(small, "aggregation"):
        small = msgspec.structs.replace(small, aggregation=of_few(small.aggregation, parties, few))
    if isinstance(config.schedule, Evenly):  # as often as a short run has room for
        syncs = min(config.schedule.syncs, _HORIZONS[0] // _PERIOD)
        small = msgspec.structs.replace(small, schedule=Evenly(syncs))
    return small


def _of_few(system: System[Any], plan: AgentsPlan) -> AgentsPlan:
    """Return the plan of secure sums as a few agents make it; any other plan as it is.

    An attack on a sum makes the noise of all honest agents. That the share of each of them is as
    planned is compared exactly, so a few stand for all.
    """
    if plan.secure is None or isinstance(plan.config.epsilon, tuple):
        return plan
    config: Any = plan.config
    members, few = plan.facts.parties, min(AGENTS, plan.facts.parties)
    sums = of_few(config.aggregation, members, few)
    facts = msgspec.structs.replace(plan.facts, parties=few)
    made = system.plan(msgspec.structs.replace(config, aggregation=sums), facts, plan.rounds)
    return made if made.release.releases else plan


def _playing(
    system: System[Any], config: AgentsConfig, world: Environment, horizons: Sequence[int]
) -> SmallWorld | None:
    """Return agents that play until there are some releases; None if no run tried has enough."""
    for rounds in horizons:
        plan = system.plan(config, facts_for(config, world), rounds)
        if plan.release.releases >= _ENOUGH_RELEASES:
            return SmallWorld(system, plan, world)
    return None


def _messages_game(
    small: SmallWorld, pair: tuple[Record, Record], neighbours: Neighbours, looks_at: str,
    rounds: tuple[int, int], agents: int = 0, secure: bool = False,
) -> MessagesGame:  # fmt: skip
    """Replace a record of one of ``agents``, in one of ``rounds``, the first and the last.

    By default that is one of all agents.
    """
    plan, (first, last), fixed = small.plan, rounds, neighbours == "fixed log"
    agents = agents or plan.facts.parties
    config: AgentsConfig = plan.config
    on_a_clock = not isinstance(config.schedule, Determinant)
    # Whoever acts on releases alone has records that follow from them and from public facts.
    informed = on_a_clock and (fixed or config.local_view == "released")
    play = PersonRun if config.protects_persons else AgentsRun
    if plan.secure is not None:
        looks_at = f"sums by {looks_at}"

    def make(run: PartiesReplicate, number: int, targets: Targets) -> AgentsRun:
        replaced = [Target(agent, first + after) for agent, after in targets]
        return play(run, pair, replaced, fixed, informed, audit_key(number))

    whose = f"{'one drawn of ' if agents > 1 else ''}{plan.facts.parties} agents"
    persons = " with all records of a person replaced" if config.protects_persons else ""
    return MessagesGame(
        neighbours, f"{looks_at} of {whose} in {plan.rounds} rounds{persons}", small,
        (agents, last - first + 1), make, informed, secure,
        covariance_of(plan.priced) if on_a_clock else None,
    )  # fmt: skip


def trigger_games(system: System[Any], config: AgentsConfig) -> list[Game]:
    """Attack a trigger on raw data, with D set where one record decides whether it fires."""
    if not (config.is_private and isinstance(config.schedule, Determinant)):
        return []
    # One record is enough, also where all of a person's are protected.
    config = msgspec.structs.replace(in_small_world(config), unit="record", records_per_person=1)
    nothing, something = np.zeros(DIMENSION), np.zeros(DIMENSION)
    something[0] = config.context_bound * (1.0 - 1e-6)
    pair = Record(nothing, 0.0), Record(something, 0.0)
    sides = [_last_firing(system, config, pair, world) for world in (0, 1)]
    threshold = 0.5 * (sides[0] + sides[1])
    looks_at = f"messages, D = {threshold:.4g} where one record decides,"
    # The record that decides is this one alone.
    at, small = (_TRIGGERING, _TRIGGERING), _triggered(system, config, threshold)
    return [_messages_game(small, pair, "fixed log", looks_at, at, agents=1)]


def _triggered(system: System[Any], config: AgentsConfig, threshold: float) -> SmallWorld:
    """Return agents with a trigger of threshold D."""
    tried = msgspec.structs.replace(config, schedule=Determinant(threshold))
    rounds = min(_BRIEF, _HORIZONS[0])
    return SmallWorld(system, system.plan(tried, SMALL_WORLD.facts, rounds), SMALL_WORLD)


def _last_firing(
    system: System[Any], config: AgentsConfig, pair: tuple[Record, Record], world: int
) -> float:
    """Return the largest D at which the audited agent sends something by the round of its record.

    Before the first sync S = Mρ_min I has no noise in it: whether the trigger fires is a function
    of raw contexts alone, the same in every run.
    """
    low, high = 0.0, 1e6
    for _ in range(60):
        middle = 0.5 * (low + high)
        played = _triggered(system, config, middle).begin(0, secure=False)
        run = AgentsRun(played, pair, [Target(0, _TRIGGERING)], True, False, audit_key(0))
        for round_ in range(1, _TRIGGERING + 1):
            run.play_round(world, round_)
        said = any(m.sender == run.audited for _, m in run.network.transcript.deliveries)
        low, high = (middle, high) if said else (low, middle)
    return low
