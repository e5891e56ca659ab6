"""A silent run between machines: secrets that members hand over, restarts, kills, and an order."""

from __future__ import annotations

import asyncio
import sys

import pytest

from fedbandits.crypto.keystream import derive_key
from fedbandits.deployment.hosting.host import Host
from fedbandits.environments import Bernoulli
from fedbandits.errors import StaleStoreError
from fedbandits.systems.samba import silent as blocks
from fedbandits.testing.applications import ROUNDS, Setting
from fedbandits.testing.deployed import (
    DeployedFederation,
    federation_from,
    table_from,
    until,
)
from fedbandits.testing.deployed_systems import WorldDriver
from tests.deployment.brokered import Brokered
from tests.deployment.killed import Killed, killing, settled, states
from tests.deployment.misbehaving import AttackedDriver

OWNERS = [f"owner-{i}" for i in range(4)]


def test_members_hand_over_what_they_share(tmp_path):
    """And what nobody was handed is in no store; then they play, and the total is right."""
    setting = Setting("samba-silent-egreedy")
    federation = federation_from(setting)
    names = {secret.name for secret in setting.system.shared(setting.plan)}

    async def play():
        deployed = DeployedFederation(federation, tmp_path)
        await deployed.start()
        await deployed.greeted()
        played = WorldDriver(deployed, setting.world, 3)
        await played.advance(40)
        total = deployed.state("customer").cumulative_reward
        kept = {
            member: await node.host.call(
                lambda b: {
                    (way, name): b.store.secret(b.connection, f"{way} {name}")
                    for way in ("own", "shared")
                    for name in names
                }
            )
            for member, node in deployed.nodes.items()
        }
        await deployed.stop()
        return total, sum(played.stage.reward), kept

    total, earned, kept = asyncio.run(play())
    assert total == earned > 0
    there = {
        member: {name for name, value in each.items() if value is not None}
        for member, each in kept.items()
    }
    first = {("own", "owners"), ("shared", "pads"), ("shared", "packets")}
    assert there.pop("owner-0") == first
    assert there == {
        **{owner: {("shared", name) for name in ("owners", "pads", "packets")}
           for owner in OWNERS[1:]},
        "controller": {("own", "packets"), ("own", "link"), ("own", "bill"), ("shared", "first")},
        "comp": {("own", "pads"), ("own", "receipt"), ("shared", "link"), ("shared", "second")},
        "dealer": {("own", "first"), ("own", "second")},
        "customer": {("shared", "bill"), ("shared", "receipt")},
    }  # fmt: skip
    for owner in OWNERS:
        for name, maker in (("pads", "comp"), ("packets", "controller")):
            made = kept[maker]["own", name]
            assert kept[owner]["shared", name] == derive_key(made, f"{name} {owner}")
        assert (kept[owner]["shared", "owners"] or kept[owner]["own", "owners"]) == kept["owner-0"][
            "own", "owners"
        ]


def test_who_pulls_nothing_waits_for_no_disk(tmp_path, monkeypatch):
    """What a message leads to is committed on the event loop, which goes on meanwhile."""
    setting, waited, on_thread = Setting("samba-ucb"), set(), Host._on_thread

    def noted(host, work, jobs):
        waited.add(host.seat.member)
        on_thread(host, work, jobs)

    async def play():
        deployed = DeployedFederation(federation_from(setting), tmp_path)
        await deployed.start()
        await deployed.greeted()
        monkeypatch.setattr(Host, "_on_thread", noted)
        await WorldDriver(deployed, setting.world, 3).advance(ROUNDS)
        events = {member: node.host.view.events for member, node in deployed.nodes.items()}
        who = set(waited)
        await deployed.stop()
        return events, who

    events, who = asyncio.run(play())
    assert min(events["comp"], events["controller"]) > ROUNDS / 2
    assert who == set(OWNERS)


