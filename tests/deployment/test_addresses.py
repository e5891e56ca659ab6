"""Addresses in files and commands: one that is none is refused where it is read."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

from fedbandits.cli import federation, party
from fedbandits.deployment.door.server import bound
from fedbandits.deployment.process.folder import load_settings
from fedbandits.errors import ConfigError, DeploymentError, LedgerError
from fedbandits.privacy.ledger import Ledger
from fedbandits.settings.federation import load_federation
from tests.deployment.machines import clinics_file, fedbandits


def with_servers(folder, servers):
    file = clinics_file(folder)
    before = file.read_text()
    file.write_text(re.sub(r"servers = .*", lambda _: f"servers = {servers}", before))
    return file


@pytest.mark.parametrize(
    "server",
    [
        "127.0.0.1:24222", "", "nonsense://foo bar", "https://127.0.0.1:1", "nats://127.0.0.1:1",
        "tls://127.0.0.1:1/x", "tls://127.0.0.1:999999", "tls://127.0.0.1:0", "tls://127.0.0.1:x",
        "tls://u@a:1", "tls://1.2.3:1", "tls://:1", "tls://[::1:1", " tls://a:1", "tls://a b:1",
    ],
)  # fmt: skip
def test_a_broker_s_address_that_is_none_is_refused_where_it_is_read(tmp_path, server):
    file = with_servers(tmp_path, f'["tls://broker.example.org:4222", {json.dumps(server)}]')
    said = fedbandits("federation", "init", file, "--out", tmp_path / "made", code=2)
    assert f"transport.servers[1]: given {server!r}, allowed: tls://HOST:PORT" in said
    assert not (tmp_path / "made").exists()


def test_a_federation_without_a_broker_s_address_is_refused(tmp_path):
    said = fedbandits(
        "federation", "init", with_servers(tmp_path, "[]"), "--out", tmp_path / "made", code=2
    )
    assert "transport.servers: given an empty list, allowed: at least one address" in said


@pytest.mark.parametrize(
    ("server", "host", "port", "url"),
    [
        ("tls://127.0.0.1:24222", "127.0.0.1", 24222, "tls://127.0.0.1:24222"),
        ("tls://broker.example.org", "broker.example.org", 4222, "tls://broker.example.org:4222"),
        ("tls://[::1]:1", "::1", 1, "tls://[::1]:1"),
        ("tls://broker:4223/", "broker", 4223, "tls://broker:4223"),
    ],
)
def test_a_broker_s_address_is_a_host_and_a_port(tmp_path, server, host, port, url):
    federation = load_federation(with_servers(tmp_path, json.dumps([server])))
    assert [(each.host, each.port, each.url) for each in federation.brokers] == [(host, port, url)]


@pytest.mark.parametrize("name", ["foo bar", "", "é", "tls://a:1"])
def test_a_broker_s_name_that_is_none_is_refused(tmp_path, name):
    said = fedbandits("federation", "broker-certificate", tmp_path, "--name", name, code=2)
    assert f"--name: given {name!r}, allowed: a host's name or IP address" in said


def test_a_door_without_a_host_does_not_listen_everywhere(tmp_path):
    (tmp_path / "party.toml").write_text('[door]\nhost = ""\n')
    with pytest.raises(ConfigError, match=r"door\.host: given '', allowed: a string"):
        load_settings(tmp_path / "party.toml")


@pytest.mark.parametrize("host", ["a\0b", "x" * 300, "é..é", "not a host"])
def test_a_door_s_host_that_is_none_is_refused_by_its_name(host):
    with pytest.raises(DeploymentError, match=r"door.host .*cannot listen there"):
        bound(host, 0)


def test_a_store_s_address_that_is_none_is_refused():
    with pytest.raises(LedgerError, match="the ledger's address cannot be read"):
        Ledger.open("postgresql+psycopg://user@host:x/name", "clinics")


@pytest.mark.parametrize(
    ("commands", "arguments"),
    [
        (federation.app, "example feducb --port 65536"),
        (federation.app, "init x.toml --out x --first-port 65536"),
        (party.app, "create north --federation x.toml --out x --port 65536"),
    ],
)
def test_a_port_that_is_none_is_refused(commands, arguments):
    ended = CliRunner().invoke(commands, arguments.split())
    assert ended.exit_code == 2
    assert "65535" in " ".join(ended.output.split())
