"""FedUCB with a controller, as parties that exchange messages.

An agent keeps its records and its noise; only released running sums leave an agent. The controller
adds up the releases of all agents and sends the sum back; it learns nothing else. Both call the
compiled functions that the simulation calls, so the same seed gives the same run.

Nobody waits for anybody. An agent decides on the last sum while a sync is under way. At a deadline
the controller adds up the newest release of each agent, and says which it is.

With secure sums the controller sees no release. Agents mask their shares, and helpers take the
masks off a whole sum; see :mod:`fedbandits.federation.totals`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import BudgetExceededError, RemoteProtocolError
from fedbandits.federation.events import Deadline, Decide, EndRound, Event, LetGo, Observe
from fedbandits.federation.exchange.hub import (
    Contribution,
    Gathering,
    HandedSum,
    SummingHub,
    serving,
)
from fedbandits.federation.exchange.outlet import (
    Mechanism,
    SumOfAll,
)
from fedbandits.federation.messages import Message, OutOfOrderError
from fedbandits.federation.roles import MessageTable, Roles
from fedbandits.federation.seats import CONTROLLER, Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.federation.totals.messages import Total
from fedbandits.learners.kernels.ridge import Record
from fedbandits.privacy import running_sum
from fedbandits.privacy.kernels import NO_FAULT
from fedbandits.systems.agents.counting import (
    nothing_uncounted,
    number_or_none,
    others_count_as,
    squared_norms,
    sum_of,
)
from fedbandits.systems.agents.kernels.constants import TRIGGERED, Constants
from fedbandits.systems.agents.kernels.own_views import take_over
from fedbandits.systems.agents.kernels.pools import (
    Basis,
    Pool,
    basis_of_all,
    empty_pool,
    noise_variance,
    pool_release,
)
from fedbandits.systems.agents.kernels.sync import sync_due
from fedbandits.systems.agents.kernels.views import Views, copied, first_view
from fedbandits.systems.agents.limits import Limits
from fedbandits.systems.agents.linear_agent import Knowledge, LinearAgent
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.agents.system import AgentSupply
from fedbandits.systems.secure_sums import outlet_of, summed_roles
from fedbandits.systems.shell import SummedState, staying


class SyncRequest(Message, frozen=True, kw_only=True, tag="feducb.sync-request"):
    """An agent's trigger has fired (published schedule only); it tells of raw data."""

    release: int  # the release that is asked for


class SyncCall(Message, frozen=True, kw_only=True, tag="feducb.sync-call"):
    """The controller asks an agent to release, because some agent's trigger has fired."""

    release: int


class Upload(Contribution, frozen=True, kw_only=True, tag="feducb.upload"):
    """An agent's k-th release: the noisy sum of all its records."""


class Pooled(HandedSum, frozen=True, kw_only=True, tag="feducb.pooled"):
    """The k-th sum of releases, of every agent's newest."""


#: Sender and receiver of each message.
TABLE: MessageTable = {
    SyncRequest: ("agent", "controller"),
    SyncCall: ("controller", "agent"),
    Upload: ("agent", "controller"),
    Pooled: ("controller", "agent"),
}


_ACTS = (Decide, Observe, LetGo)


class Released(NamedTuple):
    """An agent's records when it released: later records are in no sum yet."""

    records: int  # that counted
    statistic: Floats
    noisy: Floats  # the numbers that left; nothing where nobody takes them out of a sum


def no_release() -> Floats:
    """Return the place of an own release that is not needed, or was not made."""
    return np.zeros(0)


