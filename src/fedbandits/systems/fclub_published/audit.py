"""FCLUB as published in two neighbouring worlds, for an audit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.learners.ridge import Record
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.continual import ContinualPlan, draw_slot
from fedbandits.privacy.likelihood import likelihood_weights, telling_releases
from fedbandits.random import Key, Purpose, fill_normal
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.fclub_published.config import PublishedFCLUB
from fedbandits.systems.fclub_published.kernels.exchange import add_noise
from fedbandits.systems.fclub_published.messages import PhaseReport
from fedbandits.systems.fclub_published.plan import Constants, PublishedFCLUBPlan
from fedbandits.systems.games import (
    ContentsGame,
    MessagesGame,
    Neighbours,
    audit_key,
    opposite_records,
    packed_record,
)
from fedbandits.systems.servers.audit import WORLD, ServersRun

_NOISE = int(Purpose.PRIVACY_NOISE)
_ROUNDS = 70
#: Ends soon after a phase in which users have enough records to be told apart.
_TELLING_ROUNDS = 130
_KINDS: tuple[Neighbours, ...] = ("fixed log", "interactive")


def games(system: System[Any], plan: PublishedFCLUBPlan) -> Sequence[Game]:
    """What an audit plays: trees as configured, then two servers in a small world."""
    if plan.tree is None:
        return []
    config = plan.config
    found: list[Game] = [_contents_game(plan, plan.tree)]
    found += [_messages_game(system, kind, "messages", config, _ROUNDS, -1.0) for kind in _KINDS]
    looks_at = "messages, on a log where one record decides a partition,"
    sides = [_least_likeness(system, config, world) for world in (0, 1)]
    likeness = 0.5 * (sides[0] + sides[1])
    rounds = _TELLING_ROUNDS
    found.append(_messages_game(system, "fixed log", looks_at, config, rounds, likeness))
    return found


def _pair(dimension: int) -> tuple[Record, Record]:
    """The same item, with the two rewards that there are: what decides memberships."""
    item = np.zeros(dimension)
    item[0] = 1.0 - 1e-6
    return Record(item, 0.0), Record(item, 1.0)


def _contents_game(plan: PublishedFCLUBPlan, tree: ContinualPlan) -> ContentsGame:
    """The totals of one cluster through the trees of all phases, each a fresh one."""
    constants = plan.constants
    pair = opposite_records(constants.dimension, 1.0, 1.0)
    moved = [packed_record(record) for record in pair]
    steps = telling_releases(tree)
    one = likelihood_weights(tree, moved[1] - moved[0], constants.entry_scale, steps)
    weights = np.tile(one, (plan.phases, 1))
    looks_at = f"contents through the trees of {plan.phases} phases"
    release = partial(_released, constants, tree.slots, plan.phases, steps, moved)
    return ContentsGame(looks_at, release, weights)


def _released(
    constants: Constants, slots: int, phases: int, steps: Ints, moved: list[Floats], world: int,
    first: int, count: int,
) -> Floats:  # fmt: skip
    values = np.zeros((count, phases, len(steps), moved[0].size))
    draws = np.zeros((slots, moved[0].size))
    play_trees(constants, steps, moved[world], draws, audit_key(0), first, values)
    return values.reshape(count, phases * len(steps), -1)


@compiled
def play_trees(
    constants: Constants,
    steps: Ints,
    record: Floats,
    draws: Floats,
    key: Key,
    first: int,
    values: Floats,
) -> None:
    """Run after run some releases of a sum with one record, in every phase."""
    runs, phases, _, _ = values.shape
    for run in range(runs):
        for phase in range(phases):
            for place in range(steps.size):
                name = ((first + run) * phases + phase) * steps.size + place
                slot = draw_slot(1, steps[place])
                fill_normal(draws[slot], key, 0, name, _NOISE)
                noisy = values[run, phase, place]
                add_noise(constants, draws, steps[place], noisy)
                noisy += record


def _messages_game(
    system: System[Any], neighbours: Neighbours, looks_at: str, config: PublishedFCLUB,
    rounds: int, likeness: float,
) -> MessagesGame:  # fmt: skip
    fixed = neighbours == "fixed log"
    return MessagesGame(
        neighbours, f"{looks_at} of 2 servers in {rounds} rounds", "server-0", rounds,
        lambda run: _begin(system, config, rounds, run, fixed, likeness),
    )  # fmt: skip


def _begin(
    system: System[Any], config: PublishedFCLUB, rounds: int, run: int, fixed: bool, likeness: float
) -> ServersRun:
    """Servers whose users come in turn, each with few records before phases end."""
    plan = system.plan(config, WORLD.facts, rounds)
    parties, pair = PartiesReplicate(system, plan, WORLD, 0, run), _pair(WORLD.dimension)
    return ServersRun(parties, run, pair, fixed, likeness=likeness)


def _least_likeness(system: System[Any], config: PublishedFCLUB, world: int) -> float:
    """How much alike users must be at least to be left in one cluster in a world.

    Edges are deleted by raw sums, without noise: on a fixed log partitions are the same in every
    run, and one record can decide about them.
    """
    low, high = -1.0, 1.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        together = _stay_together(system, config, middle, world)
        low, high = (low, middle) if together else (middle, high)
    return low


def _stay_together(
    system: System[Any], config: PublishedFCLUB, likeness: float, world: int
) -> bool:
    run = _begin(system, config, _TELLING_ROUNDS, 0, True, likeness)
    for round_ in range(1, _TELLING_ROUNDS + 1):
        run.play_round(world, round_)
    reports = (m for _, m in run.network.transcript.deliveries if isinstance(m, PhaseReport))
    return all(len(set(m.labels)) == 1 for m in reports if m.sender == "server-0")
