"""FCLUB as published in two neighbouring worlds, for an audit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.environments.clustered import Clustered
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.continual import ContinualPlan, draw_slot
from fedbandits.privacy.likelihood import likelihood_weights, telling_releases
from fedbandits.random import Key, Purpose, fill_normal
from fedbandits.systems.fclub_published.config import FCLUB
from fedbandits.systems.fclub_published.federate import FederatedRun
from fedbandits.systems.fclub_published.kernels.exchange import add_noise
from fedbandits.systems.fclub_published.messages import PhaseReport
from fedbandits.systems.fclub_published.plan import Constants, Plan, make_plan
from fedbandits.systems.games import (
    ContentsGame,
    MessagesGame,
    Neighbours,
    Record,
    audit_key,
    opposite_records,
    packed_record,
)
from fedbandits.systems.server_games import ServersRun, small_clusters

_NOISE = int(Purpose.PRIVACY_NOISE)
_ROUNDS = 70
#: Ends soon after a phase in which users have enough records to be told apart.
_TELLING_ROUNDS = 130
_KINDS: tuple[Neighbours, ...] = ("fixed log", "interactive")


def games(config: FCLUB, environment: Clustered, rounds: int) -> Sequence[Game]:
    """What an audit plays: trees as configured, then two servers in a small world."""
    plan = make_plan(config, environment.facts, rounds)
    if plan.tree is None:
        return []
    found: list[Game] = [_contents_game(plan, plan.tree)]
    found += [_messages_game(kind, "messages", config, _ROUNDS, -1.0) for kind in _KINDS]
    looks_at = "messages, on a log where one record decides a partition,"
    sides = [_least_likeness(config, world) for world in (0, 1)]
    likeness = 0.5 * (sides[0] + sides[1])
    found.append(_messages_game("fixed log", looks_at, config, _TELLING_ROUNDS, likeness))
    return found


def _pair(dimension: int) -> tuple[Record, Record]:
    """The same item, with the two rewards that there are: what decides memberships."""
    item = np.zeros(dimension)
    item[0] = 1.0 - 1e-6
    return Record(item, 0.0), Record(item, 1.0)


def _contents_game(plan: Plan, tree: ContinualPlan) -> ContentsGame:
    """The totals of one cluster through the trees of all phases, each a fresh one."""
    constants = plan.constants
    pair = opposite_records(constants.dimension, 1.0, 1.0)
    moved = [packed_record(record) for record in pair]
    steps = telling_releases(tree)
    one = likelihood_weights(tree, moved[1] - moved[0], constants.pattern, steps)
    weights = np.tile(one, (plan.phases, 1))
    looks_at = f"contents through the trees of {plan.phases} phases"
    release = partial(_released, constants, tree.slots, plan.phases, steps, moved)
    return ContentsGame(looks_at, release, weights)


def _released(
    constants: Constants, slots: int, phases: int, steps: Ints, moved: list[Floats], world: int, first: int,
    count: int,
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
    neighbours: Neighbours, looks_at: str, config: FCLUB, rounds: int, likeness: float
) -> MessagesGame:
    fixed = neighbours == "fixed log"
    return MessagesGame(
        neighbours, f"{looks_at} of 2 servers in {rounds} rounds", "server-0", rounds,
        lambda run: _Run(config, run, rounds, fixed, likeness),
    )  # fmt: skip


def _least_likeness(config: FCLUB, world: int) -> float:
    """How much alike users must be at least to be left in one cluster in a world.

    Edges are deleted by raw sums, without noise: on a fixed log partitions are the same in every
    run, and one record can decide about them.
    """
    low, high = -1.0, 1.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if _stay_together(config, middle, world) else (middle, high)
    return low


def _stay_together(config: FCLUB, likeness: float, world: int) -> bool:
    run = _Run(config, 0, _TELLING_ROUNDS, True, likeness)
    for round_ in range(1, _TELLING_ROUNDS + 1):
        run.play_round(world, round_)
    reports = (m for _, m in run.network.transcript.deliveries if isinstance(m, PhaseReport))
    return all(len(set(m.labels)) == 1 for m in reports if m.sender == "server-0")


class _Run(ServersRun):
    """Servers of this family; users come in turn, each with few records before phases end."""

    def __init__(self, config: FCLUB, run: int, rounds: int, fixed: bool, likeness: float) -> None:
        played = FederatedRun(config, small_clusters(), rounds, 0, run)
        pair = _pair(played.plan.constants.dimension)
        super().__init__(played.world, pair, 0.0, fixed, run, likeness)
        self.network, self._run = played.network, played

    def play_round(self, world: int, round_: int) -> None:
        """One user is served; all servers begin a phase where one ends."""
        server, _, items, reward = self.arrival(world, round_)
        serving = self._run.servers[server]
        chosen = serving.decide(round_, self.user(round_), items)
        self.network.send(serving.observe(self.earned(self.user(round_), items[:, chosen], reward)))
        self.network.settle()
        if round_ == self._run.plan.constants.phase_ends[serving.phase]:
            for other in self._run.servers:
                self.network.send(other.begin_phase(round_))
            self.network.settle()

    def scores(self) -> Floats:
        """None: what reaches a cluster depends on partitions."""
        return np.zeros(0)
