"""Rounds that are overdue after an outage: what is released for them, and what that costs."""

from __future__ import annotations

import asyncio
import datetime

import pytest

import fedbandits as fb
from fedbandits.deployment.hosting import clock
from fedbandits.deployment.hosting.clock import Clock
from fedbandits.deployment.hosting.node import Node
from fedbandits.federation import snapshots
from fedbandits.systems import registry
from fedbandits.testing.applications import Setting
from fedbandits.testing.deployed import DeployedFederation, federation_from, until
from fedbandits.testing.deployed_systems import WorldDriver
from tests.own_things import SharedRidge

START, DAY = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), 86_400.0
#: Each numbers its own releases; and where others count on the numbers of rounds.
OWN = "feducb", "feducb-hybrid"
SHARED = "feducb-p2p", "pfcb"
#: Rounds that an outage takes.
MISSED = 5


@pytest.fixture(autouse=True)
def own_learner(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    fb.register(SharedRidge)
    monkeypatch.setattr(Node.__init__, "__defaults__", (print, False))  # nobody says catch up


class Days:
    """A federation of one preset whose clock a test sets; a round is a day."""

    def __init__(self, preset, folder, monkeypatch, noise="secure"):
        setting, self.now = Setting(preset), START.timestamp()
        monkeypatch.setattr(clock, "_LONGEST_PAUSE", 0.02)
        monkeypatch.setattr(clock, "_AGAIN", 0.02)
        monkeypatch.setattr(clock, "_uptime", lambda: self.now)
        monkeypatch.setattr("time.time", lambda: self.now)
        live = {"kind": "live", "start": START, "every": "1 day"}
        federation = federation_from(setting, noise=noise, clock=live)
        supplies = None
        if noise == "simulated":
            supplies = setting.system.simulated_supplies(setting.plan, setting.stated, 1, 0)
        own = {federation.members[role][place]: it for (role, place), it in setting.own().items()}
        self.deployed = DeployedFederation(federation, folder, supplies=supplies, own=own)
        self.driver = WorldDriver(self.deployed, setting.world, 1)
        self.round = 0

    @property
    def players(self):
        return [self.deployed.nodes[member] for member in self.driver.players]

    async def act(self):
        """Let everybody decide once, and learn."""
        self.round += 1
        for place in self.driver.stage.acting(self.round):
            await self.driver.act(place, self.round)

    async def pass_days(self, days=1):
        """Wait until the clocks have carried out what is due after so many days."""
        self.now += days * DAY
        due = round((self.now - START.timestamp()) // DAY)
        await until(lambda: all(node.clock.done >= due for node in self.players))
        await self.deployed.settle()

    async def pass_a_day(self):
        """Let a day pass for whoever is there, and the controller end its wait for others."""
        self.now += DAY
        due = round((self.now - START.timestamp()) // DAY)
        there = [
            node for node in self.deployed.nodes.values() if node.member in self.driver.players
        ]
        await until(lambda: all(node.clock.done >= due for node in there))
        await until(lambda: self.deployed.nodes["controller"].host.view.awaited is None)

    async def releases(self):
        return [(await node.privacy())["releases"] for node in self.players]


def play(work):
    async def run():
        return await work()

    return asyncio.run(run())


@pytest.mark.parametrize("all_are_down", [True, False], ids=["all are down", "peers are missing"])
@pytest.mark.parametrize("preset", OWN)
def test_one_release_stands_for_all_that_are_overdue(preset, all_are_down, tmp_path, monkeypatch):
    """And what is not released for them is left for later; all together cost what was planned."""
    days = Days(preset, tmp_path, monkeypatch)

    async def work():
        deployed, others = days.deployed, set(days.deployed.federation.everybody)
        others -= set(days.driver.players)
        await deployed.start()
        await deployed.greeted()
        await days.act()
        await days.pass_days()
        before = await days.releases()
        await deployed.stop()
        if all_are_down:
            days.now += MISSED * DAY
            await deployed.start()
        else:
            await deployed.start(*days.driver.players)
            for _ in range(3):
                await days.act()
            days.now += MISSED * DAY
            assert await days.releases() == before
            await deployed.start(*others)
        await deployed.greeted()
        await days.pass_days(0)
        after = await days.releases()
        while any(node.host.view.next_end is not None for node in days.players):
            await days.act()
            await days.pass_days()
        told = [await node.privacy() for node in days.players]
        await deployed.stop()
        return before, after, told

    before, after, told = play(work)
    assert before == [1] * len(before)
    assert after == [2] * len(after)
    for each in told:
        assert each["releases"] > MISSED  # one for each round would have spent all that is left
        assert 0.99 * each["epsilon"] < each["epsilon_spent"] <= each["epsilon"]


@pytest.mark.parametrize("preset", [*OWN, "shared-ridge"])
def test_an_outage_changes_nothing_but_when_it_happens(preset, tmp_path, monkeypatch):
    """So regret is, to the last bit, as if the rounds had been waited for."""

    def states(name, missed):
        (tmp_path / name).mkdir()
        days = Days(preset, tmp_path / name, monkeypatch, noise="simulated")

        async def work():
            deployed = days.deployed
            await deployed.start()
            await deployed.greeted()
            for round_ in range(1, 9):
                await days.act()
                if missed and round_ == 4:
                    await deployed.stop()
                    days.now += missed * DAY
                    await deployed.start()
                    await deployed.greeted()
                    await days.pass_days(0)
                else:
                    await days.pass_days()
            found = {
                member: snapshots.plain(deployed.state(member))
                for member in deployed.federation.everybody
            }
            await deployed.stop()
            return found, days.driver.actions

        return play(work)

    assert states("away", MISSED) == states("there", 0)


@pytest.mark.parametrize("preset", [*OWN, "shared-ridge"])
def test_who_was_away_alone_is_in_the_last_sum_with_all_its_releases(preset, tmp_path, monkeypatch):
    """It makes the releases that are left when the others have made theirs, and they are added."""
    monkeypatch.setattr(Clock, "_patience", 0.05)
    days = Days(preset, tmp_path, monkeypatch, noise="simulated")

    async def work():
        deployed, away = days.deployed, days.driver.players[0]
        await deployed.start()
        await deployed.greeted()
        await days.act()
        await days.pass_days()
        await deployed.stop(away)
        for _ in range(MISSED):
            await days.pass_a_day()
        await deployed.start(away)
        await deployed.greeted()
        while any(node.host.view.next_end is not None for node in days.players):
            await days.pass_a_day()
        await deployed.settle()
        made = deployed.state("controller").newest.tolist()
        await until(lambda: deployed.state("controller").included.tolist() == made)
        await deployed.stop()
        return made

    made = play(work)
    assert made == [made[0]] * len(made)
    assert made[0] > MISSED


@pytest.mark.parametrize("all_are_down", [True, False], ids=["all are down", "peers are missing"])
@pytest.mark.parametrize("preset", SHARED)
def test_where_rounds_are_shared_nothing_is_released_for_many_before_somebody_says_so(
    preset, all_are_down, tmp_path, monkeypatch
):
    days = Days(preset, tmp_path, monkeypatch)

    async def work():
        deployed, first = days.deployed, days.driver.players[0]
        others = [member for member in deployed.federation.everybody if member != first]
        await deployed.start()
        await deployed.greeted()
        await days.act()
        await days.pass_days()
        before = (await days.players[0].privacy())["releases"]
        await deployed.stop()
        if all_are_down:
            days.now += MISSED * DAY
            await deployed.start()
        else:
            await deployed.start(first)
            node = deployed.nodes[first]
            for _ in range(MISSED):  # it is there all the time, and does not sleep
                days.now += DAY
                await until(lambda: node.clock._looked == days.now)
            await deployed.start(*others)
        await deployed.greeted()
        node = deployed.nodes[first]
        await until(lambda: "--catch-up" in node.status()["problems"].get("clock", ""))
        await days.act()
        after = (await node.privacy())["releases"]
        await deployed.stop()
        return before, after

    before, after = play(work)
    assert before == after
