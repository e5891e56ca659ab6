"""FCLUB as published in two neighbouring worlds, for an audit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.learners.ridge import Record
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.kernels import TREE, draw_slot
from fedbandits.privacy.likelihood import (
    Attacker,
    attacker,
    stated_deviations,
    stated_pattern,
    telling_releases,
)
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.random import Key, Purpose, fill_normal
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.fclub_published.config import PublishedFCLUB
from fedbandits.systems.fclub_published.kernels.exchange import add_noise
from fedbandits.systems.fclub_published.messages import PhaseReport
from fedbandits.systems.fclub_published.plan import Constants, PublishedFCLUBPlan
from fedbandits.systems.games import (
    ContentsGame,
    Look,
    Neighbours,
    audit_key,
    drawn_targets,
    opposite_records,
    packed_record,
)
from fedbandits.systems.noisy_releases import CompiledNoise, compiled_numbers, some_releases
from fedbandits.systems.party_games import MessagesGame
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
    found += [
        _messages_game(system, kind, "messages", config, _ROUNDS, -1.0, False) for kind in _KINDS
    ]
    looks_at = "messages, on a log where one record decides a partition,"
    sides = [_least_likeness(system, config, world) for world in (0, 1)]
    likeness = 0.5 * (sides[0] + sides[1])
    rounds = _TELLING_ROUNDS
    found.append(_messages_game(system, "fixed log", looks_at, config, rounds, likeness, True))
    return found


def _pair(dimension: int) -> tuple[Record, Record]:
    """The same item, with the two rewards that there are: what decides memberships."""
    item = np.zeros(dimension)
    item[0] = 1.0 - 1e-6
    return Record(item, 0.0), Record(item, 1.0)


class _Setting(NamedTuple):
    """What is attacked, and by whom."""

    constants: Constants
    tree: ContinualPlan
    trees: int
    steps: Ints
    pair: tuple[Floats, Floats]
    attacker: Attacker


def _contents_game(plan: PublishedFCLUBPlan, tree: ContinualPlan) -> ContentsGame:
    """The totals of a user's clusters through all their trees: each split begins a fresh one."""
    constants = plan.constants
    pair = opposite_records(constants.dimension, 1.0, 1.0)
    moved = packed_record(pair[0]), packed_record(pair[1])
    steps = telling_releases(tree)
    one = attacker(tree, moved, steps)
    trees = len(plan.events)
    over_time = np.asarray(np.kron(np.eye(trees), one.over_time), dtype=np.float64)
    all_trees = one._replace(over_time=over_time)
    setting = _Setting(constants, tree, trees, steps, moved, all_trees)
    looks_at = f"contents through the trees of {trees} splits, and of a drawn release"
    return ContentsGame(looks_at, trees * len(steps) * _size(plan), partial(_look, setting))


def _size(plan: PublishedFCLUBPlan) -> int:
    """Numbers of a packed statistic."""
    return len(plan.constants.entry_scale)


def _look(setting: _Setting, world: int, first: int, count: int) -> Look:
    (drawn,) = drawn_targets(first, count, setting.tree.releases)
    record = setting.pair[world]
    at = np.tile(setting.steps, (count, 1))
    values = _released(setting, setting.trees, at, audit_key(0), first) + record
    values = values.reshape(count, -1, len(record))
    entered = np.ones(values.shape[:2])
    more = _released(setting, 1, drawn[:, None] + 1, audit_key(1), first)[:, 0] + record
    sees = setting.attacker
    others = sees.bare(values, entered) + sees.bare(more, np.ones((count, 1)))
    return Look(values.reshape(count, -1), sees.scores(values, entered, np.ones(count)), others)


def _released(setting: _Setting, trees: int, at: Ints, key: Key, first: int) -> Floats:
    size = len(setting.pair[0])
    values = np.zeros((len(at), trees, at.shape[1], size))
    draws = np.zeros((setting.tree.slots, size))
    play_trees(setting.constants, at, draws, key, first, values)
    return values


@compiled
def play_trees(
    constants: Constants, steps: Ints, draws: Floats, key: Key, first: int, values: Floats
) -> None:
    """Noise of the releases ``steps`` (runs, n), in every tree anew, into (runs, trees, n, p)."""
    runs, trees, places, _ = values.shape
    for run in range(runs):
        for tree in range(trees):
            done = 0
            for place in range(places):
                release = steps[run, place]
                at = release
                while at > done:  # the blocks that a release is made of
                    slot, name = draw_slot(TREE, at), (first + run) * trees + tree
                    fill_normal(draws[slot], key, at, name, _NOISE)
                    at &= at - 1
                add_noise(constants, draws, release, values[run, tree, place])
                done = release


def noise_checks(system: System[Any], plan: PublishedFCLUBPlan) -> Sequence[NoisyNumbers]:
    """All releases of a tree, by the code of the simulation.

    That those of a deployment have the same joint distribution is for tests: what it releases when
    depends on data.
    """
    del system
    if plan.tree is None:
        return []
    size, tree = _size(plan), plan.tree
    steps = some_releases(tree.releases, size, tree)
    pattern = stated_pattern(1, plan.constants.dimension)
    deviations = np.outer(stated_deviations(tree, steps), pattern)[None]
    draw = partial(_drawn, plan.constants, tree, steps)
    drawn = CompiledNoise(steps, tree.releases, deviations, draw)
    return [compiled_numbers(drawn, "a tree", "tree", _number)]


def _number(place: int) -> str:
    return f"number {place}"


def _drawn(
    constants: Constants, tree: ContinualPlan, steps: Ints, first: int, count: int
) -> Floats:
    noise = np.zeros((count, 1, len(steps), len(constants.entry_scale)))
    draws = np.zeros((tree.slots, noise.shape[-1]))
    play_trees(constants, np.tile(steps, (count, 1)), draws, audit_key(2), first, noise)
    return noise


def _messages_game(
    system: System[Any], neighbours: Neighbours, looks_at: str, config: PublishedFCLUB,
    rounds: int, likeness: float, decides: bool,
) -> MessagesGame:  # fmt: skip
    fixed = neighbours == "fixed log"

    def begin(run: int) -> ServersRun:
        # Of anybody, unless it is this one record that decides.
        (drawn,) = drawn_targets(run, 1, 1 if decides else rounds)
        return _begin(system, config, rounds, run, fixed, likeness, 1 + int(drawn[0]))

    whose = "" if decides else ", of one drawn user"
    return MessagesGame(
        neighbours, f"{looks_at} of 2 servers in {rounds} rounds{whose}", rounds, begin
    )


def _begin(
    system: System[Any], config: PublishedFCLUB, rounds: int, run: int, fixed: bool,
    likeness: float, record_round: int = 1,
) -> ServersRun:  # fmt: skip
    """Servers whose users come in turn, each with few records before phases end."""
    plan = system.plan(config, WORLD.facts, rounds)
    parties, pair = PartiesReplicate(system, plan, WORLD, 0, run), _pair(WORLD.dimension)
    return ServersRun(parties, run, pair, fixed, likeness=likeness, record_round=record_round)


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
