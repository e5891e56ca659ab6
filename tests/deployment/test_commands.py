"""The commands of a federation, as their users type them."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import signal
import socket
import sqlite3
import stat
import sys

import pytest

from fedbandits.client import Client, DoorError
from fedbandits.deployment.delivery.broker import Broker
from tests.deployment.machines import ACTIONS, Machine, Started, asked, fedbandits, told, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks through /proc")


def quietly(look):
    """What is looked at; nothing while a process comes or goes."""

    def looked():
        with contextlib.suppress(DoorError, FileNotFoundError):
            return look()
        return None

    return looked


def test_a_federation_on_one_machine(tmp_path):
    """To a release; one party is killed, another revoked; all go on after a restart."""
    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    machine = Machine(tmp_path, every="2 s", start=now.isoformat())
    folder = machine.folder
    assert "holds the keys of all parties" in machine.said
    modes = {
        stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if not path.is_symlink()
    }
    assert modes == {0o700, 0o600}
    assert "none of these parties runs" in fedbandits("federation", "status", folder, code=3)
    assert "north does not run" in fedbandits("party", "status", folder / "north", code=3)
    token = fedbandits("party", "token", folder / "north").strip()
    assert "app: decide, read" in fedbandits("party", "token", folder / "north", "--list")

    with machine.up() as up:
        up.until_said("ready: 3 parties of clinics")
        pids = {name: machine.running(name)["pid"] for name in ("north", "south", "hub")}
        with machine.client("north", token) as client:
            decision = client.decide(actions=ACTIONS)
            client.reward(decision, 0.5)
            open_ = client.decide(actions=ACTIONS)
        until(lambda: asked(machine, "hub")["messages"].get("taken", 0) >= 2, "two uploads")
        status = told(folder)
        assert status["north"]["privacy"]["epsilon_spent"] > 0
        assert status["hub"]["status"]["greeted"] == ["north", "south"]
        table = fedbandits("federation", "status", folder)
        assert "NOTHING IS PROTECTED" not in table
        assert table.count("ready") == 3

        # What has travelled can be looked at while it runs, and is copied as of one moment.
        seen = json.loads(fedbandits("party", "inspect", folder / "hub", "--json"))
        assert {"Upload", "Pooled"} <= {header["type"] for header in seen["headers"]}
        fedbandits("party", "backup", folder / "north", tmp_path / "copy.db")
        with contextlib.closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
            assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert "another process runs this party" in fedbandits(
            "party", "run", folder / "north", code=11
        )

        os.kill(pids["north"], signal.SIGKILL)
        up.until_said("north: has died")
        until(
            quietly(lambda: machine.running("north")["pid"] != pids["north"]
                    and asked(machine, "north")["connected"]),
            "north is back",
        )  # fmt: skip

        assert "were told" in fedbandits("federation", "revoke", folder, "south")
        until(lambda: "south" in asked(machine, "hub")["problems"], "south is revoked")
        until(lambda: not asked(machine, "south")["connected"], "south is disconnected")
        pids |= {name: machine.running(name)["pid"] for name in pids}
        assert up.end() == 0
        assert up.said[-1] == "all have ended"
    assert machine.processes() == []
    assert machine.running("north") is None

    with machine.up() as up:
        up.until_said(f"{'north':16} agent")
        with machine.client("north", token) as client:
            assert client.status()["decisions"] == 2
            client.reward(open_, 1.0)
            assert client.decide(actions=ACTIONS).id != open_.id
        up.process.kill()  # not even then is a party left behind
        up.process.wait()
        until(lambda: not any("party run" in each for each in machine.processes()), "all ended")
    for each in machine.processes():
        assert "nats-server" in each
    _end_broker(machine)


def _end_broker(machine):
    """The broker outlives a supervisor that is killed; the next one says so."""
    assert "something listens at" in fedbandits("federation", "up", machine.folder, code=19)
    for each in os.listdir("/proc"):
        if each.isdigit():
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{each}/cwd") == str(machine.folder / "broker"):
                    os.kill(int(each), signal.SIGTERM)
    until(lambda: machine.processes() == [], "the broker has ended")


def test_parties_of_one_process_without_a_broker(tmp_path):
    machine = Machine(tmp_path, noise="simulated")
    with machine.up("--in-process") as up:
        up.until_said("NOTHING IS PROTECTED")
        up.until_said("ready: 3 parties of clinics")
        running = machine.running("south")
        with Client(running["url"], running["token"]) as client:
            client.reward(client.decide(actions=ACTIONS), 1.0)
        assert "NOTHING IS PROTECTED" in fedbandits("federation", "status", machine.folder)
        assert not told(machine.folder)["south"]["status"]["protects"]
        assert up.end() == 0
    assert machine.processes() == []


def test_a_party_that_waits_for_its_broker(tmp_path):
    """It says so, connects when it can, tells the service manager, and logs no data."""
    machine, path = Machine(tmp_path), str(tmp_path / "notify")
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as manager:
        manager.bind(path)
        manager.settimeout(90.0)
        folder = machine.folder / "north"
        with Started("party", "run", folder, NOTIFY_SOCKET=path) as party:
            while (said := manager.recv(200)).startswith(b"STATUS=compiling"):
                pass  # where nothing is kept yet
            assert said == b"READY=1"
            party.until_said("cannot be reached")
            status = told(folder)["north"]["status"]
            assert status["ready"]
            assert not status["connected"]
            assert "cannot be reached" in status["problems"]["transport"]
            assert "not connected" in fedbandits("party", "status", folder)
            running = machine.running("north")
            with Client(running["url"], running["token"]) as client:
                client.reward(client.decide(actions=ACTIONS), 0.314159)

            broker = Broker(machine.folder / "broker")
            broker.start()
            try:
                until(lambda: asked(machine, "north")["connected"], "north is connected")
            finally:
                broker.stop()
            assert party.end(signal.SIGTERM) == 0
            assert manager.recv(100) == b"STOPPING=1"
            lines = [json.loads(line) for line in party.logged]
            assert {line["party"] for line in lines} == {"north"}
            text = "\n".join(party.logged)
            for secret in ("0.123456789", "0.987654321", "0.314159", running["token"]):
                assert secret not in text
    assert machine.processes() == []