class AgentState(SummedState, frozen=True, kw_only=True):
    """All that changes in an agent.

    Parameters
    ----------
    statistic : (models, d (d + 3) / 2) float64
        The sum of the records that count for the next release.
    uncounted : (models, d (d + 3) / 2) float64
        The sum of own records that count for no release; nothing where none is learned from.
    residuals : (models, 4) float64
        See :func:`~fedbandits.systems.agents.kernels.own_views.take_up_own`.
    pool, view
        The last sum of releases, and the view that the agent acts on.
    called
        The number of the last sum that the agent was called to release for.
    refused
        The number of calls that the agent's ledger has kept it from answering.
    waited
        Records since the last sum, and decisions that never became one.
    fresh
        The same since the agent's last release.
    kept
        Records for releases after the next, by the numbers of their decisions.
    """

    statistic: Floats
    uncounted: Floats
    residuals: Floats
    pool: Pool
    view: Views
    called: int = 0
    refused: int = 0
    waited: int = 0
    fresh: int = 0
    kept: dict[int, Record] = msgspec.field(default_factory=dict)
    under_way: dict[int, Released] = msgspec.field(default_factory=dict)


#: Transitions of an agent in secure sums: it never waits, and totals come.
_SECURE = staying(("ready",), *_ACTS, EndRound, Total)


