"""Peers as their neighbours know them: messages that they hear, and estimators made of those."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.federation.exchange.gossip import (
    MOST_AHEAD,
    Flood,
    Flooded,
    Floods,
    Heard,
    History,
    Known,
    extended,
    find_flood,
    heard_again,
    heard_first,
    newest_number,
    origin_of,
)
from fedbandits.federation.messages import Message, OutOfOrderError, unpack
from fedbandits.federation.roles import MessageTable
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step
from fedbandits.learners.kernels.ridge import Record
from fedbandits.privacy import running_sum
from fedbandits.privacy.kernels import NO_FAULT
from fedbandits.privacy.running_sum import ContinualState, draw_ahead
from fedbandits.systems.agents.counting import nothing_uncounted, sum_of
from fedbandits.systems.agents.kernels.constants import Constants
from fedbandits.systems.agents.kernels.own_views import take_over
from fedbandits.systems.agents.kernels.pools import NOT_POSITIVE, Pool, empty_pool, noise_variance
from fedbandits.systems.agents.kernels.views import Views, copied, first_view
from fedbandits.systems.agents.limits import Limits
from fedbandits.systems.agents.linear_agent import LinearAgent
from fedbandits.systems.agents.system import AgentSupply
from fedbandits.systems.feducb_p2p.kernels.releases import pool_heard
from fedbandits.systems.feducb_p2p.kernels.state import NOT_POOLED
from fedbandits.systems.feducb_p2p.plan import PeerPlan
from fedbandits.systems.shell import ShellState


class Call(Flooded, frozen=True, kw_only=True, tag="feducb-p2p.call"):
    """An agent's trigger has fired (as published only); it tells of raw data."""


class Release(Flooded, frozen=True, kw_only=True, tag="feducb-p2p.release"):
    """An agent's k-th release of an estimator: the noisy sum of all records that it was used in."""

    estimator: int
    release: int
    statistic: bytes

    @property
    def payload_size(self) -> int:
        """Bytes of statistics inside."""
        return len(self.statistic)


#: Sender and receiver of each message.
TABLE: MessageTable = {Call: ("agent", "agent"), Release: ("agent", "agent")}


class PeerState(ShellState, frozen=True, kw_only=True):
    """All that changes in an agent.

    Parameters
    ----------
    rounds
        The number of rounds that are over.
    statistic : (estimators, models, d (d + 3) / 2) float64
        The sums of the records that count for the next release of each estimator.
    uncounted : (estimators, models, d (d + 3) / 2) float64
        The sums of own records that count for no release; nothing where none is learned from.
    estimators
        The rest of each estimator.
    used
        The estimators that open decisions were made by, where there are several.
    known
        Releases that were heard, own ones too, by agent · estimators + estimator.
    floods
        Messages that were heard lately, and those to be passed on.
    calls
        Rounds of calls, and the round at whose end each is answered.
    refused
        How often a release that was due was refused for good, by the ledger for one.
    """

    rounds: int = 0
    statistic: Floats
    uncounted: Floats
    estimators: tuple[Estimator, ...]
    used: dict[int, int] = msgspec.field(default_factory=dict)
    known: dict[int, History] = msgspec.field(default_factory=dict)
    floods: dict[int, tuple[Flood[Release | Call], ...]] = msgspec.field(default_factory=dict)
    calls: dict[int, int] = msgspec.field(default_factory=dict)
    refused: int = 0


