"""FedUCB with a controller, as parties that exchange messages.

An agent keeps its records and its noise; what leaves it is a released running sum. The controller
adds up what all agents release and sends the sum back; it learns nothing else. Both call the
compiled functions that the simulation calls, so the same seed gives the same run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import RemoteProtocolError
from fedbandits.federation.messages import Message, OutOfOrderError, pack, unpack
from fedbandits.federation.party import Party, Transitions
from fedbandits.federation.roles import Role, Roles
from fedbandits.privacy import running_sum
from fedbandits.privacy.bounds import NO_FAULT
from fedbandits.systems.agents import views as act
from fedbandits.systems.agents.plan import TRIGGERED, AgentsPlan
from fedbandits.systems.agents.player import Player
from fedbandits.systems.agents.sync import sync_due
from fedbandits.systems.agents.system import AgentSupply
from fedbandits.systems.agents.views import Views
from fedbandits.systems.feducb.messages import TABLE, Pooled, SyncCall, SyncRequest, Upload

CONTROLLER = "controller"


class Agent(Player):
    """One organisation: decides, learns from rewards, releases when a sync is due.

    Parameters
    ----------
    index
        Which of the agents this is: whose budget it spends.
    name, controller
        This party's name and the controller's.
    plan
        What all parties go by.
    supply
        Its noise, the k-th draw for the k-th release, and how it breaks ties.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("ready", "decide"): ("acting",),
        ("acting", "observe"): ("ready", "ending"),
        ("ending", "end_round"): ("waiting",),
        ("ready", "SyncCall"): ("waiting",),
        ("waiting", "Pooled"): ("ready",),
    }

    def __init__(
        self,
        index: int,
        name: str,
        controller: str,
        plan: AgentsPlan,
        supply: AgentSupply,
    ) -> None:
        plan = plan.of_agent(index)
        super().__init__(name, [controller], plan, supply)
        constants = plan.constants
        self.statistic = np.zeros(constants.statistic_shape)
        self.pool, self.view = act.own_view(constants, constants.base, constants.log_term)
        self.released = running_sum.init(plan.release, constants.release_size)
        self._controller = controller
        self._waited = 0
        self._await_release(0)

    def _acting_view(self) -> Views:
        return self.view

    def observe(self, decision: int, outcome: float) -> list[Message]:
        """Learn the reward of the chosen arm, and return what is to be sent.

        Raises
        ------
        BoundExceededError
            If context or reward exceed L or B. Nothing has changed then: the agent goes on waiting
            for the reward.
        """
        record = self._checked_record(decision, outcome)
        self._learn(record, self.statistic, self.pool, self.view, self._plan.constants.log_term)
        self._waited += 1
        self._move("observe", "ending" if self.round == self._due else "ready")
        return self._request()

    def end_round(self, round_: int) -> list[Message]:
        """The round is over: release.

        Raises
        ------
        LocalProtocolError
            If no release is due, or another round was played. If the noise raises, nothing has
            changed either.
        """
        self._require_end(round_, self.round)
        noisy = self._release(self.statistic)
        self._move("end_round", "waiting")
        return [self._upload(noisy)]

    def _request(self) -> list[Message]:
        """Ask for a sync, if data-dependent ones are due."""
        constants = self._plan.constants
        if constants.schedule != TRIGGERED or self.released.made >= constants.releases:
            return []
        due = sync_due(
            constants.threshold, self.pool.terms, self.view.trigger_log_det, self._waited
        )
        request = SyncRequest(sender=self.name, receiver=self._controller, round=self.round)
        return [self._numbered(request)] if due else []

    def _release(self, statistic: Floats) -> Floats:
        """The next release of a running sum. The noise state is settled before anything leaves."""
        self.released, noisy = running_sum.release(
            self._plan.release,
            self.released,
            statistic.reshape(-1),
            self._plan.constants.entry_scale,
            self._noise,
        )
        return noisy

    def _upload(self, noisy: Floats) -> Message:
        return self._numbered(
            Upload(
                sender=self.name,
                receiver=self._controller,
                release=self.released.made,
                statistic=pack(noisy),
            )
        )

    def _handle(self, message: Message) -> list[Message]:
        match message:
            case SyncCall():
                if self._plan.constants.schedule != TRIGGERED:
                    raise OutOfOrderError(f"{self.name}: syncs are fixed, nobody may call for one")
                if message.round != self.round:
                    raise OutOfOrderError(
                        f"{self.name}: sync call for round {message.round}, this is {self.round}"
                    )
                noisy = self._release(self.statistic)
                self._move("SyncCall", "waiting")
                return [self._upload(noisy)]
            case Pooled():
                self._take_over(message)
                return []
            case _:
                raise OutOfOrderError(f"{self.name}: {type(message).__name__} is not for an agent")

    def _take_over(self, message: Pooled) -> None:
        constants = self._plan.constants
        if message.release != self.released.made:
            raise OutOfOrderError(
                f"{self.name}: sum of release {message.release}, expected {self.released.made}"
            )
        values = unpack(message.statistic, constants.release_size).reshape(constants.models, -1)
        pool = act.empty_pool(constants.models, constants.dimension)
        basis = act.basis_of_all(constants, message.release)
        if act.pool_release(constants, basis, values, pool) != NO_FAULT:
            raise RemoteProtocolError(f"{self.name}: the pooled Gram matrix is not positive")
        self._await_release(message.release)  # of the noise nothing else rests: it may fail
        self.pool = pool
        act.load_view(constants, constants.log_term, pool, self.view)
        self._waited = 0
        self._move("Pooled", "ready")


