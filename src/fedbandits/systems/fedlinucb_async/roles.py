"""Asynchronous FedLinUCB, as parties that exchange messages.

An agent talks to the server when it has learned enough, and waits for nobody; see
:mod:`fedbandits.federation.exchange.one_by_one`. Parties call the compiled functions that the
simulation calls, so the same seed gives the same run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import RemoteProtocolError
from fedbandits.federation.events import Deadline, Decide, LetGo, Observe
from fedbandits.federation.exchange.one_by_one import CountingServer, Exchanged, UploadedAgain
from fedbandits.federation.messages import ImplausibleError, Message, OutOfOrderError, pack, unpack
from fedbandits.federation.roles import MessageTable, Role, Roles
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.learners.kernels.ridge import add_record, are_records
from fedbandits.privacy.kernels import NO_FAULT
from fedbandits.privacy.rounding import grid_step
from fedbandits.systems.agents.kernels.exact_sums import count_for_trigger, take_over
from fedbandits.systems.agents.kernels.pools import Pool, empty_pool
from fedbandits.systems.agents.kernels.views import Views, copied, first_view
from fedbandits.systems.agents.limits import Limits
from fedbandits.systems.agents.linear_agent import LinearAgent
from fedbandits.systems.agents.system import AgentSupply
from fedbandits.systems.fedlinucb_async.kernels import with_record
from fedbandits.systems.fedlinucb_async.plan import AsyncPlan
from fedbandits.systems.shell import ShellState, staying


class Upload(UploadedAgain, frozen=True, kw_only=True, tag="fedlinucb-async.upload"):
    """The sum of an agent's records since its last exchange that was answered."""


class Download(Exchanged, frozen=True, kw_only=True, tag="fedlinucb-async.download"):
    """The sum of all that the server has received."""


#: Sender and receiver of each message.
TABLE: MessageTable = {Upload: ("agent", "server"), Download: ("server", "agent")}


class Server(CountingServer):
    """Adds up the sums that agents upload.

    Parameters
    ----------
    seat
        The public facts of the party.
    plan
        The plan of all parties.
    """

    DOWNLOAD = Download
    TRANSITIONS: ClassVar[Transitions] = {("serving", Upload): ("serving",)}

    def __init__(self, seat: Seat, plan: AsyncPlan) -> None:
        constants = plan.constants
        super().__init__(seat, constants.release_size, plan.rounds)
        self._constants, self._limits = constants, Limits(plan)
        # With all agents' sums this near to those of records, their total is positive.
        rounded = plan.rounds * constants.dimension * grid_step(constants.rounding)
        self._missing = max(constants.base / constants.agents, rounded)

    def _check(self, own: Floats, place: int) -> None:
        constants = self._constants
        self._limits.check(self.name, own, [place], [1])
        sums = own.reshape(constants.models, -1)
        if not are_records(sums, self._missing, constants.dimension):
            raise ImplausibleError(f"{self.name}: an upload cannot be a sum of records")


class AgentState(ShellState, frozen=True, kw_only=True):
    """All that changes in an agent.

    Parameters
    ----------
    statistic : (models, d (d + 3) / 2) float64
        The sum of the agent's records that it has not uploaded.
    fresh
        Number of these records.
    uploaded : (models, d (d + 3) / 2) float64
        The sum of the records uploaded since the last exchange that was answered.
    pool, view
        The last total, and the view that the agent acts on.
    exchanges
        The number of its last exchange.
    answered
        The number of its last exchange that was answered.
    """

    statistic: Floats
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
        The public facts of the party.
    plan
        The plan of all parties.
    supply
        The agent's way to break ties. Its noise is never asked for.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        **staying(("ready", "waiting"), Decide, Observe, LetGo),
        ("ready", Observe): ("ready", "waiting"),
        ("ready", Download): ("ready",),
        ("waiting", Download): ("ready",),
        ("waiting", Deadline): ("ready", "waiting"),
    }

    def __init__(self, seat: Seat, plan: AsyncPlan, supply: AgentSupply) -> None:
        constants = plan.constants
        pool, view = first_view(constants, constants.base, constants.log_term)
        state = AgentState(
            statistic=np.zeros(constants.statistic_shape),
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

    @property
    def acts_on(self) -> tuple[Pool, Views, int]:
        return self._state.pool, self._state.view, self._state.answered

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
            add_record(state.statistic, m, context, reward, constants.rounding)
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
        """Upload the records since the last answer; own sums are settled. Cannot fail."""
        state = self._state
        np.add(state.uploaded, state.statistic, out=state.uploaded)
        state.statistic[:] = 0.0
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
        view = copied(state.view)
        if take_over(constants, total, pool, view) != NO_FAULT:
            raise RemoteProtocolError(f"{self.name}: the server's Gram matrix is not positive")
        if state.fresh:
            count_for_trigger(constants, total + state.statistic, view)
        uploaded = np.zeros(state.uploaded.shape)
        after = self._after(
            stage="ready", pool=pool, view=view, answered=message.exchange, uploaded=uploaded
        )
        return Step(after)


#: Role and name of the server.
SERVER = "server"


def roles(plan: AsyncPlan) -> Roles:
    """Return agents, and a server that adds up their uploads."""
    agents = plan.agent_names
    return Roles(
        (
            Role("agent", agents, lambda seat, own: AsyncAgent(seat, plan, own), acts=True),
            Role(SERVER, (SERVER,), lambda seat, _: Server(seat, plan)),
        ),
        TABLE,
        outcomes_may_be_late=True,
    )
