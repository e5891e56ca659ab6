"""P-FCB's buyers where nobody sees more than sums of their reports."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.federation.events import Decide, EndRound, Observe
from fedbandits.federation.exchange.outlet import Mechanism, SecureOutlet, SumOfAll
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
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
from fedbandits.systems.pfcb.roles.buying import (
    BuyerSupply,
    Buying,
    BuyingState,
    close_batch,
    copied,
    first_state,
    require_numbers,
)
from fedbandits.systems.secure_sums import totals_plan
from fedbandits.systems.shell import staying


class SecureBuyerState(BuyingState, frozen=True, kw_only=True):
    """All that changes in a buyer that sends increments; see :class:`.shell.SummedState`.

    Memories of shares ``under_way`` are the buyer's own sums (2 m,).
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

    TRANSITIONS: ClassVar[Transitions] = staying(("ready",), Decide, Observe, EndRound, Total)

    def __init__(self, seat: Seat, plan: PFCBPlan, supply: BuyerSupply) -> None:
        require_numbers(seat.name, supply, plan)
        #: Public facts of a sum.
        self._known = measures(supply.capacities.astype(np.int64))
        self._pattern, totals = share_pattern(self._known.most), totals_plan(plan, seat.role)
        mechanism = Mechanism(plan.share, self._pattern, plan.constants.step)
        state = SecureBuyerState(
            **first_state(plan), released=running_sum.init(plan.share, plan.constants.release_size),
            sending=first_sending(seat, totals, supply.masks),
        )  # fmt: skip
        outlet = SecureOutlet(seat, mechanism, totals, supply.masks)
        super().__init__(seat, plan, supply, state, outlet)

    def _release(self) -> Step:
        """Make the next share, and send the sums since the last share that was opened."""
        state, plan, books = self._state, self._plan, copied(self._state.books)
        sums = self._sums(books)
        sent, messages = self._outlet.send(state, sums, lambda _: sums, self._noise)
        self._has_noise = False
        books.fresh[:] = 0.0
        after = msgspec.structs.replace(
            close_batch(sent, plan, books), releases=state.releases + 1, books=books,
            ordered=np.zeros_like(state.ordered),
        )  # fmt: skip
        return Step(after, messages)

    def _sums(self, books: Books) -> Floats:
        """Return the exact sums of all own purchases that count by now, (2 m,)."""
        sums = np.zeros(self._plan.constants.release_size)
        write_sums(self._capacity, self._known.most, books.own, sums)
        return sums

    def _take_message(self, message: Any) -> Step:
        step = super()._take_message(message)
        self._have_noise()
        return step

    def _go_on(self, summed: SumOfAll) -> Step | None:
        state, constants, own, total = self._state, self._plan.constants, summed.own, summed.message
        scale = self._scale(total)
        if self._is_implausible(summed.values, total.releases[-1], scale):
            return None
        released = np.zeros(constants.release_size)
        if constants.raw_view and own:
            released = state.under_way[own]
        books, judged = copied(state.books), state.judged.copy()
        round_ = self._plan.exchange_round(total.release)
        whole = unpack_words(total.statistic, constants.release_size).view(np.int64)
        take_total(constants, scale, round_, self._known, whole, released, books, judged)
        return Step(self._after(books=books, judged=judged))

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
