"""An agent of a private learner where nobody sees more than sums of releases."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from fedbandits._typing import Floats
from fedbandits.federation.events import Decide, EndRound, LetGo, Observe
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.federation.totals.member import Member, ShareOf
from fedbandits.federation.totals.messages import Total
from fedbandits.federation.totals.sender import Sending, first_sending
from fedbandits.systems.python_learners.agent import (
    AgentState,
    LearnerAgent,
    LearnerSupply,
    first_state,
)
from fedbandits.systems.python_learners.plan import LearnerPlan
from fedbandits.systems.secure_sums import totals_plan


class SecureAgentState(AgentState, frozen=True, kw_only=True):
    """All that changes in an agent that sends increments."""

    sending: Sending  # where its messages stand
    unused: int = 0  # totals that no records can come to


class SecureLearnerAgent(Member[AgentState], LearnerAgent):
    """One agent: a learner in plain Python decides for it, and its releases are only summed.

    It makes a share for every release, and sends one when it knows what became of its last message.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("ready", kind): ("ready",) for kind in (Decide, Observe, LetGo, EndRound, Total)
    }

    def __init__(self, seat: Seat, plan: LearnerPlan, supply: LearnerSupply) -> None:
        shares = ShareOf(plan.release, plan.constants.step, np.ones(plan.size))
        totals = totals_plan(plan)
        sending = first_sending(seat, totals, supply.masks)
        self._open_sums(seat, totals, supply.masks, shares)
        state = SecureAgentState(**first_state(plan), sending=sending)
        super().__init__(seat, plan, supply, state)

    def _send(self, values: Floats) -> Step:
        shared = self._share(values)
        after: Any = self._after(released=shared.released, sending=shared.sending)
        return Step(after, shared.messages)

    def _take_over(self, message: Total) -> Step:
        return self._take_total(message)

    def _used(self, total: Total) -> Step:
        return self._go_on(total.release, self._sender.numbers_of(total), self._in_records(total))

    @property
    def _source(self) -> Any:
        return self._supply.noise

    def _draw_noise(self, made: int) -> None:
        del made
        self._draw_shares_ahead()
