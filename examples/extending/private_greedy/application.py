"""How an application asks an agent, and what each party brings between machines."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta

from fedbandits.federation.acting import ActingParty
from fedbandits.random import Key
from fedbandits.systems.application import Asked, Choices, Resources

from .plan import GreedyPlan
from .roles import AgentSupply, choices


class ArmAsked(Asked, frozen=True):
    """Which arm to play: there is nothing to say, since no context counts."""


class ArmChoices(Choices[GreedyPlan]):
    """An answer is an arm's number, from 0; what comes of it a reward."""

    ASKED: ClassVar[type[Asked]] = ArmAsked
    CHOSEN = "arm"

    def bounds(self) -> dict[str, Any]:
        low, high = self.plan.facts.reward_range
        return {"reward": Annotated[float, Meta(ge=low, le=high)]}

    def situation(self, party: ActingParty[Any], asked: ArmAsked) -> None:
        """Nothing."""


def application(plan: GreedyPlan) -> ArmChoices:
    """How applications ask an agent."""
    return ArmChoices(plan)


def supply(plan: GreedyPlan, role: str, place: int, resources: Resources) -> AgentSupply | None:
    """What an agent brings: noise that is charged for, and what it explores by."""
    if role != "agent":
        return None
    secret = resources.secret("choices")
    key = Key(int.from_bytes(secret[:4], "big"), int.from_bytes(secret[4:8], "big"))
    noisy = plan.mechanism.slots > 0
    return AgentSupply(
        resources.noise(plan.event) if noisy else lambda release: np.zeros(0), choices(key, place)
    )
