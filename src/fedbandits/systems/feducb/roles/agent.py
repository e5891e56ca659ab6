"""FedUCB's agents: one organisation each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import BudgetExceededError, LocalProtocolError, RemoteProtocolError
from fedbandits.federation.events import Deadline, Decide, EndRound, LetGo, Observe
from fedbandits.federation.messages import ImplausibleError, Message, OutOfOrderError, pack, unpack
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.learners.kernels.ridge import Record
from fedbandits.privacy import running_sum
from fedbandits.privacy.running_sum import ContinualState
from fedbandits.systems.agents.counting import countable, nothing_uncounted, sum_of, sum_to_release
from fedbandits.systems.agents.joint import first_joint, no_release
from fedbandits.systems.agents.kernels.constants import TRIGGERED
from fedbandits.systems.agents.kernels.pools import Pool
from fedbandits.systems.agents.kernels.sync import sync_due
from fedbandits.systems.agents.kernels.views import (
    Views,
    add_uncounted,
    first_view,
    load_others,
    load_view,
)
from fedbandits.systems.agents.limits import Limits
from fedbandits.systems.agents.linear_agent import LinearAgent, LinearAgentState
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.agents.schedule import planned_round
from fedbandits.systems.agents.system import AgentSupply
from fedbandits.systems.feducb.messages import Pooled, SyncCall, SyncRequest, Upload
from fedbandits.systems.feducb.roles.sums import (
    Released,
    others_in_sum,
    pool_of_sum,
    records_after,
    view_of_sum,
)


class AgentState(LinearAgentState, frozen=True, kw_only=True):
    """All that changes in an agent.

    Parameters
    ----------
    statistic : (models, d (d + 3) / 2) float64
        The sum of the records that count for the next release.
    uncounted : (models, d (d + 3) / 2) float64
        The sum of own records that count for no release; nothing where none is learned from.
    residuals : (models, 3) float64
        See :func:`~fedbandits.systems.agents.kernels.own_views.take_up_own`.
    pool, view
        What it knows of the last sum, and what it acts on.
    released
        Where its releases stand.
    pooled
        The number of the last sum that it has taken over.
    called
        The number of the last sum that it was called to release for.
    included
        The number of its own release in that sum; 0 if there was none.
    refused
        How many calls its ledger has kept it from answering.
    waited
        Records since that sum, and decisions that never became one.
    fresh
        The same since its last release.
    kept
        Records of decisions beyond those that the next release may be about, by their numbers.
    under_way
        What it had at its release in the last sum, and at those that are in no sum yet.
    """

    statistic: Floats
    uncounted: Floats
    residuals: Floats
    pool: Pool
    view: Views
    released: ContinualState
    pooled: int = 0
    called: int = 0
    included: int = 0
    refused: int = 0
    waited: int = 0
    fresh: int = 0
    kept: dict[int, Record] = msgspec.field(default_factory=dict)
    under_way: dict[int, Released] = msgspec.field(default_factory=dict)


class Agent(LinearAgent[AgentState]):
    """One organisation: decides, learns from rewards, releases when a sync is due.

    Parameters
    ----------
    seat
        What it is told of all that is public; its place says whose budget it spends.
    plan
        What all parties go by.
    supply
        Its noise, the k-th draw for the k-th release, and how it breaks ties.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("ready", Decide): ("ready",),
        ("ready", Observe): ("ready",),
        ("ready", LetGo): ("ready",),
        ("ready", EndRound): ("waiting",),
        ("ready", SyncCall): ("waiting", "ready"),
        ("ready", Pooled): ("ready",),
        ("waiting", Decide): ("waiting",),
        ("waiting", Observe): ("waiting",),
        ("waiting", LetGo): ("waiting",),
        ("waiting", EndRound): ("waiting",),
        ("waiting", SyncCall): ("waiting",),
        ("waiting", Pooled): ("ready",),
        ("waiting", Deadline): ("ready",),
    }

    def __init__(self, seat: Seat, plan: AgentsPlan, supply: AgentSupply) -> None:
        constants = plan.constants
        pool, view = first_view(constants, constants.base, constants.log_term)
        state = AgentState(
            statistic=np.zeros(constants.statistic_shape),
            uncounted=nothing_uncounted(plan, 1)[0],
            residuals=np.zeros((constants.models, 3)),
            joint=first_joint(constants),
            pool=pool,
            view=view,
            released=running_sum.init(plan.release, constants.release_size),
        )
        super().__init__(seat, plan.of_agent(seat.place), supply, state)
        self._controller = seat.one("controller")
        self._limits, self._most_records = Limits(plan), plan.schedule.most_records
        self._everybody = range(constants.agents)
        self._draw_ahead(0)

    @property
    def next_end(self) -> int | None:
        """The next round that ends with a release, where those are fixed in advance."""
        constants, made = self._plan.constants, self._state.released.made
        fixed = constants.schedule != TRIGGERED and made < constants.releases
        return planned_round(constants, made + 1) if fixed else None

    @property
    def awaited(self) -> int | None:
        """The release whose sum has not come, for which nobody else would ask again."""
        waits = self.stage == "waiting" and self._plan.constants.schedule == TRIGGERED
        return self._state.released.made if waits else super().awaited

    def _compute(self, event: Any) -> Step:
        match event:
            case Decide():
                self._draw_ahead(self._state.released.made)
                return self._choose(event, self._state.view, self._state.joint)
            case Observe():
                return self._observe(event)
            case LetGo():
                return self._let_go(event)
            case EndRound():
                return self._end_round(event)
            case SyncCall():
                return self._answer(event)
            case Pooled():
                return self._take_over(event)
            case _ if event.number != self.awaited:  # a deadline of what is over
                return Step(self._state)
            case _:
                return Step(self._after(stage="ready", called=self._state.pooled))

    def _observe(self, event: Observe) -> Step:
        """Learn from a reward; ask for a sync, if data-dependent ones are due."""
        state = self._state
        record, number = self._checked_record(event), event.decision.number
        counts, counted, kept = self._counts(event), [record], state.kept
        if counts:  # else it is learned from at once, and the trigger takes it for none
            counted, kept = countable(
                self._plan, self._most_records, state.released.made, {**state.kept, number: record}
            )
        after = self._after(
            records=state.records + 1,
            waited=state.waited + len(counted), fresh=state.fresh + len(counted), kept=kept,
        )  # fmt: skip

        def learn() -> Sequence[Message]:
            self._learn_jointly(record)
            self._learn_own(record, state.residuals, state.view)
            for each in counted:
                self._learn(
                    each, counts, state.statistic, state.uncounted, state.pool, state.view,
                    self._plan.constants.log_term,
                )  # fmt: skip
            return self._requests(after)

        return Step(after, write=learn, closed=number)

    def _let_go(self, event: LetGo) -> Step:
        """Close a decision without a record: it counts as a round in which nothing was learned."""
        step, state = super()._let_go(event), self._state
        after = self._after(waited=state.waited + 1, fresh=state.fresh + 1)
        return msgspec.structs.replace(step, state=after, write=lambda: self._requests(after))

    def _requests(self, after: AgentState) -> Sequence[Message]:
        constants = self._plan.constants
        if (
            constants.schedule != TRIGGERED
            or after.stage == "waiting"
            or after.released.made >= constants.releases
            or after.waited == 0
        ):
            return ()
        log_det = after.view.trigger_log_det
        if not sync_due(constants.threshold, after.pool.terms, log_det, after.waited):
            return ()
        release = after.pooled + 1
        return [SyncRequest(sender=self.name, receiver=self._controller, release=release)]

    def _end_round(self, event: EndRound) -> Step:
        """Release; what is to be learned from it waits until it has left."""
        if event.round_ != self.next_end:
            raise LocalProtocolError(
                f"{self.name}: end of round {event.round_}, not of {self.next_end}"
            )
        return self._release()

    def _answer(self, call: SyncCall) -> Step:
        constants, state = self._plan.constants, self._state
        if constants.schedule != TRIGGERED:
            raise OutOfOrderError(f"{self.name}: syncs are fixed, nobody may call for one")
        if not max(state.pooled, state.called) < call.release <= self._plan.most_sums:
            raise OutOfOrderError(f"{self.name}: call for sum {call.release} after {state.pooled}")
        if state.released.made == constants.releases:
            raise OutOfOrderError(f"{self.name}: all {constants.releases} releases were made")
        try:
            return self._release(called=call.release)
        except BudgetExceededError:  # for good: the call is answered by nothing, and was heard
            return Step(self._after(called=call.release, refused=state.refused + 1))

    def _release(self, **changed: Any) -> Step:
        """Make the next release of the running sum: kept before it leaves."""
        state, plan = self._state, self._plan
        statistic, kept = sum_to_release(
            plan, self._most_records, state.released.made, state.statistic, state.kept
        )
        released, noisy = running_sum.release(
            plan.release, state.released, statistic.reshape(-1), plan.constants.entry_scale,
            self._noise,
        )  # fmt: skip
        self._has_noise = False
        left = noisy.copy() if plan.constants.leaves_out_own else no_release()
        had = Released(state.records - len(kept), statistic, left)
        after = self._after(
            stage="waiting", released=released, fresh=0, statistic=statistic.copy(), kept=kept,
            under_way={**state.under_way, released.made: had}, **changed,
        )  # fmt: skip
        upload = Upload(
            sender=self.name,
            receiver=self._controller,
            release=released.made,
            statistic=pack(noisy),
        )
        return Step(after, [upload])

    def _take_over(self, message: Pooled) -> Step:
        """Go on from the sum of all agents' newest releases, and from own records after it."""
        state, constants = self._state, self._plan.constants
        newest = self._checked_numbers(message)
        values = unpack(message.statistic, constants.release_size)
        heard: Sequence[int] = self._everybody
        if message.newest:
            heard = [agent for agent, release in enumerate(newest) if release]
        self._limits.check(self.name, values, heard, [newest[agent] for agent in heard])
        own, made = newest[self._index], state.released.made
        had, fresh = state.under_way.get(own), None
        if constants.raw_view:
            fresh = records_after(had, state.statistic, state.records - len(state.kept))
        pool = pool_of_sum(constants, newest, values, fresh)
        if pool is None:
            raise RemoteProtocolError(f"{self.name}: the pooled Gram matrix is not positive")
        view, residuals = state.view, state.residuals
        if constants.own_view:
            mine = sum_of(state.statistic, state.uncounted, state.kept, constants.rounding)
            others = others_in_sum(constants, self._index, newest, values, had)
            found = view_of_sum(constants, mine, residuals, *others)
            if found is None:
                raise RemoteProtocolError(f"{self.name}: own records and the sum do not add up")
            view, residuals = found
        self._draw_ahead(made)  # of the noise nothing else rests: it may fail
        after = self._after(
            stage="ready", pool=pool, view=view, residuals=residuals, pooled=message.release,
            included=own,
            waited=state.fresh if own == made else state.waited,
            under_way={k: left for k, left in state.under_way.items() if k >= own},
        )  # fmt: skip

        def load() -> Sequence[Message]:
            if constants.own_view:
                return ()
            load_view(constants, constants.log_term, pool, state.view)
            if state.uncounted.size:
                add_uncounted(constants, constants.log_term, pool, state.uncounted, state.view)
            if constants.joint_view:
                others, variance = others_in_sum(constants, self._index, newest, values, had)
                load_others(constants, others, variance, state.view, state.joint)
            return ()

        return Step(after, write=load)

    def _checked_numbers(self, message: Pooled) -> tuple[int, ...]:
        """Return the number of every agent's release in a sum."""
        state, constants = self._state, self._plan.constants
        if not state.pooled < message.release <= self._plan.most_sums:
            raise OutOfOrderError(
                f"{self.name}: sum {message.release} after sum {state.pooled}, of "
                f"{self._plan.most_sums}"
            )
        newest = message.newest or (message.release,) * len(self._everybody)
        if (
            len(newest) != constants.agents
            or not 0 <= min(newest) <= max(newest) <= constants.releases
            or max(newest) == 0
            or not state.included <= newest[self._index] <= state.released.made
        ):
            raise ImplausibleError(f"{self.name}: the sum names releases that were never made")
        return newest
