"""The interface between a door and the party behind it."""

from __future__ import annotations

from typing import Any, Protocol

from fedbandits.deployment.hosting.events import Decided
from fedbandits.settings.federation import Federation
from fedbandits.systems.application import Application, Asked, Told


class Served(Protocol):
    """A party that applications reach through a door.

    What it answers is durable, and what it refuses has changed nothing.
    """

    @property
    def member(self) -> str:
        """The organisation's name, such as ``north``."""

    @property
    def federation(self) -> Federation:
        """Federation that all members agree on."""

    @property
    def application(self) -> Application[Any] | None:
        """How applications ask it; None for parties that do not decide."""

    @property
    def ready(self) -> bool:
        """Whether it is connected and its store works."""

    async def decide(self, asked: Asked) -> Decided:
        """Decide.

        Raises
        ------
        LocalProtocolError, BoundExceededError, StoreError, NotReadyError
        """

    async def reward(self, number: int, told: Told) -> None:
        """Tell what came of a decision.

        Raises
        ------
        UnknownDecisionError, DuplicateRewardError, LateRewardError, BoundExceededError,
        LocalProtocolError, StoreError, NotReadyError
        """

    async def next_pull(self, timeout: float) -> int | None:
        """Wait for the number of the pull that is due; None if none is after so many seconds."""

    async def pull(self, number: int, reward: int) -> None:
        """Tell what a pull gave, 0 or 1; raises as :meth:`reward`."""

    async def privacy(self) -> dict[str, Any]:
        """Report the claim, and what is spent and left, in plain values."""

    def status(self) -> dict[str, Any]:
        """Report where it stands, in plain values."""


class Orders(Protocol):
    """A party that pays for runs, and begins them when it is told to."""

    async def order(self) -> None:
        """Order a run; raises as :meth:`Served.decide`."""


def offered(served: Served) -> frozenset[str]:
    """Tell what the party does for applications: ``decisions``, ``pulls`` or ``orders``, if any."""
    federation = served.federation
    role = federation.seat_of(served.member).role
    if not federation.roles.messages_set_pace:
        return frozenset() if served.application is None else frozenset({"decisions"})
    if role.acts:
        return frozenset({"pulls"})
    return frozenset({"orders"} if hasattr(served, "order") else ())
