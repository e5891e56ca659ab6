"""Transports carry sealed frames between members. They may lose, repeat and reorder frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

#: Takes a frame: the member it came from, as the transport says, and its bytes. It never raises.
Receive = Callable[[str, bytes], None]


class Transport(Protocol):
    """Carries frames between the members of one federation, as well as it can.

    Nothing rests on it but progress: frames are sealed and authenticated by whoever uses it, and
    sent again until the receiver has acknowledged what is in them.
    """

    @property
    def connected(self) -> bool:
        """Whether frames can be sent now."""

    async def open(self, receive: Receive, on_connected: Callable[[], None]) -> None:
        """Begin. It returns at once, and connects as soon as that is possible.

        Parameters
        ----------
        receive
            Given every frame, on the event loop that this was called on.
        on_connected
            Called on that loop whenever a connection begins, the first one included.

        Raises
        ------
        TransportError, IdentityError
            If it can never connect: its own settings or keys are wrong.
        """

    async def send(self, receiver: str, frame: bytes) -> bool:
        """Send a frame; whether it was handed over. While there is no connection it was not."""

    async def close(self) -> None:
        """End, after what was handed over has left."""
