"""The part of secure sums that is the same in the agents of every system.

A member makes a share for every release of its schedule, as the noise of shares is correlated. It
sends one when it knows what became of its last message, and else that message again. Whether and
when follows from the schedule and from totals alone.

A member acts on totals and on its own records. It takes its records out of a total, where they
would count twice, but never its own noise: decisions that depend on that could take it away.
"""

from __future__ import annotations

from typing import Any, Generic, NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import RemoteProtocolError
from fedbandits.federation.messages import Message
from fedbandits.federation.party import Party
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import AnyState, PartyState, Step
from fedbandits.federation.totals.messages import Total, unpack_words
from fedbandits.federation.totals.plan import AgentSecrets, TotalsPlan
from fedbandits.federation.totals.reports import of_agent
from fedbandits.federation.totals.sender import Sender, Sending
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.running_sum import ContinualState
from fedbandits.privacy.shares import deviations_of, release_share


class ShareOf(NamedTuple):
    """The mechanism and the grid of a member's shares.

    Parameters
    ----------
    plan
        The mechanism of one share.
    step
        q, the step of the grid that whole numbers count.
    pattern : (size,) float64
        Deviations of the noise in each entry, relative to that of the mechanism.
    """

    plan: ContinualPlan
    step: float
    pattern: Floats


class Shared(NamedTuple):
    """A share that was made, and whether it is sent."""

    released: ContinualState  # where shares stand
    sending: Sending  # where messages stand
    messages: list[Message]  # this share's, or the last one once more
    is_new: bool  # whether the share itself is under way


class Member(Party[AnyState], Generic[AnyState]):
    """A party that sends shares to be summed, and goes on from totals.

    A system's agent is a subclass of this and of what else its agents do. Its state has
    ``released``, ``sending`` and ``unused``: where shares stand, where messages do, and how many
    totals could not be gone on from. It sets ``_sender`` and ``_shares``, names the source of its
    noise, and says in :meth:`_used` how it goes on from a total.
    """

    _sender: Sender
    _shares: ShareOf

    def _open_sums(
        self, seat: Seat, plan: TotalsPlan, secrets: AgentSecrets | None, shares: ShareOf
    ) -> None:
        """Set up what sends: before noise is drawn ahead; see :class:`.sender.Sender`."""
        self._sender, self._shares = Sender(seat, plan, secrets), shares

    @property
    def report(self) -> dict[str, Any]:
        state: Any = self._state
        return of_agent(state.sending, state.unused, self._sender.controller)

    @property
    def next_end(self) -> int | None:
        """The next round after which a release is due; None once it sends nothing more."""
        state: Any = self._state
        return None if state.sending.retired else super().next_end

    @property
    def waits_for_sum(self) -> bool:
        state: Any = self._state
        return bool(state.sending.pending) and not state.sending.retired

    @property
    def made_and_missed(self) -> tuple[int, int]:
        state: Any = self._state
        made: int = state.released.made
        return made, max(0, state.sending.newest - made)

    @property
    def erased(self) -> int:
        state: Any = self._state
        number: int = state.sending.keys.number
        return number

    def heard_of(self, party: str) -> int:
        state: Any = self._state
        return self._sender.heard_of(state.sending, party)

    @property
    def _source(self) -> Any:
        """The source of its whole or simulated noise."""
        raise NotImplementedError

    def _share(self, values: Floats) -> Shared:
        """Make the next share of exact sums (size,)."""
        state: Any = self._state
        plan, step, pattern = self._shares
        released, share = release_share(plan, step, state.released, values, pattern, self._source)
        sending, messages = self._sender.send(state.sending, released.made, share.astype(np.int64))
        is_new = sending is not state.sending
        return Shared(released, sending, list(messages), is_new)

    def _draw_shares_ahead(self, newest: int | None = None) -> None:
        """Have the whole noise of the next share, before anybody waits for it.

        And that of all shares for sums that it has missed, up to ``newest``: they are made at once,
        in a time that would tell of their noise.
        """
        if not hasattr(self._source, "draw_whole_ahead"):
            return
        state: Any = self._state
        plan, step, pattern = self._shares
        made, newest = state.released.made, state.sending.newest if newest is None else newest
        last = min(max(made, newest) + 1, plan.releases)
        each = [deviations_of(plan, step, pattern, k) for k in range(made + 1, last + 1)]
        if each:
            self._source.draw_whole_ahead(np.concatenate(each))

    def _resume(self) -> None:
        """Draw noise anew: a state that was saved has none."""
        super()._resume()
        self._draw_shares_ahead()

    def _in_records(self, total: Total) -> Floats:
        """Return a total in the units of records, (size,)."""
        step, pattern = self._shares.step, self._shares.pattern
        whole = unpack_words(total.statistic, pattern.size).view(np.int64)
        values: Floats = step * whole.astype(np.float64)
        return values

    def _take_total(self, total: Total) -> Step:
        """Find out what became of the last message, and go on from the total.

        A total that cannot be gone on from is counted. It is no reason to stop: noise can do that,
        and if its message were refused, the member would wait for ever. So is one that comes after
        a false one: the member acts on none until most others have confirmed a later one.
        """
        state: Any = self._state
        sending = self._sender.settle(state.sending, total)
        if sending is state.sending:  # told once more
            return Step(state)
        if not sending.retired:
            self._draw_shares_ahead(sending.newest)  # nothing rests on it: it may fail
        step: Step | None = None
        if total.releases[-1] and not sending.misled:  # else nobody is in it, or it may be false
            try:
                step = self._used(total)
            except RemoteProtocolError:
                step = None
        if step is None:
            step = Step(msgspec.structs.replace(state, unused=state.unused + 1))
        after: Any = step.state
        after = self._settled(msgspec.structs.replace(after, sending=sending))
        outgoing = [*step.outgoing, *self._sender.farewell(state.sending, sending)]
        return msgspec.structs.replace(step, state=after, outgoing=outgoing)

    def _used(self, total: Total) -> Step | None:
        """Go on from a total; None, or RemoteProtocolError, if it cannot be gone on from."""
        raise NotImplementedError

    def _settled(self, after: Any) -> PartyState:
        """Return a state after a total, without what is not needed any more; by default as it is.

        A state that keeps own sums ``under_way``, to take them out of totals, forgets some; see
        :func:`still_under_way`.
        """
        state: PartyState = after
        return state


def still_under_way(after: Any) -> dict[int, Any]:
    """Return what a member had at its releases that a total has, or may yet have.

    The state ``after`` a total has it ``under_way``, by the numbers of releases; ``included`` is
    the one in the total that the member has gone on from.
    """
    own = after.included, after.sending.base, after.sending.pending
    return {k: had for k, had in after.under_way.items() if k in own}
