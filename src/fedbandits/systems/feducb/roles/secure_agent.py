"""FedUCB's agents where nobody sees more than sums of releases."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from fedbandits.federation.events import Decide, EndRound, LetGo, Observe
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.federation.totals.member import Member, ShareOf, still_under_way
from fedbandits.federation.totals.messages import Total
from fedbandits.federation.totals.sender import Sending, first_sending
from fedbandits.systems.agents.counting import sum_to_release
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.agents.system import AgentSupply
from fedbandits.systems.feducb.roles.sums import Released, no_release
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


class SecureAgent(Member[SecureAgentState], SyncedAgent[SecureAgentState]):
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
        constants = plan.constants
        shares = ShareOf(plan.release, constants.step, constants.entry_scale)
        totals = totals_plan(plan)
        sending = first_sending(seat, totals, supply.masks)
        self._open_sums(seat, totals, supply.masks, shares)
        super().__init__(seat, plan, supply, SecureAgentState(**first_state(plan), sending=sending))

    def _hear(self, event: Any) -> Step:
        return self._take_total(event)

    def _release(self) -> Step:
        """Make the next share, and send what has come since the last one that was opened."""
        state = self._state
        statistic, kept = sum_to_release(
            self._plan, self._most_records, state.released.made, state.statistic, state.kept
        )
        shared = self._share(statistic.reshape(-1))
        self._has_noise = False
        under_way = state.under_way
        if shared.is_new:
            had = Released(state.records - len(kept), statistic, no_release())
            under_way = {**under_way, shared.released.made: had}
        after = self._after(
            released=shared.released, fresh=0, statistic=statistic.copy(), kept=kept,
            sending=shared.sending, under_way=under_way,
        )  # fmt: skip
        return Step(after, shared.messages)

    def _used(self, total: Total) -> Step | None:
        state, own = self._state, total.own
        if not (own in state.under_way if own else state.included == 0):
            return None
        return self._go_on(total.release, self._sender.numbers_of(total), self._in_records(total))

    def _settled(self, after: Any) -> SecureAgentState:
        state: SecureAgentState = msgspec.structs.replace(after, under_way=still_under_way(after))
        return state

    @property
    def _source(self) -> Any:
        return self._noise

    def _draw_noise(self, made: int, count: int) -> None:
        del made, count  # a share a release
        self._draw_shares_ahead()
