"""Parties of a learner: agents, and a controller, idle where agents share nothing.

Learners differ for an agent in the numbers that they share, and in what user code may do: see
:class:`OwnRelease` and :class:`RecordSum`.
"""

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
from fedbandits.federation.events import Deadline, Decide, EndRound, LetGo, Observe
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
from fedbandits.federation.messages import ImplausibleError
from fedbandits.federation.roles import MessageTable, Roles
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.federation.totals.messages import Total as SecureTotal
from fedbandits.federation.totals.plan import AgentSecrets
from fedbandits.learners.held import Guard
from fedbandits.learners.learner import Learner
from fedbandits.learners.private_learner import PrivateLearner
from fedbandits.privacy import running_sum
from fedbandits.privacy.kernels import any_implausible
from fedbandits.privacy.running_sum import NoiseSource
from fedbandits.systems.python_learners.plan import (
    RECORD_ROOM,
    LearnerPlan,
    record_of,
    released,
)
from fedbandits.systems.secure_sums import outlet_of, summed_roles
from fedbandits.systems.shell import Releasing, Shell, SummedState, is_decision_set, staying


class AgentRelease(Contribution, frozen=True, kw_only=True, tag="learner.release"):
    """An agent's k-th release."""


class Total(HandedSum, frozen=True, kw_only=True, tag="learner.total"):
    """The k-th sum of every agent's newest release."""


#: Sender and receiver of each message.
TABLE: MessageTable = {AgentRelease: ("agent", "controller"), Total: ("controller", "agent")}


def hold_to_terms(plan: LearnerPlan, name: str, values: Floats, releases: Sequence[int]) -> None:
    """Refuse a sum (size,) of some agents' releases, given by their numbers, that no records make.

    A sum larger than records and noise allow is refused with :class:`.ImplausibleError`, by the
    party of that name. In clear any number may be released.
    """
    if plan.release.mechanism == "none":
        return
    records, deviation = float(sum(map(plan.records_in, releases))), plan.deviation(releases)
    most, scales = np.full(plan.size, plan.record_bound), np.ones(plan.size)
    if any_implausible(values, most, records, scales, deviation):
        raise ImplausibleError(
            f"{name}: a number in release {max(releases)} is larger than the terms allow"
        )


class OwnRelease:
    """A learner that makes its agent's releases itself, or that shares nothing."""

    def __init__(self, plan: LearnerPlan) -> None:
        self._plan = plan

    def decide(self, learner: Any, contexts: Floats, draws: Draws) -> Any:
        """Return the learner's choice; not checked."""
        return learner.decide(contexts, draws)

    def record(self, place: str, context: Floats, arm: int, reward: float) -> Floats | None:
        """Return the record of one interaction in the released sum; None if no sum is kept."""
        del place, context, arm, reward
        return None

    def values(self, learner: Learner, statistic: Floats) -> Floats:
        """Return the exact numbers of a release now, (size,), of the same size as ever."""
        del statistic
        values = released(learner)
        if values.size != self._plan.size:
            raise LearnerError(
                f"{type(learner).__name__}.release: returned {values.size} numbers, and "
                f"{self._plan.size} before anything was learned; the size must not change"
            )
        return values

    def receive(self, learner: Any, total: Floats, deviation: float) -> None:
        """Hand a learner the total of all agents, with the deviation of its noise."""
        del deviation
        learner.receive(total)


class RecordSum(OwnRelease):
    """A private learner: its agent releases the sum of its records."""

    def __init__(self, plan: LearnerPlan, agent: int) -> None:
        super().__init__(plan)
        #: It makes records, and never learns anything.
        self._recorder: Any = plan.make(agent)
        self._name = type(self._recorder).__name__
        self._rounding, self._clips = plan.rounding, plan.config.out_of_bounds == "clip"
        self._guard = Guard(plan.learner)
        self._guarded = not self._recorder.sees_own_records()

    def decide(self, learner: Any, contexts: Floats, draws: Draws) -> Any:
        """Return the learner's choice; not checked.

        A learner that is to act on releases alone is refused if it keeps anything of a decision.
        """
        if not self._guarded:
            return learner.decide(contexts, draws)
        before = self._guard.held(learner)
        chosen = learner.decide(contexts, draws)
        if self._guard.held(learner) != before:
            raise LearnerError(
                f"{self._name}.decide: has changed what the learner keeps, itself, in its class or "
                "in its module; that then depends on contexts that no noise covers; work out in "
                "receive what decide needs, or override observe, which weakens the claim"
            )
        return chosen

    def record(self, place: str, context: Floats, arm: int, reward: float) -> Floats:
        """Return the record of one interaction, within its bound and on the grid.

        A method that breaks its contract is refused, and a record beyond its bound, unless records
        are to be cut down.
        """
        values = record_of(self._recorder, self._guard, context, arm, reward)
        if values.size != self._plan.size:
            raise LearnerError(
                f"{self._name}.record: returned {values.size} numbers, and {self._plan.size} for "
                "another interaction; the size must not change"
            )
        record = within_bound(values, self._plan.record_bound, self._clips)
        if record is None:
            raise BoundExceededError(
                f"{place}: {self._name}.record is longer than record_bound = "
                f"{self._plan.record_bound:g}, or no number; raise record_bound, scale records "
                'down, or set out_of_bounds = "clip"'
            )
        return (record + self._rounding) - self._rounding

    def values(self, learner: Learner, statistic: Floats) -> Floats:
        return statistic

    def receive(self, learner: Any, total: Floats, deviation: float) -> None:
        learner.receive_under_noise(total, deviation)