class Controller(Party):
    """Adds up releases; sees nothing but released sums, and when they came.

    Parameters
    ----------
    name
        This party's name.
    agents
        Names of all agents; sums are taken in this order.
    plan
        What all parties go by.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", "SyncRequest"): ("idle",),
        ("collecting", "SyncRequest"): ("collecting",),
        ("idle", "Upload"): ("collecting", "idle"),
        ("collecting", "Upload"): ("collecting", "idle"),
    }

    def __init__(self, name: str, agents: Sequence[str], plan: AgentsPlan) -> None:
        super().__init__(name, "idle", agents)
        self.releases = 0
        self._agents = tuple(agents)
        self._size = plan.constants.release_size
        self._collected: dict[str, Floats] = {}
        self._called = 0  # the last round for which agents were called

    def _handle(self, message: Message) -> list[Message]:
        match message:
            case SyncRequest():
                return self._call(message)
            case Upload():
                return self._collect(message)
            case _:
                raise OutOfOrderError(
                    f"{self.name}: {type(message).__name__} is not for a controller"
                )

    def _call(self, message: SyncRequest) -> list[Message]:
        """Call all agents once a round, however many triggers fired in it."""
        if message.round <= self._called:
            return []
        self._called = message.round
        return [
            self._numbered(SyncCall(sender=self.name, receiver=agent, round=message.round))
            for agent in self._agents
        ]

    def _collect(self, message: Upload) -> list[Message]:
        if message.release != self.releases + 1 or message.sender in self._collected:
            raise OutOfOrderError(
                f"{self.name}: release {message.release} from {message.sender}, "
                f"expected {self.releases + 1} from those that are missing"
            )
        self._collected[message.sender] = unpack(message.statistic, self._size)
        if len(self._collected) < len(self._agents):
            self._move("Upload", "collecting")
            return []
        total = np.zeros(self._size)
        for agent in self._agents:
            total += self._collected[agent]
        self._collected = {}
        self.releases += 1
        self._move("Upload", "idle")
        statistic = pack(total)
        return [
            self._numbered(
                Pooled(sender=self.name, receiver=agent, release=self.releases, statistic=statistic)
            )
            for agent in self._agents
        ]


def roles(plan: AgentsPlan) -> Roles:
    """Agents, and a controller that adds up what they release."""
    agents = plan.agent_names
    return Roles(
        (
            Role("agent", agents, lambda i, own: Agent(i, agents[i], CONTROLLER, plan, own), True),
            Role(CONTROLLER, (CONTROLLER,), lambda _, __: Controller(CONTROLLER, agents, plan)),
        ),
        TABLE,
    )
