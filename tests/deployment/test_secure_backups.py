"""A party to secure sums that was put back from an old backup does nothing a second time."""

from __future__ import annotations

import pytest

from fedbandits.errors import StaleStoreError
from fedbandits.testing.deployed import until
from tests.deployment.secure import AGENTS, HELPERS, learn, release, report, summed, three_clinics
from tests.deployment.test_old_backups import Members, played

EVERYBODY = (*AGENTS, "hub", *HELPERS)


async def summed_since(members, kept):
    """Copy what a member's machine holds, and have a sum opened after that."""
    deployed = members.deployed
    await members.start(*EVERYBODY)
    await deployed.greeted()
    await members.keep(kept)
    await deployed.greeted()
    await learn(deployed)
    await release(deployed)
    await summed(deployed, 1)
    await until(lambda: report(deployed, kept)["sums"] == 1)
    for member in EVERYBODY:
        await members.acknowledged(member, deployed.nodes[member].delivery.exchanges)


@pytest.mark.parametrize("member", HELPERS)
def test_a_helper_goes_on_from_no_old_store_whatever_it_is_told(member, tmp_path):
    async def work(members):
        await summed_since(members, member)
        for restores in (False, True):
            members.deployed.restores = restores
            with pytest.raises(StaleStoreError, match=r"does everything once.*new federation"):
                await members.put_back(member, ".left")
        (tmp_path / f"{member}.left").unlink()
        with pytest.raises(StaleStoreError, match=r"--restore"):
            await members.start(member)

    played(Members(three_clinics(), tmp_path), work)


def test_a_helper_whose_whole_machine_was_put_back_is_stopped_and_sums_nothing(tmp_path):
    async def work(members):
        await summed_since(members, "lab")
        await members.put_back("lab")
        await until(lambda: bool(members.fatal))
        assert "hub has seen" in str(members.fatal[0])
        assert "old backup" in str(members.fatal[0])
        await release(members.deployed)
        assert members.deployed.state("hub").newest == 1
        await learn(members.deployed)  # all else goes on

    played(Members(three_clinics(), tmp_path), work)


def test_helpers_open_no_second_set_for_a_controller_that_was_put_back(tmp_path):
    async def work(members):
        await summed_since(members, "hub")
        deployed = members.deployed
        before = {helper: deployed.state(helper).digest for helper in HELPERS}
        members.silent = set(AGENTS)  # so it has heard of two that have seen more, not of most
        hub = await members.put_back("hub")
        await until(lambda: set(HELPERS) <= set(hub.delivery.problems))
        assert not members.fatal
        assert "old backup" in hub.status()["problems"]["lab"]
        assert {helper: deployed.state(helper).digest for helper in HELPERS} == before
        members.silent = set()
        for node in deployed.nodes.values():
            node.delivery.resend_all()
        await until(lambda: bool(members.fatal))
        assert "old backup" in str(members.fatal[0])
        assert {helper: deployed.state(helper).digest for helper in HELPERS} == before
        await learn(deployed)

    played(Members(three_clinics(), tmp_path), work)


def test_an_agent_that_was_put_back_sends_nothing(tmp_path):
    async def work(members):
        await summed_since(members, "clinic-0")
        opened = members.deployed.state("hub").opened.tolist()
        with pytest.raises(StaleStoreError, match="--restore"):
            await members.put_back("clinic-0", ".left")
        await members.put_back("clinic-0")
        await until(lambda: bool(members.fatal))
        assert "hub has seen" in str(members.fatal[0])
        assert members.deployed.state("hub").opened.tolist() == opened

    played(Members(three_clinics(), tmp_path), work)


def test_who_takes_an_agents_place_is_not_handed_its_secrets(tmp_path):
    """With them, and with what the controller has, its earlier releases could be read."""

    async def work(members):
        await summed_since(members, "clinic-0")
        await members.deployed.stop("clinic-0")
        for path in members.files("clinic-0"):
            path.unlink()  # its seat, without anything that it has kept
        await members.start("clinic-0")
        node = members.deployed.nodes["clinic-0"]
        gifts = [members.deployed.nodes[helper].gift("clinic-0", f"masks-{place}")
                 for place, helper in enumerate(HELPERS)]  # fmt: skip
        assert gifts == [None, None]
        await until(lambda: bool(node.delivery.exchanges["lab"].life))
        assert node.wants == ["masks-0", "masks-1"]

    played(Members(three_clinics(), tmp_path), work)


@pytest.mark.parametrize("alone", [True, False])
def test_most_agents_stop_a_helper_that_was_put_back_with_its_controller(alone, tmp_path):
    """Helper and controller say that there was no sum; agents have heard of it."""

    async def work(members):
        deployed = members.deployed
        await members.start(*EVERYBODY)
        await deployed.greeted()
        await members.keep("lab")
        await members.keep("hub")
        await deployed.greeted()
        await learn(deployed)
        await release(deployed)
        await summed(deployed, 1)
        members.silent = {"clinic-2", "clinic-1"} if alone else {"clinic-2"}
        for member in ("hub", "lab"):
            await deployed.stop(member)
        members.fatal.clear()
        members.silent |= {"office"}
        await members.put_back("hub")
        lab = await members.put_back("lab")
        await until(lambda: "clinic-0" in lab.status()["problems"])
        assert "clinic-0 has seen sum 1" in lab.status()["problems"]["clinic-0"]
        await until(lambda: "hub" in lab.delivery.greeted)
        assert "clinic-0" in lab.status()["waits_for"]
        if alone:  # the others' word is missing, so nothing is said to the controller
            assert lab.failed is None
        members.silent = set()
        for node in deployed.nodes.values():
            node.delivery.resend_all()
        await until(lambda: lab.failed is not None)
        assert "sum 1" in str(lab.failed)

    played(Members(three_clinics(), tmp_path), work)


def test_one_agent_that_lies_stops_no_helper(tmp_path):
    async def work(members):
        deployed = members.deployed
        await members.start(*EVERYBODY)
        await deployed.greeted()
        deployed.nodes["clinic-0"].sums = lambda peer: (1_000, None)
        await deployed.stop("lab")
        await members.start("lab")
        lab = deployed.nodes["lab"]
        await until(lambda: "sum 1000" in lab.status()["problems"].get("clinic-0", ""))
        await learn(deployed)
        await release(deployed)
        await summed(deployed, 1)
        assert report(deployed, "lab")["members_of_last_sum"] == len(AGENTS)
        assert lab.failed is None
        assert not members.fatal

    played(Members(three_clinics(), tmp_path), work)
