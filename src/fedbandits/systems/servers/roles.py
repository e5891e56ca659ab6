"""Local servers of both forms of FCLUB, and how the parties are put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np

from fedbandits._typing import Floats32, Ints
from fedbandits.environments.clustered import Arrival
from fedbandits.errors import BoundExceededError, LocalProtocolError
from fedbandits.federation.events import Decide, EndRound, Observe
from fedbandits.federation.party import Party
from fedbandits.federation.roles import MessageTable, Role, Roles
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step
from fedbandits.learners.kernels.linucb import Scoring, new_scoring
from fedbandits.privacy.bounds import as_reward, require_contexts, require_within
from fedbandits.privacy.kernels import record_fault
from fedbandits.systems.exported import Learned
from fedbandits.systems.servers.kernels import new_scratch
from fedbandits.systems.servers.system import LATER, ServersPlan, ServerSupply
from fedbandits.systems.shell import OpenDecision, Persons, Releasing, Shell, ShellState

AnyPlan = TypeVar("AnyPlan", bound=ServersPlan)

#: Role and name of the global server.
GLOBAL = "global"


class Recommended(OpenDecision, frozen=True, gc=False):
    """A recommendation whose reward has not come yet: ``arm`` is the item."""

    place: int = 0  # of the user in :attr:`Server.users`


class ServerState(ShellState, frozen=True, kw_only=True):
    """State of a local server."""

    round: int = 0  # the newest round that was played or has ended
    ended: int = 0  # the round that ended last
    phase: int = 0  # the number of phases that have ended
    open: dict[int, Recommended] = msgspec.field(default_factory=dict)  # type: ignore[assignment]


AnyServer = TypeVar("AnyServer", bound=ServerState)


class Server(Shell[AnyServer], Generic[AnyServer, AnyPlan]):
    """A party that recommends items to its own users, in phases.

    Rewards may come late, and in any order. A server goes on recommending while the releases of a
    phase's end are exchanged. Subclasses choose an item, learn from a reward, and end a phase. The
    place of the seat is the server's number. The noise of ``releases`` is drawn ahead. ``persons``
    records of a user count for releases; 0 where records are protected.
    """

    CHOICE = "item"

    def __init__(
        self, seat: Seat, plan: AnyPlan, supply: ServerSupply, state: AnyServer, releases: int,
        persons: int = 0,
    ) -> None:  # fmt: skip
        releasing = Releasing(plan.rounds, releases)
        super().__init__(
            seat, state, supply.noise, plan.private, releasing, persons=Persons(persons)
        )
        #: (m,) the numbers of its users, in order.
        self.users: Ints = np.array(plan.facts.users_of(seat.place), np.int64)
        self._index, self._hub, self._plan = seat.place, seat.one(GLOBAL), plan
        constants = plan.constants
        self._scratch = new_scratch(constants.dimension, constants.items, len(self.users))

    def learned(self) -> Learned:
        """Return the models of the server's users."""
        raise NotImplementedError

    @property
    def user_names(self) -> tuple[str, ...]:
        """Names of the rows of an exported model."""
        return tuple(f"user {user}" for user in self.users.tolist())

    def _choose(self, place: int, situation: Arrival) -> Step:
        """Choose an item for the user that stands at ``place`` in :attr:`users`."""
        raise NotImplementedError

    def _learn(self, after: AnyServer, decision: Recommended, reward: float) -> Step:
        """Learn from a record; ``after`` is the state after the event, but for the record."""
        raise NotImplementedError

    def _end_phase(self, after: AnyServer) -> Step:
        """End the phase; ``after`` is the state in which its last round is over."""
        raise NotImplementedError

    def _decide(self, event: Decide) -> Step:
        situation = self._arrival(event.situation)
        return self._choose(self._checked_place(situation), situation)

    def _arrival(self, situation: Any) -> Arrival:
        """Return an arrival whose round and user are Python's integers; refuse anything else."""
        if isinstance(situation, Arrival):
            round_, user, items = situation
            whole = isinstance(round_, int | np.integer) and isinstance(user, int | np.integer)
            if whole and isinstance(items, np.ndarray):
                return Arrival(int(round_), int(user), items)
        raise LocalProtocolError(
            f"{self.name}: a situation must be an Arrival: the numbers of a round and of a user, "
            "and an array of items"
        )

    def _recommended(self, place: int, situation: Arrival, item: int) -> Step:
        """Open the decision on an item; -1 is refused: no item has a score."""
        state = self._state
        if item < 0:
            raise BoundExceededError(
                f"{self.name}, decision {state.decisions + 1}: scores are not numbers"
            )
        context = situation.items[:, item].astype(np.float64)
        person = b"%d" % situation.user if self._persons.most else None
        after = self._after(round=max(state.round, situation.round_))
        step = self._decided(item, context, person, after)
        opened: Any = step.opened
        number, decision = opened
        recommended = Recommended(item, context, decision.counts, place)
        return msgspec.structs.replace(step, opened=(number, recommended))

    def _checked_place(self, situation: Arrival) -> int:
        """Find the user in :attr:`users`, once the whole situation is found to be right.

        Items are (d, k) float32 numbers of 1 ≤ k ≤ K items, none longer than 1. The round is not
        over and of this phase, and the plan has room for another decision.
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

    def _scoring(self, items: Floats32) -> Scoring:
        """Return buffers for scoring items: new ones if there are fewer than the terms have."""
        count, of_all = items.shape[1], self._scratch.scoring
        return of_all if count == of_all.scores.size else new_scoring(len(items), count)

    def _observe(self, event: Observe) -> Step:
        """Learn the reward of a recommended item; beyond [0, 1] the decision stays open."""
        number = event.decision.number
        decision: Any = self._opened(event.decision)
        place, bound = f"{self.name}, decision {number}", self._plan.constants.context_bound
        reward = as_reward(event.outcome, place)
        fault, _ = record_fault(decision.context, reward, bound, 0.0, 1.0, False)
        require_within(fault, place)
        after = self._after(records=self._state.records + 1)
        return msgspec.structs.replace(self._learn(after, decision, reward), closed=number)

    @property
    def _next_planned(self) -> int | None:
        """The last round of the phase; None for the last phase, which does not end."""
        last = self._phase_end
        return last if last < LATER else None

    @property
    def _phase_end(self) -> int:
        return int(self._plan.constants.phase_ends[self._state.phase])

    def _end_round(self, event: EndRound) -> Step:
        """End a round for all servers; the last round of a phase ends the phase."""
        last = self._last_round(event.round_, self._state.round)
        after = self._after(round=event.round_, ended=event.round_)
        return self._end_phase(after) if event.round_ == last < LATER else Step(after)

    def _last_round(self, round_: int, first: int) -> int:
        """Return the phase's last round; refuse a round before ``first`` or after the phase."""
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
            # A server with a shorter patience would miss the hand-out at the hub's deadline.
            Role("server", names, lambda seat, own: make_server(seat, plan, own), True, 2.0),
            Role(GLOBAL, (GLOBAL,), lambda seat, _: make_global(seat, plan)),
        ),
        table,
        outcomes_may_be_late=True,
    )
