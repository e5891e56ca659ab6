"""What is counted in every simulation of servers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._typing import Ints


class Clock(NamedTuple):
    """Counters, (1,) each, so that compiled code can advance them."""

    round_: Ints  # rounds played
    phase: Ints  # phases that have ended
    uploads: Ints
    downloads: Ints
    bytes_: Ints
    fault: Ints  # why the run cannot go on


def new_clock() -> Clock:
    """Zeros."""
    return Clock(*(np.zeros(1, np.int64) for _ in Clock._fields))