def contribution_of(plan: LearnerPlan, agent: int) -> OwnRelease:
    """Return how an agent's contribution is made."""
    private = issubclass(plan.learner, PrivateLearner)
    return RecordSum(plan, agent) if private else OwnRelease(plan)


def within_bound(values: Floats, bound: float, clips: bool) -> Floats | None:
    """Return a record within the bound, (size,); None if it must be cut down and may not be.

    NaN counts as 0 then, and a record of infinite length keeps its infinite entries.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        length = float(np.linalg.norm(values))
    if length <= bound * (1.0 + RECORD_ROOM):
        return values
    if not clips:
        return None
    finite = np.where(np.isnan(values), 0.0, values)
    if np.isinf(finite).any():
        finite = np.where(np.isinf(finite), np.sign(finite), 0.0)
    largest = float(np.abs(finite).max())
    if largest == 0.0:
        return finite
    direction = finite / largest
    length = float(np.linalg.norm(direction)) * largest
    if length <= bound:
        return finite
    # A hair inside, so that rounding cannot leave it outside.
    cut: Floats = direction * (bound * (1.0 - 1e-12) / float(np.linalg.norm(direction)))
    return cut


class LearnerSupply(NamedTuple):
    """Supply of an agent: the draws of its decisions, and its noise."""

    #: ``draws(number)`` are the learner's draws for the decision of that number.
    draws: Callable[[int], Draws]
    #: Noise of the k-th release; not asked of a learner that shares in clear. Simulated in a
    #: simulation; in a deployment the source must be secure, and its draws saved.
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
        Records for releases after the next, by the numbers of their decisions.
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

    TRANSITIONS: ClassVar[Transitions] = staying(
        ("ready",), Decide, Observe, LetGo, EndRound, Total, SecureTotal
    )

    def __init__(self, seat: Seat, plan: LearnerPlan, supply: LearnerSupply) -> None:
        step = 0.0 if plan.secure is None else plan.constants.step
        mechanism = Mechanism(plan.release, np.ones(plan.size), step)
        outlet, sending = outlet_of(seat, plan, mechanism, supply.masks, AgentRelease, False)
        released = running_sum.init(plan.release, plan.size)
        state = AgentState(statistic=np.zeros(plan.size), released=released, sending=sending)
        releasing = Releasing(
            plan.rounds, len(plan.ends), plan.most_records, lambda k: int(plan.ends[k - 1])
        )
        super().__init__(seat, state, supply.noise, plan.release.slots > 0, releasing, outlet)
        self._plan, self._place, self._draws = plan, seat.place, supply.draws
        self._contribution = contribution_of(plan, seat.place)
        self.learner = plan.make(seat.place)
        self._have_noise()

    @property
    def state(self) -> AgentState:
        """All that changes; the learner's memory is put in when the state is asked for."""
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
        """Note the learner's method and the decision at an error of the learner's own code."""
        try:
            yield
        except FedbanditsError:
            raise
        except Exception as error:
            learner, made = type(self.learner).__name__, self._state.decisions
            error.add_note(f"in {learner}.{method} of {self.name}, after {made} decisions")
            raise

    def _contexts(self, situation: Any) -> Floats:
        """Return a decision set as read-only rows, (arms, d); refuse another situation."""
        facts = self._plan.facts
        dimension, columns = facts.features_shape
        if is_decision_set(situation, dimension, columns):
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
        if isinstance(outcome, bool) or not isinstance(
            outcome, int | float | np.integer | np.floating
        ):
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
        hold_to_terms(plan, self.name, summed.values, newest)
        deviation = plan.deviation(newest)
        self._have_noise()  # nothing rests on the noise: it may fail

        def take() -> tuple[()]:
            with self._noted("receive"):
                self._contribution.receive(self.learner, np.array(summed.values), deviation)
            return ()

        return Step(self._state, write=take)


def _whole(chosen: Any) -> int | None:
    """Return a whole number as Python's own; None if it is none."""
    if isinstance(chosen, bool) or not isinstance(chosen, int | np.integer):
        return None
    return int(chosen)


class LearnerController(SummingHub):
    """Adds up every agent's newest release."""

    GATHERING = Gathering("agent", AgentRelease)
    TOTAL = Total
    TRANSITIONS: ClassVar[Transitions] = serving(AgentRelease, Deadline)

    def __init__(self, seat: Seat, plan: LearnerPlan) -> None:
        super().__init__(seat, plan.size, len(plan.ends))
        self._plan = plan

    def _check(self, values: Floats, place: int, number: int) -> None:
        hold_to_terms(self._plan, self.name, values, [number])


def roles(plan: LearnerPlan) -> Roles:
    """Return the parties of a learner: agents, and a controller, with helpers or alone."""
    return summed_roles(
        plan, lambda seat, own: LearnerAgent(seat, plan, own),
        lambda seat: LearnerController(seat, plan), TABLE,
    )  # fmt: skip
