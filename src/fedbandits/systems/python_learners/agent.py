"""An agent that decides by a learner in plain Python."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
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
from fedbandits.federation.acting import ActingParty
from fedbandits.federation.events import Decide, Decision, EndRound, LetGo, Observe
from fedbandits.federation.messages import ImplausibleError, OutOfOrderError, pack, unpack
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import PartyState, Step, Transitions
from fedbandits.federation.totals.plan import AgentSecrets
from fedbandits.privacy import running_sum
from fedbandits.privacy.running_sum import ContinualState, NoiseSource, draw_ahead
from fedbandits.systems.agents.counting import counted_until
from fedbandits.systems.python_learners.contributions import contribution_of
from fedbandits.systems.python_learners.messages import AgentRelease, Limits, Total
from fedbandits.systems.python_learners.plan import LearnerPlan
from fedbandits.systems.terms import require_secure


class LearnerSupply(NamedTuple):
    """Supply of an agent: the draws of its decisions, and its noise."""

    #: ``draws(number)`` is what its learner makes the decision of that number by.
    draws: Callable[[int], Draws]
    #: Noise of the k-th release; not asked of a learner that shares in clear. Simulated in a
    #: simulation; in a deployment it must be secure and what it gave saved.
    noise: NoiseSource
    #: Secrets to mask releases by, where only sums of them are seen.
    masks: AgentSecrets | None = None


class OpenDecision(msgspec.Struct, frozen=True):
    """A decision whose reward has not come yet."""

    arm: int
    context: Floats  # (d,)


class AgentState(PartyState, frozen=True, kw_only=True):
    """All that changes in an agent."""

    stage: str = "ready"
    decisions: int = 0  # how many were made
    #: Decisions whose rewards have not come, by their numbers.
    open: dict[int, OpenDecision] = msgspec.field(default_factory=dict)
    #: (size,) the exact sum of the records that count for the next release, if a sum is released.
    statistic: Floats
    #: Records of decisions beyond those that the next release may be about, by their numbers.
    kept: dict[int, Floats] = msgspec.field(default_factory=dict)
    released: ContinualState  # where its releases stand
    totals: int = 0  # the number of the last sum of all agents that it was told
    memory: bytes = b""  # what the learner keeps

    @property
    def releases(self) -> int:
        """Number of its releases."""
        return self.released.made


class LearnerAgent(ActingParty[AgentState]):
    """One agent: a learner in plain Python decides for it."""

    TRANSITIONS: ClassVar[Transitions] = {
        ("ready", kind): ("ready",) for kind in (Decide, Observe, LetGo, EndRound, Total)
    }

    def __init__(
        self, seat: Seat, plan: LearnerPlan, supply: LearnerSupply, state: AgentState | None = None
    ) -> None:
        super().__init__(seat, state or AgentState(**first_state(plan)))
        if plan.release.slots:
            require_secure(self.name, seat.terms, supply.noise)
        self._plan, self._place, self._supply = plan, seat.place, supply
        self._controller, self._limits = seat.one("controller"), Limits(plan)
        self._contribution = contribution_of(plan, seat.place)
        self.learner = plan.make(seat.place)
        #: Whether the noise of the next release has been drawn; a state that was saved has none.
        self._has_noise = False
        self._draw_ahead(0)

    @property
    def state(self) -> AgentState:
        """All that changes; what the learner keeps is put into it when it is asked for."""
        return self._after(memory=self.learner.dump())

    @property
    def next_end(self) -> int | None:
        made = self._state.releases
        return int(self._plan.ends[made]) if made < len(self._plan.ends) else None

    def dump(self) -> bytes:
        self._state = self.state
        return super().dump()

    def _resume(self) -> None:
        self.learner = self._plan.make(self._place)
        if self._state.memory:
            self.learner.load(self._state.memory)

    def _compute(self, event: Any) -> Step:
        match event:
            case Decide():
                return self._decide(event)
            case Observe():
                return self._observe(event)
            case LetGo():
                self._opened(event.decision)
                return Step(self._state, closed=event.decision.number)
            case EndRound():
                return self._release(event)
            case _:
                return self._take_over(event)

    def _decide(self, event: Decide) -> Step:
        contexts, number = self._contexts(event.situation), self._state.decisions + 1
        self._draw_ahead(self._state.releases)
        draws = self._supply.draws(number)
        with self._noted("decide"):
            chosen = self._contribution.decide(self.learner, contexts, draws)
        arm = _whole(chosen)
        if arm is None or not 0 <= arm < len(contexts):
            raise LearnerError(
                f"{type(self.learner).__name__}.decide: returned {chosen!r}, allowed: a row's "
                f"number, from 0 to {len(contexts) - 1}"
            )
        opened = OpenDecision(arm, contexts[arm].copy())
        return Step(
            self._after(decisions=number), answer=Decision(number, arm), opened=(number, opened)
        )

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
        state, number, found = self._state, event.decision.number, self._opened(event.decision)
        place = f"{self.name}, decision {number}"
        reward = self._reward(place, event.outcome)
        added = self._contribution.record(place, found.context.copy(), found.arm, reward)
        counted, kept = self._counted(
            state.kept if added is None else {**state.kept, number: added}
        )

        def learn() -> tuple[()]:
            # First what may fail: a record that is told of again must not count twice.
            with self._noted("observe"):
                self.learner.observe(found.context, found.arm, reward)
            for record in counted:
                state.statistic[:] += record
            return ()

        return Step(self._after(kept=kept), write=learn, closed=number)

    def _opened(self, decision: Decision) -> OpenDecision:
        """Return what is kept of an open decision; refuse one that is not open."""
        number, arm = decision.number, decision.action
        found = self._state.open.get(number)
        if found is None or arm != found.arm:
            raise LocalProtocolError(f"{self.name}: no decision {number} for arm {arm} is open")
        return found

    def _reward(self, place: str, outcome: Any) -> float:
        low, high = self._plan.facts.reward_range
        if isinstance(outcome, bool) or not isinstance(outcome, int | float | np.number):
            raise LocalProtocolError(f"{place}: a reward is a number")
        if not low <= outcome <= high:
            raise BoundExceededError(f"{place}: a reward is outside its bounds")
        return float(outcome)

    def _counted(self, records: dict[int, Floats]) -> tuple[Sequence[Floats], dict[int, Floats]]:
        """Split records into those that count for the next release, and those that wait.

        See :func:`.counting.countable`.
        """
        made = self._state.releases
        if not records:
            return (), records
        if made == len(self._plan.ends):  # there is none
            return (), {}
        return counted_until(self._plan.records_in(made + 1), records)

    def _release(self, event: EndRound) -> Step:
        """Make the next release; what is to be learned from it waits until it has left."""
        if event.round_ != self.next_end:
            raise LocalProtocolError(
                f"{self.name}: round {event.round_} is over, expected {self.next_end}"
            )
        state = self._state
        counted, kept = self._counted(state.kept)
        statistic = state.statistic.copy()
        for record in counted:
            statistic += record
        values = self._contribution.values(self.learner, statistic)
        step = self._send(values)
        self._has_noise = False
        after: Any = step.state
        return msgspec.structs.replace(
            step, state=msgspec.structs.replace(after, statistic=statistic, kept=kept)
        )

    def _send(self, values: Floats) -> Step:
        """Make the next release of exact values (size,), and the message that it leaves by."""
        plan = self._plan
        released, noisy = running_sum.release(
            plan.release, self._state.released, values, np.ones(plan.size), self._supply.noise
        )
        message = AgentRelease(
            sender=self.name, receiver=self._controller, release=released.made,
            statistic=pack(noisy),
        )  # fmt: skip
        return Step(self._after(released=released), [message])

    def _take_over(self, message: Any) -> Step:
        newest = self._checked_numbers(message)
        return self._go_on(message.release, newest, unpack(message.statistic, self._plan.size))

    def _go_on(self, number: int, newest: tuple[int, ...], total: Floats) -> Step:
        """Hand a sum of releases, (size,), to the learner; ``newest`` is everybody's number."""
        plan = self._plan
        self._limits.check(self.name, total, newest)
        deviation = plan.deviation(newest)
        self._draw_ahead(self._state.releases)  # of the noise nothing else rests: it may fail

        def take() -> tuple[()]:
            with self._noted("receive"):
                self._contribution.receive(self.learner, np.array(total), deviation)
            return ()

        return Step(self._after(totals=number), write=take)

    def _checked_numbers(self, message: Total) -> tuple[int, ...]:
        """Return the number of every agent's release in a sum."""
        state, agents, most = self._state, self._plan.facts.parties, len(self._plan.ends)
        if not state.totals < message.release <= self._plan.most_sums:
            raise OutOfOrderError(f"{self.name}: sum {message.release} after sum {state.totals}")
        newest = message.newest or (message.release,) * agents
        if (
            len(newest) != agents
            or not 0 <= min(newest) <= max(newest) <= most
            or max(newest) == 0
            or newest[self._place] > state.releases
        ):
            raise ImplausibleError(f"{self.name}: a sum of releases that were never made")
        return newest

    def _draw_ahead(self, made: int) -> None:
        """Have the noise of the next release, if there is one, before anybody waits for it."""
        if not self._has_noise and made < self._plan.release.releases:
            self._draw_noise(made)
            self._has_noise = True

    def _draw_noise(self, made: int) -> None:
        """Let the source draw the noise of the release after ``made``."""
        del made
        if self._plan.release.slots:
            draw_ahead(self._supply.noise, self._plan.size)


def first_state(plan: LearnerPlan) -> dict[str, Any]:
    """Return the fields of an agent's state before its first decision."""
    released = running_sum.init(plan.release, plan.size)
    return {"statistic": np.zeros(plan.size), "released": released}


def _whole(chosen: Any) -> int | None:
    """Return a whole number as Python's own; None if it is none."""
    if isinstance(chosen, bool) or not isinstance(chosen, int | np.integer):
        return None
    return int(chosen)
