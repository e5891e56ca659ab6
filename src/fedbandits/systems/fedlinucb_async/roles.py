"""Asynchronous FedLinUCB, as parties that exchange messages.

An agent talks to the server when it has learned enough, and waits for nobody. Messages are in
clear. Parties call the compiled functions that the simulation calls, so the same seed gives the
same run.

Messages may get lost. An agent keeps its upload until an answer comes. If the agent has to go on
without an answer, its next upload holds those records again, and the server puts them in the place
of the former ones. So every record counts once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.errors import RemoteProtocolError
from fedbandits.federation.events import Deadline, Decide, LetGo, Observe
from fedbandits.federation.messages import (
    ImplausibleError,
    Message,
    OutOfOrderError,
    pack,
    unpack,
)
from fedbandits.federation.party import Party
from fedbandits.federation.roles import MessageTable, Role, Roles
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import PartyState, Step, Transitions
from fedbandits.learners.kernels.ridge import add_record, are_records
from fedbandits.privacy.kernels import NO_FAULT
from fedbandits.privacy.rounding import grid_step
from fedbandits.systems.agents.kernels.pools import Pool, empty_pool
from fedbandits.systems.agents.kernels.views import Views, first_view
from fedbandits.systems.agents.limits import Limits
from fedbandits.systems.agents.linear_agent import LinearAgent
from fedbandits.systems.agents.system import AgentSupply
from fedbandits.systems.fedlinucb_async.kernels import (
    count_for_trigger,
    take_over,
    with_record,
)
from fedbandits.systems.fedlinucb_async.plan import AsyncPlan
from fedbandits.systems.shell import ShellState


class _Statistic(Message, frozen=True, kw_only=True):
    """A packed sum of records in clear, and the number of the agent's exchange."""

    exchange: int
    statistic: bytes

    @property
    def payload_size(self) -> int:
        """Bytes of statistics inside."""
        return len(self.statistic)


class Upload(_Statistic, frozen=True, kw_only=True, tag="fedlinucb-async.upload"):
    """The sum of an agent's records since its last exchange that was answered.

    Parameters
    ----------
    since
        The number of that exchange. What later ones have brought is in this sum again.
    """

    since: int


class Download(_Statistic, frozen=True, kw_only=True, tag="fedlinucb-async.download"):
    """The sum of all that the server has received."""


#: Who sends what to whom.
TABLE: MessageTable = {Upload: ("agent", "server"), Download: ("server", "agent")}


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


class AgentState(ShellState, frozen=True, kw_only=True):
    """All that changes in an agent.

    Parameters
    ----------
    local : (models, d (d + 3) / 2) float64
        The sum of its records that it has not uploaded.
    fresh
        How many these are.
    uploaded : (models, d (d + 3) / 2) float64
        The sum of those that it has uploaded since its last exchange that was answered.
    pool, view
        What it knows of the last total, and what it acts on.
    exchanges
        The number of its last exchange.
    answered
        The number of its last exchange that was answered.
    """

    local: Floats
    uploaded: Floats
    pool: Pool
    view: Views
    fresh: int = 0
    exchanges: int = 0
    answered: int = 0


