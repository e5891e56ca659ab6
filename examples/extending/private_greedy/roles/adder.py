"""The adder: adds up what agents release. It sees nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.federation.events import Deadline
from fedbandits.federation.messages import Message, OutOfOrderError, pack
from fedbandits.federation.party import Party
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import PartyState, Step, Transitions

from ..messages import Shared, Upload
from ..plan import GreedyPlan


class AdderState(PartyState, frozen=True, kw_only=True):
    """All that changes in an adder.

    Parameters
    ----------
    sums
        How many sums it has sent.
    newest : (agents,) int64
        The number of every agent's newest release.
    included : (agents,) int64
        The same in the last sum.
    values : (agents, 2 arms) float64
        Every agent's newest release.
    """

    stage: str = "serving"
    sums: int = 0
    newest: Ints
    included: Ints
    values: Floats


class Adder(Party[AdderState]):
    """Sends all agents the sum of everybody's newest release, once all have a new one.

    Parameters
    ----------
    seat
        What it is told of all that is public.
    plan
        What all parties go by.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("serving", Upload): ("serving",),
        ("serving", Deadline): ("serving",),
    }

    def __init__(self, seat: Seat, plan: GreedyPlan) -> None:
        self._plan, self._agents = plan, seat.names("agent")
        agents = len(self._agents)
        state = AdderState(
            newest=np.zeros(agents, np.int64),
            included=np.zeros(agents, np.int64),
            values=np.zeros((agents, plan.size)),
        )
        super().__init__(seat, state)

    @property
    def awaited(self) -> int | None:
        """The next sum, once some have released for it: a deadline ends the wait for others."""
        state = self._state
        begun = bool((state.newest > state.included).any())
        return state.sums + 1 if begun and self._left else super().awaited

    @property
    def _left(self) -> bool:
        return self._state.sums < len(self._plan.ends)

    def _compute(self, event: Any) -> Step:
        if isinstance(event, Upload):
            return self._collect(event)
        late = event.number == self.awaited and self._left
        return self._sum(self._state) if late else Step(self._state)

    def _collect(self, message: Upload) -> Step:
        state, place = self._state, self._agents.index(message.sender)
        if not state.newest[place] < message.release <= len(self._plan.ends):
            raise OutOfOrderError(
                f"{self.name}: release {message.release} from {message.sender}, which has made "
                f"{state.newest[place]} of {len(self._plan.ends)}"
            )
        newest, values = state.newest.copy(), state.values.copy()
        newest[place] = message.release
        values[place] = self._plan.read(self.name, message.statistic, 1)
        after = self._after(newest=newest, values=values)
        complete = bool((newest > state.included).all()) and self._left
        return self._sum(after) if complete else Step(after)

    def _sum(self, state: AdderState) -> Step:
        """The next sum, for all agents; added up in the order of agents."""
        number, statistic = state.sums + 1, pack(np.add.reduce(state.values, axis=0))
        sent: Sequence[Message] = [
            Shared(sender=self.name, receiver=agent, release=number, statistic=statistic)
            for agent in self._agents
        ]
        after = msgspec.structs.replace(state, sums=number, included=state.newest)
        return Step(after, sent)
