"""Linear agents of all systems as parties: decisions, and records held to bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from fedbandits._typing import Floats, Floats32
from fedbandits.environments.open_world import Visit
from fedbandits.errors import BoundExceededError, LocalProtocolError
from fedbandits.federation.events import Decide, Decision, Observe
from fedbandits.federation.exchange.outlet import Outlet
from fedbandits.federation.messages import Message
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step
from fedbandits.learners.kernels.linucb import draw_buffers, new_score_buffers
from fedbandits.learners.kernels.ridge import Record
from fedbandits.privacy.bounds import as_reward, require_within
from fedbandits.privacy.kernels import all_finite, record_fault
from fedbandits.systems.agents.counting import digest_of_person
from fedbandits.systems.agents.decisions import Offer
from fedbandits.systems.agents.kernels.choices import choose_arm, choose_by_draw
from fedbandits.systems.agents.kernels.own_views import take_up_own
from fedbandits.systems.agents.kernels.pools import Pool
from fedbandits.systems.agents.kernels.views import Views, take_up
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.agents.system import AgentSupply
from fedbandits.systems.shell import OpenDecision, Shell, ShellState

AnyAgentState = TypeVar("AnyAgentState", bound=ShellState)


class LinearAgent(Shell[AnyAgentState]):
    """A party that chooses arms of decision sets by a view, and learns from rewards.

    Parameters
    ----------
    seat
        What it is told of all that is public.
    plan
        What all parties go by, with the noise of this one's own budget.
    supply
        The agent's noise, and how the agent breaks ties.
    state, outlet, peers
        See :class:`.shell.Shell`.
    """

    def __init__(
        self, seat: Seat, plan: AgentsPlan, supply: AgentSupply, state: AnyAgentState,
        outlet: Outlet | None = None, peers: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(seat, state, supply.noise, plan.release.slots > 0, outlet, peers)
        self._index, self._plan, self._learning = seat.place, plan, plan.learning
        self._ties, self._draws, self._person_key = supply.ties, supply.draws, supply.person_key

    def _choose(self, event: Decide, view: Views) -> Step:
        """Choose an arm of a decision set, (d, arms), or (d, 1) with a model an arm.

        There may be fewer arms than the terms have: confidence bounds hold for all contexts at
        once, and with a model an arm for all models.

        Raises
        ------
        LocalProtocolError
            If the decision set is malformed, or has more arms than the terms.
        BoundExceededError
            If scores are not numbers.
        """
        state, constants = self._state, self._plan.constants
        situation, person = self._visit(event.situation)
        features, some = self._decision_set(situation)
        theta, width = view.theta, view.width
        if some:
            theta, width = theta[some], width[some]
        shared, number = constants.models == 1, state.decisions + 1
        arms = features.shape[1] if shared else len(theta)
        scores, buffers = np.empty(arms, np.float32), new_score_buffers(len(features))
        longest = constants.context_bound if constants.clip else math.inf
        first = self._ties(number) % arms
        if constants.draws:
            normals = self._draws(number)
            draw = draw_buffers(normals[some] if some else normals, len(features))
            arm = int(choose_by_draw(features, theta, width, first, longest, scores, draw))
        else:
            arm = int(choose_arm(features, theta, width, first, longest, scores, buffers))
        if arm < 0:
            raise BoundExceededError(f"{self.name}, decision {number}: scores are not numbers")
        context = features[:, arm if shared else 0].astype(np.float64)
        arm = some[arm] if some else arm
        after, answer = self._after(decisions=number), Decision(number, arm)
        if person is None:
            return Step(after, answer=answer, opened=(number, OpenDecision(arm, context)))
        visits = state.visits.get(person, 0)
        counts = visits < constants.records_per_person

        def note_visit() -> Sequence[Message]:
            if counts:
                state.visits[person] = visits + 1
            return ()

        chosen = OpenDecision(arm, context, counts)
        return Step(after, answer=answer, write=note_visit, opened=(number, chosen))

    def _visit(self, situation: Any) -> tuple[Any, bytes | None]:
        """Return what to decide on, and a digest of the person if persons are protected."""
        named = type(situation) is Visit
        if not self._plan.counts_persons:
            return (situation.situation if named else situation), None
        if not (named and situation.person):
            raise LocalProtocolError(
                f"{self.name}: the terms protect persons, so each decision needs the person for "
                "whom it is made; give person, a name that is the same in all visits"
            )
        return situation.situation, digest_of_person(situation.person, self._person_key)

    def _decision_set(self, situation: Any) -> tuple[Floats32, list[int]]:
        """Copy a decision set, which may be cut down; return arms' numbers too if not all are in.

        Refuses what is none.
        """
        features, some = situation, list[int]()
        if type(situation) is Offer:
            features, some = situation.context, self._offered(situation.arms)
        dimension, columns = self._plan.facts.features_shape
        shape: tuple[int, ...] = getattr(features, "shape", ())
        if len(shape) == 2 and shape[0] == dimension and 1 <= shape[1] <= columns:
            if features.dtype == np.float32:
                copied = np.array(features, order="C")
            else:
                with np.errstate(over="ignore"):  # beyond float32 is infinite, and held to L
                    copied = np.array(features, dtype=np.float32, order="C")
            if self._plan.constants.clip or all_finite(copied):
                return copied, some
        raise LocalProtocolError(
            f"{self.name}: a decision set must have {dimension} finite numbers for each of at most "
            f"{columns} columns, as the terms say"
        )

    def _offered(self, arms: Sequence[int]) -> list[int]:
        """Return numbers of arms that can be chosen, if that is what they are."""
        some, most = list(arms), self._plan.facts.arms
        known = all(type(arm) is int and 0 <= arm < most for arm in some)
        if self._plan.constants.models == 1 or not (known and 1 <= len(some) == len({*some})):
            raise LocalProtocolError(
                f"{self.name}: available arms must be different numbers from 0 to {most - 1}, "
                "and at least one; where all arms share a model, fewer are shown"
            )
        return some

    def _checked_record(self, event: Observe) -> Record:
        """Return the record of an open decision, held to its bounds.

        Raises
        ------
        LocalProtocolError
            If the decision is not open, or is another one.
        BoundExceededError
            If context or reward exceed L or B; the decision stays open.
        """
        number, arm = event.decision.number, event.decision.action
        found, constants = self._opened(event.decision), self._plan.constants
        context, most = found.context, constants.reward_bound
        if constants.clip:  # it may be cut down
            context = context.copy()
        place = f"{self.name}, decision {number}"
        fault, recorded = record_fault(
            context, as_reward(event.outcome, place) - constants.centre,
            constants.context_bound, -most, most,
            constants.clip,
        )  # fmt: skip
        require_within(fault, place)
        return Record(context, recorded, 0 if constants.models == 1 else arm)

    def _counts(self, event: Observe) -> bool:
        """Tell whether the record of an open decision counts for releases."""
        return self._state.open[event.decision.number].counts

    def _learn(
        self, record: Record, counts: bool, statistic: Floats, uncounted: Floats, pool: Pool,
        view: Views, log_term: float,
    ) -> None:  # fmt: skip
        """Take up a record in its running sum, and in the view as far as that is due. Cannot fail.

        Parameters
        ----------
        statistic, uncounted : (models, d (d + 3) / 2) float64
            Sums of the records that count, and of those that do not.
        pool, view, log_term
            What the agent acts on, and the constant part of its radius.
        """
        take_up(
            self._learning, log_term, pool.terms, view, statistic, uncounted, counts, record.model,
            record.context, record.reward, np.empty(self._plan.constants.dimension),
        )  # fmt: skip

    def _learn_own(self, record: Record, residuals: Floats, view: Views) -> None:
        """Take up a record in a view of all own records, whenever it counts. Cannot fail."""
        learning, (context, reward, model) = self._learning, record
        if self._plan.constants.own_view:
            take_up_own(learning, residuals, view, model, context, reward, np.empty(context.size))
