"""FedUCB with a controller, as parties that exchange messages.

An agent keeps its records and its noise; what leaves it is a released running sum. The controller
adds up what all agents release and sends the sum back; it learns nothing else. Both call the
compiled functions that the simulation calls, so the same seed gives the same run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from fedbandits._typing import Floats, Floats32
from fedbandits.errors import RemoteProtocolError
from fedbandits.federation.messages import (
    Codec,
    Message,
    OutOfOrderError,
    pack,
    unpack,
)
from fedbandits.federation.party import Party, Transitions
from fedbandits.privacy import running_sum
from fedbandits.privacy.bounds import NO_FAULT
from fedbandits.privacy.running_sum import NoiseSource
from fedbandits.systems.feducb import agent as act
from fedbandits.systems.feducb.player import Player
from fedbandits.systems.feducb.rules import TRIGGERED, Plan
from fedbandits.systems.feducb.sync import sync_due


class SyncRequest(Message, frozen=True, kw_only=True, tag="feducb.sync-request"):
    """An agent's trigger has fired (published schedule only); it tells of raw data."""

    round: int


class SyncCall(Message, frozen=True, kw_only=True, tag="feducb.sync-call"):
    """The controller asks an agent to release, because some agent's trigger has fired."""

    round: int


class _Statistic(Message, frozen=True, kw_only=True):
    """A packed sum of records, and the number of the release that it belongs to."""

    release: int
    statistic: bytes

    @property
    def payload_size(self) -> int:
        """Bytes of statistics inside."""
        return len(self.statistic)


class Upload(_Statistic, frozen=True, kw_only=True, tag="feducb.upload"):
    """An agent's k-th release: the noisy sum of all its records."""


class Pooled(_Statistic, frozen=True, kw_only=True, tag="feducb.pooled"):
    """The sum of all agents' k-th releases."""


CODEC = Codec(SyncRequest | SyncCall | Upload | Pooled)


class Agent(Player):
    """One organisation: decides, learns from rewards, releases when a sync is due.

    Parameters
    ----------
    index
        Which of the agents this is: whose budget it spends.
    name, controller
        This party's name and the controller's.
    plan
        The resolved variant; all parties must hold the same.
    arms
        Actions in a decision set.
    noise
        Noise of the k-th release, asked once each. Simulated in a simulation; in a deployment it
        must be secure and what it gave saved.
    ties
        ``ties(round)`` is the arm from which equally good arms are looked for in that round.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("ready", "decide"): ("acting",),
        ("acting", "observe"): ("ready", "waiting"),
        ("ready", "SyncCall"): ("waiting",),
        ("waiting", "Pooled"): ("ready",),
    }

    def __init__(
        self,
        index: int,
        name: str,
        controller: str,
        plan: Plan,
        arms: int,
        noise: NoiseSource,
        ties: Callable[[int], int],
    ) -> None:
        plan = plan.of_agent(index)
        super().__init__(name, [controller], plan, arms, ties)
        rules = plan.rules
        self.statistic = np.zeros((rules.models, rules.pattern.size // rules.models))
        self.pool = act.empty_pool(rules.models, rules.dimension)
        self.view = act.one_view(act.empty_views(1, rules.models, rules.dimension), 0)
        self.released = running_sum.init(plan.release, rules.pattern.size)
        self._controller, self._noise = controller, noise
        self._waited = 0
        act.initial_pool(rules, rules.base, self.pool)
        act.load_view(rules, rules.log_term, self.pool, self.view)

    def decide(self, features: Floats32) -> int:
        """Choose an arm; ``features`` is (d, arms), or (d, 1) with a model an arm.

        Raises
        ------
        LocalProtocolError
            If a reward or a sync is being waited for, or the decision set is malformed.
        """
        return self._choose(features, self.view)

    def observe(self, reward: float) -> list[Message]:
        """Learn the reward of the last decision, and return what is to be sent.

        Raises
        ------
        BoundExceededError
            If context or reward exceed L or B. Nothing has changed then, nor if the noise raises:
            the agent goes on waiting for the reward, and counts it once.
        """
        record = self._checked_record(reward)
        due = self._release_due(self.released.made)
        noisy = self._release(record.added_to(self.statistic)) if due else None
        self._learn(record, self.statistic, self.pool, self.view, self._plan.rules.log_term)
        self._waited += 1
        if noisy is not None:
            self._move("observe", "waiting")
            return [self._upload(noisy)]
        self._move("observe", "ready")
        return self._request()

    def _request(self) -> list[Message]:
        """Ask for a sync, if data-dependent ones are due."""
        rules = self._plan.rules
        if rules.schedule != TRIGGERED or self.released.made >= rules.releases:
            return []
        due = sync_due(rules.threshold, self.pool.terms, self.view.trigger_log_det, self._waited)
        request = SyncRequest(sender=self.name, receiver=self._controller, round=self.round)
        return [self._numbered(request)] if due else []

    def _release(self, statistic: Floats) -> Floats:
        """The next release of a running sum. The noise state is settled before anything leaves."""
        self.released, noisy = running_sum.release(
            self._plan.release,
            self.released,
            statistic.reshape(-1),
            self._plan.rules.pattern,
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
                if self._plan.rules.schedule != TRIGGERED:
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
        rules = self._plan.rules
        if message.release != self.released.made:
            raise OutOfOrderError(
                f"{self.name}: sum of release {message.release}, expected {self.released.made}"
            )
        values = unpack(message.statistic, rules.pattern.size).reshape(rules.models, -1)
        pool = act.empty_pool(rules.models, rules.dimension)
        basis = act.basis_of_all(rules, message.release)
        if act.pool_release(rules, basis, values, pool) != NO_FAULT:
            raise RemoteProtocolError(f"{self.name}: the pooled Gram matrix is not positive")
        self.pool = pool
        act.load_view(rules, rules.log_term, pool, self.view)
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
        The resolved variant.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", "SyncRequest"): ("idle",),
        ("collecting", "SyncRequest"): ("collecting",),
        ("idle", "Upload"): ("collecting", "idle"),
        ("collecting", "Upload"): ("collecting", "idle"),
    }

    def __init__(self, name: str, agents: Sequence[str], plan: Plan) -> None:
        super().__init__(name, "idle", agents)
        self.releases = 0
        self._agents = tuple(agents)
        self._size = plan.rules.pattern.size
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
