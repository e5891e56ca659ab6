"""Rounds that are overdue after an outage: what is released for them, and what that costs."""

from __future__ import annotations

import asyncio
import datetime
import math

import numpy as np
import pytest

import fedbandits as fb
from fedbandits.deployment.delivery import delivery, exchange
from fedbandits.deployment.hosting import clock
from fedbandits.deployment.hosting import node as hosting_node
from fedbandits.deployment.hosting.clock import Clock
from fedbandits.deployment.hosting.node import Node
from fedbandits.federation import snapshots
from fedbandits.federation.totals.controller_state import ControllerState
from fedbandits.systems import registry
from fedbandits.testing.applications import Setting
from fedbandits.testing.deployed import DeployedFederation, federation_from, until
from fedbandits.testing.deployed_systems import WorldDriver
from tests.own_things import SharedRidge

START, DAY = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), 86_400.0
#: Each numbers its own releases; and where others count on the numbers of rounds.
OWN = "feducb", "feducb-hybrid"
#: Each makes its releases for sums that are opened for all.
SUMMED = "feducb-secure", "feducb-secure-hybrid", "pfcb-secure"
SHARED = "feducb-p2p", "pfcb"
#: Each releases by what was observed, whatever the clock says.
UNCLOCKED = "fclub", "fedlinucb-async"
#: Rounds that an outage takes.
MISSED = 5


