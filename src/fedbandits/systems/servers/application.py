"""Applications of a local server, supplies, export of models, and guides.

Between machines no rounds arrive with users: a round ends by the clock, for all servers, with any
number of users. A server needs a round number that is legal in its phase: a round that is not over,
and not beyond the phase. SCLUB also reads the round as the number of arrivals. So a request has the
number of arrivals at this server, held to the phase (:func:`live_round`). The end of a phase
(``next_end``) comes after all rounds of the phase, so the end is always legal too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from fedbandits.environments.clustered import Arrival
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.acting import ActingParty
from fedbandits.federation.watching import Happened
from fedbandits.systems.application import (
    Asked,
    Choices,
    Resources,
    float32_columns,
    list_type,
)
from fedbandits.systems.exported import Learned
from fedbandits.systems.guide import Acts, Guide, Line, Passage, numbers
from fedbandits.systems.servers.system import ServersPlan, ServerSupply
from fedbandits.systems.weakened import without_supplies


class ItemsAsked(Asked, frozen=True):
    """A user at the server, and the context vector of every item on offer.

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
    """Return a legal round for the next user: the number of arrivals, held to the phase."""
    state, last = party.state, party.next_end
    earliest: int = max(state.ended, state.decisions) + 1
    return earliest if last is None else min(earliest, last)


def application(plan: ServersPlan) -> Recommendations:
    """Return how applications ask a local server."""
    return Recommendations(plan)


def supply(plan: Any, role: str, place: int, resources: Resources) -> ServerSupply | None:
    """Make the supply of a local server: charged noise, in private variants."""
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
    """Return a guide to local servers and the global server, with noise as a protection."""
    return Guide(
        pseudocode={"server": server, "global": hub},
        passages=passages,
        acts=_ACTS,
        protections=_NOISE if plan.private else {},
        without=without_supplies,
    )


def sums_reader(plan: ServersPlan, size: int, off: Collection[str]) -> Callable[[Happened], str]:
    """Return a reader of messages with rows of sums of this size, and perhaps users' clusters."""
    noise = "under noise" if plan.private and "noise" not in off else "without noise"

    def read(happened: Happened) -> str:
        message: Any = happened.event
        rows = np.frombuffer(message.sums).reshape(-1, size)
        first = f"; the first: {numbers(rows[0])}" if len(rows) else ""
        labels = getattr(message, "labels", None)
        clusters = "" if labels is None else f"Users are in clusters {numbers(labels)}; "
        return f"{clusters}{len(rows)} rows of sums, {noise}{first}."

    return read
