"""Asynchronous FedLinUCB, as parties that exchange messages.

An agent talks to the server when it has learned enough, and waits for nobody else. What travels is
in clear. Both call the compiled functions that the simulation calls, so the same seed gives the
same run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from fedbandits._typing import Floats32
from fedbandits.errors import RemoteProtocolError
from fedbandits.federation.messages import Message, OutOfOrderError, pack, unpack
from fedbandits.federation.party import Party, Transitions
from fedbandits.privacy.bounds import NO_FAULT
from fedbandits.systems.agents import views as act
from fedbandits.systems.agents.plan import Plan
from fedbandits.systems.agents.player import Player
from fedbandits.systems.fedlinucb_async.kernels import exchange_due, know_nothing, take_over
from fedbandits.systems.fedlinucb_async.messages import Download, Upload


class AsyncAgent(Player):
    """One organisation: decides, learns from rewards, exchanges when it has learned enough.

    Parameters
    ----------
    name, server
        This party's name and the server's.
    plan
        The plan variant; all parties must hold the same.
    arms
        Actions in a decision set.
    ties
        ``ties(round)`` is the arm from which equally good arms are looked for in that round.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("ready", "decide"): ("acting",),
        ("acting", "observe"): ("ready", "waiting"),
        ("waiting", "Download"): ("ready",),
    }

    def __init__(
        self, name: str, server: str, plan: Plan, arms: int, ties: Callable[[int], int]
    ) -> None:
        super().__init__(name, [server], plan, arms, ties)
        constants = plan.constants
        self.local = np.zeros((constants.models, constants.pattern.size // constants.models))
        self.pool = act.empty_pool(constants.models, constants.dimension)
        self.view = act.one_view(act.empty_views(1, constants.models, constants.dimension), 0)
        self.exchanges = 0
        self._server = server
        know_nothing(constants, self.pool, self.view)

    def decide(self, features: Floats32) -> int:
        """Choose an arm; ``features`` is (d, arms), or (d, 1) with a model an arm.

        Raises
        ------
        LocalProtocolError
            If a reward or a download is being waited for, or the decision set is malformed.
        """
        return self._choose(features, self.view)

    def observe(self, reward: float) -> list[Message]:
        """Learn the reward of the last decision, and return what is to be sent.

        Raises
        ------
        BoundExceededError
            If context or reward exceed L or B; the agent goes on waiting for a reward.
        """
        constants = self._plan.constants
        record = self._checked_record(reward)
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
        total = unpack(message.statistic, constants.pattern.size).reshape(constants.models, -1)
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
        The plan variant.
    """

    TRANSITIONS: ClassVar[Transitions] = {("serving", "Upload"): ("serving",)}

    def __init__(self, name: str, agents: Sequence[str], plan: Plan) -> None:
        super().__init__(name, "serving", agents)
        self.total = np.zeros(plan.constants.pattern.size)
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
