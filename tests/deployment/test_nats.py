"""Frames over a real broker: what arrives, what is refused, and by what name."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import pathlib
import signal
import socket
import ssl
from collections.abc import AsyncIterator

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

from fedbandits.deployment.delivery.broker import Broker, members_subject
from fedbandits.deployment.delivery.nats_connection import Connection, Times, explained
from fedbandits.deployment.delivery.nats_transport import NatsTransport, publish_members
from fedbandits.deployment.identity import certificates
from fedbandits.deployment.identity.authority import authority_context, load_authority, revoke
from fedbandits.deployment.identity.enrolment import rotate_party
from fedbandits.deployment.identity.identity import Identity
from fedbandits.errors import SealError, TransportError
from tests.deployment.one_machine import EVERYBODY, OneMachine
from tests.deployment.waiting import until

QUICK = Times(connect=5.0, first_pause=0.02, longest_pause=0.1, ping=1.0, answer=0.1)


@pytest.fixture(scope="module")
def machine(tmp_path_factory) -> OneMachine:
    """Everybody is admitted. Tests that admit or revoke make one of their own."""
    return OneMachine(tmp_path_factory.mktemp("clinics")).admit_all()


@pytest.fixture(scope="module")
def broker(machine):
    running = machine.broker()
    running.start()
    yield running
    running.stop()


@contextlib.contextmanager
def started(machine: OneMachine):
    """A broker of a machine that one test has for itself."""
    running = machine.broker()
    running.start()
    try:
        yield running
    finally:
        running.stop()


class Here:
    """A member that is connected: its identity, its transport, and what has come."""

    def __init__(self, machine: OneMachine, name: str, server: str = "") -> None:
        self.identity: Identity = machine.identity(name)
        self.came: list[tuple[str, bytes]] = []
        self.connections = 0
        servers = (server,) if server else machine.federation.transport.servers
        self.transport = NatsTransport(self.identity, servers, self.identity.members.offer, QUICK)

    async def open(self) -> None:
        await self.transport.open(lambda *frame: self.came.append(frame), self._count)

    def _count(self) -> None:
        self.connections += 1


@contextlib.asynccontextmanager
async def connected(
    machine: OneMachine, *names: str, server: str = ""
) -> AsyncIterator[list[Here]]:
    """Members that are connected. Sockets that are left afterwards are warnings, so errors."""
    members = [Here(machine, name, server) for name in names]
    for member in members:
        await member.open()
    try:
        for member in members:
            await until(lambda member=member: member.transport.connected, member.transport.problem)
        yield members
    finally:
        for member in members:
            await member.transport.close()


def test_frames_reach_those_whom_they_are_for_in_their_order(machine, broker):
    async def play() -> None:
        async with connected(machine, *EVERYBODY) as (north, south, hub):
            for i in range(500):
                assert await north.transport.send("hub", b"n%d" % i)
                assert await hub.transport.send("south", b"h%d" % i)
            await until(lambda: len(hub.came) == len(south.came) == 500)
            assert hub.came == [("north", b"n%d" % i) for i in range(500)]
            assert south.came == [("hub", b"h%d" % i) for i in range(500)]
            assert north.came == []

    asyncio.run(play())


@pytest.mark.parametrize("size", [0, 1 << 20, 1 << 25])
def test_frames_of_any_size_arrive(machine, broker, size):
    frame = os.urandom(size)

    async def play() -> None:
        async with connected(machine, "north", "hub") as (north, hub):
            assert await north.transport.send("hub", frame)
            await until(lambda: hub.came)
            assert hub.came == [("north", frame)]

    asyncio.run(play())


def test_a_frame_that_is_too_long_is_told_and_the_next_one_arrives(machine, broker, caplog):
    async def play() -> None:
        async with connected(machine, "north", "hub") as (north, hub):
            assert not await north.transport.send("hub", bytes((1 << 25) + 1))
            assert await north.transport.send("hub", b"next")
            await until(lambda: hub.came)
            assert hub.came == [("north", b"next")]

    asyncio.run(play())
    assert "longer than the broker takes" in caplog.text


def test_what_was_handed_over_has_left_when_a_transport_is_closed(machine, broker):
    async def play() -> None:
        async with connected(machine, "north", "hub") as (north, hub):
            frames = [os.urandom(20_000) for _ in range(300)]
            for frame in frames:
                assert await north.transport.send("hub", frame)
            await north.transport.close()
            assert not north.transport.connected
            assert not await north.transport.send("hub", b"after the end")
            await until(lambda: len(hub.came) == 300)
            assert [frame for _, frame in hub.came] == frames

    asyncio.run(play())


def test_a_broker_that_comes_late_is_waited_for(tmp_path, caplog):
    """And one that goes away and comes back; nothing that was sent meanwhile comes late."""
    machine = OneMachine(tmp_path).admit_all()
    running = machine.broker()

    async def play() -> None:
        north, hub = Here(machine, "north"), Here(machine, "hub")
        try:
            await north.open()
            await hub.open()
            await until(lambda: "cannot be reached" in north.transport.problem)
            assert not await north.transport.send("hub", b"early")
            for connections in (1, 2):
                running.start()
                await until(lambda n=connections: north.connections == hub.connections == n)
                assert north.transport.connected
                assert north.transport.problem == ""
                assert await north.transport.send("hub", b"%d" % connections)
                await until(lambda n=connections: len(hub.came) == n)
                running.stop()
                await until(lambda: not north.transport.connected and north.transport.problem)
                assert not await north.transport.send("hub", b"while it was away")
            assert hub.came == [("north", b"1"), ("north", b"2")]
        finally:
            await north.transport.close()
            await hub.transport.close()
            running.stop()

    caplog.set_level(logging.INFO, "fedbandits.deployment")
    asyncio.run(play())
    assert "cannot be reached" in caplog.text
    assert "connected to the broker" in caplog.text


def test_a_broker_that_is_back_is_found_soon_while_messages_wait(tmp_path):
    """And after a pause that has grown while none do: ten thousand members wait so."""
    machine = OneMachine(tmp_path).admit_all()
    running = machine.broker()
    times = Times(first_pause=600.0, longest_pause=600.0, hurried_pause=0.3)

    async def play() -> None:
        servers = machine.federation.transport.servers
        north = NatsTransport(machine.identity("north"), servers, times=times)
        await north.open(lambda *_: None, lambda: None)
        try:
            await until(lambda: "cannot be reached" in north.problem)
            running.start()
            await asyncio.sleep(1.0)
            assert not north.connected
            north.hurry()
            await until(lambda: north.connected)
            assert not north._hurries.is_set()
        finally:
            await north.close()
            running.stop()

    asyncio.run(play())


def test_a_broker_that_no_longer_answers_is_noticed(tmp_path):
    """Its socket stays open, as when a network fails in silence."""
    machine = OneMachine(tmp_path).admit_all()

    async def play(running: Broker) -> None:
        north = Here(machine, "north")
        await north.open()
        try:
            await until(lambda: north.transport.connected)
            os.kill(running.pid, signal.SIGSTOP)
            try:
                while await north.transport.send("hub", bytes(1 << 20)):  # until nothing more goes
                    pass
                await until(lambda: "does not answer" in north.transport.problem)
            finally:
                os.kill(running.pid, signal.SIGCONT)
            await until(lambda: north.transport.connected)
            assert north.connections >= 2
        finally:
            await north.transport.close()

    with started(machine) as running:
        asyncio.run(play(running))


def test_a_transport_is_closed_in_time_even_if_the_broker_no_longer_answers(tmp_path):
    """With frames that cannot leave; no socket is left, which a warning would tell."""
    machine = OneMachine(tmp_path).admit_all()

    async def play(running: Broker) -> None:
        async with connected(machine, "north") as (north,):
            os.kill(running.pid, signal.SIGSTOP)
            try:
                while await north.transport.send("hub", bytes(1 << 20)):
                    pass
                await asyncio.wait_for(north.transport.close(), 30)
                await until(lambda: asyncio.all_tasks() == {asyncio.current_task()}, "the end")
                gc.collect()
            finally:
                os.kill(running.pid, signal.SIGCONT)

    with started(machine) as running:
        asyncio.run(play(running))


def test_no_task_is_left_when_a_transport_is_closed(machine, broker):
    async def play() -> None:
        async with connected(machine, "north", "hub") as (north, hub):
            assert await north.transport.send("hub", b"a frame")
        await until(lambda: asyncio.all_tasks() == {asyncio.current_task()}, "the end of all tasks")
        assert not hub.transport.connected

    asyncio.run(play())


def test_closing_while_nothing_listens_leaves_nothing_behind(machine):
    async def play() -> None:
        for wait in range(40):
            north = Here(machine, "north", f"tls://127.0.0.1:{machine.port + 1}")
            await north.transport.close()  # never opened
            await north.open()
            with pytest.raises(TransportError, match="open already"):
                await north.open()
            for _ in range(wait):
                await asyncio.sleep(0)
            await north.transport.close()
            await north.transport.close()

    asyncio.run(play())


@pytest.mark.parametrize(
    "server", ["nats://a:1", "tls://a:0", "tls://:1", "tls://a:x", "tls://u@a:1", ""]
)
def test_addresses_that_are_none_are_refused(machine, server):
    with pytest.raises(TransportError, match="allowed: tls://HOST:PORT"):
        NatsTransport(machine.identity("north"), (server,))


# Who may not connect, and what may not be sent.


async def problem_of(member: Here, found: str) -> None:
    """Open a member's transport, and wait for why it cannot connect."""
    await member.open()
    try:
        await until(lambda: found in member.transport.problem, found)
        assert not member.transport.connected
        assert member.connections == 0
    finally:
        await member.transport.close()


