"""FedUCB's controller: adds up what agents release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.federation.events import Deadline
from fedbandits.federation.messages import Message, OutOfOrderError, pack, unpack
from fedbandits.federation.party import Party
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import PartyState, Step, Transitions
from fedbandits.systems.agents.kernels.constants import TRIGGERED
from fedbandits.systems.agents.limits import Limits
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.feducb.messages import Pooled, SyncCall, SyncRequest, Upload


class ControllerState(PartyState, frozen=True, kw_only=True):
    """All that changes in a controller.

    Parameters
    ----------
    releases
        How many sums it has sent.
    called
        The sum that it has last called for.
    missing
        How many agents have released nothing since the last sum.
    newest, included : (agents,) int64
        The number of every agent's newest release, and of that in the last sum; 0 for none.
    values : (agents, size) float64
        These newest releases.
    """

    stage: str = "serving"
    releases: int = 0
    called: int = 0
    missing: int
    newest: Ints
    included: Ints
    values: Floats


class Controller(Party[ControllerState]):
    """Adds up releases; sees nothing but released sums, and when they came.

    Parameters
    ----------
    seat
        What it is told of all that is public. Sums are taken in the order of agents.
    plan
        What all parties go by.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("serving", SyncRequest): ("serving",),
        ("serving", Upload): ("serving",),
        ("serving", Deadline): ("serving",),
    }

    def __init__(self, seat: Seat, plan: AgentsPlan) -> None:
        constants = plan.constants
        state = ControllerState(
            missing=constants.agents,
            newest=np.zeros(constants.agents, np.int64),
            included=np.zeros(constants.agents, np.int64),
            values=np.zeros((constants.agents, constants.release_size)),
        )
        super().__init__(seat, state)
        self._agents = seat.names("agent")
        self._place = {name: i for i, name in enumerate(self._agents)}
        self._plan, self._limits = plan, Limits(plan)

    @property
    def awaited(self) -> int | None:
        """The sum for which some have released, or were called to."""
        state = self._state
        begun = state.called > state.releases or state.missing < len(self._agents)
        left = state.releases < self._plan.most_sums
        return state.releases + 1 if begun and left else super().awaited

    def _compute(self, event: Any) -> Step:
        match event:
            case SyncRequest():
                return self._call(event)
            case Upload():
                return self._collect(event)
            case _:
                return self._end_waiting(event)

    def _call(self, request: SyncRequest) -> Step:
        """Call all agents once for a sum, however many triggers have fired for it."""
        state, constants = self._state, self._plan.constants
        if constants.schedule != TRIGGERED:
            raise OutOfOrderError(f"{self.name}: syncs are fixed, nobody may ask for one")
        if not 1 <= request.release <= min(state.releases + 1, self._plan.most_sums):
            raise OutOfOrderError(
                f"{self.name}: {request.sender} asks for sum {request.release} after "
                f"{state.releases} of {self._plan.most_sums}"
            )
        if request.release <= max(state.releases, state.called):
            return Step(state)
        calls = [
            SyncCall(sender=self.name, receiver=agent, release=request.release)
            for agent in self._agents
        ]
        return Step(self._after(called=request.release), calls)

    def _collect(self, message: Upload) -> Step:
        state, place = self._state, self._place[message.sender]
        most = self._plan.constants.releases  # an agent is ahead of a controller that was away
        if not state.newest[place] < message.release <= most:
            raise OutOfOrderError(
                f"{self.name}: release {message.release} from {message.sender}, expected "
                f"{state.newest[place] + 1} to {most}"
            )
        values = unpack(message.statistic, state.values.shape[1])
        self._limits.check(self.name, values, [place], [message.release])
        missing = state.missing - bool(state.newest[place] == state.included[place])
        complete = missing == 0 and state.releases < self._plan.most_sums
        after = self._after(missing=missing)

        def keep() -> Sequence[Message]:
            state.newest[place] = message.release
            state.values[place] = values
            return self._sums(state.releases + 1) if complete else ()

        return Step(self._summed(after) if complete else after, write=keep)

    def _end_waiting(self, event: Deadline) -> Step:
        """Add up what there is, if something new is."""
        state = self._state
        if event.number != self.awaited:
            return Step(state)
        if state.missing == len(self._agents):  # nobody has heard the call, or all is lost
            return Step(self._after(called=state.releases))
        return Step(self._summed(state), write=lambda: self._sums(state.releases + 1))

    def _summed(self, state: ControllerState) -> ControllerState:
        """Return the state after a sum."""
        return msgspec.structs.replace(
            state, releases=state.releases + 1, missing=len(self._agents)
        )

    def _sums(self, number: int) -> Sequence[Message]:
        """Make messages with the sum of every agent's newest release, for all of them."""
        state = self._state
        total = np.zeros(state.values.shape[1])
        for values in state.values:
            total += values
        state.included[:] = state.newest
        alike = bool((state.newest == number).all())
        newest = () if alike else tuple(state.newest.tolist())
        statistic = pack(total)
        return [
            Pooled(
                sender=self.name, receiver=agent, release=number, statistic=statistic,
                newest=newest,
            )
            for agent in self._agents
        ]  # fmt: skip
