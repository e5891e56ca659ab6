"""Secrets that one party makes and hands to others before the first round."""

from __future__ import annotations

from fedbandits.deployment.hosting.host import Host
from fedbandits.deployment.hosting.seat import HostedSeat

_SECRET_BYTES = 32


class Handover:
    """What a party hands over, and what it waits for.

    Parameters
    ----------
    seat
        Which party it is.
    host
        Keeps the secrets.
    """

    def __init__(self, seat: HostedSeat, host: Host) -> None:
        self._seat, self._host = seat, host
        self._gifts: dict[str, bytes] = {}
        #: Those that are being written down.
        self._coming: set[str] = set()
        #: Names of secrets that have not been handed over yet.
        self.wants: list[str] = []

    async def open(self) -> None:
        """Make what is to be handed over, and find out what is missing."""
        means, takes, makes = self._host.means, self._seat.takes, self._seat.makes
        self.wants = await self._host.call(
            lambda batch: [
                secret.name
                for secret in takes
                if batch.store.secret(batch.connection, f"shared {secret.name}") is None
            ]
        )
        self._gifts = await self._host.call(
            lambda _: {secret.name: means.make_shared(secret.name) for secret in makes}
        )

    def gift(self, peer: str, name: str) -> bytes | None:
        """A secret for a peer; None if it is not for that one."""
        taker = self._seat.federation.seat_of(peer)
        for secret in self._seat.makes:
            if secret.name == name and secret.is_taken_by(taker.role.name, taker.place):
                made = self._gifts.get(name)
                return None if made is None else secret.gift(made, taker.party)
        return None

    def takes(self, peer: str, name: str, value: bytes) -> bool:
        """Whether a secret that has come is one that is waited for, and its maker's.

        If it is, :meth:`keep` is to be called: until then no other is taken in its place.
        """
        maker = self._seat.federation.seat_of(peer)
        made = any(
            s.name == name and s.is_made_by(maker.role.name, maker.place) for s in self._seat.takes
        )
        expected = name in self.wants and name not in self._coming
        if not (made and expected and len(value) == _SECRET_BYTES):
            return False
        self._coming.add(name)
        return True

    async def keep(self, name: str, value: bytes) -> bool:
        """Keep a secret that has come; whether it was the last one."""
        try:
            await self._host.call(
                lambda batch: batch.store.keep_secret(batch.connection, f"shared {name}", value)
            )
        finally:
            self._coming.discard(name)
        self.wants = [other for other in self.wants if other != name]
        return not self.wants
