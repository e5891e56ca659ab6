"""One member that lies, repeats itself or talks nonsense stops nobody else."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from fedbandits.deployment.delivery import frames
from fedbandits.deployment.delivery.exchange import WINDOW
from fedbandits.deployment.delivery.frames import Acknowledgement, Data, Gift, Hello
from fedbandits.environments.linear import Linear
from fedbandits.errors import SealError
from fedbandits.federation.messages import TheseTerms
from fedbandits.testing.deployed import DeployedFederation, OpenSeals, simulated, until
from fedbandits.testing.deployed_systems import WorldDriver
from tests.deployment.federations import clinics

ENVIRONMENT = Linear(agents=3, dim=4, arms=5)
ROUNDS = 12
HUGE = (1 << 53, 1 << 62, 1 << 63, (1 << 64) - 1)


def played(tmp_path, attack, federation=None, **options):
    """Play a federation in which somebody attacks after the first rounds."""
    federation = federation or clinics()

    async def play():
        deployed = DeployedFederation(
            federation, tmp_path, supplies=simulated(federation, ENVIRONMENT, 7), **options
        )
        await deployed.start()
        await deployed.greeted()
        game = WorldDriver(deployed, ENVIRONMENT, 7)
        try:
            await game.advance(5)
            found = await attack(deployed)
            await game.advance(ROUNDS)
            for member in federation.members["agent"]:
                assert deployed.state(member).taken == 1
            return found
        finally:
            await deployed.stop()

    return asyncio.run(play())


def arrive(node, sender, frame):
    node.delivery._arrived(sender, frames.encode(frame))


async def failures(node):
    """How many commits of a node have failed, once all that waits is done."""
    for _ in range(3):
        await node.host.call(lambda batch: None)
    return await node.host.call(lambda batch: batch.store.number(batch.connection, "failures"))


def test_numbers_that_nobody_has_counted_to_fail_no_commit(tmp_path):
    federation = clinics()

    async def attack(deployed):
        hub = deployed.nodes["hub"]
        for number in HUGE:
            terms = federation.terms.digest
            body = federation.roles.codec.encode(
                TheseTerms(
                    sender="agent-1", receiver="controller", content=b"", number=number, terms=terms
                )
            )
            arrive(hub, "clinic-1", Acknowledgement(number))
            arrive(hub, "clinic-1", Data(number, 0, b""))
            arrive(hub, "clinic-1", Data(0, number, b""))
            arrive(hub, "clinic-1", Data(0, 0, body))
            arrive(hub, "clinic-1", Hello(b"x" * 16, b"", True, terms, number, 0, [], 0.0))
            arrive(hub, "clinic-1", Hello(b"x" * 16, b"", True, terms, 0, number, [], 0.0))
            assert await failures(hub) == 0

    played(tmp_path, attack, federation)


def test_an_acknowledgement_of_what_was_never_sent_counts_for_nothing(tmp_path):
    async def attack(deployed):
        hub = deployed.nodes["hub"]
        arrive(hub, "clinic-1", Acknowledgement(1_000))
        arrive(hub, "clinic-1", Data(1_000, 1_000, b""))
        assert hub.delivery.exchanges["clinic-1"].acknowledged == 0
        assert hub.delivery.refused["SealError"] == 2

    played(tmp_path, attack)


@pytest.mark.parametrize(
    "frame",
    [
        Acknowledgement(-1),
        Hello(b"x" * 17, b"", True, "", 0, 0, [], 0.0),
        Hello(b"x" * 16, b"", True, "", 0, 0, ["seed"] * 17, 0.0),
        Hello(b"x" * 16, b"", True, "", 0, 0, [], 0.0, b"", 0, b"x" * 17),
        Data(0, 0, b"", b"x" * 17),
    ],
)
def test_frames_beyond_their_bounds_are_refused(frame):
    with pytest.raises(SealError):
        frames.decode(frames.encode(frame))


def claims_more(node, peer):
    """A peer greets, and says that it has seen messages that were never sent."""
    life = node.delivery._life
    hello = Hello(b"x" * 16, life, True, node.seat.terms.digest, 1_000, 0, [], time.time())
    arrive(node, peer, hello)


def test_one_peer_that_has_seen_too_much_does_not_stop_a_pool(tmp_path):
    async def attack(deployed):
        hub = deployed.nodes["hub"]
        claims_more(hub, "clinic-1")
        assert "old backup" in hub.status()["problems"]["clinic-1"]
        assert hub.failed is None
        assert hub.ready

    played(tmp_path, attack)


def test_most_peers_that_have_seen_more_stop_a_pool(tmp_path):
    async def attack(deployed):
        hub = deployed.nodes["hub"]
        for peer in ("clinic-1", "clinic-2"):
            claims_more(hub, peer)
        assert type(hub.failed).__name__ == "StaleStoreError"
        hub.failed = None

    played(tmp_path, attack)


class TwoSeals(OpenSeals):
    """Marks what it seals, and opens nothing else."""

    def __init__(self, mark):
        self._mark = mark

    def seal(self, receiver, plaintext):
        return self._mark + plaintext

    def open(self, sender, frame):
        if not frame.startswith(self._mark):
            raise SealError("another seal")
        return frame[1:]


def test_what_is_not_sealed_for_the_terms_is_a_greeting_or_nothing(tmp_path):
    async def attack(deployed):
        hub = deployed.nodes["hub"]
        taken = []
        hub.receive = lambda *given: taken.append(given)
        hub.given = lambda *given: taken.append(given)
        for frame in (Data(0, 0, b"x"), Acknowledgement(0), Gift("seed", bytes(32))):
            hub.delivery._arrived("clinic-1", b"G" + frames.encode(frame))
        assert not taken
        assert hub.delivery.refused["SealError"] == 3
        del hub.receive, hub.given

    played(tmp_path, attack, seals=lambda _: (TwoSeals(b"G"), TwoSeals(b"S")))


def test_a_greeting_that_was_overtaken_accuses_nobody(tmp_path):
    federation = clinics()

    async def play():
        deployed = DeployedFederation(
            federation, tmp_path, supplies=simulated(federation, ENVIRONMENT, 7)
        )
        await deployed.start()
        await deployed.greeted()
        await WorldDriver(deployed, ENVIRONMENT, 7).advance(10)
        hub = deployed.nodes["hub"]
        life, terms = hub.delivery.exchanges["clinic-1"].life, federation.terms.digest
        assert hub.counts("clinic-1")[0] == 1
        arrive(hub, "clinic-1", Hello(life, hub.delivery._life, True, terms, 0, 0, [], time.time()))
        problems = hub.status()["problems"]
        await deployed.stop()
        return problems

    assert not asyncio.run(play())


def test_frames_that_are_nested_too_deeply_are_refused():
    deep = b"\x91" * 50_000 + b"\x01"
    for head in (
        b"\x93\x02\x01",
        b"\x9b" + frames.encode(Hello(b"", b"", True, "", 0, 0, [], 0))[1:],
    ):
        with pytest.raises(SealError):
            frames.decode(head + deep)


def test_a_peer_that_sends_faster_than_is_written_fills_no_memory(tmp_path):
    async def attack(deployed):
        hub = deployed.nodes["hub"]
        holds, may_go = threading.Event(), threading.Event()
        blocked = hub.host.call(lambda _: (holds.set(), may_go.wait()))
        await until(holds.is_set)
        for _ in range(1_000):
            arrive(hub, "clinic-1", Data(0, 0, b"nonsense"))
        waiting = hub.host.waiting
        may_go.set()
        await blocked
        await until(lambda: not hub.host.waiting)
        assert waiting <= 1 + WINDOW

    played(tmp_path, attack)


def test_no_commit_is_left_out_of_what_is_counted(tmp_path):
    """Also where the next one begins before the event loop tells of the last one."""

    async def attack(deployed):
        hub = deployed.nodes["hub"]
        before = hub.host.view.messages.get("refused", 0)
        for _ in range(5):
            arrive(hub, "clinic-1", Data(0, 0, b"nonsense"))
            for _ in range(3):
                hub.host.call(lambda _: None)
                await asyncio.sleep(0)
        await until(lambda: not hub.host.waiting)
        assert hub.host.view.messages["refused"] == before + 5

    played(tmp_path, attack)