@pytest.fixture(autouse=True)
def own_learner(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    fb.register(SharedRidge)
    monkeypatch.setattr(Node.__init__, "__defaults__", (print, False))  # nobody says catch up


class Days:
    """A federation of one preset whose clock a test sets; a round is a day.

    Deadlines go by the machine's clock, so only a test with ``deadlines`` has any.
    """

    def __init__(self, preset, folder, monkeypatch, noise="secure", deadlines=False):
        setting, self.now = Setting(preset), START.timestamp()
        if not deadlines:
            monkeypatch.setattr(Clock, "_end_waiting", nothing)
        for pause in ("_LEAST_PAUSE", "_LONGEST_PAUSE", "_AGAIN"):
            monkeypatch.setattr(clock, pause, 0.003)
        for module in (clock, delivery, exchange, hosting_node):
            monkeypatch.setattr(module, "uptime", lambda: self.now, raising=False)
        monkeypatch.setattr("time.time", lambda: self.now)
        live = {"kind": "live", "start": START, "every": "1 day"}
        federation = federation_from(setting, noise=noise, clock=live, message_time="300 ms")
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

    @property
    def there(self):
        """Those of the players that run."""
        return [n for n in self.deployed.nodes.values() if n.member in self.driver.players]

    async def are_back(self):
        """Wait until peers have said all that they have kept: nobody need wait for more."""
        await self.deployed.greeted()
        await self.deployed.settle()
        for node in self.deployed.nodes.values():
            node.clock._apart = -math.inf

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
        await until(lambda: all(node.clock.done >= due for node in self.there))
        await until(lambda: self.deployed.nodes["controller"].host.view.awaited is None)

    async def pass_a_day_at_once(self):
        """The same, where no clock ends a wait."""
        self.now += DAY
        due = round((self.now - START.timestamp()) // DAY)
        await until(lambda: all(node.clock.done >= due for node in self.there))
        controller, state = self.deployed.nodes["controller"], self.deployed.state
        await until(lambda: np.count_nonzero(state("controller").held) == len(self.there))
        await until(lambda: controller.host.view.awaited)  # that is committed, too
        await controller.deadline(controller.host.view.awaited)
        await until(lambda: not any(node.host.view.waits_for_sum for node in self.there))

    async def releases(self):
        return [(await node.privacy())["releases"] for node in self.players]


async def nothing(*_):
    """Do nothing, in the place of something that does."""


def play(work):
    async def run():
        return await work()

    return asyncio.run(run())


@pytest.mark.parametrize("all_are_down", [True, False], ids=["all are down", "peers are missing"])
@pytest.mark.parametrize("preset", [*OWN, *SUMMED])
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
        await days.are_back()
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


@pytest.mark.parametrize("preset", [*OWN, "shared-ridge", *SUMMED, *UNCLOCKED])
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
                    await days.are_back()
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
    days = Days(preset, tmp_path, monkeypatch, noise="simulated", deadlines=True)

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


@pytest.mark.parametrize("comes_back", ["late", "in time"])
@pytest.mark.parametrize("preset", SUMMED)
def test_who_missed_sums_makes_up_for_them_and_is_in_the_next(
    preset, comes_back, tmp_path, monkeypatch
):
    """Its releases for them are opened by nobody; it sends none before the others do."""
    days = Days(preset, tmp_path, monkeypatch, noise="simulated")

    async def work():
        deployed, away = days.deployed, days.driver.players[0]

        def stands():
            """The last sum, the release of whoever was away in it, one on its way, and made."""
            state = deployed.state("controller")
            made = deployed.state(away).released.made
            return state.newest, int(state.opened[0]), int(state.held[0]), made

        await deployed.start()
        await deployed.greeted()
        await days.act()
        await days.pass_days()
        await deployed.stop(away)
        for _ in range(3):
            await days.pass_a_day_at_once()
        days.now += 0.5 * DAY if comes_back == "late" else DAY
        await deployed.start(away)
        await days.are_back()
        await days.pass_days(0)
        back = stands()
        days.now = START.timestamp() + 6 * DAY
        await days.pass_days(0)
        end = stands()
        await deployed.stop()
        return back, end

    if comes_back == "late":
        assert play(work) == ((4, 1, 0, 4), (5, 5, 0, 5))
    else:
        assert play(work) == ((5, 5, 0, 5), (6, 6, 0, 6))


@pytest.mark.parametrize(("later", "made"), [(0.0, 1), (0.5, 2)], ids=["in time", "late"])
def test_nothing_is_released_while_a_sum_is_waited_for(later, made, tmp_path, monkeypatch):
    """If it comes in time, it is that of the newest tick. Else one release stands for the rest."""
    days = Days("feducb-secure", tmp_path, monkeypatch, noise="simulated")

    async def work():
        deployed = days.deployed
        await deployed.start()
        await deployed.greeted()
        await deployed.stop("helper-0")
        await days.act()
        days.now += DAY
        await until(lambda: all(node.host.view.waits_for_sum for node in days.players))
        for _ in range(3):
            days.now += DAY
            await until(lambda: all(node.clock._looked == days.now for node in days.players))
        waited = [deployed.state(name).released.made for name in days.driver.players]
        days.now += later * DAY
        await deployed.start("helper-0")
        await days.are_back()
        await days.pass_days(0)
        back = [deployed.state(name).released.made for name in days.driver.players]
        await days.pass_days(1.0 - later)
        then = [deployed.state(name).released.made for name in days.driver.players]
        await deployed.stop()
        return waited, back, then

    assert play(work) == ([1] * 3, [made] * 3, [made + 1] * 3)


def test_a_controller_that_tells_of_sums_to_come_spends_nobody_s_budget(tmp_path, monkeypatch):
    """It has the last sum opened for nobody, and so all others. Agents pay one release a tick."""

    def last(state, held, retired, plan):
        return plan.releases if held.any() and state.newest < plan.releases else 0

    monkeypatch.setattr(ControllerState, "next_sum", last)
    days = Days("feducb-secure", tmp_path, monkeypatch)

    async def work():
        await days.deployed.start()
        await days.deployed.greeted()
        made = []
        for _ in range(3):
            await days.act()
            await days.pass_days()
            made.append(await days.releases())
        lies = days.deployed.state("controller").newest
        await days.deployed.stop()
        return made, lies

    made, lies = play(work)
    assert lies > 3
    assert made == [[1] * 3, [2] * 3, [3] * 3]


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
