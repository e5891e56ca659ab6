"""Members that send what they must not: through real hosts and delivery, every frame sealed."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
import numpy as np

from fedbandits.deployment.hosting.node import Node
from fedbandits.deployment.storage.rows import Sent
from fedbandits.federation.messages import Message, pack
from fedbandits.testing.applications import ROUNDS, Setting
from fedbandits.testing.deployed import DeployedFederation, table_from
from fedbandits.testing.deployed_systems import WorldDriver
from tests.deployment.brokered import Brokered

_SEED = 1
_HUGE = 2**62
#: Messages with one of these say which of their kind they are. Of others an authenticated party
#: may send as many as it likes: a server uploads what it says that it has.
COUNTED = {"release", "exchange", "phase", "step", "round"}


def impossible_fields(message: Message) -> Iterator[dict[str, Any]]:
    """List fields that must be refused: numbers beyond all bounds, statistics that are none."""
    for name in message.__struct_fields__:
        value = getattr(message, name)
        if name in ("sender", "receiver", "version", "terms", "number"):
            continue
        if isinstance(value, int) and not isinstance(value, bool):
            yield from ({name: other} for other in (_HUGE, -1) if other != value)
        if isinstance(value, bytes) and value and len(value) % 8 == 0:
            for entry in (1e200, 1.7e308, -1e16, np.nan, -np.inf):
                yield {name: pack(np.full(len(value) // 8, entry))}
            yield {name: value[:-1]}


class AttackedDriver(WorldDriver):
    """Drives, and lets something happen in the middle, and again before the end."""

    attack: Callable[[], Any] | None = None
    #: How often it has happened.
    attacks = 0
    _half = 0

    async def advance(self, rounds: int) -> None:
        """Drive all rounds."""
        self._half = rounds // 2
        if not self.federation.roles.messages_set_pace:
            for instant in (rounds // 2, 9 * rounds // 10):
                await super().advance(instant)
                await self._disturb()
        await super().advance(rounds)

    async def _pull_due(self) -> bool:
        nodes = [self.deployed.nodes[member] for member in self.players]
        if not self.attacks and sum(node.host.view.decisions for node in nodes) >= self._half:
            await self._disturb()
        return await super()._pull_due()

    async def _disturb(self) -> None:
        self.attacks += 1
        if self.attack is not None:
            await self.attack()
            await self.deployed.settle()


class Members:
    """All members of a preset in its small world, sealed, in memory; their messages are noted."""

    def __init__(self, preset: str, folder: pathlib.Path, sealed: bool = True) -> None:
        setting = Setting(preset)
        here = Brokered(table_from(setting), folder)
        self.federation = here.federation
        supplies = setting.system.simulated_supplies(setting.plan, setting.stated, _SEED, 0)
        self.deployed = DeployedFederation(
            self.federation, folder, seals=here.seals if sealed else None, supplies=supplies,
            held=True,
        )  # fmt: skip
        self.driver = AttackedDriver(self.deployed, setting.world, _SEED)
        self._forging = False
        #: Every honest message that was sent: (sender, receiver, bytes).
        self.said: list[tuple[str, str, bytes]] = []
        #: Every frame that was carried.
        self.frames: list[tuple[str, str, bytes]] = []
        carry = self.deployed.hub.carry

        def noting(sender: str, receiver: str, frame: bytes) -> None:
            self.frames.append((sender, receiver, frame))
            carry(sender, receiver, frame)

        self.deployed.hub.carry = noting  # type: ignore[method-assign]

    async def start(self) -> None:
        """Start all; they greet."""
        await self.deployed.start()
        for member, node in self.deployed.nodes.items():
            self._listen(member, node)
        await self.deployed.greeted()

    def _listen(self, member: str, node: Node) -> None:
        post = node.delivery.post

        def noting(peer: str, number: int, body: bytes) -> None:
            if not self._forging:
                self.said.append((member, peer, body))
            post(peer, number, body)

        node.delivery.post = noting  # type: ignore[method-assign]

    def latest(self) -> Iterable[tuple[str, str, Message]]:
        """List the newest message of each type on each link: (sender, receiver, message)."""
        codec = self.federation.roles.codec
        found = {}
        for sender, receiver, body in self.said:
            message = codec.decode(body)
            found[sender, receiver, type(message)] = message
        return [(sender, receiver, message) for (sender, receiver, _), message in found.items()]

    async def say(self, sender: str, receiver: str, forged: list[Any]) -> None:
        """Let a member send messages, numbered as its next ones.

        Each of ``forged`` is a message, or a message and a function that changes its bytes.
        """
        codec = self.federation.roles.codec

        def send(batch: Any) -> None:
            links = batch.hosted.party._links
            for each in forged:
                message, change = each if isinstance(each, tuple) else (each, None)
                numbered = links.numbered(message)
                body = codec.encode(numbered)
                changed = body if change is None else change(body)
                batch.outgoing.append(Sent(receiver, numbered.number, changed))
            batch.save_state()

        self._forging = True
        await self.deployed.nodes[sender].host.call(send)
        self._forging = False


def flip(data: bytes) -> bytes:
    """Flip a bit of the type's name: no such message exists then."""
    at = data.index(b"type") + 6
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


async def attack(members: Members) -> None:
    """Let every party attack every peer."""
    hub, frames = members.deployed.hub, list(members.frames)
    for sender, receiver, message in members.latest():
        forged: list[Any] = [
            msgspec.structs.replace(message, **fields) for fields in impossible_fields(message)
        ]
        if COUNTED & set(message.__struct_fields__):
            forged.append(message)  # again, under a new number
        await members.say(sender, receiver, [*forged, (message, flip)])
        await members.deployed.settle()
    for sender, receiver, frame in frames[-200:]:
        hub.arrive(sender, receiver, frame)  # a replay
        hub.arrive(sender, receiver, frame[:-1] + bytes([frame[-1] ^ 1]))
        hub.arrive(receiver, sender, frame)


class Ended(NamedTuple):
    """The end of a run: regret and reward of every player, and how much was refused."""

    regret: Any
    reward: Any
    refusals: int
    frames: int


async def disturbed(preset: str, folder: pathlib.Path, disturbs: bool) -> Ended:
    """Run a preset, in which everybody attacks everybody, or nobody does. Nobody may stop."""
    members = Members(preset, folder)
    await members.start()
    if disturbs:
        members.driver.attack = lambda: attack(members)
    await members.driver.advance(ROUNDS)
    assert members.driver.attacks >= 1
    nodes = members.deployed.nodes.values()
    assert not any(node.failed for node in nodes), "a party has stopped"
    refusals = sum(sum(node.host.view.refusals.values()) for node in nodes)
    frames = sum(node.delivery.refused.total() for node in nodes)
    stage = members.driver.stage
    await members.deployed.stop()
    return Ended(stage.regret.copy(), stage.reward.copy(), refusals, frames)