def test_a_certificate_of_another_authority_is_refused_by_both_sides(machine, broker, tmp_path):
    """The same federation, names and terms; whoever asks would not trust this broker either."""
    stranger = Here(OneMachine(tmp_path).admit_all(), "north", broker.address)
    asyncio.run(problem_of(stranger, "not by this federation's authority"))
    mixed = other_context(machine, OneMachine(tmp_path / "again").admit_all())
    assert "refuses this party's certificate" in asyncio.run(refusal(broker, mixed))


def other_context(machine: OneMachine, other: OneMachine) -> ssl.SSLContext:
    """Trusts the broker, and shows a certificate of another authority."""
    context = other.identity("north").tls_context()
    context.load_verify_locations(machine.authority / "issuer.pem")
    return context


async def refusal(broker: Broker, context: ssl.SSLContext) -> str:
    """Why a broker refuses a connection."""
    connection = Connection(broker.address, QUICK)
    try:
        await connection.open(context, {})
    except Exception as error:  # whatever it is, it is named
        return explained(connection.failure or error, broker.address)
    finally:
        await connection.end()
    return "connected"


def test_no_certificate_is_refused(machine, broker):
    context = ssl.create_default_context(cafile=machine.authority / "issuer.pem")
    assert "refuses this party's certificate" in asyncio.run(refusal(broker, context))


