"""The interface between delivery and the party that it delivers to."""

from __future__ import annotations

from typing import Protocol


class Receiver(Protocol):
    """Whoever is given what was delivered. All of it is called on the event loop."""

    def counts(self, peer: str) -> tuple[int, int]:
        """The numbers of the message from a peer that comes next, and of the next one to it."""

    def receive(self, peer: str, body: bytes) -> None:
        """Take a message; when it is committed, :meth:`Delivery.received` is to be called."""

    def acknowledged(self, peer: str, number: int) -> None:
        """All messages to a peer below a number need not be kept."""

    def stale(self, why: str, most: bool) -> None:
        """A peer, or most of them, say that this party was put back from an old backup."""

    def given(self, peer: str, name: str, value: bytes) -> None:
        """A peer has handed over a secret."""

    def gift(self, peer: str, name: str) -> bytes | None:
        """A secret that is to be handed to a peer, if it is."""

    @property
    def wants(self) -> list[str]:
        """Names of secrets that have not been handed over yet."""
