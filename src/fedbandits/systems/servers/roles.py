"""Local servers of both forms of FCLUB, and how the parties are put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np

from fedbandits._typing import Floats, Floats32, Ints
from fedbandits.environments.clustered import Arrival
from fedbandits.errors import BoundExceededError, LocalProtocolError
from fedbandits.federation.acting import ActingParty
from fedbandits.federation.events import Decide, Decision, EndRound, Observe
from fedbandits.federation.party import Party
from fedbandits.federation.roles import MessageTable, Role, Roles
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import PartyState, Step
from fedbandits.learners.kernels.linucb import Scoring, new_scoring
from fedbandits.privacy.bounds import as_reward, require_contexts, require_within
from fedbandits.privacy.kernels import record_fault
from fedbandits.systems.exported import Learned
from fedbandits.systems.servers.system import LATER, ServersPlan, ServerSupply
from fedbandits.systems.terms import require_secure

AnyPlan = TypeVar("AnyPlan", bound=ServersPlan)

#: Role and name of the global server.
GLOBAL = "global"


class OpenDecision(msgspec.Struct, frozen=True, gc=False):
    """A recommendation whose reward has not come yet."""

    place: int
    item: int
    context: Floats  # (d,)
    counts: bool = True  # for releases, where only so many records of a user do


class ServerState(PartyState, frozen=True, kw_only=True):
    """State of a local server."""

    round: int = 0  # the newest round that was played or has ended
    ended: int = 0  # the round that ended last
    phase: int = 0  # phases that have ended
    decisions: int = 0  # decisions so far
    #: Decisions whose rewards have not come, by their numbers.
    open: dict[int, OpenDecision] = msgspec.field(default_factory=dict)


AnyServer = TypeVar("AnyServer", bound=ServerState)


class Server(ActingParty[AnyServer], Generic[AnyServer, AnyPlan]):
    """A party that recommends items to its own users, in phases.

    Rewards may come late, and in any order. A server goes on recommending while the releases of a
    phase's end are exchanged. Subclasses choose an item, learn from a reward, and end a phase. The
    place of the seat is the server's number.
    """

    def __init__(self, seat: Seat, plan: AnyPlan, supply: ServerSupply, state: AnyServer) -> None:
        super().__init__(seat, state)
        if plan.private:
            require_secure(self.name, seat.terms, supply.noise)
        #: (m,) the numbers of its users, in order.
        self.users: Ints = np.array(plan.facts.users_of(seat.place), np.int64)
        self._index, self._hub = seat.place, seat.one(GLOBAL)
        self._plan, self._noise = plan, supply.noise

    def learned(self) -> Learned:
        """Return the models of the server's users."""
        raise NotImplementedError

    @property
    def user_names(self) -> tuple[str, ...]:
        """Names of the rows of a model that is handed out."""
        return tuple(f"user {user}" for user in self.users.tolist())

    def _choose(self, place: int, situation: Arrival) -> Step:
        """Choose an item for the user that stands at ``place`` in :attr:`users`."""
        raise NotImplementedError

    def _learn(self, after: AnyServer, decision: OpenDecision, reward: float) -> Step:
        """Learn from a record; ``after`` is the state after the event, but for the record."""
        raise NotImplementedError

    def _end_phase(self, after: AnyServer) -> Step:
        """End the phase; ``after`` is the state in which its last round is over."""
        raise NotImplementedError

    def _handle(self, event: Any) -> Step:
        """Handle an event of any other type."""
        raise NotImplementedError

    def _compute(self, event: Any) -> Step:
        match event:
            case Decide():
                return self._choose(self._checked_place(event.situation), event.situation)
            case Observe():
                return self._observe(event)
            case EndRound():
                return self._end_round(event)
            case _:
                return self._handle(event)

    def _decided(self, place: int, situation: Arrival, item: int) -> Step:
        """Note that an item was chosen; -1 is refused, for then no item has a score."""
        state, number = self._state, self._state.decisions + 1
        if item < 0:
            raise BoundExceededError(f"{self.name}, decision {number}: scores are not numbers")
        context = situation.items[:, item].astype(np.float64)
        after = self._after(round=max(state.round, situation.round_), decisions=number)
        opened = number, OpenDecision(place, item, context)
        return Step(after, answer=Decision(number, item), opened=opened)

    def _checked_place(self, situation: Arrival) -> int:
        """Find the user in :attr:`users`, once the whole situation is found to be right.

        Items are (d, k) float32 numbers of 1 ≤ k ≤ K items, none longer than 1. The round is not
        over and of this phase, and the plan foresees one decision more.
        """
        (round_, user, items), constants = situation, self._plan.constants
        place = int(np.searchsorted(self.users, user))
        if place == len(self.users) or self.users[place] != user:
            raise LocalProtocolError(f"{self.name}: user {user} does not live here")
        d, most = constants.dimension, constants.items
        shaped = items.ndim == 2 and len(items) == d and 1 <= items.shape[1] <= most
        if not shaped or items.dtype != np.float32:
            raise LocalProtocolError(
                f"{self.name}: items are {d} float32 numbers for each of at most {most}, as the "
                "terms say"
            )
        self._last_round(round_, self._state.ended + 1)
        if self._state.decisions >= self._plan.rounds:
            raise LocalProtocolError(
                f"{self.name}: {self._plan.rounds} decisions were made, and no more are planned"
            )
        require_contexts(items, constants.context_bound, f"{self.name}, round {round_}")
        return place

    def _scoring(self, items: Floats32, of_all: Scoring) -> Scoring:
        """Return buffers for scoring items: new ones if there are fewer than the terms have."""
        count = items.shape[1]
        return of_all if count == of_all.scores.size else new_scoring(len(items), count)

    def _observe(self, event: Observe) -> Step:
        """Learn the reward of a recommended item; beyond [0, 1] the decision stays open."""
        number, item = event.decision.number, event.decision.action
        decision = self._state.open.get(number)
        if decision is None:
            raise LocalProtocolError(f"{self.name}: decision {number} is not open")
        if item != decision.item:
            raise LocalProtocolError(
                f"{self.name}: item {decision.item} was recommended, not {item}"
            )
        place, bound = f"{self.name}, decision {number}", self._plan.constants.context_bound
        reward = as_reward(event.outcome, place)
        fault, _ = record_fault(decision.context, reward, bound, 0.0, 1.0, False)
        require_within(fault, place)
        step = self._learn(self._after(), decision, reward)
        return msgspec.structs.replace(step, closed=number)

    @property
    def next_end(self) -> int | None:
        """The last round of the phase; None for the last phase, which does not end."""
        last = self._phase_end
        return last if last < LATER else None

    @property
    def _phase_end(self) -> int:
        return int(self._plan.constants.phase_ends[self._state.phase])

    def _end_round(self, event: EndRound) -> Step:
        """End a round for everybody; with the last one of a phase the phase ends."""
        last = self._last_round(event.round_, self._state.round)
        after = self._after(round=event.round_, ended=event.round_)
        return self._end_phase(after) if event.round_ == last < LATER else Step(after)

    def _last_round(self, round_: int, first: int) -> int:
        """Return the phase's last round; refuse a round that is not between ``first`` and it."""
        last = self._phase_end
        if not first <= round_ <= last:
            raise LocalProtocolError(
                f"{self.name}: round {round_} after round {self._state.round}, in a phase that "
                f"ends with round {last}"
            )
        return last


def server_roles(
    plan: ServersPlan,
    table: MessageTable,
    make_server: Callable[[Seat, Any, ServerSupply], Party[Any]],
    make_global: Callable[[Seat, Any], Party[Any]],
) -> Roles:
    """Return local servers, one for each server of the facts, and a global one."""
    names = tuple(f"server-{i}" for i in range(plan.constants.servers))
    return Roles(
        (
            # A server that gave up first would miss the hand-out at the global server's deadline.
            Role("server", names, lambda seat, own: make_server(seat, plan, own), True, 2.0),
            Role(GLOBAL, (GLOBAL,), lambda seat, _: make_global(seat, plan)),
        ),
        table,
        outcomes_may_be_late=True,
    )
