"""All that changes in a SAMBA run, as named tuples of arrays: saving it is saving the run."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints, Words64


class State(NamedTuple):
    """All that changes in a run: saving it is saving the run."""

    round_: Ints  # (1,) pulls made
    explored: Ints  # (1,) steps in which owners sent no scores
    owners: Owners
    total: Floats  # (1,) what the customer has decrypted; NaN until the end


class Owners(NamedTuple):
    """What all data owners know, owner by owner."""

    pulls: Ints  # (arms,) nᵢ
    rewards: Floats  # (arms,) sᵢ
    memory: Floats  # (arms, 1)
    keys: Words64  # (arms, 2): of its own draws


class Scratch(NamedTuple):
    """Buffers of a step; nothing in them outlives it."""

    places: Ints  # (arms,)
    masked: Floats  # (arms,), by owner
    listed: Words64  # (arms,), by place, sealed
    opened: Floats  # (arms,), by place
    waits: Floats
    bits: Any  # (arms,) uint8, by place, sealed


def new_scratch(arms: int) -> Scratch:
    """Buffers for one run."""
    return Scratch(
        places=np.zeros(arms, np.int64),
        masked=np.zeros(arms),
        listed=np.zeros(arms, np.uint64),
        opened=np.zeros(arms),
        waits=np.zeros(arms),
        bits=np.zeros(arms, np.uint8),
    )
