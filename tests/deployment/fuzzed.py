"""Mutants through what a host receives with: frames at its delivery, messages at a twin of it."""

from __future__ import annotations

import asyncio
import pathlib
from collections import Counter
from typing import Any

import msgspec

from fedbandits.deployment.delivery import frames
from fedbandits.deployment.delivery.frames import Acknowledgement, Data, Gift, Hello
from fedbandits.deployment.hosting.events import Kind, Received
from fedbandits.deployment.hosting.host import Host
from fedbandits.deployment.hosting.node import Node
from fedbandits.deployment.storage.store import Store
from fedbandits.testing.applications import ROUNDS
from fedbandits.testing.mutants import Draws, Mutants, require_finite, require_untouched
from tests.deployment.misbehaving import Members

_WORDS = (0, 1, 2, 63, 64, 2**31, 2**53, 2**63 - 1, 2**64 - 1)


class Fuzzed:
    """A federation whose members are given mutants of every frame and message before it comes.

    ``counts`` are how many mutants of each message, and of each frame. What became of them is added
    to ``found``.
    """

    def __init__(
        self, preset: str, folder: pathlib.Path, counts: tuple[int, int], found: Counter[str]
    ) -> None:
        self.members, self._folder = Members(preset, folder), folder
        self._counts, self._found, self._draws = counts, found, Draws(7)
        self._mutants = Mutants(self.members.federation.roles.codec, 7)
        self._twins: dict[str, Host] = {}
        self._fired: list[asyncio.Future[Any]] = []

    async def run(self) -> None:
        """Run under fire; every host must be alive at the end."""
        members = self.members
        await members.start()
        for member, node in members.deployed.nodes.items():
            self._twins[member] = await self._twin(member)
            self._stand_before(member, node)
        await members.driver.advance(ROUNDS)
        await asyncio.gather(*self._fired)
        for member, node in members.deployed.nodes.items():
            assert node.failed is None, f"{member} has stopped"
            assert not node.host.problem, f"{member}: {node.host.problem}"
            assert not self._twins[member].problem, f"{member}: {self._twins[member].problem}"
        for twin in self._twins.values():
            await twin.stop()
        await members.deployed.stop()

    async def _twin(self, member: str) -> Host:
        """Make a host of its own for the same party, to be thrown away."""
        deployed = self.members.deployed
        seat = deployed.nodes[member].seat
        store = Store.open(
            self._folder / f"{member}.twin.db", seat.federation.name, member, seat.terms.digest,
            synchronous="NORMAL",
        )  # fmt: skip
        host = Host(seat, store)
        await host.open()
        await host.begin()
        return host

    def _stand_before(self, member: str, node: Node) -> None:
        deployed, twin = self.members.deployed, self._twins[member]
        arrived, receive = node.delivery._arrived, node.receive

        def frame_comes(sender: str, sealed: bytes) -> None:
            for _ in range(self._counts[1]):
                self._hurl(node, sender, sealed)
            arrived(sender, sealed)

        def message_comes(peer: str, body: bytes, number: int, mark: bytes) -> None:
            hosted = node.host._hosted
            assert hosted is not None
            sender, saved = node.federation.party_of[peer], hosted.party.dump()
            fired = twin.call(lambda batch: self._fire(batch, saved, sender, body))
            self._fired.append(fired)
            receive(peer, body, number, mark)

        deployed.hub.members[member]._receive = frame_comes
        node.receive = message_comes  # type: ignore[method-assign]

    def _fire(self, batch: Any, saved: bytes, sender: str, body: bytes) -> None:
        """Let a twin carry out mutants as its host does what comes."""
        party = batch.hosted.party
        party.load(saved)
        message = self.members.federation.roles.codec.decode(body)
        for mutant in self._mutants.of(message, self._counts[0]):
            receipt = batch.carry_out(Kind.RECEIVE, Received(sender, mutant))
            if receipt.outcome == "taken":
                require_finite(party.state, party.name)
            else:
                require_untouched(saved, party.dump(), sender, receipt)
            party.load(saved)
            kind = type(receipt.why).__name__ if receipt.outcome == "refused" else receipt.outcome
            self._found[f"message: {kind}"] += 1
        batch.outgoing.clear()

    def _hurl(self, node: Node, sender: str, sealed: bytes) -> None:
        """Send a frame that is not what it was; refused, it has changed nothing."""
        delivery, exchange = node.delivery, node.delivery.exchanges[sender]
        before = (_shown(exchange), delivery.refused.total(), node.host.waiting)
        claimed, mutant = self._altered(node, sender, sealed)
        delivery._arrived(claimed, mutant)
        after = (_shown(exchange), delivery.refused.total(), node.host.waiting)
        assert after == (before[0], before[1] + 1, before[2]), "a frame was not refused"
        self._found["frame: SealError"] += 1

    def _altered(self, node: Node, sender: str, sealed: bytes) -> tuple[str, bytes]:
        draws = self._draws
        kind, at = draws.below(6), draws.below(len(sealed))
        if kind == 0:
            return sender, sealed[:at]
        if kind == 1:
            return sender, sealed + draws.bytes(1 + draws.below(16))
        if kind == 2:
            return sender, draws.bytes(draws.below(400))
        if kind == 3:
            others = [p for p in (*node.delivery.exchanges, "stranger") if p != sender]
            return others[draws.below(len(others))], sealed
        if kind == 4:
            return sender, self._sealed_nonsense(node, sender)
        return sender, sealed[:at] + bytes([sealed[at] ^ 1 << draws.below(8)]) + sealed[at + 1 :]

    def _sealed_nonsense(self, node: Node, sender: str) -> bytes:
        """Seal, as a member, what no version knows, or a lie about what it has seen."""
        draws = self._draws
        seals = self.members.deployed.nodes[sender].delivery._seals
        sent = node.host.counts.get(sender, (0, 0))[1]
        lie = max(sent + 1, _WORDS[draws.below(len(_WORDS))])
        frame: Any = (Acknowledgement(lie), None)[draws.below(2)]
        if frame is None:
            kinds = (Hello(b"", b"", True, "", 0, 0, [], 0.0), Data(0, 0, b""), Gift("", b""))
            whole = frames.encode(kinds[draws.below(3)])
            data = whole[: draws.below(len(whole))]
            return seals.seal(node.member, data or b"\xff")
        return seals.seal(node.member, frames.encode(frame))


def _shown(exchange: Any) -> bytes:
    """Encode all that an exchange knows, but for when it says something again."""
    return msgspec.msgpack.encode(
        (
            exchange.life, exchange.greeted, exchange.has_other_terms, exchange.problem,
            exchange.received, exchange.acknowledged, list(exchange.unacknowledged.items()),
        )
    )  # fmt: skip