def context_of(machine: OneMachine, folder: pathlib.Path, name: str, usage) -> ssl.SSLContext:
    """A certificate by the right authority, under any name."""
    office, key = load_authority(machine.authority), certificates.new_key()
    certificate = office.issue(key.public_key(), (name,), usage, 1.0)
    return context_with(machine, folder, key, certificates.pem(certificate))


def context_with(
    machine: OneMachine, folder: pathlib.Path, key: EllipticCurvePrivateKey, certificate: bytes
) -> ssl.SSLContext:
    (folder / "key").write_bytes(certificates.key_pem(key))
    (folder / "certificate").write_bytes(certificate)
    context = ssl.create_default_context(cafile=machine.authority / "issuer.pem")
    context.load_cert_chain(folder / "certificate", folder / "key")
    return context


def test_a_certificate_that_belongs_to_no_member_is_refused(machine, broker, tmp_path):
    context = context_of(machine, tmp_path, "west.v1", certificates.CLIENT)
    assert "knows no such member" in asyncio.run(refusal(broker, context))


def test_the_brokers_own_kind_of_certificate_is_none_for_a_member(machine, broker, tmp_path):
    context = context_of(machine, tmp_path, "north.v1", certificates.SERVER)
    assert "refuses this party's certificate" in asyncio.run(refusal(broker, context))


def test_an_expired_certificate_is_named_at_once_and_refused_by_the_broker(tmp_path, caplog):
    machine = OneMachine(tmp_path).admit_all()
    machine.admit("north", days=1e-6)
    asyncio.run(until(lambda: machine.identity("north").days_left() < 0, "its last second"))
    with started(machine) as running:
        asyncio.run(problem_of(Here(machine, "north"), "has expired on"))
        context = machine.identity("north").tls_context()
        assert "refuses this party's certificate" in asyncio.run(refusal(running, context))
    assert "the certificate of north has expired" in caplog.text