class Listener(LinearAgent[PeerState]):
    """An agent as its neighbours know it: it takes messages, and will pass them on.

    Parameters
    ----------
    seat, plan, supply
        See :class:`.roles.PeerAgent`.
    """

    _plan: PeerPlan

    def __init__(self, seat: Seat, plan: PeerPlan, supply: AgentSupply) -> None:
        index, names, own = seat.place, seat.names("agent"), plan.of_agent(seat.place)
        self._peers, self._count = plan.peers, plan.peers.estimators
        self._neighbours = [names[i] for i in plan.topology.neighbours(index)]
        self._places = {name: i for i, name in enumerate(names)}
        self._limits = Limits(plan)
        state = PeerState(
            statistic=np.zeros((self._count, *plan.constants.statistic_shape)),
            uncounted=nothing_uncounted(plan, self._count),
            estimators=tuple(first_estimator(own, index) for _ in range(self._count)),
        )
        super().__init__(seat, own, supply, state, peers=self._neighbours)
        self._have_noise()

    @property
    def _made(self) -> int:
        """Number of releases of the estimator with the fewest: noise is drawn for all at once."""
        return min(estimator.released.made for estimator in self._state.estimators)

    def _draw_noise(self) -> None:
        if self._plan.release.slots:  # all estimators may release at once
            draw_ahead(self._noise, self._count * self._plan.constants.release_size)

    def _cell(self, agent: int, estimator: int) -> int:
        return int(agent * self._count + estimator)

    def _take(self, message: Message) -> list[Message] | None:
        """Act on the next message of a link; a message from far ahead must wait."""
        if isinstance(message, Flooded):
            rounds, furthest = self._plan.rounds, self._state.rounds + MOST_AHEAD
            if message.round <= rounds and furthest < message.heard <= rounds:
                return None
        return super()._take(message)

    def _origin(self, message: Flooded) -> int:
        """Return the number of the agent that a message comes from."""
        peers = self._peers
        return origin_of(message, self.name, self._places, peers.distance, peers.gamma)

    def _hear(self, message: Release) -> Step:
        """Use a release when its time has come, and pass it on, unless it is known."""
        state, g, number = self._state, message.estimator, message.release
        origin = self._origin(message)
        values = self._checked_release(message, origin)
        self._have_noise()
        cell = self._cell(origin, g)
        heard, history = state.floods.get(cell, ()), state.known.get(cell, ())
        if find_flood(heard, number) is not None:
            after = heard_again(heard, number, message.sender)
            return Step(state, write=lambda: _set(state.floods, cell, after))
        if origin == self._index or number <= newest_number(history):
            return Step(state)  # out of date: a newer one has been heard
        after = heard_first(heard, number, message, self.name, self._peers.gamma)
        known = extended(history, Known(number, message.heard, values), state.rounds)

        def keep() -> Sequence[Message]:
            state.known[cell] = known
            return _set(state.floods, cell, after)

        return Step(state, write=keep)

    def _checked_release(self, message: Release, origin: int) -> Floats:
        """Return the numbers in a release, held to the terms of its origin."""
        constants, g, number = self._plan.constants, message.estimator, message.release
        if not (0 <= g < self._count and 1 <= number <= constants.releases):
            raise OutOfOrderError(f"{self.name}: release {number} of estimator {g} is not planned")
        planned = number, self._plan.rounds  # one a round, at most
        if self._releasing.end is not None:
            planned = (self._releasing.end(number),) * 2
        if not planned[0] <= message.round <= planned[1]:
            raise OutOfOrderError(
                f"{self.name}: release {number} is of round {message.round}, and planned for "
                "another round"
            )
        values = unpack(message.statistic, constants.release_size)
        self._limits.check(self.name, values, [origin], [number])
        return values

    def _hear_call(self, message: Call) -> Step:
        """Answer a call when its time has come, and pass it on, unless it is known."""
        state, called = self._state, message.round
        if not self._is_triggered:
            raise OutOfOrderError(f"{self.name}: rounds of release are fixed, nobody may call")
        origin = self._origin(message)
        if not 1 <= called <= self._plan.rounds:
            raise OutOfOrderError(f"{self.name}: a call of round {called}")
        channel = len(self._places) * self._count + origin
        heard = state.floods.get(channel, ())
        if find_flood(heard, called) is not None:
            after = heard_again(heard, called, message.sender)
            return Step(state, write=lambda: _set(state.floods, channel, after))
        if origin == self._index or called < state.rounds - 2 * self._peers.gamma:
            return Step(state)  # an own call, or one so old that it may have been heard before
        after = heard_first(heard, called, message, self.name, self._peers.gamma)
        calls = state.calls
        if self._peers.lag[self._index, origin] != NOT_POOLED:
            when = message.heard + 1
            calls = {**calls, called: min(when, calls.get(called, when))}
        return Step(self._after(calls=calls), write=lambda: _set(state.floods, channel, after))


def _set(floods: Floods[Any], channel: int, heard: Heard[Any]) -> Sequence[Message]:
    floods[channel] = heard
    return ()


