"""How frames of members under test are sealed and carried."""

from __future__ import annotations

from typing import Protocol

from fedbandits.deployment.delivery.interfaces import Transport


class OpenSeals:
    """Seals nothing: for tests of everything else."""

    def seal(self, receiver: str, plaintext: bytes) -> bytes:
        """The frame as it is."""
        del receiver
        return plaintext

    def open(self, sender: str, frame: bytes) -> bytes:
        """The frame as it is."""
        del sender
        return frame


class Order(Protocol):
    """Carries frames, and hands them on in the order in which they were sent."""

    def transport(self, member: str) -> Transport:
        """The transport of a member."""

    def deliver(self) -> bool:
        """Hand the next frame on, if it has come; whether any is on its way."""
