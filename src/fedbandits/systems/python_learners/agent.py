"""An agent that decides by a learner in plain Python."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.draws import Draws
from fedbandits.errors import (
    BoundExceededError,
    FedbanditsError,
    LearnerError,
    LocalProtocolError,
)
from fedbandits.federation.events import Decide, EndRound, LetGo, Observe
from fedbandits.federation.exchange.outlet import (
    ClearOutlet,
    Mechanism,
    Outlet,
    SecureOutlet,
    SumOfAll,
)
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.federation.totals.messages import Total as SecureTotal
from fedbandits.federation.totals.plan import AgentSecrets
from fedbandits.federation.totals.sender import Sending, first_sending
from fedbandits.privacy import running_sum
from fedbandits.privacy.running_sum import NoiseSource
from fedbandits.systems.python_learners.contributions import contribution_of
from fedbandits.systems.python_learners.messages import AgentRelease, Limits, Total
from fedbandits.systems.python_learners.plan import LearnerPlan
from fedbandits.systems.secure_sums import totals_plan
from fedbandits.systems.shell import Releasing, Shell, SummedState


class LearnerSupply(NamedTuple):
    """Supply of an agent: the draws of its decisions, and its noise."""

    #: ``draws(number)`` is what its learner makes the decision of that number by.
    draws: Callable[[int], Draws]
    #: Noise of the k-th release; not asked of a learner that shares in clear. Simulated in a
    #: simulation; in a deployment it must be secure and what it gave saved.
    noise: NoiseSource
    #: Secrets to mask releases by, where only sums of them are seen.
    masks: AgentSecrets | None = None


class AgentState(SummedState, frozen=True, kw_only=True):
    """All that changes in an agent.

    Parameters
    ----------
    statistic : (size,) float64
        The exact sum of the records that count for the next release, if a sum is released.
    kept
        Records of decisions beyond those that the next release may be about, by their numbers.
    memory
        The learner's own memory.
    """

    statistic: Floats
    kept: dict[int, Floats] = msgspec.field(default_factory=dict)
    memory: bytes = b""

    @property
    def releases(self) -> int:
        """Number of its releases."""
        return self.released.made


class LearnerAgent(Shell[AgentState]):
    """One agent: a learner in plain Python decides for it."""

    TRANSITIONS: ClassVar[Transitions] = {
        ("ready", kind): ("ready",)
        for kind in (Decide, Observe, LetGo, EndRound, Total, SecureTotal)
    }

    def __init__(self, seat: Seat, plan: LearnerPlan, supply: LearnerSupply) -> None:
        outlet, sending = _outlet_of(seat, plan, supply)
        released = running_sum.init(plan.release, plan.size)
        state = AgentState(statistic=np.zeros(plan.size), released=released, sending=sending)
        releasing = Releasing(
            plan.rounds, len(plan.ends), plan.most_records, lambda k: int(plan.ends[k - 1])
        )
        super().__init__(seat, state, supply.noise, plan.release.slots > 0, releasing, outlet)
        self._plan, self._place, self._draws = plan, seat.place, supply.draws
        self._limits, self._contribution = Limits(plan), contribution_of(plan, seat.place)
        self.learner = plan.make(seat.place)
        self._have_noise()

    @property
    def state(self) -> AgentState:
        """All that changes; what the learner keeps is put into it when it is asked for."""
        return self._after(memory=self.learner.dump())

    def dump(self) -> bytes:
        self._state = self.state
        return super().dump()

    def _resume(self) -> None:
        super()._resume()
        self.learner = self._plan.make(self._place)
        if self._state.memory:
            self.learner.load(self._state.memory)

    def _decide(self, event: Decide) -> Step:
        contexts, draws = self._contexts(event.situation), self._draws(self._state.decisions + 1)
        with self._noted("decide"):
            chosen = self._contribution.decide(self.learner, contexts, draws)
        arm = _whole(chosen)
        if arm is None or not 0 <= arm < len(contexts):
            raise LearnerError(
                f"{type(self.learner).__name__}.decide: returned {chosen!r}, allowed: a row's "
                f"number, from 0 to {len(contexts) - 1}"
            )
        return self._decided(arm, contexts[arm].copy())

    @contextlib.contextmanager
    def _noted(self, method: str) -> Iterator[None]:
        """Note at an error of the learner's own code whose method it was, and when."""
        try:
            yield
        except FedbanditsError:
            raise
        except Exception as error:
            learner, made = type(self.learner).__name__, self._state.decisions
            error.add_note(f"in {learner}.{method} of {self.name}, after {made} decisions")
            raise

    def _contexts(self, situation: Any) -> Floats:
        """Return a decision set as read-only rows, (arms, d); refuse what is none."""
        facts = self._plan.facts
        dimension, columns = facts.features_shape
        shape: tuple[int, ...] = getattr(situation, "shape", ())
        if len(shape) == 2 and shape[0] == dimension and 1 <= shape[1] <= columns:
            rows = np.array(situation.T, np.float64)
            if np.isfinite(rows).all():
                rows = rows if facts.models == 1 else np.repeat(rows, facts.arms, axis=0)
                rows.flags.writeable = False
                return rows
        raise LocalProtocolError(
            f"{self.name}: a decision set is {dimension} finite numbers for each of at most "
            f"{columns} columns, as the terms say"
        )

    def _observe(self, event: Observe) -> Step:
        state, number, opened = self._state, event.decision.number, self._opened(event.decision)
        place = f"{self.name}, decision {number}"
        reward = self._reward(place, event.outcome)
        added = self._contribution.record(place, opened.context.copy(), opened.arm, reward)
        records = state.kept if added is None else {**state.kept, number: added}
        counted, kept = self._releasing.split(self._made, records)

        def learn() -> tuple[()]:
            # First the step that may fail: a record that is repeated must not count twice.
            with self._noted("observe"):
                self.learner.observe(opened.context, opened.arm, reward)
            for record in counted:
                state.statistic[:] += record
            return ()

        return Step(self._after(records=state.records + 1, kept=kept), write=learn, closed=number)

    def _reward(self, place: str, outcome: Any) -> float:
        low, high = self._plan.facts.reward_range
        if isinstance(outcome, bool) or not isinstance(outcome, int | float | np.number):
            raise LocalProtocolError(f"{place}: a reward is a number")
        if not low <= outcome <= high:
            raise BoundExceededError(f"{place}: a reward is outside its bounds")
        return float(outcome)

    def _release(self) -> Step:
        state = self._state
        counted, kept = self._releasing.split(self._made, state.kept)
        statistic = state.statistic.copy()
        for record in counted:
            statistic += record
        values = self._contribution.values(self.learner, statistic)
        after, messages = self._outlet.send(state, values, None, self._noise)
        self._has_noise = False
        after = msgspec.structs.replace(after, statistic=statistic, kept=kept)
        return Step(after, messages)

    def _go_on(self, summed: SumOfAll) -> Step:
        """Hand a sum of releases to the learner."""
        plan, newest = self._plan, tuple(summed.newest)
        self._limits.check(self.name, summed.values, newest)
        deviation = plan.deviation(newest)
        self._have_noise()  # nothing rests on the noise: it may fail

        def take() -> tuple[()]:
            with self._noted("receive"):
                self._contribution.receive(self.learner, np.array(summed.values), deviation)
            return ()

        return Step(self._state, write=take)


def _outlet_of(
    seat: Seat, plan: LearnerPlan, supply: LearnerSupply
) -> tuple[Outlet, Sending | None]:
    """Return the outlet of an agent, in clear or secure, and where its messages stand."""
    pattern = np.ones(plan.size)
    if plan.secure is None:
        mechanism = Mechanism(plan.release, pattern)
        return ClearOutlet(seat, mechanism, AgentRelease, plan.most_sums), None
    mechanism, totals = Mechanism(plan.release, pattern, plan.constants.step), totals_plan(plan)
    outlet = SecureOutlet(seat, mechanism, totals, supply.masks, takes_out=False)
    return outlet, first_sending(seat, totals, supply.masks)


def _whole(chosen: Any) -> int | None:
    """Return a whole number as Python's own; None if it is none."""
    if isinstance(chosen, bool) or not isinstance(chosen, int | np.integer):
        return None
    return int(chosen)