class Agent(LinearAgent[AgentState]):
    """One organisation: decides, learns from rewards, releases when a sync is due.

    Where releases are seen, the agent waits for a sum after each release. With secure sums the
    agent never waits: whether a total comes is up to others.

    Parameters
    ----------
    seat
        The public information that the agent is given; the budget is that of its place.
    plan
        The plan of all parties.
    supply
        The agent's noise, the k-th draw for the k-th release, how it breaks ties, and with secure
        sums its secrets.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        **staying(("ready", "waiting"), *_ACTS),
        ("ready", EndRound): ("waiting",),
        ("ready", SyncCall): ("waiting", "ready"),
        ("ready", Pooled): ("ready",),
        ("waiting", EndRound): ("waiting",),
        ("waiting", SyncCall): ("waiting",),
        ("waiting", Pooled): ("ready",),
        ("waiting", Deadline): ("ready", "waiting"),
    }

    def __init__(self, seat: Seat, plan: AgentsPlan, supply: AgentSupply) -> None:
        constants, own = plan.constants, plan.of_agent(seat.place)
        mechanism = Mechanism(own.release, constants.entry_scale, constants.step)
        self._waits = plan.secure is None
        outlet, sending = outlet_of(seat, plan, mechanism, supply.masks, Upload)
        if not self._waits:
            self.TRANSITIONS = _SECURE  # type: ignore[misc]
        pool, view = first_view(constants, constants.base, constants.log_term)
        state = AgentState(
            statistic=np.zeros(constants.statistic_shape),
            uncounted=nothing_uncounted(plan, 1)[0],
            residuals=np.zeros((constants.models, 4)),
            pool=pool,
            view=view,
            released=running_sum.init(plan.release, constants.release_size),
            sending=sending,
        )
        super().__init__(seat, own, supply, state, outlet)
        self._controller = seat.one(CONTROLLER)
        self._limits, self._everybody = Limits(plan), range(constants.agents)
        self._have_noise()

    @property
    def _answer_due(self) -> int | None:
        return self._made if self._is_triggered and self.stage == "waiting" else None

    @property
    def others_count_as(self) -> float | None:
        state = self._state
        if not (self._plan.constants.own_view and state.taken):
            return None
        squares = squared_norms(state.statistic, state.uncounted)
        return number_or_none(others_count_as(state.residuals, squares, len(state.kept)))

    def _observe(self, event: Observe) -> Step:
        """Learn from a reward; ask for a sync, if data-dependent ones are due."""
        state = self._state
        known = Knowledge(
            state.statistic, state.uncounted, state.residuals, state.pool, state.view,
            self._plan.constants.log_term,
        )  # fmt: skip
        intake = self._learning_from(event, self._made, state.kept, known)
        after = self._after(
            records=state.records + 1, waited=state.waited + intake.counted,
            fresh=state.fresh + intake.counted, kept=intake.kept,
        )  # fmt: skip

        def learn() -> Sequence[Message]:
            intake.write()
            return self._requests(after)

        return Step(after, write=learn, closed=event.decision.number)

    def _let_go(self, event: LetGo) -> Step:
        """Close a decision without a record: it counts as a round in which nothing was learned."""
        step, state = super()._let_go(event), self._state
        after = self._after(waited=state.waited + 1, fresh=state.fresh + 1)
        return msgspec.structs.replace(step, state=after, write=lambda: self._requests(after))

    def _requests(self, after: AgentState) -> Sequence[Message]:
        """Return the request for a sync, if one is due; none where syncs are fixed."""
        constants, made = self._plan.constants, after.released.made
        if not self._is_triggered or after.stage == "waiting" or made >= constants.releases:
            return ()
        terms, log_det, waited = after.pool.terms, after.view.trigger_log_det, after.waited
        if not (waited and sync_due(constants.threshold, terms, log_det, waited)):
            return ()
        release = after.taken + 1
        return [SyncRequest(sender=self.name, receiver=self._controller, release=release)]

    def _take_message(self, message: Any) -> Step:
        return (
            self._answer(message) if type(message) is SyncCall else super()._take_message(message)
        )

    def _answer(self, call: SyncCall) -> Step:
        """Release because some agent has asked for a sync."""
        state, most = self._state, self._plan.constants.releases
        if not self._is_triggered:
            raise OutOfOrderError(f"{self.name}: syncs are fixed, nobody may call for one")
        if not max(state.taken, state.called) < call.release <= self._plan.most_sums:
            raise OutOfOrderError(f"{self.name}: call for sum {call.release} after {state.taken}")
        if self._made == most:
            raise OutOfOrderError(f"{self.name}: all {most} releases were made")
        try:
            return self._release(called=call.release)
        except BudgetExceededError:  # for good: the call is answered by nothing, and was heard
            return Step(self._after(called=call.release, refused=state.refused + 1))

    def _go_on_without(self) -> Step:
        """Ask anew for a sum that has not come."""
        return Step(self._after(stage="ready", called=self._state.taken))

    def _release(self, **changed: Any) -> Step:
        """Make the next release of the running sum: kept before it leaves."""
        state, plan = self._state, self._plan
        statistic, kept = self._sum_to_release(self._made, state.statistic, state.kept)

        def keep(noisy: Floats) -> Released:
            left = noisy.copy() if plan.constants.leaves_out_own else no_release()
            return Released(state.records - len(kept), statistic, left)

        after, messages = self._outlet.send(state, statistic.reshape(-1), keep, self._noise)
        self._has_noise = False
        after = msgspec.structs.replace(
            after, stage="waiting" if self._waits else "ready", fresh=0,
            statistic=statistic.copy(), kept=kept, **changed,
        )  # fmt: skip
        return Step(after, messages)

    def _go_on(self, summed: SumOfAll) -> Step:
        """Go on from a sum of agents' newest releases, and from own records after it.

        Raises
        ------
        RemoteProtocolError
            If it is no sum of releases, or makes no estimate.
        """
        state, constants = self._state, self._plan.constants
        newest, own, values = summed.newest, summed.own, summed.values
        heard: Sequence[int] = self._everybody
        if min(newest) == 0:
            heard = [agent for agent in heard if newest[agent]]
        self._limits.check(self.name, values, heard, [newest[agent] for agent in heard])
        had, basis = state.under_way.get(own), basis_of(constants, newest)
        pool = empty_pool(constants.models, constants.dimension)
        fault = pool_release(constants, basis, self._with_fresh(values, had), pool)
        if fault != NO_FAULT:
            raise RemoteProtocolError(f"{self.name}: the pooled Gram matrix is not positive")
        mine = others = state.statistic
        variance = 0.0
        if constants.own_view:
            mine = sum_of(state.statistic, state.uncounted, state.kept, constants.rounding)
            others, variance = others_in_sum(constants, self._index, newest, values, had)
        view, residuals = copied(state.view), state.residuals.copy()
        fault = take_over(
            constants, constants.log_term, pool, state.uncounted, mine, residuals, others,
            math.sqrt(variance), view,
        )  # fmt: skip
        if fault != NO_FAULT:
            raise RemoteProtocolError(f"{self.name}: own records and the sum do not add up")
        self._have_noise()  # nothing rests on the noise: it may fail
        waited = state.fresh if own == state.released.made else state.waited
        return Step(
            self._after(stage="ready", pool=pool, view=view, residuals=residuals, waited=waited)
        )

    def _with_fresh(self, values: Floats, had: Released | None) -> Floats:
        """Return a sum (models, d (d + 3) / 2), with own records after the own release in the sum.

        In a raw view those records count at once.
        """
        state, constants = self._state, self._plan.constants
        total = values.reshape(constants.models, -1)
        if not constants.raw_view:
            return total
        if had is None:
            return total + state.statistic
        fresh = had.records != state.records - len(state.kept)
        return total + (state.statistic - had.statistic) if fresh else total


def basis_of(constants: Constants, newest: Sequence[int]) -> Basis:
    """Return the basis of a sum of some agents' releases, by their numbers, 0 where none is.

    Where all numbers are alike, the basis is that of the loop, bit for bit.
    """
    if min(newest) == max(newest):
        return basis_of_all(constants, newest[0])
    heard = [(agent, release) for agent, release in enumerate(newest) if release]
    variance = sum(noise_variance(constants, agent, release) for agent, release in heard)
    # As published: 2Λ for each one heard, ρ_min for each one that is not.
    base = constants.base
    shift = base + len(heard) * (constants.shift - base) / constants.agents
    return Basis(base, constants.log_term, shift, math.sqrt(variance))


def others_in_sum(
    constants: Constants, agent: int, newest: Sequence[int], values: Floats, had: Released | None
) -> tuple[Floats, float]:
    """Return a sum without an agent's own part, (models, d (d + 3) / 2), and the variance left.

    Of a sum that shows releases, the agent's own release is taken out, and its noise with it. Of a
    secure sum only the agent's records are: decisions that depend on own noise could take the noise
    away.

    Parameters
    ----------
    agent
        The agent that is left out.
    newest
        The number of every agent's release in the sum, 0 where there is none.
    values : (release_size,) float64
        The sum.
    had
        The agent's memory of its release in the sum; None if there is none.
    """
    variance = basis_of(constants, newest).deviation ** 2
    own = no_release()
    if had is not None:
        own = had.statistic.reshape(-1) if constants.step > 0.0 else had.noisy
    if newest[agent] and constants.step == 0.0:
        variance -= noise_variance(constants, agent, newest[agent])
    others = values - own if own.size else values
    return others.reshape(constants.models, -1), max(variance, 0.0)


class Controller(SummingHub):
    """Adds up releases; sees nothing but released sums, and when they came."""

    GATHERING = Gathering("agent", Upload, call=SyncCall)
    TOTAL = Pooled
    TRANSITIONS: ClassVar[Transitions] = serving(SyncRequest, Upload, Deadline)

    def __init__(self, seat: Seat, plan: AgentsPlan) -> None:
        super().__init__(seat, plan.constants.release_size, plan.constants.releases)
        self._limits, self._schedule = Limits(plan), plan.constants.schedule

    def _check(self, values: Floats, place: int, number: int) -> None:
        self._limits.check(self.name, values, [place], [number])

    def _answer(self, event: Event | Message) -> Step:
        if not isinstance(event, SyncRequest):
            return super()._answer(event)
        if self._schedule != TRIGGERED:
            raise OutOfOrderError(f"{self.name}: syncs are fixed, nobody may ask for one")
        return self._call(event)


def roles(plan: AgentsPlan) -> Roles:
    """Return agents, and the parties that add up releases: a controller, with helpers or alone."""
    return summed_roles(
        plan, lambda seat, own: Agent(seat, plan, own), lambda seat: Controller(seat, plan), TABLE
    )
