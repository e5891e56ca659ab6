"""Members of a federation in one process. Hosts, stores and delivery are the real ones."""

from __future__ import annotations

import asyncio
import datetime
import itertools
import pathlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from fedbandits.deployment.delivery.frames import Seals
from fedbandits.deployment.delivery.transport import MemoryHub, Transport
from fedbandits.deployment.hosting.node import Node
from fedbandits.deployment.hosting.seat import HostedSeat
from fedbandits.environments.base import Environment
from fedbandits.errors import FedbanditsError
from fedbandits.federation.roles import Supplies
from fedbandits.random import replicate_key
from fedbandits.settings.federation import Federation, federation_of
from fedbandits.testing.applications import Setting

#: Seconds between looks, and how many looks follow each other without a pause where messages wait
#: to be delivered: each of them takes a few turns of the event loop.
_PAUSE, _AT_ONCE = 0.0005, 16
#: A clock that starts then ends no round.
NEVER = datetime.datetime(2999, 1, 1, tzinfo=datetime.UTC)


class OpenSeals:
    """Seals nothing: for tests of everything else."""

    def seal(self, receiver: str, plaintext: bytes) -> bytes:
        """Return the frame as it is."""
        del receiver
        return plaintext

    def open(self, sender: str, frame: bytes) -> bytes:
        """Return the frame as it is."""
        del sender
        return frame


class Order(Protocol):
    """Carries frames, and hands them on in the order in which they were sent."""

    def transport(self, member: str) -> Transport:
        """Make the transport of a member."""

    def deliver(self) -> bool:
        """Hand the next frame on, if it has come; return whether any is on its way."""


class DeployedFederation:
    """All members of a federation in this process, with their stores in a folder.

    ``transports`` makes a member's transport; in memory by default. ``seals`` makes its greeting
    seals and its others; nothing is sealed by default. ``supplies`` are what members bring, by role
    and place; what their stores have by default. ``own`` is what every member alone knows.

    ``stores`` are where stores are that are not in the folder, by member; they may be copies if
    they were ``moved``. With ``held``, messages wait until they are settled, one after the other,
    as in a simulation. The ``order`` carries frames instead of what is in memory, and makes them
    wait.
    """

    def __init__(
        self, federation: Federation, folder: pathlib.Path,
        transports: Callable[[str], Transport] | None = None,
        seals: Callable[[str], tuple[Seals, Seals]] | None = None,
        supplies: Supplies | None = None, own: Mapping[str, Mapping[str, Any]] | None = None,
        stores: Mapping[str, str] | None = None, moved: bool = False, held: bool = False,
        order: Order | None = None,
    ) -> None:  # fmt: skip
        self.federation, self.folder = federation, folder
        self.hub, self._order = MemoryHub(held=held), order
        self._transports = transports
        self._seals = seals or (lambda _: (OpenSeals(), OpenSeals()))
        self._own, self._stores, self._moved = own or {}, stores or {}, moved
        self.nodes: dict[str, Node] = {}
        #: Whether stores that are started now may be older than what has left.
        self.restores = False
        self._supplies = supplies

    async def start(self, *members: str) -> None:
        """Start some members, or all."""
        for member in members or self.federation.everybody:
            self.nodes[member] = node = self.make(member)
            await node.start()

    def make(
        self, member: str, on_fatal: Callable[[FedbanditsError], None] = lambda _: None
    ) -> Node:
        """Make a member's node on its store."""
        role, place = self.federation.seat_of(member)
        supplies = self._supplies
        supply = None if supplies is None else (lambda _: supplies(role.name, place))
        seat = HostedSeat.of(self.federation, member, self._own.get(member), supply)
        where = self._stores.get(member, str(self.folder / f"{member}.db"))
        greets, seals = self._seals(member)
        return Node(
            seat,
            seat.open_store(where, self._moved, self.folder / member, self.restores),
            self._transport(member),
            greets,
            seals,
            on_fatal,
        )

    def _transport(self, member: str) -> Transport:
        """Make a transport in memory, unless another one was given."""
        return (self._transports or (self._order or self.hub).transport)(member)

    async def stop(self, *members: str) -> None:
        """Stop some members, or all that run."""
        for member in members or tuple(self.nodes):
            await self.nodes.pop(member).stop()

    async def greeted(self) -> None:
        """Wait until all peers know of each other."""
        await self._until(
            lambda: all(
                node.ready
                and node.connected
                and set(node.delivery.greeted) >= set(node.delivery.exchanges)
                for node in self.nodes.values()
            )
        )

    async def settle(self) -> None:
        """Wait until nothing is on its way: all messages were taken, and what came of them."""
        await self._until(
            lambda: (
                not any(
                    node.host.problem or exchange.unacknowledged
                    for node in self.nodes.values()
                    for exchange in node.delivery.exchanges.values()
                )
            )
        )

    async def _until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds, and deliver what is held one by one."""

        def delivered() -> bool:
            if any(node.host.waiting or node.delivery.is_sending for node in self.nodes.values()):
                return False
            for node in self.nodes.values():  # nothing else need go along with it
                node.delivery.acknowledge()
            return not (self._order or self.hub).deliver() and holds()

        await until(delivered, at_once=_AT_ONCE)

    def state(self, member: str) -> Any:
        """Return a party's state, as its own thread has it; nothing must be under way."""
        hosted = self.nodes[member].host._hosted
        assert hosted is not None
        return hosted.party.state


async def until(holds: Callable[[], bool], timeout: float = 60.0, at_once: int = 1) -> None:
    """Wait until something holds; raises TimeoutError after so long that something surely hangs.

    It looks so many times ``at_once``, each time after all that could be done, and then pauses.
    """
    async with asyncio.timeout(timeout):
        for look in itertools.count(1):
            if holds():
                return
            await asyncio.sleep(0.0 if look % at_once else _PAUSE)


def simulated(federation: Federation, environment: Environment, seed: int) -> Supplies:
    """Make what members bring in a simulation."""
    world = environment.stage(replicate_key(seed, 0)).world
    return federation.system.simulated_supplies(federation.plan, world, seed, 0)


def federation_from(setting: Setting, **table: Any) -> Federation:
    """Make a federation whose members play a preset in its small world; see :func:`table_from`."""
    return federation_of(table_from(setting, **table))


def table_from(setting: Setting, **table: Any) -> dict[str, Any]:
    """Make the file of a federation whose members play a preset; no clock ends its rounds.

    The keys in ``table`` replace others.
    """
    assert setting.roles is not None
    members = {
        role: [f"{role}-{i}" if len(parties) > 1 else role for i in range(len(parties))]
        for role, parties in setting.roles.parties.items()
    }
    facts = msgspec.to_builtins(setting.plan.facts)
    given: dict[str, Any] = {
        "name": "test",
        "rounds": setting.plan.rounds,
        "noise": "simulated",
        "system": {"preset": setting.preset, **setting.parts},
        "facts": {
            key: value for key, value in facts.items() if key != "type" and value is not None
        },
        "members": members,
        "clock": {"kind": "live", "start": NEVER, "every": "1 h"},
    }
    return given | table
