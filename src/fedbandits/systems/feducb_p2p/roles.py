"""Peer-to-peer FedUCB as parties: everybody releases, passes on and pools; nobody leads.

What leaves an agent is a released running sum, and copies of what others released. The compiled
functions are those that the simulation calls, so the same seed gives the same run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import RemoteProtocolError
from fedbandits.federation.messages import Message, OutOfOrderError, pack, unpack
from fedbandits.federation.roles import Role, Roles
from fedbandits.federation.state import Transitions
from fedbandits.privacy import running_sum
from fedbandits.privacy.bounds import NO_FAULT
from fedbandits.privacy.running_sum import renamed
from fedbandits.systems.agents import views as act
from fedbandits.systems.agents.plan import TRIGGERED
from fedbandits.systems.agents.player import Player
from fedbandits.systems.agents.sync import sync_due
from fedbandits.systems.agents.system import AgentSupply
from fedbandits.systems.agents.views import Pool, Views
from fedbandits.systems.feducb_p2p.flooding import Floods
from fedbandits.systems.feducb_p2p.kernels import pool_heard
from fedbandits.systems.feducb_p2p.knowledge import Knowledge, Known
from fedbandits.systems.feducb_p2p.messages import TABLE, Call, Release
from fedbandits.systems.feducb_p2p.plan import NOT_POOLED, PeerPlan


class PeerAgent(Player):
    """One organisation: decides, learns from rewards, releases, passes on, pools.

    Parameters
    ----------
    index
        Which of the agents this is: whose budget it spends.
    names
        Names of all agents, in order; sums are taken in this order.
    plan
        What all parties go by.
    supply
        Its noise, and how it breaks ties. The k-th release of estimator g of G has the draw of
        the name (k - 1) G + g + 1.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("ready", "decide"): ("acting",),
        ("acting", "observe"): ("ending",),
        ("ending", "end_round"): ("ready",),
        # A peer may be ahead: what it sends waits until its time has come.
        ("ready", "Release"): ("ready",),
        ("acting", "Release"): ("acting",),
        ("ready", "Call"): ("ready",),
        ("acting", "Call"): ("acting",),
        ("ending", "Release"): ("ending",),
        ("ending", "Call"): ("ending",),
    }

    def __init__(
        self, index: int, names: Sequence[str], plan: PeerPlan, supply: AgentSupply
    ) -> None:
        plan = plan.of_agent(index)
        self._neighbours = [names[i] for i in plan.topology.neighbours(index)]
        super().__init__(names[index], self._neighbours, plan, supply)
        constants, peers = plan.constants, plan.peers
        count = peers.estimators
        self._index, self._peers = index, peers
        self._log_term = float(peers.log_term[index])
        self.statistic = np.zeros((count, *constants.statistic_shape))
        self._at_release = np.zeros_like(self.statistic)
        size = constants.release_size
        self.released = [running_sum.init(plan.release, size) for _ in range(count)]
        self._released_in = [0] * count  # the round of the last own release
        self._waited = [0] * count
        self._knowledge = Knowledge()
        self._pooled = [0] * count  # numbers of the releases in each pool, added up
        self._called: list[tuple[int, int]] = []  # round of a call, and when it is to be answered
        self._floods = Floods(index, names, peers)
        self._pools: list[Pool] = []
        self._views: list[Views] = []
        for _ in range(count):
            pool, view = act.own_view(constants, float(peers.base[index]), self._log_term)
            self._pools.append(pool)
            self._views.append(view)
        self._await_release(0, count)
        self._ready_to_release = True

    @property
    def next_end(self) -> int:
        """Of every round: copies are passed on at its end, whatever else is due."""
        return self.round if self.state == "ending" else self.round + 1

    def _acting_view(self) -> Views:
        if not self._ready_to_release:  # the last release has left by now
            made = min(released.made for released in self.released)
            self._await_release(made, self._peers.estimators)
            self._ready_to_release = True
        estimator = (self.round + 1) % self._peers.estimators
        self.refresh(estimator)
        return self._views[estimator]

    def observe(self, decision: int, outcome: float) -> list[Message]:
        """Learn the reward of the chosen arm. Messages leave at the round's end.

        Raises
        ------
        LocalProtocolError
            If no such decision is open.
        BoundExceededError
            If context or reward exceed L or B. Nothing has changed then: the agent goes on waiting
            for the reward.
        """
        g = (self.round + 1) % self._peers.estimators
        record = self._checked_record(decision, outcome)
        self._learn(record, self.statistic[g], self._pools[g], self._views[g], self._log_term)
        self._waited[g] += 1
        self._move("observe", "ending")
        return []

    def end_round(self, round_: int) -> list[Message]:
        """The round is over: release what is due, and pass on what arrived before it.

        Raises
        ------
        LocalProtocolError
            If another round was played. If the noise of a release that is due by a schedule
            raises, nothing has changed either.
        """
        self._require_end(round_, self.round)
        g = round_ % self._peers.estimators
        noisy = self._draw(0, self.statistic[0]) if round_ == self._due else None
        self._move("end_round", "ready")
        due = self._triggered(g) if noisy is None else self._announce(0, noisy)
        # What arrived before this round is passed on at its end.
        passed = self._floods.due(self.round - 1, self._neighbours)
        self._floods.forget(self.round - 2 * self._peers.gamma)
        return [self._numbered(m) for m in (*due, *passed)]

    def pool(self, estimator: int = 0) -> Pool:
        """What this agent has made of the releases it has heard."""
        self.refresh(estimator)
        return self._pools[estimator]

    def _triggered(self, g: int) -> list[Message]:
        """Call for a sync if that is due, and answer calls whose time has come."""
        constants, outgoing = self._plan.constants, list[Message]()
        if constants.schedule != TRIGGERED:
            return outgoing
        terms, view = self._pools[g].terms, self._views[g]
        fires = sync_due(constants.threshold, terms, view.trigger_log_det, self._waited[g])
        if fires and self.released[g].made < constants.releases:
            call = Call(sender=self.name, receiver="", origin=self.name, round=self.round, hops=1)
            outgoing += self._to_all(call)
            self._called.append((self.round, self.round))
        answered = [called for called, when in self._called if when <= self.round]
        self._called = [entry for entry in self._called if entry[1] > self.round]
        for called in answered:
            estimator = called % self._peers.estimators
            # Whoever has released since the call has nothing new to release.
            if self._released_in[estimator] < called:
                outgoing += self._release(estimator)
        return outgoing

    def _release(self, g: int) -> list[Message]:
        """Release an estimator as it stands, if there are releases left."""
        if self.released[g].made >= self._plan.constants.releases:
            return []
        return self._announce(g, self._draw(g, self.statistic[g]))

    def _draw(self, g: int, statistic: Floats) -> Floats:
        """The next release of a sum. The noise state is settled before anything leaves."""
        plan, count = self._plan, self._peers.estimators
        self.released[g], noisy = running_sum.release(
            plan.release,
            self.released[g],
            statistic.reshape(-1),
            plan.constants.entry_scale,
            renamed(self._noise, lambda k: (k - 1) * count + g + 1),
        )
        self._ready_to_release = False
        return noisy

    def _announce(self, g: int, noisy: Floats) -> list[Message]:
        """Tell all neighbours of a release, and take it up oneself."""
        self._released_in[g], self._waited[g] = self.round, 0
        self._at_release[g] = self.statistic[g]
        number = self.released[g].made
        self._knowledge.add(self._index, g, Known(number, self.round, noisy), self.round)
        message = Release(
            sender=self.name,
            receiver="",
            origin=self.name,
            round=self.round,
            hops=1,
            estimator=g,
            release=number,
            statistic=pack(noisy),
        )
        return self._to_all(message)

    def _to_all(self, message: Message) -> list[Message]:
        return [msgspec.structs.replace(message, receiver=name) for name in self._neighbours]

    def _handle(self, message: Message) -> list[Message]:
        match message:
            case Release():
                self._hear(message)
            case Call():
                self._hear_call(message)
            case _:
                raise OutOfOrderError(f"{self.name}: {type(message).__name__} is not for an agent")
        return []

    def _hear(self, message: Release) -> None:
        constants = self._plan.constants
        origin = self._floods.origin(message)
        g, number = message.estimator, message.release
        if not (0 <= g < self._peers.estimators and 1 <= number <= constants.releases):
            raise OutOfOrderError(f"{self.name}: release {number} of estimator {g} is not planned")
        if constants.schedule != TRIGGERED and message.round != self._planned_round(number):
            raise OutOfOrderError(
                f"{self.name}: release {number} of round {message.round}, planned for another"
            )
        values = unpack(message.statistic, constants.release_size)
        key = (origin, g, number)
        if self._floods.repeats(key, message):
            return
        if origin == self._index or number <= self._knowledge.newest_number(origin, g):
            return  # out of date: a newer one has been heard
        self._knowledge.add(origin, g, Known(number, message.heard, values), self.round)
        self._floods.take(key, message)

    def _planned_round(self, number: int) -> int:
        constants = self._plan.constants
        return (
            number * constants.period if constants.period else int(constants.sync_times[number - 1])
        )

    def _hear_call(self, message: Call) -> None:
        if self._plan.constants.schedule != TRIGGERED:
            raise OutOfOrderError(f"{self.name}: rounds of release are fixed, nobody may call")
        origin = self._floods.origin(message)
        key = (origin, message.round)
        if self._floods.repeats(key, message):
            return
        if origin == self._index or message.round < self.round - 2 * self._peers.gamma:
            return  # an own call, or one so old that it may have been heard and forgotten
        self._floods.take(key, message)
        if self._peers.lag[self._index, origin] != NOT_POOLED:
            self._called.append((message.round, message.heard + 1))

    def refresh(self, estimator: int) -> None:
        """Pool what has been heard, if there is anything new."""
        constants, g = self._plan.constants, estimator
        members = np.flatnonzero(self._peers.lag[self._index] != NOT_POOLED)
        newest = {i: self._knowledge.usable(int(i), g, self.round) for i in members}
        pooled = {int(i): known for i, known in newest.items() if known is not None}
        numbers = sum(known.release for known in pooled.values())
        if numbers == self._pooled[g]:
            return
        # Summed in the order of agents, as a controller would.
        released, variance = np.zeros(constants.release_size), 0.0
        for origin, known in pooled.items():
            released += known.values
            variance += act.noise_variance(constants, origin, known.release)
        fresh = self.statistic[g] - self._at_release[g]
        pool = act.empty_pool(constants.models, constants.dimension)
        fault = pool_heard(
            constants,
            self._peers,
            self._index,
            len(pooled),
            variance,
            released.reshape(constants.models, -1),
            fresh if constants.raw_view else fresh[:0],
            pool,
        )
        if fault != NO_FAULT:
            raise RemoteProtocolError(f"{self.name}: the pooled Gram matrix is not positive")
        self._pools[g], self._pooled[g] = pool, numbers
        act.load_view(constants, self._log_term, pool, self._views[g])


def roles(plan: PeerPlan) -> Roles:
    """Agents, and nobody else."""
    names = plan.agent_names
    agent = Role("agent", names, lambda i, own: PeerAgent(i, names, plan, own), acts=True)
    return Roles((agent,), TABLE)
