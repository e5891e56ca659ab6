"""Asynchronous FedLinUCB, as parties that exchange messages.

An agent talks to the server when it has learned enough, and waits for nobody else. What travels is
in clear. Both call the compiled functions that the simulation calls, so the same seed gives the
same run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from fedbandits.errors import RemoteProtocolError
from fedbandits.federation.messages import Message, OutOfOrderError, pack, unpack
from fedbandits.federation.party import Party
from fedbandits.federation.roles import Role, Roles
from fedbandits.federation.state import Transitions
from fedbandits.privacy.bounds import NO_FAULT
from fedbandits.systems.agents import views as act
from fedbandits.systems.agents.player import Player
from fedbandits.systems.agents.system import AgentSupply
from fedbandits.systems.agents.views import Views
from fedbandits.systems.fedlinucb_async.kernels import exchange_due, take_over
from fedbandits.systems.fedlinucb_async.messages import TABLE, Download, Upload
from fedbandits.systems.fedlinucb_async.plan import AsyncPlan

SERVER = "server"


class AsyncAgent(Player):
    """One organisation: decides, learns from rewards, exchanges when it has learned enough.

    Parameters
    ----------
    name, server
        This party's name and the server's.
    plan
        What all parties go by.
    supply
        How it breaks ties. Its noise is never asked for.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("ready", "decide"): ("acting",),
        ("acting", "observe"): ("ready", "waiting"),
        ("waiting", "Download"): ("ready",),
    }

    def __init__(self, name: str, server: str, plan: AsyncPlan, supply: AgentSupply) -> None:
        super().__init__(name, [server], plan, supply)
        constants = plan.constants
        self.local = np.zeros(constants.statistic_shape)
        self.pool, self.view = act.own_view(constants, constants.base, constants.log_term)
        self.exchanges = 0
        self._server = server

    def _acting_view(self) -> Views:
        return self.view

    def observe(self, decision: int, outcome: float) -> list[Message]:
        """Learn the reward of the chosen arm, and return what is to be sent.

        Raises
        ------
        LocalProtocolError
            If no such decision is open.
        BoundExceededError
            If context or reward exceed L or B; the agent goes on waiting for a reward.
        """
        constants = self._plan.constants
        record = self._checked_record(decision, outcome)
        self._learn(record, self.local, self.pool, self.view, constants.log_term)
        if not exchange_due(constants.threshold, self.pool.terms, self.view.trigger_log_det):
            self._move("observe", "ready")
            return []
        message = Upload(
            sender=self.name,
            receiver=self._server,
            exchange=self.exchanges + 1,
            statistic=pack(self.local),
        )
        self.exchanges += 1
        self.local[:] = 0.0
        self._move("observe", "waiting")
        return [self._numbered(message)]

    def _handle(self, message: Message) -> list[Message]:
        if not isinstance(message, Download):
            raise OutOfOrderError(f"{self.name}: {type(message).__name__} is not for an agent")
        if message.exchange != self.exchanges:
            raise OutOfOrderError(
                f"{self.name}: download of exchange {message.exchange}, expected {self.exchanges}"
            )
        constants = self._plan.constants
        total = unpack(message.statistic, constants.release_size).reshape(constants.models, -1)
        pool = act.empty_pool(constants.models, constants.dimension)
        if take_over(constants, total, pool, self.view) != NO_FAULT:
            raise RemoteProtocolError(f"{self.name}: the server's Gram matrix is not positive")
        self.pool = pool
        self._move("Download", "ready")
        return []


class Server(Party):
    """Adds up what agents upload, one by one, and answers each with the sum so far.

    Parameters
    ----------
    name
        This party's name.
    agents
        Names of all agents.
    plan
        What all parties go by.
    """

    TRANSITIONS: ClassVar[Transitions] = {("serving", "Upload"): ("serving",)}

    def __init__(self, name: str, agents: Sequence[str], plan: AsyncPlan) -> None:
        super().__init__(name, "serving", agents)
        self.total = np.zeros(plan.constants.release_size)
        self.exchanges = dict.fromkeys(agents, 0)

    def _handle(self, message: Message) -> list[Message]:
        if not isinstance(message, Upload):
            raise OutOfOrderError(f"{self.name}: {type(message).__name__} is not for a server")
        expected = self.exchanges[message.sender] + 1
        if message.exchange != expected:
            raise OutOfOrderError(
                f"{self.name}: exchange {message.exchange} of {message.sender}, expected {expected}"
            )
        self.total += unpack(message.statistic, self.total.size)
        self.exchanges[message.sender] = expected
        answer = Download(
            sender=self.name,
            receiver=message.sender,
            exchange=expected,
            statistic=pack(self.total),
        )
        return [self._numbered(answer)]


def roles(plan: AsyncPlan) -> Roles:
    """Agents, and a server that adds up what they upload."""
    agents = plan.agent_names
    return Roles(
        (
            Role("agent", agents, lambda i, own: AsyncAgent(agents[i], SERVER, plan, own), True),
            Role(SERVER, (SERVER,), lambda _, __: Server(SERVER, agents, plan)),
        ),
        TABLE,
    )
