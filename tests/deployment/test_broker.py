"""What the broker is told, and how it starts, stops and comes back."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import socket
import stat
import subprocess

import pytest

from fedbandits.deployment.delivery import broker as brokers
from fedbandits.deployment.delivery.broker import Broker, find_server, make_broker, update_broker
from fedbandits.deployment.identity.authority import load_authority, revoke
from fedbandits.errors import IdentityError, MissingExtraError, TransportError
from tests.deployment.one_machine import EVERYBODY, OneMachine, free_port


@pytest.fixture(scope="module")
def admitted(tmp_path_factory) -> OneMachine:
    return OneMachine(tmp_path_factory.mktemp("clinics")).admit_all()


@pytest.fixture
def machine(admitted, tmp_path) -> OneMachine:
    copy = admitted.copy(tmp_path / "copy")
    make_broker(copy.authority, copy.folder / "broker", port=free_port())
    return copy


def config(machine: OneMachine) -> dict:
    return json.loads((machine.folder / "broker" / "nats.conf").read_bytes())


def users(machine: OneMachine) -> dict[str, dict]:
    found = config(machine)["authorization"]["users"]
    return {user["user"].split(".")[0]: user["permissions"] for user in found}


def test_each_may_send_to_its_peers_and_hear_what_is_for_it(machine):
    """And all may pass on the list of members, which is signed."""
    federation, found = machine.federation, users(machine)
    assert set(found) == {*EVERYBODY, "authority"}
    lists = {"fb.clinics.members", "fb.clinics.members.version.known"}
    for name in EVERYBODY:
        to = {f"fb.clinics.{name}.{peer}" for peer in federation.peers_of(name)}
        assert set(found[name]["publish"]["allow"]) == to | lists
        assert set(found[name]["subscribe"]["allow"]) == {f"fb.clinics.*.{name}"} | lists
    assert found["authority"]["subscribe"] == {"deny": [">"]}


def test_there_is_tls_both_ways_no_store_and_no_open_door(machine):
    found = config(machine)
    assert found["tls"]["verify_and_map"]
    assert found["tls"]["min_version"] == "1.3"
    assert found["tls"]["handshake_first"]
    assert found["host"] == "127.0.0.1"
    assert not found.keys() & {"jetstream", "http", "https", "cluster", "leafnodes", "websocket"}
    for path in (machine.folder / "broker").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_the_server_finds_nothing_wrong_with_its_configuration(machine):
    checked = subprocess.run(
        [find_server(), "-t", "-c", "nats.conf"],
        cwd=machine.folder / "broker",
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr
    assert "is valid" in checked.stderr + checked.stdout


def test_who_was_revoked_is_left_out_and_the_rest_stays(machine):
    before = config(machine)
    revoke(machine.authority, "south")
    update_broker(machine.authority, machine.folder / "broker")
    assert set(users(machine)) == {"north", "hub", "authority"}
    after = config(machine)
    for found in (before, after):
        del found["authorization"]
    assert after == before


def test_who_was_replaced_has_another_name_at_the_broker(machine):
    """So that a certificate that was replaced is worth nothing."""
    before = load_authority(machine.authority).members.members["north"].user("north")
    machine.admit("north")
    update_broker(machine.authority, machine.folder / "broker")
    names = {user["user"] for user in config(machine)["authorization"]["users"]}
    assert before not in names
    assert len(names) == 4


def test_a_configuration_that_was_changed_by_hand_is_refused(machine):
    for text in ("listen: 4222", "[]", "{}", ""):
        (machine.folder / "broker" / "nats.conf").write_text(text)
        with pytest.raises(IdentityError, match="was changed by hand"):
            update_broker(machine.authority, machine.folder / "broker")


@pytest.mark.skipif(not pathlib.Path("/proc/net/tcp").exists(), reason="sockets are read in /proc")
def test_it_tells_who_is_connected_only_if_it_is_asked_to(machine):
    port = free_port()
    folder = machine.folder / "watched"
    make_broker(machine.authority, folder, port=free_port(), monitor_port=port)
    watched, plain = Broker(folder), Broker(machine.folder / "broker")
    watched.start()
    plain.start()
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
        assert f"127.0.0.1:{port}" == json.loads((folder / "nats.conf").read_bytes())["http"]
        assert listening(plain.pid) == 1
        assert listening(watched.pid) == 2
    finally:
        watched.stop()
        plain.stop()


def listening(pid: int | None) -> int:
    """How many sockets a process listens at."""
    owned = {os.readlink(link) for link in pathlib.Path(f"/proc/{pid}/fd").iterdir()}
    tables = [pathlib.Path(f"/proc/{pid}/net/{name}").read_text() for name in ("tcp", "tcp6")]
    rows = [line.split() for table in tables for line in table.splitlines()[1:]]
    return sum(row[3] == "0A" and f"socket:[{row[9]}]" in owned for row in rows)


def test_it_starts_again_after_it_was_stopped_or_killed(machine):
    running = Broker(machine.folder / "broker")
    try:
        for stop in (running.stop, lambda: os.kill(running.pid, signal.SIGKILL)):
            running.start()
            first = running.pid
            stop()
            running.stop()
            assert running.pid is None
            running.start()
            assert running.pid != first
            running.stop()
    finally:
        running.stop()


def test_what_does_not_run_cannot_read_its_configuration_anew(machine):
    running = Broker(machine.folder / "broker")
    with pytest.raises(TransportError, match="does not run"):
        running.reload()
    running.stop()


def test_a_broker_that_cannot_start_says_why(machine):
    (machine.folder / "broker" / "server.key").write_text("damaged")
    running = Broker(machine.folder / "broker")
    with pytest.raises(TransportError, match=r"does not start: .*X509"):
        running.start()
    assert running.pid is None


def test_a_missing_server_is_named_with_what_brings_it(monkeypatch, tmp_path):
    monkeypatch.setattr(brokers.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingExtraError, match=r"install the extra 'federation'"):
        find_server()