def test_a_member_cannot_pass_for_the_broker(machine, tmp_path):
    """Nor can a broker of this authority under another name."""
    keys = next((machine.party("south") / "keys").iterdir())
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    office, key = load_authority(machine.authority), certificates.new_key()
    other = office.issue(key.public_key(), ("broker.example",), certificates.SERVER, 1.0)
    (elsewhere / "tls.pem").write_bytes(certificates.pem(other))
    (elsewhere / "tls.key").write_bytes(certificates.key_pem(key))

    async def play(folder: pathlib.Path, found: str) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "tls.pem", folder / "tls.key")
        false = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0, ssl=context)
        port = false.sockets[0].getsockname()[1]
        try:
            await problem_of(Here(machine, "north", f"tls://127.0.0.1:{port}"), found)
        finally:
            false.close()
            await false.wait_closed()

    asyncio.run(play(keys, "not by this federation's authority"))
    asyncio.run(play(elsewhere, "not for that name"))


def test_tls_of_an_earlier_version_is_refused(machine, tmp_path):
    """By a broker that has the right certificate for it."""
    office, key, greeted = load_authority(machine.authority), certificates.new_key(), []
    certificate = office.issue(key.public_key(), ("127.0.0.1",), certificates.SERVER, 1.0)
    (tmp_path / "tls.pem").write_bytes(certificates.pem(certificate))
    (tmp_path / "tls.key").write_bytes(certificates.key_pem(key))

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        greeted.append(writer.get_extra_info("ssl_object").version())
        writer.close()

    async def play(version: ssl.TLSVersion, found: str) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.maximum_version = version
        context.load_cert_chain(tmp_path / "tls.pem", tmp_path / "tls.key")
        server = await asyncio.start_server(greet, "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        try:
            await problem_of(Here(machine, "north", f"tls://127.0.0.1:{port}"), found)
        finally:
            server.close()
            await server.wait_closed()

    asyncio.run(play(ssl.TLSVersion.TLSv1_2, "the broker tls://127.0.0.1"))
    assert greeted == []
    asyncio.run(play(ssl.TLSVersion.TLSv1_3, "the broker tls://127.0.0.1"))
    assert set(greeted) == {"TLSv1.3"}


def test_nobody_in_between_can_talk_a_member_out_of_tls(machine):
    """A false broker that says that it needs no TLS gets a greeting of TLS, and no more."""
    heard = []

    async def pretend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'INFO {"server_id":"x","tls_required":false,"max_payload":1000}\r\n')
        heard.append(await reader.read(1000))
        writer.close()
        await writer.wait_closed()

    async def play() -> None:
        false = await asyncio.start_server(pretend, "127.0.0.1", 0)
        port = false.sockets[0].getsockname()[1]
        try:
            north = Here(machine, "north", f"tls://127.0.0.1:{port}")
            await problem_of(north, "ended the connection")
        finally:
            false.close()
            await false.wait_closed()

    asyncio.run(play())
    assert heard
    assert not any(b"CONNECT" in data or b"PUB" in data for data in heard)
    assert heard[0][:2] == b"\x16\x03"


@contextlib.asynccontextmanager
async def raw(
    machine: OneMachine, broker: Broker, name: str, *patterns: str
) -> AsyncIterator[tuple[Connection, list[str]]]:
    """A member that does what it likes: a connection, and the subjects that it has heard."""
    connection, heard = Connection(broker.address, QUICK), []
    takes = {pattern: lambda subject, _: heard.append(subject) for pattern in patterns}
    await connection.open(machine.identity(name).tls_context(), takes)
    try:
        yield connection, heard
    finally:
        await connection.end()


@pytest.mark.parametrize(
    "subject",
    [
        "fb.clinics.south.hub",  # as another
        "fb.clinics.north.south",  # to one who is no peer by the terms
        "fb.clinics.north",
        "fb.other.north.hub",
        "_INBOX.north",
        "$SYS.REQ.SERVER.PING",
        "$JS.API.INFO",
    ],
)
def test_publishing_what_is_anothers_is_denied_and_never_arrives(machine, broker, caplog, subject):
    async def play() -> None:
        async with (
            connected(machine, "south", "hub") as (south, hub),
            raw(machine, broker, "north") as (north, _),
        ):
            await north.publish(subject, b"false")
            await north.publish("fb.clinics.north.hub", b"true")
            await until(lambda: hub.came)
            await until(lambda: "permissions violation" in caplog.text.lower())
            assert hub.came == [("north", b"true")]
            assert south.came == []
            assert south.identity.members.current == machine.identity("south").members.current

    asyncio.run(play())
    assert f"the broker {broker.address} denies: nats: permissions violation" in caplog.text.lower()
    assert "false" not in caplog.text


