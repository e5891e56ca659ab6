"""P-FCB's buyers where nobody sees more than sums of what they report."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.federation.events import Decide, EndRound, Observe
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.federation.totals.member import Member, ShareOf, still_under_way
from fedbandits.federation.totals.messages import Total, unpack_words
from fedbandits.federation.totals.sender import Sending, first_sending
from fedbandits.privacy import running_sum
from fedbandits.privacy.kernels import any_implausible
from fedbandits.privacy.running_sum import ContinualState
from fedbandits.systems.pfcb.kernels import Books
from fedbandits.systems.pfcb.kernels.reports import noise_deviation
from fedbandits.systems.pfcb.kernels.sums import (
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


class SecureBuyer(Member[SecureBuyerState], Buying[SecureBuyerState]):
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
        size = plan.constants.release_size
        state = SecureBuyerState(
            **first_state(plan), released=running_sum.init(plan.share, size),
            sending=first_sending(seat, totals_plan(plan, seat.role), supply.masks),
        )  # fmt: skip
        super().__init__(seat, plan, supply, state)

    def _prepare(self, seat: Seat, supply: BuyerSupply) -> None:
        plan = self._plan
        #: Public facts of a sum.
        self._known = measures(self._capacities)
        shares = ShareOf(plan.share, plan.constants.step, share_pattern(self._known.most))
        self._open_sums(seat, totals_plan(plan, seat.role), supply.masks, shares)

    @property
    def _source(self) -> Any:
        return self._noise

    def _draw_noise(self) -> None:
        self._draw_shares_ahead()

    def _report(self, event: EndRound) -> Step:
        """Make the next share, and send what has come since the last one that was opened."""
        del event
        state, plan, books = self._state, self._plan, copied(self._state.books)
        made, sums = state.releases + 1, self._sums(books)
        shared = self._share(sums)
        self._has_noise = False
        under_way = {**state.under_way, made: sums} if shared.is_new else state.under_way
        books.fresh[:] = 0.0
        after = msgspec.structs.replace(
            close_batch(state, plan, books), releases=made, released=shared.released,
            books=books, ordered=np.zeros_like(state.ordered), sending=shared.sending,
            under_way=under_way,
        )  # fmt: skip
        return Step(after, shared.messages)

    def _sums(self, books: Books) -> Floats:
        """Return the exact sums of all own purchases that count by now, (2 m,)."""
        sums = np.zeros(self._plan.constants.release_size)
        write_sums(self._capacity, self._known.most, books.own, sums)
        return sums

    def _learn_of(self, event: Any) -> Step:
        step = self._take_total(event)
        self._draw_ahead()
        return step

    def _settled(self, after: Any) -> SecureBuyerState:
        state: SecureBuyerState = msgspec.structs.replace(after, under_way=still_under_way(after))
        return state

    def _used(self, total: Total) -> Step | None:
        state, constants, own = self._state, self._plan.constants, total.own
        if not (own in state.under_way if own else state.included == 0):
            return None
        scale = self._scale(total)
        if self._is_implausible(self._in_records(total), total.releases[-1], scale):
            return None
        released = np.zeros(constants.release_size)
        if constants.raw_view and own:
            released = state.under_way[own]
        books, judged = copied(state.books), state.judged.copy()
        round_ = self._plan.exchange_round(total.release)
        whole = unpack_words(total.statistic, constants.release_size).view(np.int64)
        take_total(constants, scale, round_, self._known, whole, released, books, judged)
        return Step(self._after(books=books, judged=judged, taken=total.release, included=own))

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
        return bool(any_implausible(values, bound, most, self._shares.pattern, scale))
