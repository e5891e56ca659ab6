"""Compiled code and types that systems share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Floats32, Ints


class Clock(NamedTuple):
    """Counters of a run, one-element arrays so that compiled code can advance them."""

    round_: Ints  # rounds played
    syncs: Ints  # syncs of all parties, or exchanges, as a system counts them
    waited: Ints  # rounds since the last sync
    messages: Ints
    carrying: Ints  # messages that carry statistics
    asked: Ints  # the last round in which a party called for a sync


def new_clock() -> Clock:
    """Return counters at zero."""
    return Clock(*(np.zeros(1, np.int64) for _ in Clock._fields))


class Tally(NamedTuple):
    """Counters of every party, (parties,) each."""

    regret: Floats
    reward: Floats


@compiled
def transpose(rows: Floats, columns: Floats32) -> None:
    """Write rows as columns, in float32; compiled code does not warn of overflow."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            columns[j, i] = np.float32(rows[i, j])
