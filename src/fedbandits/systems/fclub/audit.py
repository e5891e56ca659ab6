"""The sound FCLUB in two neighbouring worlds, for an audit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.learners.ridge import Record
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.likelihood import likelihood_weights, telling_releases
from fedbandits.random import Purpose, normals
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.fclub.config import FCLUB
from fedbandits.systems.fclub.loop import simulated_rows
from fedbandits.systems.fclub.plan import USERS, FCLUBPlan
from fedbandits.systems.games import (
    ContentsGame,
    MessagesGame,
    Neighbours,
    audit_key,
    different_records,
    opposite_records,
    packed_record,
)
from fedbandits.systems.servers.audit import USERS as ARRIVING
from fedbandits.systems.servers.audit import WORLD, ServersRun

_ROUNDS = 64
_KINDS: tuple[Neighbours, ...] = ("fixed log", "interactive")


def games(system: System[Any], plan: FCLUBPlan) -> Sequence[Game]:
    """What an audit plays: releases as configured, then two servers in a small world."""
    if not plan.private:
        return []
    sums = plan.sums is not None
    batches = (1, 2) if sums and plan.release_count > 1 else (1,)
    found: list[Game] = [_contents_game(plan, batch) for batch in batches]
    found += [_messages_game(system, kind, plan.config, 1) for kind in _KINDS]
    if sums and _small(system, plan.config).release_count > 1:
        found.append(_messages_game(system, "fixed log", plan.config, 2))
    return found


def _small(system: System[Any], config: FCLUB) -> FCLUBPlan:
    """The variant in the small world."""
    plan: FCLUBPlan = system.plan(config, WORLD.facts, _ROUNDS)
    return plan


def _records(dimension: int, offset: float, batch: int) -> tuple[Record, Record]:
    """The pair with rewards as they enter sums, less ``offset``: at most 1 - offset in size.

    A record of the first batch is in all releases, and the pair is as far apart as any. Later it
    misses some, so that noise which two of them share shows, and the pair differs in every number.
    """
    kind = opposite_records if batch == 1 else different_records
    return kind(dimension, 1.0, 1.0 - offset)


def _which(batch: int) -> str:
    return "" if batch == 1 else f", a record of batch {batch}"


def _contents_game(plan: FCLUBPlan, batch: int) -> ContentsGame:
    """The row of the record's user, or of its cluster."""
    constants = plan.constants
    moved = [
        packed_record(record) for record in _records(constants.dimension, constants.offset, batch)
    ]
    change = moved[1] - moved[0]
    if plan.sums is not None:
        steps = telling_releases(plan.sums)
        weights = likelihood_weights(plan.sums, change, plan.entry_scale, steps, batch)
    else:
        steps = np.array([1], np.int64)
        weights = (change / (plan.deviation * plan.entry_scale) ** 2)[None, :]
    looks_at = f"contents of {len(steps)} of {plan.release_count} releases, one row"
    play = partial(_released, plan, steps, moved, batch)
    return ContentsGame(looks_at + _which(batch), play, weights)


def _released(
    plan: FCLUBPlan, steps: Ints, moved: list[Floats], batch: int, world: int, first: int,
    count: int,
) -> Floats:  # fmt: skip
    """All runs at once: to the release code they are so many users."""
    rows = np.tile(moved[world], (count, 1))
    slots = 0 if plan.sums is None else plan.sums.slots
    draws, values = np.zeros((count, slots, rows.shape[1])), []
    for step in steps.tolist():
        fresh = partial(_normals, rows.shape, first, step)
        values.append(simulated_rows(plan, step, draws, fresh, rows * (step >= batch)))
    return np.stack(values, axis=1)


def _normals(shape: tuple[int, int], first: int, step: int) -> Floats:
    drawn = normals(shape[0] * shape[1], audit_key(0), first, step, Purpose.PRIVACY_NOISE)
    return drawn.reshape(shape)


def _messages_game(
    system: System[Any], neighbours: Neighbours, config: FCLUB, batch: int
) -> MessagesGame:
    fixed, plan = neighbours == "fixed log", _small(system, config)
    follows = fixed or config.local_view == "released"
    informed = follows and plan.releases == USERS and plan.sums is not None

    def begin(run: int) -> FCLUBRun:
        return FCLUBRun(PartiesReplicate(system, plan, WORLD, 0, run), run, fixed, informed, batch)

    looks_at = f"messages of 2 servers in {_ROUNDS} rounds{_which(batch)}"
    return MessagesGame(
        neighbours, looks_at, "server-0", _ROUNDS, begin, gaussian=informed, scores=int(informed)
    )


class FCLUBRun(ServersRun):
    """Servers whose releases are scored by someone who knows all records but one.

    Parameters
    ----------
    run, number, fixed
        The parties and their network, the number that names the draws of an interactive run, and
        whether all items of a round are alike.
    informed
        Whether to score what is sent.
    batch
        The phase in which the replaced record comes: the first user's first one in it.
    """

    def __init__(
        self, run: PartiesReplicate, number: int, fixed: bool, informed: bool, batch: int
    ) -> None:
        plan: Any = run.plan
        constants = plan.constants
        pair = _records(constants.dimension, constants.offset, batch)
        before = 0 if batch == 1 else int(constants.phase_ends[batch - 2])
        round_ = 1 - (-before // ARRIVING) * ARRIVING
        super().__init__(run, number, pair, fixed, constants.offset, record_round=round_)
        self._plan: FCLUBPlan = plan
        self._batch, self._informed, self._score = batch, informed, 0.0
        if informed and plan.sums is not None:
            change = packed_record(pair[1]) - packed_record(pair[0])
            steps = telling_releases(plan.sums)
            self._weights = likelihood_weights(plan.sums, change, plan.entry_scale, steps, batch)

    def play_round(self, world: int, round_: int) -> None:
        super().play_round(world, round_)
        if self._informed and round_ in self._plan.constants.phase_ends:
            self._look(world)

    def _look(self, world: int) -> None:
        """Score the released row of the record's user, its other records being known."""
        server, size = self.run.players[0], self._plan.size
        sent = [m for _, m in self.network.transcript.deliveries if m.sender == server.name]
        row = np.frombuffer(sent[-1].sums)[:size]
        others = server.sums[0, :size]
        if server.phase >= self._batch:
            others = others - packed_record(self.pair[world])
        self._score += float(self._weights[server.phase - 1] @ (row - others))

    def scores(self) -> Floats:
        """The likelihood ratio, if others' records are known."""
        return np.array([self._score]) if self._informed else np.zeros(0)
