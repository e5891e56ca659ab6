"""Compiled code of both forms of FCLUB: the counters of a run, and an item shown to a user."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._compile import inlined
from fedbandits._typing import Floats, Floats32, Ints
from fedbandits.environments.kernels.arrivals import (
    ClusteredWorld,
    draw_item_reward,
    fill_expected,
)
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


@inlined
def recommend(
    world: ClusteredWorld, tally: Tally, items: Floats32, expected: Floats, context: Floats,
    bound: float, key: Key, round_: int, user: int, chosen: int,
) -> tuple[int, float]:  # fmt: skip
    """Show an item of ``items`` (d, K) to a user; count its regret and its reward.

    The item is copied to ``context`` (d,), and ``expected`` (K,) is overwritten. Returns the fault
    of the record, whose item may be at most ``bound`` long, and its reward.
    """
    best = fill_expected(world, user, round_, items, expected)
    reward = draw_item_reward(expected[chosen], key, round_)
    tally.regret[user] += expected[best] - expected[chosen]
    tally.reward[user] += reward
    for i in range(context.size):
        context[i] = float(items[i, chosen])
    return record_fault(context, reward, bound, 0.0, 1.0, False)
