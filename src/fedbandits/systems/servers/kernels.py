"""Compiled code of both forms of FCLUB: counters of a run, buffers, and an item shown to a user."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import inlined
from fedbandits._typing import Floats, Floats32, Ints
from fedbandits.environments.kernels.arrivals import (
    ClusteredWorld,
    draw_item_reward,
    fill_expected,
)
from fedbandits.learners.kernels.linucb import Scoring, new_scoring
from fedbandits.privacy.kernels import record_fault
from fedbandits.random import Key
from fedbandits.systems.kernels import Tally

#: Bytes of a number.
NUMBER = 8


class Clock(NamedTuple):
    """Counters, (1,) each, so that compiled code can advance them."""

    round_: Ints  # rounds played
    phase: Ints  # phases that have ended
    uploads: Ints
    downloads: Ints
    bytes_: Ints
    fault: Ints  # why the run cannot go on


def new_clock() -> Clock:
    """Return counters at zero."""
    return Clock(*(np.zeros(1, np.int64) for _ in Clock._fields))


class Scratch(NamedTuple):
    """Buffers of a round; nothing in them outlives the round."""

    scoring: Scoring
    items: Floats32  # (d, K)
    expected: Floats  # (K,)
    context: Floats  # (d,)
    gain: Floats  # (d,)
    factor: Floats  # (d, d)
    row: Floats  # (p + 1,)
    found: Ints  # (users,)
    seen: NDArray[np.uint8]  # (users,)


def new_scratch(dimension: int, items: int, users: int = 0) -> Scratch:
    """Make buffers; with one for so many users."""
    d, k = dimension, items
    return Scratch(
        scoring=new_scoring(d, k), items=np.zeros((d, k), np.float32), expected=np.zeros(k),
        context=np.zeros(d), gain=np.zeros(d), factor=np.zeros((d, d)),
        row=np.zeros(d * (d + 3) // 2 + 1), found=np.zeros(users, np.int64),
        seen=np.zeros(users, np.uint8),
    )  # fmt: skip


@inlined
def recommend(
    world: ClusteredWorld, tally: Tally, scratch: Scratch, bound: float, key: Key, round_: int,
    user: int, chosen: int,
) -> tuple[int, float]:  # fmt: skip
    """Show an item of ``scratch.items`` to a user; count its regret and its reward.

    The item is copied to ``scratch.context``. Returns the fault of the record, whose item may be at
    most ``bound`` long, and its reward.
    """
    expected, context, items = scratch.expected, scratch.context, scratch.items
    best = fill_expected(world, user, round_, items, expected)
    reward = draw_item_reward(expected[chosen], key, round_)
    tally.regret[user] += expected[best] - expected[chosen]
    tally.reward[user] += reward
    for i in range(context.size):
        context[i] = float(items[i, chosen])
    return record_fault(context, reward, bound, 0.0, 1.0, False)