def test_nobody_is_handed_what_is_anothers(tmp_path):
    """Neither by asking for it, nor by sending what another one makes."""
    federation = federation_from(Setting("samba-silent-ucb"))

    async def ask():
        deployed = DeployedFederation(federation, tmp_path)
        nodes = {member: deployed.make(member) for member in ("comp", "owner-0", "owner-1")}
        for node in nodes.values():
            await node.host.open()
            await node.handover.open()
        gifts = {
            (maker, peer, name): nodes[maker].gift(peer, name)
            for maker, name in (("comp", "pads"), ("owner-0", "owners"), ("owner-1", "owners"))
            for peer in federation.everybody
        }
        takes = {
            peer: nodes["owner-1"].handover.is_expected(peer, "owners", bytes(32))
            for peer in ("owner-2", "controller", "comp", "owner-0")
        }
        for node in nodes.values():
            await node.host.stop()
        return {given for given, value in gifts.items() if value is not None}, takes

    given, takes = asyncio.run(ask())
    assert given == {
        *(("comp", owner, "pads") for owner in OWNERS),
        *(("owner-0", owner, "owners") for owner in OWNERS[1:]),
    }
    assert takes == {"owner-2": False, "controller": False, "comp": False, "owner-0": True}
    assert federation.peers_of("owner-1").count("owner-0") == 1
    assert "owner-2" not in federation.peers_of("owner-1")
    assert set(federation.peers_of("owner-0")) >= set(OWNERS[1:])
    assert "customer" in federation.peers_of("comp")


def test_a_customer_that_is_told_to_order_as_its_last_secret_comes_begins_once(tmp_path):
    """An application's order and a peer's secret may come at one instant."""
    setting = Setting("samba-silent-ucb")
    supplies = setting.system.simulated_supplies(setting.plan, setting.stated, 1, 0)

    async def begin_twice():
        node = DeployedFederation(federation_from(setting), tmp_path, supplies=supplies).make(
            "customer"
        )
        await node.host.open()
        await node.handover.open()
        await asyncio.gather(node.host.begin(), node.host.begin())
        await node.host.begin()  # and in a transaction of its own
        events = await node.host.call(lambda b: b.hosted.events)
        await node.host.stop()
        return events

    assert asyncio.run(begin_twice()) == 1


@pytest.mark.parametrize("member", ["comp", "controller", "owner-1"])
def test_whoever_comes_back_from_an_old_backup_stops(member, tmp_path):
    """It would hide other numbers with words that it has used: its peers have seen more."""
    setting = Setting("samba-silent-ucb")
    supplies = setting.system.simulated_supplies(setting.plan, setting.stated, 1, 0)
    federation, kept = federation_from(setting), tmp_path / "old.db"

    async def back_up(deployed):
        await deployed.stop(member)
        kept.write_bytes((tmp_path / f"{member}.db").read_bytes())
        await deployed.start(member)
        await deployed.greeted()

    async def play():
        deployed = DeployedFederation(federation, tmp_path, supplies=supplies)
        await deployed.start()
        await deployed.greeted()
        played = AttackedDriver(deployed, setting.world, 1)
        played.attack = lambda: back_up(deployed)
        await played.advance(ROUNDS)
        await deployed.stop(member)
        for left in tmp_path.glob(f"{member}.db*"):
            left.unlink()
        again = DeployedFederation(
            federation, tmp_path, supplies=supplies, stores={member: str(kept)}, moved=True
        )
        again.hub, fatal = deployed.hub, []
        node = again.make(member, fatal.append)
        await node.start()
        await until(lambda: bool(fatal))
        await node.stop()
        await deployed.stop()
        return played.attacks, fatal

    attacks, (why,) = asyncio.run(play())
    assert attacks == 1
    assert type(why) is StaleStoreError
    assert member in str(why)


@pytest.mark.skipif(sys.platform != "linux", reason="forks members")
def test_whoever_is_killed_goes_on_where_it_was(tmp_path):
    """Owner, servers, dealer and broker at random instants, with secrets of their own."""
    rounds = 12
    table = table_from(
        Setting("samba-silent-thompson"), rounds=rounds, noise="secure",
        facts={"parties": 3}, clock={"kind": "rounds"},
    )  # fmt: skip
    table["members"]["owner"] = OWNERS[:3]
    with Brokered(table, tmp_path) as here:

        async def play():
            with Killed(here, Bernoulli(arms=3), rounds) as killed:
                killed.start()
                victims = ["controller", "comp", "owner-1", "dealer", "customer", "broker"]
                made = await killing(killed, victims, 6, False, 1, rounds)
                await settled(killed)
                await killed.stop()
                return made, dict(killed.told), await states(killed)

        made, told, found = asyncio.run(play())
    assert made >= 4
    assert len(told) == rounds
    assert found["customer"].cumulative_reward == sum(told.values())
    assert {state.stage for state in found.values()} == {"done"}
    assert -(-(rounds - 3) // blocks.block_size(3, 4)) == found["dealer"].dealt
