"""Applications of a local server, what each party brings, what a server learns, and guides.

Between machines no rounds arrive with users: a round ends by the clock, for everybody, whoever has
come in it. What a server needs of a round is a number that is legal in its phase: not over yet, and
not beyond the phase. SCLUB also reads it as the number of users who have come. So a request has the
number of users who have come to this server, held to the phase (:func:`live_round`). The end of a
phase (``next_end``) comes after all of its rounds, so it is always legal too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any

from msgspec import Meta

from fedbandits.environments.clustered import Arrival
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.acting import ActingParty
from fedbandits.systems.application import (
    Asked,
    Choices,
    Resources,
    float32_columns,
    list_type,
)
from fedbandits.systems.exported import Learned
from fedbandits.systems.guide import Acts, Guide, Line, Passage
from fedbandits.systems.servers.system import ServersPlan, ServerSupply
from fedbandits.systems.weakened import without_supplies


class ItemsAsked(Asked, frozen=True):
    """A user who has come, and the context vector of every item that can be recommended.

    The answer is an item's number, from 0. There may be fewer items than the terms have.
    """

    user: int
    items: list[list[float]]


class Recommendations(Choices[ServersPlan]):
    """A server recommends an item to one of its own users; a reward is a number from 0 to 1."""

    ASKED = ItemsAsked

    def bounds(self) -> dict[str, Any]:
        constants = self.plan.constants
        item = list_type(float, constants.dimension, constants.dimension)
        return {
            "user": Annotated[int, Meta(ge=0, lt=constants.users)],
            "items": list_type(item, 1, constants.items),
            "reward": Annotated[float, Meta(ge=0.0, le=1.0)],
        }

    def situation(self, party: ActingParty[Any], asked: ItemsAsked) -> Arrival:
        if not 0 <= asked.user < self.plan.constants.users:
            raise LocalProtocolError(f"{party.name}: no such user")
        items = float32_columns(party.name, asked.items)
        return Arrival(live_round(party), asked.user, items)


def live_round(party: ActingParty[Any]) -> int:
    """Return a legal round for who comes now: as many as have come, within the phase."""
    state, last = party.state, party.next_end
    earliest: int = max(state.ended, state.decisions) + 1
    return earliest if last is None else min(earliest, last)


def application(plan: ServersPlan) -> Recommendations:
    """Return how applications ask a local server."""
    return Recommendations(plan)


def supply(plan: Any, role: str, place: int, resources: Resources) -> ServerSupply | None:
    """Make what a local server brings: noise that is charged for, where the variant has any."""
    del place
    if role != "server":
        return None
    return ServerSupply(resources.noise(plan.event) if plan.private else None)


def export(plan: ServersPlan, party: Any) -> Learned:
    """Return the models of a server's users."""
    del plan
    learned: Learned = party.learned()
    return learned


_ACTS = Acts("recommends item {}", "observes the reward {}")
_NOISE = {"noise": "Sums leave a server under noise: a single record does not show in them."}


def guide_of(
    plan: ServersPlan,
    server: tuple[Line, ...],
    hub: tuple[Line, ...],
    passages: Mapping[str, Passage],
) -> Guide:
    """Return a guide to local servers and the global one; it may be shown without noise."""
    return Guide(
        pseudocode={"server": server, "global": hub},
        passages=passages,
        acts=_ACTS,
        protections=_NOISE if plan.private else {},
        without=without_supplies,
    )


def noise_of(plan: ServersPlan, off: Collection[str]) -> str:
    """Say whether the sums that leave a server are under noise."""
    return "under noise" if plan.private and "noise" not in off else "without noise"