class Estimator(msgspec.Struct, frozen=True):
    """All that changes in one estimator, but for its sum of records.

    Parameters
    ----------
    pool, view
        The sum of the releases that were heard, and the view that the estimator acts on.
    released
        The state of the mechanism.
    residuals : (models, 4) float64
        See :func:`~fedbandits.systems.agents.kernels.own_views.take_up_own`.
    released_in
        The round of the last own release.
    at_release : (models or 0, d (d + 3) / 2) float64
        The sum of records then; nothing with a released view.
    waited
        Records since then.
    kept
        Records for releases after the next, by the numbers of their decisions.
    pooled
        Numbers of the releases in the pool, added up.
    unusable
        How often releases that were heard added up to no Gram matrix. The pool before them stays.
    """

    pool: Pool
    view: Views
    released: ContinualState
    residuals: Floats
    at_release: Floats
    released_in: int = 0
    waited: int = 0
    kept: dict[int, Record] = msgspec.field(default_factory=dict)
    pooled: int = 0
    unusable: int = 0


def first_estimator(plan: PeerPlan, index: int) -> Estimator:
    """Make an estimator of an agent before the first round."""
    constants, peers = plan.constants, plan.peers
    base, log_term = float(peers.base[index]), float(peers.log_term[index])
    pool, view = first_view(constants, base, log_term)
    return Estimator(
        pool=pool,
        view=view,
        released=running_sum.init(plan.release, constants.release_size),
        residuals=np.zeros((constants.models, 4)),
        at_release=at_release(plan, np.zeros(constants.statistic_shape)),
    )


def at_release(plan: PeerPlan, statistic: Floats) -> Floats:
    """Return the sum of an estimator at its release, where views are raw; nothing elsewhere."""
    return statistic.copy() if plan.constants.raw_view else statistic[:0].copy()


def refreshed(
    plan: PeerPlan, index: int, estimator: Estimator, heard: Sequence[tuple[int, Known]],
    statistic: Floats, uncounted: Floats,
) -> Estimator:  # fmt: skip
    """Pool the releases that an estimator has heard; keep the old pool if they make no estimate.

    Parameters
    ----------
    estimator
        The present estimator; its arrays are left as they are.
    heard
        The newest release of each agent that counts, by the agent's number, in order.
    statistic : (models, d (d + 3) / 2) float64
        The sum of the estimator's records that count for releases.
    uncounted : (models, d (d + 3) / 2) float64
        The sum of the records that count for no release.
    """
    numbers = sum(known.release for _, known in heard)
    pool = _pooled(plan, index, heard, statistic[: len(estimator.at_release)], estimator)
    constants, own, others, variance = plan.constants, statistic, statistic, 0.0
    if constants.own_view:
        own = sum_of(statistic, uncounted, estimator.kept, constants.rounding)
        others, variance = _added_up(constants, heard, without=index)
    view, residuals = copied(estimator.view), estimator.residuals.copy()
    fault = NOT_POSITIVE
    if pool is not None:
        fault = take_over(
            constants, float(plan.peers.log_term[index]), pool, uncounted, own, residuals, others,
            math.sqrt(variance), view,
        )  # fmt: skip
    if pool is None or fault != NO_FAULT:
        return msgspec.structs.replace(estimator, pooled=numbers, unusable=estimator.unusable + 1)
    return msgspec.structs.replace(
        estimator, pooled=numbers, pool=pool, view=view, residuals=residuals
    )


def _pooled(
    plan: PeerPlan, index: int, heard: Sequence[tuple[int, Known]], statistic: Floats,
    estimator: Estimator,
) -> Pool | None:  # fmt: skip
    """Add up releases in the order of agents, as a controller would."""
    constants = plan.constants
    released, variance = _added_up(constants, heard)
    pool = empty_pool(constants.models, constants.dimension)
    fault = pool_heard(
        constants, plan.peers, index, len(heard), variance, released,
        statistic - estimator.at_release, pool,
    )  # fmt: skip
    return pool if fault == NO_FAULT else None


def _added_up(
    constants: Constants, heard: Sequence[tuple[int, Known]], without: int = -1
) -> tuple[Floats, float]:
    """Add up releases, (models, d (d + 3) / 2), and the variances of their noise.

    ``without`` is an agent to be left out.
    """
    released, variance = np.zeros(constants.release_size), 0.0
    for origin, known in heard:
        if origin != without:
            released += known.values
            variance += noise_variance(constants, origin, known.release)
    return released.reshape(constants.models, -1), variance
