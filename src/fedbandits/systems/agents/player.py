"""What linear agents of all systems share as parties: decisions, and records held to bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fedbandits._typing import Floats, Floats32
from fedbandits.errors import BoundExceededError, LocalProtocolError
from fedbandits.federation.party import ActingParty
from fedbandits.learners.ridge import Record, add_record
from fedbandits.privacy.bounds import record_fault, require_within
from fedbandits.privacy.running_sum import draw_ahead
from fedbandits.systems.agents import views as act
from fedbandits.systems.agents.plan import TRIGGERED, AgentsPlan
from fedbandits.systems.agents.play import choose_arm
from fedbandits.systems.agents.sync import next_sync
from fedbandits.systems.agents.system import AgentSupply
from fedbandits.systems.agents.views import Pool, Views


class Player(ActingParty):
    """A party that chooses arms of decision sets by a view, and learns from rewards.

    Parameters
    ----------
    name
        This party's name.
    peers
        Names of those that may send to it.
    plan
        What all parties go by, with the noise of this one's own budget.
    supply
        The noise that it brings, and how it breaks ties.
    """

    def __init__(
        self, name: str, peers: Sequence[str], plan: AgentsPlan, supply: AgentSupply
    ) -> None:
        super().__init__(name, "ready", peers)
        self.round = 0
        self._plan, self._noise, self._ties = plan, supply.noise, supply.ties
        self._features: Floats32 = np.zeros((plan.constants.dimension, 1), np.float32)
        self._arm = 0
        #: The next round that ends with a release, where those are fixed in advance.
        self._due: int | None = None

    @property
    def next_end(self) -> int | None:
        """The next round that ends with a release, where those are fixed in advance."""
        return self._due

    def decide(self, situation: Floats32) -> int:
        """Choose an arm of a decision set, (d, arms), or (d, 1) with a model an arm.

        Raises
        ------
        LocalProtocolError
            If a reward or a message is being waited for, or the decision set is malformed.
        BoundExceededError
            If scores are not numbers.
        """
        self._check_decision_set(situation)
        view, constants, arms = self._acting_view(), self._plan.constants, self._plan.facts.arms
        with np.errstate(over="ignore"):  # what is beyond float32 is infinite, and held below
            self._features = np.array(situation, dtype=np.float32, order="C")
        scores, work = np.empty(arms, np.float32), np.empty((2, arms), np.float32)
        tie = self._ties(self.round + 1)
        longest = constants.context_bound if constants.clip else math.inf
        arm = choose_arm(self._features, view.theta, view.width, tie, longest, scores, work)
        if arm < 0:
            raise BoundExceededError(f"{self.name}, round {self.round + 1}: scores are not numbers")
        self._arm = arm
        self._move("decide", "acting")
        return arm

    def _acting_view(self) -> Views:
        """What to choose by in the coming round."""
        raise NotImplementedError

    def _check_decision_set(self, features: Floats32) -> None:
        """Refuse to decide out of turn, or on what is no decision set."""
        self._require("decide")
        expected = self._plan.facts.features_shape
        finite = self._plan.constants.clip or np.isfinite(features).all()
        if features.shape != expected or not finite:
            raise LocalProtocolError(f"{self.name}: a decision set is {expected} finite numbers")

    def _checked_record(self, arm: int, reward: float) -> Record:
        """The record of the open decision, held to its bounds. Nothing has changed yet.

        Raises
        ------
        LocalProtocolError
            If no decision is open, or another one.
        BoundExceededError
            If context or reward exceed L or B; the agent goes on waiting for a reward.
        """
        self._require("observe")
        if arm != self._arm:
            raise LocalProtocolError(f"{self.name}: arm {self._arm} was chosen, not {arm}")
        constants = self._plan.constants
        shared = constants.models == 1
        context = self._features[:, arm if shared else 0].astype(np.float64)
        most = constants.reward_bound
        fault, recorded = record_fault(
            context, float(reward), constants.context_bound, -most, most, constants.clip
        )
        require_within(fault, f"{self.name}, round {self.round + 1}")
        return Record(context, recorded, 0 if shared else arm)

    def _learn(
        self, record: Record, statistic: Floats, pool: Pool, view: Views, log_term: float
    ) -> None:
        """Take up a record: in the running sum, and in a raw view at once."""
        constants = self._plan.constants
        context, reward, model = record
        add_record(statistic, model, context, reward, constants.rounding)
        gain = np.empty(constants.dimension)
        if constants.raw_view:
            act.observe_raw(view, model, context, reward, constants.schedule == TRIGGERED, gain)
            beta = act.view_radius(
                pool.terms, view.log_det, model, constants.reward_noise, log_term
            )
            act.refresh_view(view, model, constants.exploration_scale * beta)
        elif constants.schedule == TRIGGERED:
            act.observe_growth(view, model, context, gain)
        self.round += 1

    def _await_release(self, made: int, count: int = 1) -> None:
        """Get ready for the next release, if there is one: know its round, and have its noise.

        Parameters
        ----------
        made : int
            How many releases have been made.
        count : int
            How many may have to be made at once.
        """
        constants = self._plan.constants
        if made < constants.releases and self._plan.release.slots:
            draw_ahead(self._noise, count * constants.release_size)
        fixed = made < constants.releases and constants.schedule != TRIGGERED
        self._due = int(next_sync(constants, self.round)) if fixed else None