@pytest.mark.parametrize(
    "pattern",
    ["fb.clinics.*.hub", "fb.clinics.north.*", "fb.clinics.>", ">", "fb.clinics.north.hub",
     "*.*.*.hub", "_INBOX.>", "$SYS.>", "$JS.>"],
)  # fmt: skip
def test_who_listens_to_anothers_frames_hears_nothing(machine, broker, caplog, pattern):
    async def play() -> None:
        async with (
            connected(machine, "north", "hub") as (north, hub),
            raw(machine, broker, "south", pattern, "fb.clinics.*.south") as (south, heard),
        ):
            assert await north.transport.send("hub", b"for the hub alone")
            assert await hub.transport.send("south", b"last")
            await until(lambda: hub.came, "north's frame")
            await until(lambda: heard, "the hub's frame")
            await south.flushed()
            assert heard == ["fb.clinics.hub.south"]

    asyncio.run(play())
    assert "permissions violation for subscription" in caplog.text.lower()


# What passes the broker, and what is done with it.


class Recorder:
    """Stands between parties and broker, and keeps every byte that passes."""

    def __init__(self, port: int) -> None:
        self._port, self.seen = port, bytearray()

    async def __aenter__(self) -> Recorder:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = f"tls://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            await asyncio.gather(self._pass(reader, back), self._pass(there, writer))
        finally:
            for end in (writer, back):
                end.close()
                with contextlib.suppress(OSError):
                    await end.wait_closed()

    async def _pass(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(1 << 16):
                self.seen += data
                sink.write(data)
                await sink.drain()
        sink.close()


def test_what_passes_the_broker_is_never_in_clear(machine, broker):
    """Neither on the wire nor, sealed, at a broker whose operator reads everything."""
    secret = os.urandom(2000)

    async def play() -> None:
        async with Recorder(machine.port) as recorder:
            async with connected(machine, "north", "hub", server=recorder.address) as (north, hub):
                sealed = north.identity.sealer(("hub",)).seal("hub", secret)
                await north.transport.send("hub", sealed)
                await until(lambda: hub.came)
                ((sender, frame),) = hub.came  # what the broker had in its hands
                assert hub.identity.sealer(("north",)).open(sender, frame) == secret
            assert len(recorder.seen) > len(frame)
            for start in range(len(secret) - 7):
                assert secret[start : start + 8] not in frame
                assert secret[start : start + 8] not in recorder.seen
            assert b"fb.clinics" not in recorder.seen
            assert b"north" not in recorder.seen

    asyncio.run(play())


def test_replayed_altered_and_foreign_frames_are_refused_by_name(machine, broker, tmp_path):
    """A broker that is not honest can repeat and alter; it cannot be believed."""
    other = OneMachine(tmp_path, epsilon=2.0).admit_all().identity("north").sealer(("hub",))

    async def play() -> None:
        async with connected(machine, "north", "hub") as (north, hub):
            here, sealer = hub.identity.sealer(("north",)), north.identity.sealer(("hub",))
            frame = sealer.seal("hub", b"content")
            altered = frame[:-1] + bytes([frame[-1] ^ 1])
            for sent in (altered, frame, frame, other.seal("hub", b"content")):
                await north.transport.send("hub", sent)
            await until(lambda: len(hub.came) == 4)
            outcomes = []
            for sender, sent in hub.came:
                try:
                    outcomes.append(here.open(sender, sent).decode())
                except SealError as error:
                    outcomes.append("again" if "came again" in str(error) else "does not open")
            assert outcomes == ["does not open", "content", "again", "does not open"]

    asyncio.run(play())


# Members that come, go, and change their keys.


def test_a_revoked_member_is_cut_off_and_its_peers_drop_its_frames(tmp_path):
    machine = OneMachine(tmp_path).admit_all()

    async def play(running: Broker) -> None:
        async with connected(machine, *EVERYBODY) as (north, south, hub):
            sealer = hub.identity.sealer(("north", "south"))
            frame = south.identity.sealer(("hub",)).seal("hub", b"too late")
            revoke(machine.authority, "south")
            await publish_members(machine.authority, times=QUICK)
            await until(lambda: hub.identity.members.current.members["south"].revoked)
            hub.identity.members.set_peers(sealer, ("north", "south"))
            with pytest.raises(SealError, match="no key of 'south'"):
                sealer.open("south", frame)
            machine.update(running)
            await until(lambda: not south.transport.connected)
            await until(lambda: "revoked" in south.transport.problem)
            assert not await south.transport.send("hub", frame)
            assert "knows no such member" in await refusal(running, south.identity.tls_context())
            assert await north.transport.send("hub", b"still here")
            await until(lambda: hub.came)
            assert hub.came == [("north", b"still here")]
            assert north.connections == hub.connections == 1

    with started(machine) as running:
        asyncio.run(play(running))


def test_keys_are_rotated_while_others_run(tmp_path):
    machine = OneMachine(tmp_path).admit_all()

    async def play(running: Broker) -> None:
        async with connected(machine, *EVERYBODY) as (north, south, hub):
            earlier = south.identity.sealer(("hub",))
            here = hub.identity.sealer(("north", "south"))
            assert here.open("south", earlier.seal("hub", b"before")) == b"before"
            rotate_party(machine.party("south"))
            machine.admit("south", replace=True)
            machine.update(running)
            await publish_members(machine.authority, times=QUICK)
            version = machine.identity("south").members.current.version
            await until(lambda: hub.identity.members.current.version == version)
            hub.identity.members.set_peers(here, ("north", "south"))
            await until(lambda: "replaced" in south.transport.problem)
            async with connected(machine, "south") as (again,):
                sealer = again.identity.sealer(("hub",))
                assert await again.transport.send("hub", sealer.seal("hub", b"after"))
                await until(lambda: hub.came)
                assert here.open(*hub.came[0]) == b"after"
                assert again.identity.sealer(("hub",)).open("hub", here.seal("south", b"x")) == b"x"
            with pytest.raises(SealError):
                here.open("south", earlier.seal("hub", b"the earlier key"))
            assert north.connections == hub.connections == 1

    with started(machine) as running:
        asyncio.run(play(running))


def test_a_member_that_was_away_learns_from_any_other_who_was_revoked(tmp_path):
    """The authority itself need not be there, and few answer."""
    machine = OneMachine(tmp_path).admit_all()

    async def play(running: Broker) -> None:
        async with connected(machine, "hub", "south") as (hub, south):
            north = Here(machine, "north")
            revoke(machine.authority, "south")
            await publish_members(machine.authority, times=QUICK)
            await until(lambda: "south" not in hub.identity.members.current.present)
            await until(lambda: "south" not in south.identity.members.current.present)
            machine.update(running)
            assert "south" in north.identity.members.current.present
            await north.open()
            try:
                await until(lambda: "south" not in north.identity.members.current.present)
            finally:
                await north.transport.close()
            assert north.identity.members.current == hub.identity.members.current

    with started(machine) as running:
        asyncio.run(play(running))


def test_a_list_of_members_that_is_older_or_false_is_refused_by_name(tmp_path, caplog):
    """Even if the authority's own key for the broker was stolen."""
    machine = OneMachine(tmp_path).admit_all()
    older = (machine.authority / "members.json").read_bytes()

    async def play(running: Broker) -> None:
        async with connected(machine, "hub") as (hub,):
            revoke(machine.authority, "south")
            await publish_members(machine.authority, times=QUICK)
            await until(lambda: "south" not in hub.identity.members.current.present)
            thief = Connection(running.address, QUICK)
            await thief.open(authority_context(machine.authority), {})
            try:
                newer = (machine.authority / "members.json").read_bytes()
                for sent in (older, newer.replace(b'"revoked": true', b'"revoked": false'), b"{"):
                    await thief.publish(members_subject("clinics"), sent)
                await until(lambda: "no list of members" in caplog.text)
            finally:
                await thief.end()
            assert hub.identity.members.current.members["south"].revoked

    with started(machine) as running:
        asyncio.run(play(running))
    assert "bring a revoked member back" in caplog.text
    assert "not signed by the authority" in caplog.text


def test_a_list_is_not_published_where_no_broker_listens(machine):
    with pytest.raises(TransportError, match=r"was not published.*cannot be reached"):
        asyncio.run(
            publish_members(machine.authority, (f"tls://127.0.0.1:{machine.port + 1}",), QUICK)
        )


def test_a_broker_whose_port_is_taken_says_so(tmp_path):
    machine = OneMachine(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", machine.port))
        taken.listen()
        with pytest.raises(TransportError, match="address already in use"):
            machine.broker().start(timeout=30)
