"""FCLUB as published in two neighbouring worlds, for an audit."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.federation.messages import unpack
from fedbandits.learners.kernels.ridge import Record
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.likelihood import (
    attacker,
    drawn_steps,
    stated_pattern,
    telling_releases,
)
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.random import Key, Purpose, normals
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.fclub_published.declare import PublishedFCLUB
from fedbandits.systems.fclub_published.kernels.rounds import play_trees
from fedbandits.systems.fclub_published.kernels.servers import PHASED, Constants
from fedbandits.systems.fclub_published.messages import PhaseReport
from fedbandits.systems.fclub_published.plan import PublishedFCLUBPlan
from fedbandits.systems.games import (
    ContentsGame,
    Look,
    Neighbours,
    audit_key,
    drawn_targets,
    look_of,
    opposite_records,
    packed_pair,
)
from fedbandits.systems.noisy_releases import Listener, some_releases, stated_sums
from fedbandits.systems.party_games import MessagesGame, SmallWorld, Targets
from fedbandits.systems.servers.audit import SERVERS, WORLD, ServersRun

_ROUNDS = 120
#: Ends soon after a phase in which users have enough records to be told apart.
_TELLING_ROUNDS = 260


def games(system: System[Any], plan: PublishedFCLUBPlan) -> Sequence[Game]:
    """Return the games of an audit: trees as configured, then four servers in a small world."""
    if plan.tree is None:
        return []
    small, telling = (_small(system, plan.config, r) for r in (_ROUNDS, _TELLING_ROUNDS))
    looks_at = "messages, on a log where one record decides a partition,"

    @functools.cache
    def likeness() -> float:  # takes seconds: only where the game is played
        return 0.5 * (_least_likeness(telling, 0) + _least_likeness(telling, 1))

    return [
        _contents_game(plan, plan.tree),
        _messages_game(small, "fixed log", "messages"),
        _messages_game(small, "interactive", "messages"),
        _messages_game(telling, "fixed log", looks_at, likeness),
    ]


def noise_checks(system: System[Any], plan: PublishedFCLUBPlan) -> Sequence[NoisyNumbers]:
    """Return all releases of a tree, by the code of the simulation, and servers' first reports.

    Later releases of a deployment, and their times, depend on data. Tests show that their joint
    distribution is the same.
    """
    if plan.tree is None:
        return []
    constants, tree = plan.constants, plan.tree
    steps = some_releases(tree.releases, len(constants.entry_scale), tree)
    pattern = stated_pattern(1, constants.dimension)
    stated = stated_sums("a tree", "tree", tree, steps, np.full(1, tree.scale), pattern)
    names = drawn_steps(tree, steps).tolist()

    def drawn(run: int) -> tuple[Floats, Floats]:
        noise = _released(constants, tree, 1, steps[None], audit_key(2), run)
        size = noise.shape[-1]
        given = [normals(size, audit_key(2), at, run, Purpose.PRIVACY_NOISE) for at in names]
        return noise[0], np.stack(given)[None]

    checks = [stated.simulated(steps, tree.releases, drawn)]
    return (
        [*checks, _first_reports(system, plan.config)] if constants.clustering == PHASED else checks
    )


def _first_reports(system: System[Any], config: PublishedFCLUB) -> NoisyNumbers:
    """Return the first reports of servers, without a record: noise alone."""
    small = _small(system, config, 2)
    tree: ContinualPlan = small.plan.tree
    shift = small.plan.shift(2.0)

    def listen(run: PartiesReplicate) -> Listener:
        places = {server.name: place for place, server in enumerate(run.players)}
        return lambda messages: [
            (places[m.sender], 1, unpack(m.sums, len(shift) + 1)[:-1] - shift)
            for m in messages
            if isinstance(m, PhaseReport) and m.phase == 0
        ]

    who, pattern = f"{SERVERS} servers as they begin", stated_pattern(1, WORLD.dimension)
    scales = np.full(SERVERS, tree.scale)
    stated = stated_sums(who, "server", tree, np.ones(1, np.int64), scales, pattern)
    return stated.deployed(small, listen, planned=tree.releases)


# ---------------------------------------------------------------- contents


def _contents_game(plan: PublishedFCLUBPlan, tree: ContinualPlan) -> ContentsGame:
    """Attack a user's clusters through all their trees: each split begins a fresh one."""
    pair = packed_pair(opposite_records(plan.constants.dimension, 1.0, 1.0))
    steps, trees = telling_releases(tree), len(plan.events)
    one = attacker(tree, pair, steps)
    over_time = np.asarray(np.kron(np.eye(trees), one.over_time), dtype=np.float64)
    sees = one._replace(over_time=over_time)

    def look(world: int, first: int, count: int) -> Look:
        (drawn,) = drawn_targets(first, count, tree.releases)
        at, record, constants = np.tile(steps, (count, 1)), pair[world], plan.constants
        values = _released(constants, tree, trees, at, audit_key(0), first) + record
        values = values.reshape(count, -1, len(record))
        more = _released(constants, tree, 1, drawn[:, None] + 1, audit_key(1), first)
        look = look_of(sees, values, np.ones(values.shape[:2]))
        others = sees.bare(more[:, 0] + record, np.ones((count, 1)))
        return look._replace(others=look.others + others)

    looks_at = f"contents through the trees of {trees} splits, and of a drawn release"
    return ContentsGame(looks_at, trees * len(steps) * len(pair[0]), look)


