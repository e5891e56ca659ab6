"""Declarations that the systems of linear agents share."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from fedbandits.environments.open_world import first_round_of
from fedbandits.facts import ContextualFacts
from fedbandits.federation.roles import Supplies
from fedbandits.random import Key, replicate_key
from fedbandits.systems.package import PackageSystem
from fedbandits.systems.simulated import simulated_noise

if TYPE_CHECKING:  # not imported to start the command
    from fedbandits.federation.totals.plan import AgentSecrets, HelperSecrets
    from fedbandits.privacy.running_sum import NoiseSource
    from fedbandits.systems.agents.plan import AgentsPlan
    from fedbandits.systems.application import SharedSecret

AnyPlan = TypeVar("AnyPlan", bound="AgentsPlan")


class AgentSupply(NamedTuple):
    """The noise, draws and secrets that an agent brings.

    Parameters
    ----------
    noise
        Standard normals by the name of a draw, asked once each. Simulated in a simulation; in a
        deployment the source must be secure, and its draws saved.
    key
        Key of the agent's draws: where it looks first among equally good arms, and the parameters
        of a decision, where these are drawn.
    first
        The round that names the draws of the first decision.
    person_key
        A secret of its own, by which digests of persons are made. In a simulation it is empty.
    masks
        Its secrets to mask releases by, where only sums of them are seen.
    """

    noise: NoiseSource
    key: Key
    first: int = 1
    person_key: bytes = b""
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
        size = plan.constants.release_size

        def supply(role: str, place: int) -> AgentSupply | HelperSecrets | None:
            if role == HELPER:
                return simulated_helper_secrets(plan, place, seed, replicate)
            if role != "agent":
                return None
            return AgentSupply(
                partial(simulated_noise, size, key, place), key, first_round_of(world, place),
                masks=simulated_agent_secrets(plan, place, seed, replicate),
            )  # fmt: skip

        return supply
