"""Releases as configured, with one record replaced: of a user, or of its cluster, that is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.learners.kernels.ridge import Record
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.likelihood import Attacker, attacker, telling_releases
from fedbandits.systems.fclub.loop import simulated_noise, simulated_rows
from fedbandits.systems.fclub.plan import USERS, FCLUBPlan
from fedbandits.systems.games import (
    ContentsGame,
    Look,
    audit_key,
    different_records,
    drawn_targets,
    opposite_records,
    packed_record,
)


def contents_games(plan: FCLUBPlan) -> list[Game]:
    """Of running sums twice: with a record that is in all of them, and with a later one."""
    late = plan.sums is not None and plan.release_count > 1
    return [_contents_game(plan, one) for one in ((False, True) if late else (False,))]


def record_pair(dimension: int, offset: float, late: bool) -> tuple[Record, Record]:
    """The pair with rewards as they enter sums, less ``offset``: at most 1 - offset in size.

    A record of the first batch is in all releases, and the pair is as far apart as any. Later it
    misses some, so that noise which two of them share shows, and the pair differs in every number.
    """
    kind = different_records if late else opposite_records
    return kind(dimension, 1.0, 1.0 - offset)


def _plan_of_rows(plan: FCLUBPlan) -> ContinualPlan:
    """How a row is released, by itself where sums of phases have no record in common."""
    return plan.sums or ContinualPlan("tree", 1, plan.deviation)


def row_counts(plan: FCLUBPlan) -> list[int]:
    """How many rows every server releases at most."""
    users = np.bincount(plan.facts.home, minlength=plan.constants.servers)
    most: list[int] = np.minimum(users, plan.most_clusters).tolist()
    return users.tolist() if plan.releases == USERS else most


class _Setting(NamedTuple):
    """What is attacked, and by whom."""

    plan: FCLUBPlan
    steps: Ints
    late: bool
    pair: tuple[Floats, Floats]
    attacker: Attacker


def _contents_game(plan: FCLUBPlan, late: bool) -> ContentsGame:
    """The row of the record's user, or of its cluster: both are drawn for every run."""
    constants = plan.constants
    pair = record_pair(constants.dimension, constants.offset, late)
    moved = packed_record(pair[0]), packed_record(pair[1])
    steps = telling_releases(_plan_of_rows(plan))
    setting = _Setting(plan, steps, late, moved, attacker(_plan_of_rows(plan), moved, steps))
    which = ", a record of a drawn batch" if late else ""
    if plan.config.protects_persons:
        of_each = " one by one from a drawn batch on" if late else ""
        which = f", {plan.config.records_at_once} records of a user{of_each}"
    looks_at = f"contents of {len(steps)} of {plan.release_count} releases, one drawn row{which}"
    return ContentsGame(looks_at, len(steps) * plan.size, partial(_look, setting), late=late)


def _look(setting: _Setting, world: int, first: int, count: int) -> Look:
    """Each row of a server is a run: they share nothing but whose they are."""
    steps, parts, done = setting.steps, [], 0
    (batch,) = drawn_targets(first, count, max(1, len(steps) - 1))
    batch = batch + 2 if setting.late else np.ones_like(batch)
    entered = _entered(setting, steps - batch[:, None] + 1)
    while done < count:
        parts.append(_one_server(setting, entered[done:], setting.pair[world], first + done))
        done += len(parts[-1])
    values = np.concatenate(parts)
    scores = setting.attacker.scores(values, entered, np.ones(count))
    return Look(values.reshape(count, -1), scores, setting.attacker.bare(values, entered))


def _entered(setting: _Setting, since: Ints) -> Floats:
    """How many replaced records are in each release, (runs, steps).

    Parameters
    ----------
    setting
        What is attacked: a record, or k of a person. Of a late person each batch has one more; else
        the first one has them all, which costs most.
    since : (runs, steps) int64
        How many releases have had records of it so far.
    """
    at_once = setting.plan.config.records_at_once
    entered: Floats = (since > 0).astype(np.float64) * at_once
    return np.minimum(entered, np.maximum(since, 0)) if setting.late else entered


def _one_server(setting: _Setting, entered: Floats, record: Floats, run: int) -> Floats:
    """As many runs as a drawn server has rows, or as are wanted, (runs, steps, size)."""
    plan, counts = setting.plan, row_counts(setting.plan)
    server, alone = (int(drawn[0]) for drawn in drawn_targets(run, 1, len(counts), 2**20))
    rows, wanted = counts[server], min(counts[server], len(entered))
    sums = np.zeros((rows, len(setting.steps), plan.size))
    sums[:wanted] = entered[:wanted, :, None] * record
    # Where phases have no record in common any one of them is attacked.
    steps = setting.steps if plan.sums is not None else [alone % plan.release_count + 1]
    released = release_rows(plan, server, list(steps), sums, run)
    return released[:wanted]


def release_rows(
    plan: FCLUBPlan, server: int, steps: Sequence[int], sums: Floats, run: int
) -> Floats:
    """Some releases of one server's rows (rows, steps, size), by the code of the simulation."""
    key, users = audit_key(run), plan.facts.users_of(server)
    slots = 0 if plan.sums is None else plan.sums.slots
    draws, released, done = np.zeros((len(sums), slots, plan.size)), [], 0
    for place, step in enumerate(steps):
        for before in range(done + 1, step if slots else 0):  # releases that nobody looks at
            draws[:, before - 1] = simulated_noise(plan, key, server, users, before)
        fresh = partial(simulated_noise, plan, key, server, users, int(step))
        released.append(simulated_rows(plan, int(step), draws, fresh, sums[:, place].copy()))
        done = step
    return np.stack(released, axis=1)
