"""The controller of secure sums: it collects increments, has their masks opened, and sends totals.

It asks all helpers which messages they would open, and leaves out every agent that a helper names.
So no agent stops a sum by a false tag. Then the controller fixes the members, and has the sum
opened. From then on it waits for all helpers, and asks them for nothing else. It repeats the
request a few times, in case a message was lost; the duration does not matter, as agents wait too.
The controller cannot be forced to open a sum of too few: such a sum is closed without members, and
its agents send the change since their old base at the next sum.

The controller sees masked numbers, senders with times, and totals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from fedbandits._typing import Bools, Ints
from fedbandits.crypto.chains import KEY_BYTES
from fedbandits.crypto.masks import TAG_BYTES
from fedbandits.federation.events import Deadline
from fedbandits.federation.messages import ImplausibleError, Message, OutOfOrderError
from fedbandits.federation.party import Party
from fedbandits.federation.seats import HELPER, Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.federation.totals import statements
from fedbandits.federation.totals.agreement import agree, newest_of, pack_taken, stated_by
from fedbandits.federation.totals.controller_state import ControllerState, first_state
from fedbandits.federation.totals.messages import (
    Check,
    Checked,
    Increment,
    MembersRequest,
    Opened,
    Opening,
    Retired,
    Total,
    pack_words,
    require_bytes,
    unpack_words,
)
from fedbandits.federation.totals.plan import TotalsPlan
from fedbandits.federation.totals.reports import of_controller

#: Largest number of requests to a helper for the same sum, in case a request or an answer was lost.
MOST_ASKED = 10


class TotalsController(Party[ControllerState]):
    """Adds up masked increments, and removes the masks of a whole sum at once.

    Parameters
    ----------
    seat
        The public facts of the controller.
    plan
        The public plan of all parties.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("collecting", Increment): ("collecting", "checking", "opening"),
        ("collecting", Retired): ("collecting", "checking", "opening"),
        ("collecting", Checked): ("collecting",),
        ("collecting", Opened): ("collecting",),
        ("collecting", Deadline): ("collecting", "checking", "opening"),
        ("checking", Increment): ("checking",),
        ("checking", Retired): ("checking",),
        ("checking", Checked): ("checking", "opening"),
        ("checking", Opened): ("checking",),
        ("checking", Deadline): ("checking",),
        ("opening", Increment): ("opening",),
        ("opening", Retired): ("opening",),
        ("opening", Checked): ("opening",),
        ("opening", Opened): ("opening", "collecting"),
        ("opening", Deadline): ("opening",),
    }

    def __init__(self, seat: Seat, plan: TotalsPlan) -> None:
        super().__init__(seat, first_state(plan, seat.terms.digest))
        self._plan = plan
        self._agents, self._helpers = seat.names(plan.role), seat.names(HELPER)
        self._place = {name: i for i, name in enumerate(self._agents)}
        self._helper = {name: i for i, name in enumerate(self._helpers)}

    @property
    def awaited(self) -> int | None:
        """The number of the sum that agents or helpers are waited for.

        Helpers are waited for without end. But after the last repeated request the controller does
        nothing more for the sum.
        """
        state = self._state
        if state.opening:
            return state.opening if state.asked < MOST_ASKED else super().awaited
        some = state.next_sum(state.held, state.retired, self._plan)
        return state.newest + 1 if some else super().awaited

    @property
    def report(self) -> dict[str, Any]:
        return of_controller(self._state, self._agents, self._helpers)

    def _compute(self, event: Any) -> Step:
        match event:
            case Increment():
                return self._collect(event)
            case Retired():
                return self._note_retired(event)
            case Checked():
                return self._take_check(event)
            case Opened():
                return self._take_answer(event)
            case _ if event.number != self.awaited:
                return Step(self._state)
            case _ if self._state.opening:
                return Step(self._after(asked=self._state.asked + 1), self._requests(self._state))
            case _:
                return self._fix(self._state.held, self._state.retired)

    def _collect(self, message: Increment) -> Step:
        """Hold an increment; with the last increment the members of the next sum are fixed."""
        state, plan, place = self._state, self._plan, self._place[message.sender]
        values = unpack_words(message.statistic, plan.size)
        require_bytes(message.statements, TAG_BYTES * plan.helpers)
        tags = np.frombuffer(message.statements, np.uint8).reshape(plan.helpers, TAG_BYTES)
        require_bytes(message.public, KEY_BYTES)
        public = np.frombuffer(message.public, np.uint8)
        if state.has(message, place, values, tags):
            return Step(state, self._last_total_again(place))
        state.check(message, place, plan, self.name)
        if message.release <= max(state.newest, state.opening):
            return Step(
                state, self._last_total_again(place)
            )  # late: the agent continues from its old base
        held = state.held.copy()
        held[place] = message.release

        def keep() -> Sequence[Message]:
            state.held[place] = message.release
            state.salts[place] = message.salt
            state.bases[place], state.base_salts[place] = message.base, message.base_salt
            state.taken[place] = message.total
            state.taken_digests[place] = np.frombuffer(message.total_digest, np.uint8)
            state.heard[place], state.publics[place] = message.heard, public
            state.values[place], state.statements[place] = values, tags
            return ()

        return self._fix_if_all_have_come(held, state.retired, keep)

    def _note_retired(self, message: Retired) -> Step:
        """Stop waiting for an agent that sends nothing more."""
        state, retired = self._state, self._state.retired.copy()
        retired[self._place[message.sender]] = True

        def keep() -> Sequence[Message]:
            state.retired[:] = retired
            return ()

        return self._fix_if_all_have_come(state.held, retired, keep)

    def _fix_if_all_have_come(
        self, held: Ints, retired: Bools, keep: Callable[[], Sequence[Message]]
    ) -> Step:
        come = held > 0
        if self._state.opening or not (come.any() and (come | retired).all()):
            return Step(self._state, write=keep)
        return self._fix(held, retired, keep)

    def _fix(
        self, held: Ints, retired: Bools, keep: Callable[[], Sequence[Message]] | None = None
    ) -> Step:
        """Choose the members of the next sum, among agents with a held message, and ask helpers.

        Agents whose message is for a later sum have skipped this sum. A held message for an earlier
        sum is late.
        """
        release = self._state.next_sum(held, retired, self._plan)
        if not release:
            return Step(self._state, write=keep)
        few = np.count_nonzero(held == release) < self._plan.least_parties
        after = self._after(
            stage="opening" if few else "checking", opening=release, asked=1, checked_sum=0
        )

        def ask() -> Sequence[Message]:
            if keep is not None:
                keep()
            after.held[after.held < release] = 0
            return self._ask(after)

        return Step(after, write=ask)

    def _take_check(self, message: Checked) -> Step:
        """Keep a helper's answer to a check; with the last answer the members are fixed."""
        state, helper = self._state, self._helper[message.sender]
        require_bytes(message.request, statements.DIGEST_BYTES)
        request = np.frombuffer(message.request, np.uint8)
        named_places = statements.unpack_places(message.unfit)
        unfit = np.isin(np.arange(self._plan.agents), named_places)
        differing = np.isin(
            np.arange(self._plan.agents), statements.unpack_places(message.differing)
        )
        if (message.release, state.stage) != (state.opening, "checking") or state.answered[helper]:
            given = (
                (request == state.checked[helper]).all()
                and (unfit == state.unfit[helper]).all()
                and (differing == state.differing[helper]).all()
                and message.refused == state.refused[helper]
            )
            return self._take_again(message, bool(given))
        places, members = state.members()
        tags = state.statements[places, helper].tobytes()
        asked = statements.request_digest(state.opening, members, tags)
        are_members = np.isin(named_places, places).all() and not (differing & ~unfit).any()
        if message.request != asked or not are_members:
            raise ImplausibleError(f"{self.name}: {message.sender} was asked about others")

        def keep() -> Sequence[Message]:
            state.answered[helper] = True
            state.checked[helper], state.unfit[helper] = request, unfit
            state.differing[helper], state.refused[helper] = differing, message.refused
            return ()

        if np.count_nonzero(state.answered) + 1 < self._plan.helpers:
            return Step(state, write=keep)
        after = self._after(stage="opening", asked=1, checked_sum=state.opening)

        def leave_out() -> Sequence[Message]:
            keep()
            out = state.unfit.any(axis=0) | state.refused.any()
            state.held[out & (state.held == state.opening)] = 0
            return self._ask(after)

        return Step(after, write=leave_out)

    def _ask(self, after: ControllerState) -> Sequence[Message]:
        """Ask all helpers anew. A sum of too few is emptied: its messages are dropped."""
        members = after.held == after.opening
        if np.count_nonzero(members) < self._plan.least_parties:
            after.held[members] = 0
        after.answered[:] = False
        return self._requests(after)

    def _requests(self, state: ControllerState) -> list[MembersRequest]:
        """Make the requests of this stage to all helpers that have not answered."""
        kind = Check if state.stage == "checking" else Opening
        places, members = state.members()
        return [
            kind(
                sender=self.name, receiver=name, release=state.opening, members=members,
                statements=state.statements[places, helper].tobytes(),
            )
            for helper, name in enumerate(self._helpers) if not state.answered[helper]
        ]  # fmt: skip

    def _take_answer(self, message: Opened) -> Step:
        """Keep a helper's answer; with the last answer the total is complete."""
        state, plan, helper = self._state, self._plan, self._helper[message.sender]
        masks = unpack_words(message.masks, plan.size)
        require_bytes(message.confirmations, TAG_BYTES * plan.agents)
        require_bytes(message.public, KEY_BYTES)
        public = np.frombuffer(message.public, np.uint8)
        tags = np.frombuffer(message.confirmations, np.uint8).reshape(plan.agents, TAG_BYTES)
        if (message.release, state.stage) != (state.opening, "opening") or state.answered[helper]:
            given = (
                (state.answers[helper] == masks).all()
                and (state.confirmations[helper] == tags).all()
                and (state.helper_publics[helper] == public).all()
                and message.disputed == state.disputed[helper]
            )
            return self._take_again(message, bool(given))
        members = state.members()[1]
        digest = statements.next_digest(state.digest, state.opening, members)
        if message.digest != digest or not 0 <= message.disputed <= state.newest:
            raise ImplausibleError(f"{self.name}: {message.sender} has opened another sum")

        def keep() -> Sequence[Message]:
            state.answered[helper], state.answers[helper] = True, masks
            state.confirmations[helper], state.disputed[helper] = tags, message.disputed
            state.helper_publics[helper] = public
            return ()

        if np.count_nonzero(state.answered) + 1 < plan.helpers:
            return Step(state, write=keep)
        after = self._after(
            stage="collecting", newest=state.opening, opening=0, asked=0,
            releases=state.releases + 1, digest=digest,
            agreed=agree(
                state.agreed, stated_by(statements.unpack_members(members)), plan.colluding
            ),
        )  # fmt: skip

        def add_up() -> Sequence[Message]:
            keep()
            return self._add_up(after)

        return Step(after, write=add_up)

    def _take_again(self, message: Checked | Opened, same: bool) -> Step:
        """Take a helper's repeated answer to a repeated request, if it is the ``same``."""
        state = self._state
        if message.release not in (state.opening, state.newest) or message.release == 0:
            raise OutOfOrderError(
                f"{self.name}: {message.sender} answers for sum {message.release} after "
                f"{state.newest}"
            )
        if not same:
            raise ImplausibleError(f"{self.name}: {message.sender} has answered otherwise before")
        return Step(state)

    def _add_up(self, after: ControllerState) -> Sequence[Message]:
        """Add the newest sum to the total, and send the total to all agents."""
        state, release = after, after.newest
        places = np.flatnonzero(state.held == release)
        state.total[:] += state.values[places].sum(axis=0, dtype=np.uint64)
        state.total[:] -= state.answers.sum(axis=0, dtype=np.uint64)
        state.opened[places], state.opened_salts[places] = release, state.salts[places]
        state.held[places] = 0
        return self._totals(state, range(len(self._agents)))

    def _last_total_again(self, place: int) -> Sequence[Message]:
        """Send an agent the last total again, because the agent does not know its message's fate.

        While helpers are asked this is not necessary: the next total settles the fate.
        """
        state = self._state
        known = state.newest and not state.opening and not state.held[place]
        return self._totals(state, (place,)) if known else ()

    def _totals(self, state: ControllerState, places: Iterable[int]) -> Sequence[Message]:
        """Make messages with the total of a state for some agents."""
        releases, counts = newest_of(state.opened)
        statistic, agreed = pack_words(state.total), pack_taken(state.agreed)
        disputed = tuple(state.disputed.tolist())
        return [
            Total(
                sender=self.name, receiver=self._agents[place], release=state.newest,
                statistic=statistic, own=int(state.opened[place]), releases=releases,
                counts=counts, digest=state.digest, agreed=agreed, disputed=disputed,
                publics=state.helper_publics.tobytes(),
                confirmations=state.confirmations[:, place].tobytes(),
            )
            for place in places
        ]  # fmt: skip
