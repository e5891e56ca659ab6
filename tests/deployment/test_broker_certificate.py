"""The broker's certificate: it is spoken of months before its end, and renewed."""

from __future__ import annotations

import asyncio
import json

import pytest

from fedbandits.deployment.delivery.broker import (
    SOON,
    Broker,
    make_broker,
    read_certificate,
    renew_certificate,
)
from fedbandits.deployment.delivery.nats_connection import Times
from fedbandits.deployment.delivery.nats_transport import NatsTransport
from fedbandits.deployment.process.federation_folder import init_federation
from fedbandits.errors import IdentityError
from tests.deployment.machines import clinics_file, fedbandits
from tests.deployment.one_machine import OneMachine
from tests.deployment.waiting import until

QUICK = Times(connect=5.0, first_pause=0.02, longest_pause=0.1, ping=1.0, answer=0.1)


@pytest.fixture
def machine(tmp_path) -> OneMachine:
    made = OneMachine(tmp_path).admit_all()
    make_broker(made.authority, tmp_path / "broker", days=SOON - 1.5)
    return made


def test_a_certificate_that_ends_soon_is_renewed_with_further_names(machine):
    folder = machine.folder / "broker"
    before, key = read_certificate(folder), (folder / "server.key").read_bytes()
    assert before.days_left == SOON - 2
    assert "ends in 88 days" in before.caution
    made = renew_certificate(machine.authority, folder, ["broker.example.org", "192.0.2.7"])
    assert made == read_certificate(folder)
    assert made.names == (*before.names, "broker.example.org", "192.0.2.7")
    assert made.days_left == 729
    assert made.caution == ""
    assert (folder / "server.key").read_bytes() == key
    assert json.loads((folder / "nats.conf").read_bytes())["pid_file"] == "nats.pid"


def test_a_broker_shows_the_new_one_when_it_was_told_to(machine, caplog):
    """Parties say how long the one that they were shown is valid."""
    folder, broker = machine.folder / "broker", Broker(machine.folder / "broker")

    async def shown() -> int | None:
        identity = machine.identity("north")
        transport = NatsTransport(identity, machine.federation.transport.servers, times=QUICK)
        assert transport.broker_days is None
        await transport.open(lambda *_: None, lambda: None)
        try:
            await until(lambda: transport.connected, transport.problem)
            return transport.broker_days
        finally:
            await transport.close()

    async def new_one() -> None:
        while await shown() == SOON - 2:  # it reads its files in its own time
            pass

    broker.start()
    try:
        assert asyncio.run(shown()) == SOON - 2
        assert caplog.text.count("the broker's certificate ends in 88 days") == 1
        assert int((folder / "nats.pid").read_text()) == broker.pid
        renew_certificate(machine.authority, folder)
        broker.reload()
        asyncio.run(asyncio.wait_for(new_one(), 30))
        assert broker.pid is not None
    finally:
        broker.stop()


def test_a_folder_of_a_broker_without_its_key_is_named(machine):
    (machine.folder / "broker" / "server.key").unlink()
    with pytest.raises(IdentityError, match=r"server\.key"):
        renew_certificate(machine.authority, machine.folder / "broker")


def test_the_command_says_what_to_do_next_and_others_warn(tmp_path):
    made = tmp_path / "made"
    init_federation(clinics_file(tmp_path), made, local=True)
    fedbandits("federation", "broker-certificate", made, "--days", "20")
    said = fedbandits("federation", "broker-certificate", made, "--name", "broker.example.org")
    assert "broker.example.org" in said
    assert "nats-server --signal reload=nats.pid" in said
    assert read_certificate(made / "broker").days_left == 729
