"""The sound FCLUB in two neighbouring worlds, for an audit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.clustered import Clustered
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.likelihood import likelihood_weights, telling_releases
from fedbandits.random import Purpose, normals
from fedbandits.systems.fclub.config import MixtureFCLUB
from fedbandits.systems.fclub.federate import FederatedRun
from fedbandits.systems.fclub.loop import simulated_rows
from fedbandits.systems.fclub.plan import USERS, Plan, make_plan
from fedbandits.systems.games import (
    ContentsGame,
    MessagesGame,
    Neighbours,
    Record,
    audit_key,
    different_records,
    opposite_records,
    packed_record,
)
from fedbandits.systems.server_games import USERS as ARRIVING
from fedbandits.systems.server_games import ServersRun, small_clusters

_ROUNDS = 64
_KINDS: tuple[Neighbours, ...] = ("fixed log", "interactive")


def games(config: MixtureFCLUB, environment: Clustered, rounds: int) -> Sequence[Game]:
    """What an audit plays: releases as configured, then two servers in a small world."""
    plan = make_plan(config, environment.facts, rounds)
    if not plan.private:
        return []
    sums = plan.sums is not None
    batches = (1, 2) if sums and plan.release_count > 1 else (1,)
    found: list[Game] = [_contents_game(plan, batch) for batch in batches]
    found += [_messages_game(kind, config, 1) for kind in _KINDS]
    if sums and len(make_plan(config, small_clusters().facts, _ROUNDS).constants.phase_ends) > 2:
        found.append(_messages_game("fixed log", config, 2))
    return found


def _records(dimension: int, offset: float, batch: int) -> tuple[Record, Record]:
    """The pair with rewards as they enter sums, less ``offset``: at most 1 - offset in size.

    A record of the first batch is in all releases, and the pair is as far apart as any. Later it
    misses some, so that noise which two of them share shows, and the pair differs in every number.
    """
    kind = opposite_records if batch == 1 else different_records
    return kind(dimension, 1.0, 1.0 - offset)


def _which(batch: int) -> str:
    return "" if batch == 1 else f", a record of batch {batch}"


def _contents_game(plan: Plan, batch: int) -> ContentsGame:
    """The row of the record's user, or of its cluster."""
    constants = plan.constants
    moved = [
        packed_record(record) for record in _records(constants.dimension, constants.offset, batch)
    ]
    change = moved[1] - moved[0]
    if plan.sums is not None:
        steps = telling_releases(plan.sums)
        weights = likelihood_weights(plan.sums, change, plan.pattern, steps, batch)
    else:
        steps = np.array([1], np.int64)
        weights = (change / (plan.deviation * plan.pattern) ** 2)[None, :]
    looks_at = f"contents of {len(steps)} of {plan.release_count} releases, one row"
    play = partial(_released, plan, steps, moved, batch)
    return ContentsGame(looks_at + _which(batch), play, weights)


def _released(
    plan: Plan, steps: Ints, moved: list[Floats], batch: int, world: int, first: int, count: int
) -> Floats:
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


def _messages_game(neighbours: Neighbours, config: MixtureFCLUB, batch: int) -> MessagesGame:
    fixed = neighbours == "fixed log"
    plan = make_plan(config, small_clusters().facts, _ROUNDS)
    follows = fixed or config.local_view == "released"
    informed = follows and plan.releases == USERS and plan.sums is not None

    def begin(run: int) -> _Run:
        return _Run(config, run, fixed, informed, batch)

    looks_at = f"messages of 2 servers in {_ROUNDS} rounds{_which(batch)}"
    return MessagesGame(
        neighbours, looks_at, "server-0", _ROUNDS, begin, gaussian=informed, scores=int(informed)
    )  # fmt: skip


class _Run(ServersRun):
    """Servers of this family, between whose phases something is to be done."""

    def __init__(
        self, config: MixtureFCLUB, run: int, fixed: bool, informed: bool, batch: int
    ) -> None:
        played = FederatedRun(config, small_clusters(), _ROUNDS, 0, run)
        constants = played.plan.constants
        pair = _records(constants.dimension, constants.offset, batch)
        # The first user's first record in a batch.
        before = 0 if batch == 1 else int(constants.phase_ends[batch - 2])
        round_ = 1 - (-before // ARRIVING) * ARRIVING
        super().__init__(played.world, pair, constants.offset, fixed, run, record_round=round_)
        self._batch = batch
        self.network = played.network
        self._run, self._informed, self._score, self._phase = played, informed, 0.0, 0
        sums = played.plan.sums
        if informed and sums is not None:
            change = packed_record(pair[1]) - packed_record(pair[0])
            steps = telling_releases(sums)
            self._weights = likelihood_weights(sums, change, played.plan.pattern, steps, batch)

    def play_round(self, world: int, round_: int) -> None:
        """One user is served; all servers end a phase where one ends."""
        server, place, items, reward = self.arrival(world, round_)
        chosen = self._run.servers[server].recommend(place, items)
        self._run.servers[server].observe(self.earned(self.user(round_), items[:, chosen], reward))
        ends = self._run.plan.constants.phase_ends
        if round_ == ends[self._phase]:
            self._phase += 1
            for other in self._run.servers:
                self.network.send(other.end_phase(round_))
            self.network.settle()
            if self._informed:
                self._look(world)

    def _look(self, world: int) -> None:
        """Score the released row of the record's user, its other records being known."""
        server = self._run.servers[0]
        size = self._run.plan.size
        sent = [m for _, m in self.network.transcript.deliveries if m.sender == server.name]
        row = np.frombuffer(sent[-1].sums)[:size]  # type: ignore[attr-defined]
        others = server.sums[0, :size]
        if self._phase >= self._batch:
            others = others - packed_record(self.pair[world])
        self._score += float(self._weights[self._phase - 1] @ (row - others))

    def scores(self) -> Floats:
        """The likelihood ratio, if others' records are known."""
        return np.array([self._score]) if self._informed else np.zeros(0)
