"""A capture of everything that reaches the broker holds no context, reward, score or statistic."""

from __future__ import annotations

import asyncio
import contextlib
import re

import pytest

from fedbandits.environments.linear import Linear
from fedbandits.testing.applications import ROUNDS
from fedbandits.testing.deployed import DeployedFederation, OpenSeals, simulated
from fedbandits.testing.deployed_systems import WorldDriver
from tests.deployment.brokered import Brokered, drive_by_themselves, free_port
from tests.deployment.misbehaving import Members
from tests.deployment.needles import contents_of, found, numbers_in, written
from tests.deployment.test_killed import TABLE

#: Their owners tell rewards of 0 and 1 alone, too short to be looked for.
PULLING = ("samba-ucb", "samba-silent-ucb")


class Telling:
    """Notes what applications ask and tell."""

    def __init__(self, monkeypatch):
        self.needles = set()
        decided, rewarded = WorldDriver.decided, WorldDriver.rewarded

        async def deciding(play, node, asked):
            self.needles |= set(written(numbers_in(asked)))
            return await decided(play, node, asked)

        async def rewarding(play, node, number, told):
            self.needles |= set(written(numbers_in(told)))
            return await rewarded(play, node, number, told)

        monkeypatch.setattr(WorldDriver, "decided", deciding)
        monkeypatch.setattr(WorldDriver, "rewarded", rewarding)


async def captured(preset, folder, sealed):
    """All frames of a run as the broker has them, and what was said in them."""
    members = Members(preset, folder, sealed)
    await members.start()
    await members.driver.advance(ROUNDS)
    await members.deployed.stop()
    codec = members.federation.roles.codec
    said = {needle for _, _, body in members.said for needle in contents_of(codec, body)}
    return said, [frame for _, _, frame in members.frames]


@pytest.mark.parametrize("preset", ["feducb", "feducb-secure", "fclub", "pfcb", *PULLING])
def test_frames_hold_nothing_that_was_said(preset, tmp_path, monkeypatch):
    for sealed in (True, False):
        folder = tmp_path / str(sealed)
        folder.mkdir()
        asked = Telling(monkeypatch)
        said, frames = asyncio.run(captured(preset, folder, sealed))
        assert len(said) > 30
        assert len(asked.needles) > 100 or preset in ("pfcb", *PULLING)
        there = found(said | asked.needles, frames)
        if sealed:
            assert there == set()
        else:  # so the search can fail
            assert len(there & said) > 20
            types = {needle for needle in said if re.fullmatch(rb"[a-z]+[.][a-z-]+", needle)}
            assert types <= there


class Proxy:
    """Stands between members and broker, and keeps all bytes of both directions."""

    def __init__(self, broker):
        self.port, self._broker, self.bytes = free_port(), broker, []

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_):
        self._server.close()

    async def _carry(self, reader, writer):
        there = await asyncio.open_connection("127.0.0.1", self._broker)
        await asyncio.gather(self._pump(reader, there[1]), self._pump(there[0], writer))

    async def _pump(self, reader, writer):
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                self.bytes.append(data)
                writer.write(data)
                await writer.drain()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


def test_the_wire_holds_nothing_either(tmp_path, monkeypatch):
    """Not even the names of members: a proxy keeps all bytes between them and the broker.

    Nothing is sealed here, so it is TLS alone that hides.
    """
    asked, world = Telling(monkeypatch), Linear(agents=2, dim=4, arms=5)
    with Brokered(TABLE, tmp_path) as here:
        federation = here.federation

        async def play():
            async with Proxy(here.port) as proxy:
                through = Brokered.again(tmp_path, f"tls://127.0.0.1:{proxy.port}")
                deployed = DeployedFederation(
                    federation, tmp_path, through.transport,
                    lambda _: (OpenSeals(), OpenSeals()), simulated(federation, world, 1),
                )  # fmt: skip
                await deployed.start()
                await deployed.greeted()
                await drive_by_themselves(deployed, world, 1, 24)
                await deployed.settle()
                await deployed.stop()
            return proxy.bytes

        sent = asyncio.run(play())
    assert sum(map(len, sent)) > 10_000
    names = {b"feducb.upload", b"north", b"controller"}
    assert found(asked.needles | names, [b"".join(sent)]) == set()
