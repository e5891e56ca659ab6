"""Agents of FedUCB, as far as it does not matter who adds up what they release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import LocalProtocolError, RemoteProtocolError
from fedbandits.federation.events import Decide, EndRound, LetGo, Observe
from fedbandits.federation.messages import Message
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step
from fedbandits.learners.kernels.ridge import Record
from fedbandits.privacy import running_sum
from fedbandits.privacy.running_sum import ContinualState
from fedbandits.systems.agents.counting import countable, nothing_uncounted, sum_of
from fedbandits.systems.agents.kernels.constants import TRIGGERED
from fedbandits.systems.agents.kernels.pools import Pool
from fedbandits.systems.agents.kernels.views import (
    Views,
    add_uncounted,
    first_view,
    load_view,
)
from fedbandits.systems.agents.limits import Limits
from fedbandits.systems.agents.linear_agent import LinearAgent, LinearAgentState
from fedbandits.systems.agents.others_count import number_or_none, others_count_as, squared_norms
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.agents.schedule import planned_round
from fedbandits.systems.agents.system import AgentSupply
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
    residuals : (models, 4) float64
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


AnySyncedState = TypeVar("AnySyncedState", bound=AgentState)


def first_state(plan: AgentsPlan) -> dict[str, Any]:
    """Return what an agent knows before the first round, as fields of its state."""
    constants = plan.constants
    pool, view = first_view(constants, constants.base, constants.log_term)
    return {
        "statistic": np.zeros(constants.statistic_shape),
        "uncounted": nothing_uncounted(plan, 1)[0],
        "residuals": np.zeros((constants.models, 4)),
        "pool": pool,
        "view": view,
        "released": running_sum.init(plan.release, constants.release_size),
    }


class SyncedAgent(LinearAgent[AnySyncedState]):
    """One organisation: decides, learns from rewards, goes on from sums of releases.

    Parameters
    ----------
    seat
        What it is told of all that is public; its place says whose budget it spends.
    plan
        What all parties go by.
    supply
        Its noise, the k-th draw for the k-th release, and how it breaks ties.
    state
        The state to begin in.
    """

    def __init__(
        self, seat: Seat, plan: AgentsPlan, supply: AgentSupply, state: AnySyncedState
    ) -> None:
        super().__init__(seat, plan.of_agent(seat.place), supply, state)
        self._controller = seat.one("controller")
        self._limits, self._most_records = Limits(plan), plan.schedule.most_records
        self._everybody = range(plan.constants.agents)
        self._draw_ahead(0)

    @property
    def next_end(self) -> int | None:
        """The next round that ends with a release, where those are fixed in advance."""
        constants, made = self._plan.constants, self._state.released.made
        fixed = constants.schedule != TRIGGERED and made < constants.releases
        return planned_round(constants, made + 1) if fixed else None

    @property
    def others_count_as(self) -> float | None:
        state = self._state
        if not (self._plan.constants.own_view and state.pooled):
            return None
        squares = squared_norms(state.statistic, state.uncounted)
        return number_or_none(others_count_as(state.residuals, squares, len(state.kept)))

    def _compute(self, event: Any) -> Step:
        match event:
            case Decide():
                self._draw_ahead(self._state.released.made)
                return self._choose(event, self._state.view)
            case Observe():
                return self._observe(event)
            case LetGo():
                return self._let_go(event)
            case EndRound():
                return self._end_round(event)
            case _:
                return self._hear(event)

    def _hear(self, event: Any) -> Step:
        """Act on a message, or on the end of a wait."""
        raise NotImplementedError

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

    def _end_round(self, event: EndRound) -> Step:
        """Release; what is to be learned from it waits until it has left."""
        if event.round_ != self.next_end:
            raise LocalProtocolError(
                f"{self.name}: end of round {event.round_}, not of {self.next_end}"
            )
        return self._release()

    def _release(self) -> Step:
        """Make the next release of the running sum: kept before it leaves."""
        raise NotImplementedError

    def _requests(self, after: AnySyncedState) -> Sequence[Message]:
        """Return what asks for a sync, after something was learned; by default syncs are fixed."""
        del after
        return ()

    def _go_on(self, release: int, newest: Sequence[int], values: Floats) -> Step:
        """Go on from a sum of agents' newest releases, and from own records after it.

        Parameters
        ----------
        release
            The number of the sum.
        newest
            The number of every agent's release in it, 0 where there is none.
        values : (release_size,) float64
            The sum.

        Raises
        ------
        RemoteProtocolError
            If it is no sum of releases, or makes no estimate.
        """
        state, constants = self._state, self._plan.constants
        heard: Sequence[int] = self._everybody
        if min(newest) == 0:
            heard = [agent for agent in heard if newest[agent]]
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
            stage="ready", pool=pool, view=view, residuals=residuals, pooled=release,
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
            return ()

        return Step(after, write=load)
