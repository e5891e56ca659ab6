"""An agent of a private learner where nobody sees more than sums of releases."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import LocalProtocolError, RemoteProtocolError
from fedbandits.federation.events import Decide, EndRound, LetGo, Observe
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.federation.totals.messages import Total, unpack_words
from fedbandits.federation.totals.reports import of_agent
from fedbandits.federation.totals.sender import Sender, Sending
from fedbandits.privacy.shares import deviations_of, release_share
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


class SecureLearnerAgent(LearnerAgent):
    """One agent: a learner in plain Python decides for it, and its releases are only summed.

    It makes a share for every release, and sends one when it knows what became of its last message.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("ready", kind): ("ready",) for kind in (Decide, Observe, LetGo, EndRound, Total)
    }

    def __init__(self, seat: Seat, plan: LearnerPlan, supply: LearnerSupply) -> None:
        if supply.masks is None:
            raise LocalProtocolError(f"{seat.name}: secure sums need secrets to mask releases")
        self._sender = Sender(seat, totals_plan(plan), supply.masks)
        state = SecureAgentState(**first_state(plan), sending=self._sender.first())
        super().__init__(seat, plan, supply, state)

    @property
    def report(self) -> dict[str, Any]:
        return of_agent(self._own.sending, self._own.unused)

    def heard_of(self, party: str) -> int:
        return self._sender.heard_of(self._own.sending, party)

    def _send(self, values: Floats) -> Step:
        plan, state = self._plan, self._own
        noise: Any = self._supply.noise  # whole, or simulated
        released, share = release_share(
            plan.release, plan.constants.step, state.released, values, np.ones(plan.size), noise
        )
        sending, messages = self._sender.send(state.sending, released.made, share.astype(np.int64))
        return Step(self._after(released=released, sending=sending), messages)

    def _take_over(self, message: Total) -> Step:
        """Find out what became of the last message, and hand the total to the learner.

        A total that no records can come to is left out: if it were refused, the agent would wait
        for ever.
        """
        state = self._own
        sending = self._sender.settle(state.sending, message)
        if sending is state.sending:  # told once more
            return Step(state)
        step = self._used(message, self._sender.numbers_of(message))
        if step is None:
            return Step(self._after(sending=sending, unused=state.unused + 1))
        after: Any = step.state
        return msgspec.structs.replace(step, state=msgspec.structs.replace(after, sending=sending))

    def _used(self, message: Total, newest: tuple[int, ...]) -> Step | None:
        """Go on from the numbers of a total; None if no records can come to them."""
        plan = self._plan
        whole = unpack_words(message.statistic, plan.size).view(np.int64)
        try:
            total = plan.constants.step * whole.astype(np.float64)
            return self._go_on(message.release, newest, total) if max(newest) else None
        except RemoteProtocolError:
            return None

    @property
    def _own(self) -> SecureAgentState:
        """The state as what it is."""
        state: Any = self._state
        return state  # type: ignore[no-any-return]

    def _draw_ahead(self, made: int) -> None:
        """Have the whole noise of the next share before anybody waits for it."""
        plan = self._plan
        if self._has_noise or made >= plan.release.releases:
            return
        noise: Any = self._supply.noise
        if hasattr(noise, "draw_whole_ahead"):
            noise.draw_whole_ahead(
                deviations_of(plan.release, plan.constants.step, np.ones(plan.size), made + 1)
            )
        self._has_noise = True
