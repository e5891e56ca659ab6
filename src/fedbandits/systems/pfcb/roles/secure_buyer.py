"""P-FCB's buyers where nobody sees more than sums of what they report.

A buyer makes a share at every exchange, as the noise of shares is correlated. It sends one when it
knows what became of its last message. Whether and when follows from the schedule and from totals
alone.

It acts on totals and on its own purchases. It takes its purchases out of a total, where they would
count twice, but never its own noise: decisions that depend on that could take it away.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.events import Decide, EndRound, Observe
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.federation.totals.messages import Total, unpack_words
from fedbandits.federation.totals.reports import of_agent
from fedbandits.federation.totals.sender import Sender, Sending
from fedbandits.privacy import running_sum
from fedbandits.privacy.kernels import any_implausible
from fedbandits.privacy.running_sum import ContinualState
from fedbandits.privacy.shares import deviations_of, release_share
from fedbandits.systems.pfcb.kernels import Books
from fedbandits.systems.pfcb.kernels.reports import noise_deviation
from fedbandits.systems.pfcb.kernels.sums import (
    Measures,
    measures,
    share_pattern,
    take_total,
    write_sums,
)
from fedbandits.systems.pfcb.plan import PFCBPlan
from fedbandits.systems.pfcb.roles.buying import BuyerSupply, Buying
from fedbandits.systems.pfcb.state import BuyingState, close_batch, copied, first_state
from fedbandits.systems.secure_sums import totals_plan


class SecureBuyerState(BuyingState, frozen=True, kw_only=True):
    """All that changes in a buyer that sends increments.

    Parameters
    ----------
    released
        Where its shares stand.
    sending
        Where its messages stand.
    included
        The number of its own share in the last total that it has taken; 0 if there was none.
    unused
        How many totals it could not go on from. Only what they say of its messages was taken up.
    under_way
        Its own sums (2 m,) at its share in the last total, and at those that are in none yet.
    """

    released: ContinualState
    sending: Sending
    included: int = 0
    unused: int = 0
    under_way: dict[int, Floats] = msgspec.field(default_factory=dict)


class SecureBuyer(Buying[SecureBuyerState]):
    """Sends shares of sums to a controller, and learns from the sums.

    Parameters
    ----------
    seat, plan
        See :class:`~.buying.Buying`.
    supply
        Its whole noise, the k-th draw for the k-th share, its secrets, its costs, and everybody's
        capacities.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("ready", kind): ("ready",) for kind in (Decide, Observe, EndRound, Total)
    }

    def __init__(self, seat: Seat, plan: PFCBPlan, supply: BuyerSupply) -> None:
        if supply.masks is None:
            raise LocalProtocolError(f"{seat.name}: secure sums need secrets to mask reports")
        self._sender = Sender(seat, totals_plan(plan, seat.role), supply.masks)
        released = running_sum.init(plan.share, plan.constants.release_size)
        state = SecureBuyerState(
            **first_state(plan), released=released, sending=self._sender.first()
        )
        super().__init__(seat, plan, supply, state)

    @property
    def report(self) -> dict[str, Any]:
        return of_agent(self._state.sending, self._state.unused)

    def heard_of(self, party: str) -> int:
        return self._sender.heard_of(self._state.sending, party)

    @cached_property
    def _known(self) -> Measures:
        """Public facts of a sum."""
        return measures(self._capacities)

    @cached_property
    def _pattern(self) -> Floats:
        """Deviations of the noise in a share, (2 m,), per unit of scale."""
        return share_pattern(self._known.most)

    def _draw_noise(self) -> None:
        noise: Any = self._noise
        if hasattr(noise, "draw_whole_ahead"):
            step, made = self._plan.constants.step, self._state.releases
            noise.draw_whole_ahead(deviations_of(self._plan.share, step, self._pattern, made + 1))

    def _report(self, event: EndRound) -> Step:
        """Make the next share, and send what has come since the last one that was opened."""
        del event
        state, plan, books = self._state, self._plan, copied(self._state.books)
        noise: Any = self._noise  # whole, or simulated
        made, sums = state.releases + 1, self._sums(books)
        released, share = release_share(
            plan.share, plan.constants.step, state.released, sums, self._pattern, noise
        )
        self._has_noise = False
        sending, messages = self._sender.send(state.sending, made, share.astype(np.int64))
        is_new = sending is not state.sending  # or the last message is sent once more
        under_way = {**state.under_way, made: sums} if is_new else state.under_way
        books.fresh[:] = 0.0
        after = msgspec.structs.replace(
            close_batch(state, plan, books), releases=made, released=released, books=books,
            ordered=np.zeros_like(state.ordered), sending=sending, under_way=under_way,
        )  # fmt: skip
        return Step(after, messages)

    def _sums(self, books: Books) -> Floats:
        """Return the exact sums of all own purchases that count by now, (2 m,)."""
        sums = np.zeros(self._plan.constants.release_size)
        write_sums(self._capacity, self._known.most, books.own, sums)
        return sums

    def _learn_of(self, event: Any) -> Step:
        """Find out what became of the last message, and go on from the total.

        A total that cannot be is no reason to stop: if this message were refused, the buyer would
        wait for ever.
        """
        state = self._state
        sending = self._sender.settle(state.sending, event)
        if sending is state.sending:  # told once more
            return Step(state)
        after = self._used(event)
        if after is None:
            after = self._after(unused=state.unused + 1)
        own = after.included, sending.base, sending.pending
        under_way = {k: had for k, had in state.under_way.items() if k in own}
        self._draw_ahead()
        return Step(msgspec.structs.replace(after, sending=sending, under_way=under_way))

    def _used(self, message: Total) -> SecureBuyerState | None:
        """Return the state that goes on from a total; None if it cannot be gone on from."""
        state, constants, own = self._state, self._plan.constants, message.own
        newest = message.releases[-1]
        if newest == 0 or not (own in state.under_way if own else state.included == 0):
            return None
        total = unpack_words(message.statistic, constants.release_size).view(np.int64)
        scale = self._scale(message)
        if self._is_implausible(constants.step * total.astype(np.float64), newest, scale):
            return None
        released = np.zeros(constants.release_size)
        if constants.raw_view and own:
            released = state.under_way[own]
        books, judged = copied(state.books), state.judged.copy()
        round_ = self._plan.exchange_round(message.release)
        take_total(constants, scale, round_, self._known, total, released, books, judged)
        return self._after(books=books, judged=judged, taken=message.release, included=own)

    def _scale(self, total: Total) -> float:
        """Return the scale of the noise of all shares in a total, in capacities."""
        if len(total.releases) == 1:
            return noise_deviation(self._plan.constants, total.releases[0])
        each = zip(total.releases, total.counts, strict=True)
        return math.sqrt(math.fsum(n * self._plan.share.deviation(k) ** 2 for k, n in each if k))

    def _is_implausible(self, values: Floats, release: int, scale: float) -> bool:
        """Tell whether a total is more than capacities allow, but for noise."""
        known, plan = self._known, self._plan
        most = float(plan.batches(release) * self._most)  # purchases of a buyer
        bound = np.tile(len(self._capacities) * known.most, 2)
        return bool(any_implausible(values, bound, most, self._pattern, scale))
