"""An agent: plays arms, keeps exact sums, and releases them with noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.draws import Draws
from fedbandits.errors import BoundExceededError, LocalProtocolError
from fedbandits.federation.acting import ActingParty
from fedbandits.federation.events import Decide, Decision, EndRound, Observe
from fedbandits.federation.messages import OutOfOrderError, pack
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import PartyState, Step, Transitions
from fedbandits.privacy import running_sum
from fedbandits.privacy.bounds import as_reward
from fedbandits.privacy.running_sum import ContinualState, NoiseSource, draw_ahead
from fedbandits.random import Key, Purpose
from fedbandits.systems.terms import require_secure

from ..messages import Shared, Upload
from ..plan import GreedyPlan


class AgentSupply(NamedTuple):
    """What an agent brings, and nobody else has.

    Parameters
    ----------
    noise
        Standard normals, by the number of a release.
    draws
        What it explores by, by the number of a decision.
    """

    noise: NoiseSource
    draws: Callable[[int], Draws]


def choices(key: Key, place: int) -> Callable[[int], Draws]:
    """Draws of an agent's decisions, from a key."""
    return lambda number: Draws(key, place, number, Purpose.LEARNER)


class Played(msgspec.Struct, frozen=True):
    """A decision whose reward has not come yet."""

    arm: int


class AgentState(PartyState, frozen=True, kw_only=True):
    """All that changes in an agent.

    Parameters
    ----------
    decisions
        How many were made.
    open
        Decisions whose rewards have not come, by their numbers.
    own : (2 arms,) float64
        Exact counts and sums of its interactions; those after the last round count for nothing.
    released
        Where its releases stand.
    shared
        The number of the last sum that it was told.
    means : (arms,) float64
        What it plays by: estimates from that sum alone, never from its own interactions.
    """

    stage: str = "ready"
    decisions: int = 0
    open: dict[int, Played] = msgspec.field(default_factory=dict)
    own: Floats
    released: ContinualState
    shared: int = 0
    means: Floats


class Agent(ActingParty[AgentState]):
    """One organisation.

    Parameters
    ----------
    seat
        What it is told of all that is public.
    plan
        What all parties go by.
    supply
        What it brings.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("ready", Decide): ("ready",),
        ("ready", Observe): ("ready",),
        ("ready", EndRound): ("ready",),
        ("ready", Shared): ("ready",),
    }

    def __init__(self, seat: Seat, plan: GreedyPlan, supply: AgentSupply) -> None:
        state = AgentState(
            own=np.zeros(plan.size),
            released=running_sum.init(plan.mechanism, plan.size),
            means=np.zeros(plan.facts.arms),
        )
        super().__init__(seat, state)
        if plan.mechanism.slots:
            require_secure(self.name, seat.terms, supply.noise)
        self._plan, self.supply, self._adder = plan, supply, seat.one("adder")
        self._draw_ahead()

    @property
    def next_end(self) -> int | None:
        """The next round that ends with a release."""
        made = self._state.released.made
        return self._plan.ends[made] if made < len(self._plan.ends) else None

    def _compute(self, event: Any) -> Step:
        match event:
            case Decide():
                return self._decide()
            case Observe():
                return self._observe(event)
            case EndRound():
                return self._release(event)
            case _:
                return self._take_over(event)

    def _decide(self) -> Step:
        self._draw_ahead()
        state, number = self._state, self._state.decisions + 1
        draws, arms = self.supply.draws(number), self._plan.facts.arms
        explores = draws.bernoulli(self._plan.config.explore) or state.shared == 0
        arm = draws.integer(arms) if explores else int(state.means.argmax())
        return Step(
            self._after(decisions=number),
            answer=Decision(number, arm),
            opened=(number, Played(arm)),
        )

    def _observe(self, event: Observe) -> Step:
        number, arm = event.decision.number, event.decision.action
        found = self._state.open.get(number)
        if found is None or found.arm != arm:
            raise LocalProtocolError(f"{self.name}: no decision {number} for arm {arm} is open")
        place = f"{self.name}, decision {number}"
        low, high = self._plan.facts.reward_range
        reward = as_reward(event.outcome, place)
        if not low <= reward <= high:
            raise BoundExceededError(f"{place}: a reward is outside its bounds")
        if number > self._plan.rounds:  # sums of more would not be exact
            return Step(self._state, closed=number)
        own = self._state.own + self._plan.record(arm, reward)
        return Step(self._after(own=own), closed=number)

    def _release(self, event: EndRound) -> Step:
        """Release the sums. The noise was drawn before: nothing takes longer for other data."""
        if event.round_ != self.next_end:
            raise LocalProtocolError(f"{self.name}: end of round {event.round_}, not a release's")
        plan, state = self._plan, self._state
        released, noisy = running_sum.release(
            plan.mechanism, state.released, state.own, plan.pattern, self.supply.noise
        )
        upload = Upload(
            sender=self.name, receiver=self._adder, release=released.made, statistic=pack(noisy)
        )
        return Step(self._after(released=released), [upload])

    def _take_over(self, message: Shared) -> Step:
        if not self._state.shared < message.release <= len(self._plan.ends):
            raise OutOfOrderError(
                f"{self.name}: sum {message.release} after sum {self._state.shared}"
            )
        sums = self._plan.read(self.name, message.statistic, self._plan.facts.parties)
        means = self._means(sums)
        return Step(self._after(shared=message.release, means=means))

    def _means(self, sums: Floats) -> Floats:
        """Estimates of all arms' mean rewards; small where a count drowns in noise, (arms,)."""
        arms, agents = self._plan.facts.arms, self._plan.facts.parties
        noise = self._plan.mechanism.largest_deviation() * math.sqrt(agents)
        means: Floats = sums[arms:] / np.maximum(sums[:arms], max(1.0, noise))
        return means

    def _draw_ahead(self) -> None:
        """See to it that the noise of the next release is there before it is due."""
        if self._plan.mechanism.slots and self.next_end is not None:
            draw_ahead(self.supply.noise, self._plan.size)
