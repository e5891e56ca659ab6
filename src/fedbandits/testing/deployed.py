"""Members of a federation in one process, with the real hosts, stores and delivery."""

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

#: Seconds between two looks at a condition, and number of looks without a pause while messages wait
#: for delivery: each message takes a few turns of the event loop.
_PAUSE, _AT_ONCE = 0.0005, 16
#: A start of the clock that ends no round.
NEVER = datetime.datetime(2999, 1, 1, tzinfo=datetime.UTC)


class OpenSeals:
    """Seals that leave frames open, for tests without encryption."""

    def seal(self, receiver: str, plaintext: bytes) -> bytes:
        """Return the plaintext."""
        del receiver
        return plaintext

    def open(self, sender: str, frame: bytes) -> bytes:
        """Return the frame."""
        del sender
        return frame


class Order(Protocol):
    """A carrier of frames, which delivers them in the order of sending."""

    def transport(self, member: str) -> Transport:
        """Make the transport of a member."""

    def deliver(self) -> bool:
        """Deliver the next frame, if it has come; return whether frames are on their way."""


class DeployedFederation:
    """All members of a federation in this process, with their stores in a folder.

    ``transports`` makes a member's transport, by default in memory. ``seals`` makes the greeting
    seals and the other seals of a member, by default open ones. ``supplies`` are noise and keys by
    role and place, by default those of the stores. ``own`` are the own settings of each member.

    ``stores`` are the addresses of stores outside of the folder, by member; they may be copies if
    they were ``moved``. With ``held``, messages wait until they are settled, one after the other,
    as in a simulation. An ``order`` carries frames instead of the transport in memory, and delays
    them.
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
        #: Whether stores of members that start may be older than their sent messages.
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
        """Make the transport of a member, by default in memory."""
        return (self._transports or (self._order or self.hub).transport)(member)

    async def stop(self, *members: str) -> None:
        """Stop some members, or all running members."""
        for member in members or tuple(self.nodes):
            await self.nodes.pop(member).stop()

    async def greeted(self) -> None:
        """Wait until all peers have greeted each other."""
        await self._until(
            lambda: all(
                node.ready
                and node.connected
                and set(node.delivery.greeted) >= set(node.delivery.exchanges)
                for node in self.nodes.values()
            )
        )

    async def settle(self) -> None:
        """Wait until no message is on its way: all were taken, and so were their consequences."""
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
        """Wait until a condition holds, and deliver held messages one by one."""

        def delivered() -> bool:
            if any(node.host.waiting or node.delivery.is_sending for node in self.nodes.values()):
                return False
            for node in self.nodes.values():  # an acknowledgement needs no other message
                node.delivery.acknowledge()
            return not (self._order or self.hub).deliver() and holds()

        await until(delivered, at_once=_AT_ONCE)

    def state(self, member: str) -> Any:
        """Return a party's state; no transaction may be under way."""
        hosted = self.nodes[member].host._hosted
        assert hosted is not None
        return hosted.party.state


async def until(holds: Callable[[], bool], timeout: float = 60.0, at_once: int = 1) -> None:
    """Wait until a condition holds; raises TimeoutError after ``timeout`` seconds.

    It looks ``at_once`` times, each time after a turn of the event loop, and then pauses.
    """
    async with asyncio.timeout(timeout):
        for look in itertools.count(1):
            if holds():
                return
            await asyncio.sleep(0.0 if look % at_once else _PAUSE)


def simulated(federation: Federation, environment: Environment, seed: int) -> Supplies:
    """Make the simulated noise and keys of the members."""
    world = environment.stage(replicate_key(seed, 0)).world
    return federation.system.simulated_supplies(federation.plan, world, seed, 0)


def federation_from(setting: Setting, **table: Any) -> Federation:
    """Make a federation whose members play a preset in its small world; see :func:`table_from`."""
    return federation_of(table_from(setting, **table))


def table_from(setting: Setting, **table: Any) -> dict[str, Any]:
    """Make the file of a federation that plays a preset; no clock ends its rounds.

    The keys in ``table`` replace the defaults.
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
