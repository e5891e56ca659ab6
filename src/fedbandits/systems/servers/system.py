"""Declarations and plans that both forms of FCLUB share."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar

from msgspec import Meta

from fedbandits._checked import Checked
from fedbandits.errors import ConfigError
from fedbandits.facts import ClusteredFacts
from fedbandits.federation.roles import Supplies
from fedbandits.random import replicate_key
from fedbandits.systems.base import Plan
from fedbandits.systems.package import PackageSystem

#: Ends the last phase: later than any round.
LATER = 2**62


class ServersPlan(Plan, frozen=True, kw_only=True):
    """The plan of servers that serve users in phases.

    ``constants``, which compiled code takes, have ``servers``, ``dimension``, ``items``,
    ``context_bound`` (the longest item), and ``phase_ends`` (the last rounds of the phases, then
    :data:`LATER`).
    """

    constants: Any

    @property
    def size(self) -> int:
        """Numbers of a packed statistic, p."""
        dimension: int = self.constants.dimension
        return dimension * (dimension + 3) // 2

    @property
    def private(self) -> bool:
        """True if there is noise."""
        return bool(self.constants.private)


def check_homes(facts: ClusteredFacts) -> None:
    """Refuse facts in which a user has no server, or a server no user."""
    home = facts.home
    if not home or len(home) != facts.parties or set(home) != set(range(facts.servers)):
        raise ConfigError(
            f"home: {facts.parties} users need a server each, and servers are numbered from 0 and "
            "have at least one user"
        )


AnyPlan = TypeVar("AnyPlan", bound=ServersPlan)


class ServerSupply(NamedTuple):
    """Supply of a local server: its source of noise.

    In a simulation the source gives standard normals by the name of a draw, asked once each; the
    system's ``LocalServer`` has the names. In a deployment the source is secure, covers values by
    the number of a step, and its draws are saved.
    """

    noise: Any


class ServersSystem(PackageSystem[AnyPlan]):
    """A system whose ``server`` parties serve users, and whose ``global`` party connects them."""

    facts_type = ClusteredFacts
    SHARED_ROOMS: ClassVar[tuple[str, ...]] = ("fedbandits.systems.servers.application",)

    def simulated_supplies(self, plan: AnyPlan, world: Any, seed: int, replicate: int) -> Supplies:
        del world
        noise, key = self.room("loop").simulated_noise, replicate_key(seed, replicate)
        return lambda role, place: (
            ServerSupply(partial(noise, plan, key, place)) if role == "server" else None
        )


NotNegative = Annotated[float, Meta(ge=0.0, le=1e9)]
Positive = Annotated[float, Meta(gt=0.0, le=1e9)]
OpenUnit = Annotated[float, Meta(gt=0.0, lt=1.0)]


class Part(Checked, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """A part of a variant, of one of several kinds."""
