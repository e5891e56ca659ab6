"""A federation's members over a real broker on this machine: TLS both ways, frames sealed.

Keys, certificates and the broker's configuration are those that ``federation init --local`` makes.
"""

from __future__ import annotations

import asyncio
import pathlib
import socket
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Self

import tomli_w

from fedbandits.deployment.delivery.broker import Broker
from fedbandits.deployment.delivery.frames import Seals
from fedbandits.deployment.delivery.nats_connection import Times
from fedbandits.deployment.delivery.nats_transport import NatsTransport
from fedbandits.deployment.delivery.transport import Receive, Transport
from fedbandits.deployment.identity.identity import Identity, load_identity
from fedbandits.deployment.process.federation_folder import BROKER, init_federation
from fedbandits.environments.base import Environment
from fedbandits.settings.federation import Federation, load_federation
from fedbandits.testing.deployed import DeployedFederation
from fedbandits.testing.deployed_systems import WorldDriver

#: Nobody waits for long where all are on one machine.
QUICK = Times(connect=5.0, first_pause=0.02, longest_pause=0.2, ping=10.0, answer=0.1)
#: Seconds after which a frame that has not come is lost.
_LOST = 2.0
_FILE, _MADE = "federation.toml", "machine"


def free_port() -> int:
    """Find a port of the loopback that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Brokered:
    """The folders of everybody in a federation, and its broker while this is entered.

    ``table`` is the federation's file; the broker's address is put in. ``server`` is where members
    reach the broker, if that is not where it listens.
    """

    def __init__(self, table: Mapping[str, Any], folder: pathlib.Path, server: str = "") -> None:
        own = {"servers": [f"tls://127.0.0.1:{free_port()}"]}
        file = folder / _FILE
        file.write_text(tomli_w.dumps({**table, "transport": own}))
        init_federation(file, folder / _MADE, local=True, first_port=0)
        self._find(folder, server)

    @classmethod
    def again(cls, folder: pathlib.Path, server: str = "") -> Self:
        """Find what another process has made in a folder, and whose broker it runs."""
        found = cls.__new__(cls)
        found._find(folder, server)
        return found

    def _find(self, folder: pathlib.Path, server: str) -> None:
        self.folder = folder / _MADE
        self.federation: Federation = load_federation(folder / _FILE)
        (listens,) = self.federation.transport.servers
        self.port = int(listens.rpartition(":")[2])
        self._servers = (server or listens,)
        self.broker = Broker(self.folder / BROKER)

    def __enter__(self) -> Self:
        self.broker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.broker.stop()

    def identity(self, member: str) -> Identity:
        """Load the identity of a member; it knows everybody."""
        return load_identity(self.folder / member)

    def transport(self, member: str) -> NatsTransport:
        """Make a member's transport."""
        return NatsTransport(self.identity(member), self._servers, times=QUICK)

    def seals(self, member: str) -> tuple[Seals, Seals]:
        """Make what seals a member's greetings, and what seals all else."""
        return self.identity(member).sealers(self.federation.peers_of(member))


class InOrder:
    """Hands frames on one after the other, in the order in which all members have sent them.

    They travel as they would without it, by transports that it is given. It stands where a
    ``MemoryHub`` that holds frames does: a simulation, with which a run is compared, delivers in
    that order, too.
    """

    def __init__(self, transports: Callable[[str], Transport]) -> None:
        self._transports = transports
        self._sent: deque[tuple[bytes, float]] = deque()
        #: Frames that have come, and who takes them. No two sealed frames are the same.
        self._come: dict[bytes, Callable[[], None]] = {}

    def transport(self, member: str) -> _OrderedTransport:
        """Make the transport of a member."""
        return _OrderedTransport(self, self._transports(member))

    def send(self, frame: bytes) -> None:
        """Note that a frame is on its way."""
        self._sent.append((frame, time.monotonic()))

    def come(self, frame: bytes, take: Callable[[], None]) -> None:
        """Note that a frame has come."""
        self._come[frame] = take

    def deliver(self) -> bool:
        """Hand on the frame that was sent first, if it came; return whether one is under way."""
        if not self._sent:
            return False
        frame, at = self._sent[0]
        take = self._come.pop(frame, None)
        if take is not None:
            take()
        if take is not None or time.monotonic() > at + _LOST:
            self._sent.popleft()
        return True


class _OrderedTransport:
    """See :class:`.transport.Transport`."""

    def __init__(self, order: InOrder, inner: Transport) -> None:
        self._order, self._inner = order, inner

    @property
    def connected(self) -> bool:
        return self._inner.connected

    async def open(self, receive: Receive, on_connected: Callable[[], None]) -> None:
        def come(sender: str, frame: bytes) -> None:
            self._order.come(frame, lambda: receive(sender, frame))

        await self._inner.open(come, on_connected)

    async def send(self, receiver: str, frame: bytes) -> bool:
        self._order.send(frame)
        return await self._inner.send(receiver, frame)

    def hurry(self) -> None:
        self._inner.hurry()

    async def close(self) -> None:
        await self._inner.close()


async def drive_by_themselves(
    deployed: DeployedFederation, environment: Environment, seed: int, rounds: int
) -> list[tuple[int, int, Any]]:
    """Let every player go through so many rounds at its own pace, where rounds end by themselves.

    Returns (round, place, action) of every decision.
    """
    acting = deployed.federation.roles.acting.parties
    drivers = [WorldDriver(deployed, environment, seed) for _ in acting]

    async def alone(place: int, driver: WorldDriver) -> None:
        for round_ in range(1, rounds + 1):
            if place in driver.stage.acting(round_):
                await driver.act(place, round_)

    await asyncio.gather(*(alone(place, driver) for place, driver in enumerate(drivers)))
    return [action for driver in drivers for action in driver.actions]
