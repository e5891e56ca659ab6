"""Types of compiled code that systems share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints


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
