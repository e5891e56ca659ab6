"""FedUCB's agents where nobody sees more than sums of releases.

An agent makes a share for every release of the schedule, as the noise of shares is correlated. It
sends one when it knows what became of its last message, and else that message again. Whether and
when follows from the schedule and from totals alone.

It acts on totals and on its own records. It takes its records out of a total, where they would
count twice, but never its own noise: decisions that depend on that could take it away.
"""

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
from fedbandits.systems.agents.counting import sum_to_release
from fedbandits.systems.agents.joint import no_release
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.agents.system import AgentSupply
from fedbandits.systems.feducb.roles.sums import Released
from fedbandits.systems.feducb.roles.synced import AgentState, SyncedAgent, first_state
from fedbandits.systems.secure_sums import totals_plan


class SecureAgentState(AgentState, frozen=True, kw_only=True):
    """All that changes in an agent that sends increments.

    Parameters
    ----------
    sending
        Where its messages stand.
    unused
        How many totals made no estimate. Only what they say of its messages was taken up.
    """

    sending: Sending
    unused: int = 0


class SecureAgent(SyncedAgent[SecureAgentState]):
    """One organisation: decides, learns from rewards, sends shares to be summed.

    Parameters
    ----------
    seat, plan
        See :class:`~.synced.SyncedAgent`.
    supply
        Its whole noise, the k-th draw for the k-th release, its secrets, and how it breaks ties.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("ready", kind): ("ready",) for kind in (Decide, Observe, LetGo, EndRound, Total)
    }

    def __init__(self, seat: Seat, plan: AgentsPlan, supply: AgentSupply) -> None:
        if supply.masks is None:
            raise LocalProtocolError(f"{seat.name}: secure sums need secrets to mask releases")
        self._sender = Sender(seat, totals_plan(plan), supply.masks)
        state = SecureAgentState(**first_state(plan), sending=self._sender.first())
        super().__init__(seat, plan, supply, state)

    @property
    def report(self) -> dict[str, Any]:
        return of_agent(self._state.sending, self._state.unused)

    def heard_of(self, party: str) -> int:
        return self._sender.heard_of(self._state.sending, party)

    def _compute(self, event: Any) -> Step:
        match event:
            case Decide():
                self._draw_ahead(self._state.released.made)
                return self._choose(event, self._state.view, self._state.joint)
            case Observe():
                return self._observe(event)
            case LetGo():
                return self._let_go(event)
            case EndRound():
                return self._end_round(event)
            case _:
                return self._take_over(event)

    def _release(self) -> Step:
        """Make the next share, and send what has come since the last one that was opened."""
        state, plan = self._state, self._plan
        noise: Any = self._noise  # whole, or simulated
        statistic, kept = sum_to_release(
            plan, self._most_records, state.released.made, state.statistic, state.kept
        )
        released, share = release_share(
            plan.release, plan.constants.step, state.released, statistic.reshape(-1),
            plan.constants.entry_scale, noise,
        )  # fmt: skip
        self._has_noise = False
        sending, messages = self._sender.send(state.sending, released.made, share.astype(np.int64))
        under_way = state.under_way
        if sending is not state.sending:
            had = Released(state.records - len(kept), statistic, no_release())
            under_way = {**under_way, released.made: had}
        after = self._after(
            released=released, fresh=0, statistic=statistic.copy(), kept=kept, sending=sending,
            under_way=under_way,
        )  # fmt: skip
        return Step(after, messages)

    def _take_over(self, message: Total) -> Step:
        """Find out what became of the last message, and go on from the total.

        A total that makes no estimate is no reason to stop: noise can do that, and if this message
        were refused, the agent would wait for ever.
        """
        state = self._state
        sending = self._sender.settle(state.sending, message)
        if sending is state.sending:  # told once more
            return Step(state)
        step = self._used(message, self._sender.numbers_of(message))
        after: Any = self._after(unused=state.unused + 1) if step is None else step.state
        own = after.included, sending.base, sending.pending
        after = msgspec.structs.replace(
            after, sending=sending,
            under_way={k: had for k, had in after.under_way.items() if k in own},
        )  # fmt: skip
        return Step(after) if step is None else msgspec.structs.replace(step, state=after)

    def _used(self, message: Total, newest: tuple[int, ...]) -> Step | None:
        """Go on from the numbers of a total; None if they make no estimate."""
        state, own = self._state, newest[self._index]
        known = own in state.under_way if own else state.included == 0
        if max(newest) == 0 or not known:
            return None
        try:
            return self._go_on(message.release, newest, self._values(message))
        except RemoteProtocolError:
            return None

    def _values(self, message: Total) -> Floats:
        """Return a total in the units of records, (release_size,)."""
        constants = self._plan.constants
        whole = unpack_words(message.statistic, constants.release_size).view(np.int64)
        return constants.step * whole.astype(np.float64)

    def _draw_ahead(self, made: int, count: int = 1) -> None:
        """Have the whole noise of the next share before anybody waits for it."""
        constants = self._plan.constants
        if self._has_noise or made >= constants.releases:
            return
        noise: Any = self._noise
        if hasattr(noise, "draw_whole_ahead"):
            deviations = deviations_of(
                self._plan.release, constants.step, constants.entry_scale, made + 1
            )
            for _ in range(count):
                noise.draw_whole_ahead(deviations)
        self._has_noise = True
