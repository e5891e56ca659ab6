"""Declarations that both forms of FCLUB share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

from msgspec import Meta

from fedbandits._checked import Checked
from fedbandits.environments.facts import ClusteredFacts
from fedbandits.federation.roles import Supplies
from fedbandits.random import Key, replicate_key
from fedbandits.systems.package import PackageSystem

if TYPE_CHECKING:
    from fedbandits.systems.servers.plan import ServersPlan

AnyPlan = TypeVar("AnyPlan", bound="ServersPlan")


class ServerSupply(NamedTuple):
    """The noise that a local server brings.

    Parameters
    ----------
    noise
        Simulated in a simulation: standard normals by the name of a draw, asked once each; the
        system's ``LocalServer`` says what names a draw. In a deployment it is secure, covers values
        by the number of a step, and what it gave is saved.
    """

    noise: Any


class ServersSystem(PackageSystem[AnyPlan]):
    """A system whose ``server`` parties serve users, and whose ``global`` party connects them."""

    facts_type = ClusteredFacts

    def simulated_noise(self, plan: AnyPlan, key: Key, server: int) -> Any:
        """Draw noise of one server from the seed: it protects nobody."""
        raise NotImplementedError

    def simulated_supplies(self, plan: AnyPlan, world: Any, seed: int, replicate: int) -> Supplies:
        del world
        key = replicate_key(seed, replicate)

        def supply(role: str, place: int) -> ServerSupply | None:
            return (
                ServerSupply(self.simulated_noise(plan, key, place)) if role == "server" else None
            )

        return supply


NotNegative = Annotated[float, Meta(ge=0.0, le=1e9)]
Positive = Annotated[float, Meta(gt=0.0, le=1e9)]
OpenUnit = Annotated[float, Meta(gt=0.0, lt=1.0)]


class Part(Checked, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """One of several kinds of something that a variant is composed of."""
