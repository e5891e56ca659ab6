"""Declarations that the systems of linear agents share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from fedbandits.environments.open_world import first_round_of
from fedbandits.facts import ContextualFacts
from fedbandits.federation.roles import Supplies
from fedbandits.random import replicate_key
from fedbandits.systems.package import PackageSystem
from fedbandits.systems.simulated import simulated_draw, simulated_noise, simulated_tie

if TYPE_CHECKING:  # not imported to start the command
    from fedbandits._typing import Floats
    from fedbandits.federation.totals.plan import AgentSecrets, HelperSecrets
    from fedbandits.privacy.running_sum import NoiseSource
    from fedbandits.systems.agents.plan import AgentsPlan
    from fedbandits.systems.application import SharedSecret

AnyPlan = TypeVar("AnyPlan", bound="AgentsPlan")


def no_draws(number: int) -> Floats:
    """Refuse a draw to an agent that was to decide by widths."""
    raise LookupError(f"decision {number}: this agent brings no draws to decide by")


class AgentSupply(NamedTuple):
    """The noise, ties, draws and secret that an agent brings.

    Parameters
    ----------
    noise
        Standard normals by the name of a draw, asked once each. Simulated in a simulation; in a
        deployment it must be secure and what it gave saved.
    ties
        ``ties(round)`` is the arm from which equally good arms are looked for in that round.
    person_key
        A secret of its own, by which digests of persons are made. In a simulation it is empty.
    draws
        ``draws(round)`` are the standard normals by which it decides in that round, where it draws
        parameters.
    masks
        Its secrets to mask releases by, where only sums of them are seen.
    """

    noise: NoiseSource
    ties: Callable[[int], int]
    person_key: bytes = b""
    draws: Callable[[int], Floats] = no_draws
    masks: AgentSecrets | None = None


class AgentsSystem(PackageSystem[AnyPlan]):
    """A system whose ``agent`` parties see a decision set each round."""

    facts_type = ContextualFacts
    AGENTS_MAY_JOIN_LATE = True

    def shared(self, plan: AnyPlan) -> tuple[SharedSecret, ...]:
        from fedbandits.systems.secure_sums import shared_masks  # a configuration needs no masks

        return shared_masks(plan)

    def simulated_supplies(self, plan: AnyPlan, world: Any, seed: int, replicate: int) -> Supplies:
        from fedbandits.federation.seats import HELPER  # the same
        from fedbandits.systems.secure_sums import (
            simulated_agent_secrets,
            simulated_helper_secrets,
        )

        key = replicate_key(seed, replicate)
        size, arms, drawn = plan.constants.release_size, plan.facts.arms, plan.draw_size

        def supply(role: str, place: int) -> AgentSupply | HelperSecrets | None:
            if role == HELPER:
                return simulated_helper_secrets(plan, place, seed, replicate)
            if role != "agent":
                return None
            first = first_round_of(world, place)
            return AgentSupply(
                partial(simulated_noise, size, key, place),
                lambda number: simulated_tie(arms, key, place, first + number - 1),
                draws=lambda number: simulated_draw(drawn, key, place, first + number - 1),
                masks=simulated_agent_secrets(plan, place, seed, replicate),
            )

        return supply
