"""Interfaces of delivery: what seals frames, what carries them, and who is given what came."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

#: Takes a frame: the member it came from, as the transport says, and its bytes. It never raises.
Receive = Callable[[str, bytes], None]


class Transport(Protocol):
    """Carries sealed frames between members. It may lose, repeat and reorder them.

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
        """Send a frame; return whether it was handed over, which needs a connection."""

    async def close(self) -> None:
        """End, after what was handed over has left."""


class Seals(Protocol):
    """Seals frames for peers and opens theirs, see :class:`.sealing.Sealer`."""

    def seal(self, receiver: str, plaintext: bytes) -> bytes:
        """Seal a frame that nobody but the receiver can open."""

    def open(self, sender: str, frame: bytes) -> bytes:
        """Open a frame; raises SealError if it is not from whom it says, or was altered."""


class Receiver(Protocol):
    """A party that is given what was delivered. All of it is called on the event loop."""

    def counts(self, peer: str) -> tuple[int, int]:
        """Return the numbers of the next message from a peer, and of the next one to it."""

    def receive(self, peer: str, body: bytes) -> None:
        """Take a message; when it is committed, :meth:`Delivery.received` is to be called."""

    def acknowledged(self, peer: str, number: int) -> None:
        """Forget all messages to a peer below a number."""

    def stale(self, why: str, most: bool) -> None:
        """Note that a peer, or most of them, say that this party was put back from a backup."""

    def given(self, peer: str, name: str, value: bytes) -> None:
        """Take a secret that a peer has handed over."""

    def gift(self, peer: str, name: str) -> bytes | None:
        """Return a secret that is to be handed to a peer; None if there is none."""

    @property
    def wants(self) -> list[str]:
        """Names of secrets that have not been handed over yet."""
