"""How applications ask linear agents: with a row of numbers an action, or one context for all."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta

from fedbandits._typing import Floats32
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.events import Decision
from fedbandits.federation.party import ActingParty
from fedbandits.random import Key
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.agents.system import AgentSupply
from fedbandits.systems.application import Application, Asked, Means, Told
from fedbandits.systems.simulated import simulated_tie

_LARGEST = float(np.finfo(np.float32).max)


class ActionsAsked(Asked, frozen=True):
    """A decision set: the context vector of every action. The answer is a row's number, from 0."""

    actions: list[list[float]]


class ContextAsked(Asked, frozen=True):
    """One context that all actions share, where each action has a model of its own."""

    context: list[float]


class RewardTold(Told, frozen=True):
    """What a decision has earned."""

    reward: float


class SharedModel(Application[AgentsPlan]):
    """All actions share one parameter vector: each decision shows every action's context."""

    ASKED: ClassVar[type[Asked]] = ActionsAsked
    TOLD = RewardTold

    def bounds(self) -> dict[str, Any]:
        dimension, arms = self.plan.facts.features_shape
        context = _exactly(dimension, _entry(self.plan))
        return {"actions": _exactly(arms, context), "reward": _reward(self.plan)}

    def situation(self, party: ActingParty[Any], asked: ActionsAsked) -> Floats32:
        return _columns(party.name, asked.actions)

    def action(self, decision: Decision, asked: Any) -> int:
        del asked
        return int(decision.action)

    def observation(
        self, party: ActingParty[Any], number: int, told: RewardTold
    ) -> tuple[Decision, float]:
        found = party.state.open.get(number)
        if found is None:
            raise LocalProtocolError(f"{party.name}: decision {number} is not open")
        return Decision(number, found.arm), told.reward

    def stand_in(self, value: float) -> RewardTold:
        return RewardTold(value)


class ModelEach(SharedModel):
    """Every action has a parameter vector of its own: each decision shows one context."""

    ASKED = ContextAsked

    def bounds(self) -> dict[str, Any]:
        dimension, _ = self.plan.facts.features_shape
        return {"context": _exactly(dimension, _entry(self.plan)), "reward": _reward(self.plan)}

    def situation(self, party: ActingParty[Any], asked: ContextAsked) -> Floats32:  # type: ignore[override]
        return _columns(party.name, [asked.context])


def _exactly(length: int, item: Any) -> Any:
    """A list of that many items."""
    return Annotated[list[item], Meta(min_length=length, max_length=length)]


def _entry(plan: AgentsPlan) -> Any:
    """One number of a context: none is larger than the longest context, nor than float32 has."""
    most = _LARGEST if plan.constants.clip else plan.constants.context_bound
    return Annotated[float, Meta(ge=-most, le=most)]


def _reward(plan: AgentsPlan) -> Any:
    """A reward within its bound, unless those beyond it are cut down."""
    most = plan.constants.reward_bound
    return float if plan.constants.clip else Annotated[float, Meta(ge=-most, le=most)]


def _columns(name: str, rows: list[list[float]]) -> Floats32:
    """Rows of numbers as columns, (d, rows)."""
    if len({len(row) for row in rows}) != 1:
        raise LocalProtocolError(f"{name}: all contexts have as many numbers as the terms say")
    with np.errstate(over="ignore"):  # beyond float32 is infinite, and refused by the party
        return np.array(rows, np.float32).T


def application(plan: AgentsPlan) -> SharedModel:
    """How applications ask an agent."""
    return SharedModel(plan) if plan.constants.models == 1 else ModelEach(plan)


def supply(plan: AgentsPlan, role: str, place: int, means: Means) -> AgentSupply | None:
    """What an agent brings: noise that is charged for, and how it breaks ties."""
    if role != "agent":
        return None
    own, arms = plan.of_agent(place), plan.facts.arms
    secret = means.secret("ties")
    key = Key(int.from_bytes(secret[:4], "big"), int.from_bytes(secret[4:8], "big"))
    noise = means.noise(own.event) if own.release.slots else lambda step: np.zeros(0)
    return AgentSupply(noise, lambda number: simulated_tie(arms, key, place, number))
