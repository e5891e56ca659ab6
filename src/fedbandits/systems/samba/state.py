"""All that changes in a SAMBA run, as arrays that compiled code and a file can hold."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.crypto.shares import comparisons
from fedbandits.environments.base import F64, Memory, Needs
from fedbandits.systems.samba.kernels.published import Owners
from fedbandits.systems.samba.plan import SambaPlan


class Clock(NamedTuple):
    """Counters of a run, one-element arrays so that compiled code can advance them."""

    round_: Ints  # pulls made
    explored: Ints  # steps in which owners sent no scores


class State(NamedTuple):
    """All that changes in a run: saving it is saving the run."""

    clock: Clock
    owners: Owners
    total: Floats  # (1,) what the customer has decrypted; NaN until the end


def initial_state(arms: int, memory: float | None = None) -> State:
    """Make the state before the first round, with keys that are still to be filled in.

    An owner's rule remembers ``memory`` before the first step; 1 / K if it is not given.
    """
    owners = Owners(
        pulls=np.zeros(arms, np.int64),
        rewards=np.zeros(arms),
        memory=np.full((arms, 1), 1.0 / arms if memory is None else memory),
        keys=np.zeros((arms, 2), np.uint64),
        regret=np.zeros(arms),
    )
    clock = Clock(np.zeros(1, np.int64), np.zeros(1, np.int64))
    return State(clock, owners, np.full(1, math.nan))


#: What an owner's part in one step takes, in multiplications: a rule, and a packet each way.
_WORK = {"none": 40.0, "stream": 200.0, "aes-gcm": 20_000.0}
#: What a silent comparison takes beside, with all that is dealt for it.
_COMPARISON_WORK = 300.0


def needs(plan: SambaPlan) -> Needs:
    """Return what :func:`initial_state` takes, and the rounds after it."""
    owners = Memory("what owners know", plan.arms * 6 * F64, "environment.arms")
    work = plan.arms * _WORK[plan.config.packet_cipher]
    if plan.config.is_silent and plan.config.execution != "plain":
        work += plan.iterations * _COMPARISON_WORK * comparisons(plan.arms, plan.config.arity)
    return Needs((owners,), plan.rounds * work)
