"""Counters of every simulation of servers, as compiled code takes them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._typing import Ints

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
