"""Compiled code and types that systems share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Floats32


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