def _released(
    constants: Constants, tree: ContinualPlan, trees: int, at: Ints, key: Key, first: int
) -> Floats:
    """Draw the noise of the releases ``at`` (runs, n) of trees, (runs, trees, n, p)."""
    values = np.zeros((len(at), trees, at.shape[1], len(constants.entry_scale)))
    draws = np.zeros((tree.slots, values.shape[-1]))
    play_trees(constants, at, draws, key, first, values)
    return values


# ---------------------------------------------------------------- whole servers


def _small(system: System[Any], config: PublishedFCLUB, rounds: int) -> SmallWorld:
    return SmallWorld(system, system.plan(config, WORLD.facts, rounds), WORLD)


def _messages_game(
    small: SmallWorld, neighbours: Neighbours, looks_at: str,
    likeness: Callable[[], float] | None = None,
) -> MessagesGame:  # fmt: skip
    """Attack users that come in turn, each with few records before phases end.

    A record of any user is replaced; with a likeness the first record, which alone decides.
    """
    # The same item, with either reward: such a record decides memberships.
    item = np.zeros(WORLD.dimension)
    item[0] = 1.0 - 1e-6
    pair, rounds = (Record(item, 0.0), Record(item, 1.0)), small.plan.rounds
    fixed, decides = neighbours == "fixed log", likeness is not None

    def make(run: PartiesReplicate, number: int, targets: Targets) -> ServersRun:
        alike, ((drawn,),) = -1.0 if likeness is None else likeness(), targets
        return ServersRun(run, number, pair, fixed, [1 + drawn], likeness=alike)

    whose = "" if decides else ", of one drawn user"
    looks_at = f"{looks_at} of {SERVERS} servers in {rounds} rounds{whose}"
    return MessagesGame(neighbours, looks_at, small, (1 if decides else rounds,), make)


def _least_likeness(small: SmallWorld, world: int) -> float:
    """Return the least likeness of users that stay in the same cluster in a world.

    Edges are deleted by raw sums, without noise: on a fixed log partitions are the same in every
    run, and one record can decide about them.
    """
    low, high = -1.0, 1.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        together = _stay_together(small, middle, world)
        low, high = (low, middle) if together else (middle, high)
    return low


def _stay_together(small: SmallWorld, likeness: float, world: int) -> bool:
    run = _messages_game(small, "fixed log", "", lambda: likeness).begin(0)
    for round_ in range(1, small.plan.rounds + 1):
        run.play_round(world, round_)
    reports = (m for _, m in run.network.transcript.deliveries if isinstance(m, PhaseReport))
    return all(len(set(m.labels)) == 1 for m in reports if m.sender == "server-0")
