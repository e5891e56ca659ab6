"""Linear agents of all systems as parties: decisions, and records held to bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from operator import index
from typing import Any, NamedTuple, TypeVar

import numpy as np

from fedbandits._typing import Floats, Floats32
from fedbandits.errors import BoundExceededError, LocalProtocolError
from fedbandits.federation.events import Decide, Observe
from fedbandits.federation.exchange.outlet import Outlet
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step
from fedbandits.learners.kernels.linucb import draw_buffers, new_score_buffers
from fedbandits.learners.kernels.ridge import Record, add_record
from fedbandits.privacy.bounds import as_reward, require_within
from fedbandits.privacy.kernels import all_finite, record_fault
from fedbandits.random import Purpose, integer, normals
from fedbandits.systems.agents.kernels.choices import choose_arm, choose_by_draw
from fedbandits.systems.agents.kernels.constants import TRIGGERED, Constants
from fedbandits.systems.agents.kernels.own_views import take_up_own
from fedbandits.systems.agents.kernels.pools import Pool
from fedbandits.systems.agents.kernels.views import Views, take_up
from fedbandits.systems.agents.plan import AgentsPlan, Offer
from fedbandits.systems.agents.system import AgentSupply
from fedbandits.systems.shell import Persons, Releasing, Shell, ShellState, is_decision_set

AnyAgentState = TypeVar("AnyAgentState", bound=ShellState)


class Knowledge(NamedTuple):
    """Arrays of an agent's state that a record is written to.

    Parameters
    ----------
    statistic, uncounted : (models, d (d + 3) / 2) float64
        Sums of the records that count for releases, and of the other records.
    residuals : (models, 4) float64
        See :func:`~fedbandits.systems.agents.kernels.own_views.take_up_own`.
    pool, view
        The newest sum of releases, and the view that the agent acts on.
    log_term
        The constant part of the agent's radius.
    """

    statistic: Floats
    uncounted: Floats
    residuals: Floats
    pool: Pool
    view: Views
    log_term: float


class Intake(NamedTuple):
    """Records that an agent learns from at a reward, and records that wait.

    Parameters
    ----------
    counted
        Number of records that are learned from now.
    kept
        Records that wait for a later release, by the numbers of their decisions.
    write
        Writes the records to the agent's state. Cannot fail.
    """

    counted: int
    kept: dict[int, Record]
    write: Callable[[], None]


class LinearAgent(Shell[AnyAgentState]):
    """A party that chooses arms of decision sets by a view, and learns from rewards.

    Parameters
    ----------
    seat
        The public information that the agent is given.
    plan
        The plan of all parties, with the noise of this agent's budget.
    supply
        The agent's noise, and the key of its draws.
    state, outlet, peers
        See :class:`.shell.Shell`.
    """

    def __init__(
        self, seat: Seat, plan: AgentsPlan, supply: AgentSupply, state: AnyAgentState,
        outlet: Outlet | None = None, peers: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        constants = plan.constants
        is_triggered = constants.schedule == TRIGGERED
        releasing = Releasing(
            plan.rounds, constants.releases, plan.schedule.most_records,
            None if is_triggered else partial(_planned_round, constants),
        )  # fmt: skip
        persons = Persons(constants.records_per_person, supply.person_key)
        super().__init__(
            seat, state, supply.noise, plan.release.slots > 0, releasing, outlet, persons, peers
        )
        self._index, self._plan, self._learning = seat.place, plan, plan.learning
        self._key, self._first, self._is_triggered = supply.key, supply.first, is_triggered
        #: Shape of a decision set, and work memory of scores.
        self._shape, self._buffers = (
            plan.facts.features_shape,
            new_score_buffers(plan.facts.dimension),
        )

    @property
    def acts_on(self) -> tuple[Pool, Views, int]:
        """The sum of releases and the view that the agent acts on, and the number of the sum."""
        state: Any = self._state
        return state.pool, state.view, state.taken

    def _decide(self, event: Decide) -> Step:
        return self._choose(event, self._state.view)  # type: ignore[attr-defined]

    def _choose(self, event: Decide, view: Views, after: Any = None) -> Step:
        """Choose an arm of a decision set, (d, arms), or (d, 1) with a model an arm.

        There may be fewer arms than the terms have: confidence bounds hold for all contexts at
        once, and with a model an arm for all models. ``after`` is as in :meth:`.Shell._decided`.

        Raises
        ------
        LocalProtocolError
            If the decision set is malformed, or has more arms than the terms.
        BoundExceededError
            If scores are not numbers.
        """
        constants, number = self._plan.constants, self._state.decisions + 1
        situation, person = self._visitor(event.situation)
        features, available = self._decision_set(situation)
        theta, width = view.theta, view.width
        if available:
            theta, width = theta[available], width[available]
        shared = constants.models == 1
        arms = features.shape[1] if shared else len(theta)
        scores = np.empty(arms, np.float32)
        longest = constants.context_bound if constants.clip else math.inf
        draw_name = self._key, self._index, self._first + number - 1
        # Uniform over available arms; with all arms, the draw of the simulated loop.
        tie = int(integer(arms, *draw_name, int(Purpose.TIE), 0))
        if constants.draws:
            drawn = normals(self._plan.draw_size, *draw_name, Purpose.POSTERIOR)
            draw = draw_buffers(drawn[available] if available else drawn, len(features))
            arm = int(choose_by_draw(features, theta, width, tie, longest, scores, draw))
        else:
            arm = int(choose_arm(features, theta, width, tie, longest, scores, self._buffers))
        if arm < 0:
            raise BoundExceededError(f"{self.name}, decision {number}: scores are not numbers")
        context = features[:, arm if shared else 0].astype(np.float64)
        return self._decided(available[arm] if available else arm, context, person, after)

    def _decision_set(self, situation: Any) -> tuple[Floats32, list[int]]:
        """Copy a decision set, as contexts may be cut down; return the available arms too.

        The list of available arms is empty if no arm is missing. Refuses a situation that is no
        decision set.
        """
        features, available = situation, list[int]()
        if type(situation) is Offer:
            features, available = situation.context, self._offered(situation.arms)
        dimension, columns = self._shape
        if is_decision_set(features, dimension, columns):
            if features.dtype == np.float32:
                copied = np.array(features, order="C")
            else:
                with np.errstate(over="ignore"):  # beyond float32 is infinite, and held to L
                    copied = np.array(features, dtype=np.float32, order="C")
            if self._plan.constants.clip or all_finite(copied):
                return copied, available
        raise LocalProtocolError(
            f"{self.name}: a decision set must be an array of real numbers, with {dimension} "
            f"finite numbers for each of at most {columns} columns, as the terms say"
        )

    def _offered(self, arms: Sequence[int]) -> list[int]:
        """Return the available arms as Python's integers; refuse numbers of no arms."""
        most = self._plan.facts.arms
        try:
            available = [-1 if isinstance(arm, bool) else index(arm) for arm in arms]
        except TypeError:  # no sequence, or no integers
            available = []
        known = all(0 <= arm < most for arm in available)
        is_set = known and 1 <= len(available) == len({*available})
        if self._plan.constants.models == 1 or not is_set:
            raise LocalProtocolError(
                f"{self.name}: available arms must be different integers from 0 to {most - 1}, "
                "and at least one; where all arms share a model, show fewer columns"
            )
        return available

    def _checked_record(self, event: Observe) -> Record:
        """Return the record of an open decision, held to its bounds.

        Raises
        ------
        LocalProtocolError
            If the decision is not open, or its arm was not chosen.
        BoundExceededError
            If the context is longer than L, or |y - centre| exceeds B; the decision stays open.
        """
        number = event.decision.number
        opened, constants = self._opened(event.decision), self._plan.constants
        context, most = opened.context, constants.reward_bound
        if constants.clip:  # the context may be cut down
            context = context.copy()
        place = f"{self.name}, decision {number}"
        fault, recorded = record_fault(
            context, as_reward(event.outcome, place) - constants.centre,
            constants.context_bound, -most, most,
            constants.clip,
        )  # fmt: skip
        require_within(fault, place)
        return Record(context, recorded, 0 if constants.models == 1 else opened.arm)

    def _counts(self, event: Observe) -> bool:
        """Tell whether the record of an open decision counts for releases."""
        return self._state.open[event.decision.number].counts

    def _learning_from(
        self, event: Observe, newest: int, kept: dict[int, Record], known: Knowledge
    ) -> Intake:
        """Return the consequences of a reward; nothing is written yet.

        A record that counts for no release is learned from at once.

        Parameters
        ----------
        newest
            Number of the newest release of the sum to which the record belongs.
        kept
            Records that wait for a later release of that sum.
        known
            The arrays that records are written to.
        """
        record, counts, counted = self._checked_record(event), self._counts(event), list[Record]()
        if counts:
            records = {**kept, event.decision.number: record}
            counted, kept = self._releasing.split(newest, records)
        else:
            counted = [record]

        def write() -> None:
            if self._plan.constants.own_view:
                context, reward, model = record
                buffer = np.empty(context.size)
                take_up_own(
                    self._learning, known.residuals, known.view, model, context, reward, buffer
                )
            for context, reward, model in counted:
                take_up(
                    self._learning, known.log_term, known.pool.terms, known.view, known.statistic,
                    known.uncounted, counts, model, context, reward, np.empty(context.size),
                )  # fmt: skip

        return Intake(len(counted), kept, write)

    def _sum_to_release(
        self, newest: int, statistic: Floats, kept: dict[int, Record]
    ) -> tuple[Floats, dict[int, Record]]:
        """Add up all records that count for the next release; return the later records too.

        Parameters
        ----------
        newest, kept
            See :meth:`_learning_from`.
        statistic : (models, d (d + 3) / 2) float64
            The sum so far; left as it is.
        """
        if not kept:
            return statistic, kept
        counted, left = self._releasing.split(newest, kept)
        statistic = statistic.copy()
        for context, reward, model in counted:
            add_record(statistic, model, context, reward, self._plan.constants.rounding)
        return statistic, left


def _planned_round(constants: Constants, release: int) -> int:
    """Return the round at whose end a release is due, in a schedule fixed in advance."""
    if constants.period > 0:
        return release * constants.period
    return int(constants.sync_times[release - 1])
