"""Asynchronous FedLinUCB's server: adds up what agents upload."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.federation.messages import (
    ImplausibleError,
    Message,
    OutOfOrderError,
    pack,
    unpack,
)
from fedbandits.federation.party import Party
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import PartyState, Step, Transitions
from fedbandits.learners.kernels.ridge import are_records
from fedbandits.privacy.rounding import grid_step
from fedbandits.systems.agents.limits import Limits
from fedbandits.systems.fedlinucb_async.messages import Download, Upload
from fedbandits.systems.fedlinucb_async.plan import AsyncPlan


class ServerState(PartyState, frozen=True, kw_only=True):
    """All that changes in a server.

    Parameters
    ----------
    total : (size,) float64
        The sum of all that counts.
    sums : (agents, size) float64
        What of it is of each agent.
    unanswered : (agents, size) float64
        What each agent has brought since its last exchange that it knows to be answered.
    exchanges, since : (agents,) int64
        The number of every agent's last exchange, and of that one.
    """

    stage: str = "serving"
    total: Floats
    sums: Floats
    unanswered: Floats
    exchanges: Ints
    since: Ints


class Server(Party[ServerState]):
    """Adds up what agents upload, one by one, and answers each with the sum so far.

    Parameters
    ----------
    seat
        What it is told of all that is public.
    plan
        What all parties go by.
    """

    TRANSITIONS: ClassVar[Transitions] = {("serving", Upload): ("serving",)}

    def __init__(self, seat: Seat, plan: AsyncPlan) -> None:
        constants = plan.constants
        agents, size = constants.agents, constants.release_size
        state = ServerState(
            total=np.zeros(size),
            sums=np.zeros((agents, size)),
            unanswered=np.zeros((agents, size)),
            exchanges=np.zeros(agents, np.int64),
            since=np.zeros(agents, np.int64),
        )
        super().__init__(seat, state)
        self._place = {name: i for i, name in enumerate(seat.names("agent"))}
        self._plan, self._limits = plan, Limits(plan)
        # With all agents' sums this near to those of records, what they come to is positive.
        rounded = plan.rounds * constants.dimension * grid_step(constants.rounding)
        self._missing = max(constants.base / agents, rounded)

    def _compute(self, event: Any) -> Step:
        """Count what an agent has uploaded, in place of what it uploads again."""
        message: Upload = event
        state, place = self._state, self._place[message.sender]
        since = self._checked_numbers(message, place)
        values = unpack(message.statistic, state.total.size)
        own, total = state.sums[place] + values, state.total + values
        if message.since == since:  # sums of records are exact: what is taken off leaves nothing
            again = state.unanswered[place]
            own, total = own - again, total - again
        self._check(own, place)
        answer = Download(
            sender=self.name,
            receiver=message.sender,
            exchange=message.exchange,
            statistic=pack(total),
        )

        def keep() -> Sequence[Message]:
            state.sums[place], state.unanswered[place] = own, values
            state.exchanges[place], state.since[place] = message.exchange, message.since
            return ()

        return Step(self._after(total=total), [answer], write=keep)

    def _checked_numbers(self, message: Upload, place: int) -> int:
        """Return the exchange that this server knows the agent to have been answered last."""
        state, most = self._state, self._plan.rounds
        newest, since = int(state.exchanges[place]), int(state.since[place])
        if not newest < message.exchange <= most or message.since not in (since, newest):
            raise OutOfOrderError(
                f"{self.name}: exchange {message.exchange} of {message.sender} after "
                f"{message.since}, expected {newest + 1} to {most} after {since} or {newest}"
            )
        return since

    def _check(self, own: Floats, place: int) -> None:
        """Hold all that counts of an agent to what its records of a whole run can be."""
        constants = self._plan.constants
        self._limits.check(self.name, own, [place], [1])
        sums = own.reshape(constants.models, -1)
        if not are_records(sums, self._missing, constants.dimension):
            raise ImplausibleError(f"{self.name}: an upload cannot be a sum of records")