class AsyncAgent(LinearAgent[AgentState]):
    """One organisation: decides, learns from rewards, exchanges when it has learned enough.

    While the agent waits for an answer, it decides by its last download. At a deadline it goes on
    without the answer: the next upload has the same records, and newer ones. It learns from as many
    decisions as there are rounds, on which bounds and radius rest; later decisions count for
    nothing.

    Parameters
    ----------
    seat
        What it is told of all that is public.
    plan
        What all parties go by.
    supply
        How it breaks ties. Its noise is never asked for.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("ready", Decide): ("ready",),
        ("ready", Observe): ("ready", "waiting"),
        ("ready", LetGo): ("ready",),
        ("ready", Download): ("ready",),
        ("waiting", Decide): ("waiting",),
        ("waiting", Observe): ("waiting",),
        ("waiting", LetGo): ("waiting",),
        ("waiting", Download): ("ready",),
        ("waiting", Deadline): ("ready", "waiting"),
    }

    def __init__(self, seat: Seat, plan: AsyncPlan, supply: AgentSupply) -> None:
        constants = plan.constants
        pool, view = first_view(constants, constants.base, constants.log_term)
        state = AgentState(
            local=np.zeros(constants.statistic_shape),
            uploaded=np.zeros(constants.statistic_shape),
            pool=pool,
            view=view,
        )
        super().__init__(seat, plan, supply, state)
        self._server = seat.one("server")
        self._limits, self._everybody = Limits(plan), range(constants.agents)
        self._ones = [1] * plan.constants.agents

    @property
    def _answer_due(self) -> int | None:
        return self._state.exchanges if self.stage == "waiting" else None

    def _decide(self, event: Decide) -> Step:
        return self._choose(event, self._state.view)

    def _observe(self, event: Observe) -> Step:
        """Learn from a reward; exchange, if enough was learned and no answer is waited for."""
        state, constants = self._state, self._plan.constants
        context, reward, m = self._checked_record(event)
        records, number = state.records + 1, event.decision.number
        if number > self._plan.rounds:
            return Step(self._after(records=records), closed=number)
        view, terms, threshold = state.view, state.pool.terms, constants.threshold
        inverse, log_dets, due = with_record(
            view.trigger_inverse, view.trigger_log_det, terms, m, context, threshold
        )
        due = due and state.stage == "ready"

        def learn() -> Sequence[Message]:
            add_record(state.local, m, context, reward, constants.rounding)
            view.trigger_inverse[m], view.trigger_log_det[m] = inverse[0], log_dets[m]
            return self._upload() if due else ()

        if not due:
            after = self._after(records=records, fresh=state.fresh + 1)
            return Step(after, write=learn, closed=number)
        after = self._after(
            records=records, fresh=0, stage="waiting", exchanges=state.exchanges + 1
        )
        return Step(after, write=learn, closed=number)

    def _upload(self) -> Sequence[Message]:
        """Upload what the server has not said that it has; own sums are settled. Cannot fail."""
        state = self._state
        np.add(state.uploaded, state.local, out=state.uploaded)
        state.local[:] = 0.0
        upload = Upload(
            sender=self.name,
            receiver=self._server,
            exchange=state.exchanges + 1,
            since=state.answered,
            statistic=pack(state.uploaded),
        )
        return [upload]

    def _take_message(self, message: Download) -> Step:
        """Act from now on by the server's total, and go on from own records after the upload."""
        state, constants = self._state, self._plan.constants
        if not state.answered < message.exchange == state.exchanges:
            raise OutOfOrderError(
                f"{self.name}: download of exchange {message.exchange}, expected "
                f"{state.exchanges} after {state.answered}"
            )
        values = unpack(message.statistic, constants.release_size)
        self._limits.check(self.name, values, self._everybody, self._ones)
        total = values.reshape(constants.models, -1)
        pool = empty_pool(constants.models, constants.dimension)
        copies: Any = [array.copy() for array in state.view]
        view = Views(*copies)
        if take_over(constants, total, pool, view) != NO_FAULT:
            raise RemoteProtocolError(f"{self.name}: the server's Gram matrix is not positive")
        if state.fresh:
            count_for_trigger(constants, total + state.local, view)
        uploaded = np.zeros(state.uploaded.shape)
        after = self._after(
            stage="ready", pool=pool, view=view, answered=message.exchange, uploaded=uploaded
        )
        return Step(after)


#: Role and name of the server.
SERVER = "server"


def roles(plan: AsyncPlan) -> Roles:
    """Return agents, and a server that adds up what they upload."""
    agents = plan.agent_names
    return Roles(
        (
            Role("agent", agents, lambda seat, own: AsyncAgent(seat, plan, own), acts=True),
            Role(SERVER, (SERVER,), lambda seat, _: Server(seat, plan)),
        ),
        TABLE,
        outcomes_may_be_late=True,
    )
