"""Rounds that end by the clock, deadlines, rewards that do not come, ledgers that run out."""

from __future__ import annotations

import asyncio
import datetime
import time
from types import SimpleNamespace

import pytest

from fedbandits.deployment.hosting.cautions import over_since
from fedbandits.deployment.hosting.clock import TICKS, Clock
from fedbandits.deployment.hosting.node import Node
from fedbandits.deployment.hosting.seat import HostedSeat
from fedbandits.environments.linear import Linear
from fedbandits.errors import (
    DuplicateRewardError,
    LateRewardError,
    NotReadyError,
    UnknownDecisionError,
)
from fedbandits.federation import snapshots
from fedbandits.systems.base import PartiesReplicate
from fedbandits.testing.deployed import DeployedFederation, simulated, until
from fedbandits.testing.deployed_systems import WorldDriver
from tests.deployment.federations import clinics

ENVIRONMENT = Linear(agents=3, dim=4, arms=5)
ACTIONS = [[0.1, 0.2, 0.3, 0.4]] * 5


def running(federation, tmp_path, work, seeded=True, **options):
    """Run a federation, do something with it, and stop it."""

    async def run():
        brought = simulated(federation, ENVIRONMENT, 7) if seeded else None
        deployed = DeployedFederation(federation, tmp_path, supplies=brought, **options)
        await deployed.start()
        await deployed.greeted()
        try:
            return await work(deployed)
        finally:
            await deployed.stop()

    return asyncio.run(run())


async def decide(node, reward=None):
    decided = await node.decide(node.application.ASKED(actions=ACTIONS))
    if reward is not None:
        await node.reward(decided.number, node.application.TOLD(reward=reward))
    return decided.number


def test_secure_noise_is_released_by_the_clock_and_charged(tmp_path):
    federation = clinics(noise="secure", start="2020-01-01T00:00:00Z", every="9000 days", rounds=40)

    async def work(deployed):
        node = deployed.nodes["clinic-0"]
        for _ in range(3):
            await decide(node, 1.0)
        # What a clock would do every so often.
        for tick in (1, 2):
            for member in federation.members["agent"]:
                await deployed.nodes[member].tick(tick)
        await until(lambda: deployed.state("clinic-0").taken == 2)
        again = await node.privacy()
        await node.tick(2)
        assert await node.privacy() == again
        return again

    told = running(federation, tmp_path, work, seeded=False)
    assert told["releases"] == 2
    assert 0.0 < told["epsilon_spent"] <= told["epsilon"]
    assert "ε" in told["claim"]


def test_a_fast_clock_ends_rounds_for_all(tmp_path, monkeypatch):
    # What a slow machine delays is no clock that differs.
    monkeypatch.setattr(Clock, "_patience", 60.0)
    start = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    federation = clinics(start=start, every="100 ms", rounds=10_000, message_time="100 ms")

    async def work(deployed):
        await until(lambda: all(deployed.nodes[m].clock.done >= 3 for m in federation.everybody))
        agents = federation.members["agent"]
        await until(lambda: all(deployed.state(m).taken >= 2 for m in agents))
        return deployed.nodes["clinic-1"].status()

    told = running(federation, tmp_path, work)
    assert told["ticks"] >= 3
    assert not told["problems"]


def test_rounds_that_end_by_themselves_are_as_simulated(tmp_path):
    """Every member for itself: whoever is ahead waits for the others' releases."""
    federation = clinics(kind="rounds")

    async def work(deployed):
        game = WorldDriver(deployed, ENVIRONMENT, 7)

        async def play(place):
            # Each has a stage of its own: what a stage shows is one player's.
            own = WorldDriver(deployed, ENVIRONMENT, 7)
            for round_ in range(1, 26):
                await own.act(place, round_)

        await asyncio.gather(*(play(place) for place in range(len(game.players))))
        await deployed.settle()
        return {m: snapshots.plain(deployed.state(m)) for m in federation.everybody}

    found = running(federation, tmp_path, work)
    run = PartiesReplicate(federation.system, federation.plan, ENVIRONMENT, 7, 0)
    run.advance(25)
    assert found == {
        federation.member_of[party.name]: snapshots.plain(party.state) for party in run.parties
    }


def test_rewards_that_are_unknown_repeated_or_late(tmp_path):
    federation = clinics(rewards='[rewards]\ndefault = 0.25\nafter = "1 day"')

    async def work(deployed):
        node = deployed.nodes["clinic-0"]
        first = await decide(node, 1.0)
        with pytest.raises(DuplicateRewardError):
            await node.reward(first, node.application.TOLD(reward=1.0))
        for never in (0, -1, 99):
            with pytest.raises(UnknownDecisionError):
                await node.reward(never, node.application.TOLD(reward=1.0))
        second, third = await decide(node), await decide(node)
        assert await node.expire(time.time() - 3600.0) == 0
        assert await node.expire(time.time() + 1.0) == 2
        for late in (second, third):
            with pytest.raises(LateRewardError, match="default"):
                await node.reward(late, node.application.TOLD(reward=1.0))
        assert deployed.state("clinic-0").records == 3
        await deployed.stop("clinic-0")
        await deployed.start("clinic-0")
        node = deployed.nodes["clinic-0"]
        with pytest.raises(LateRewardError):
            await node.reward(third, node.application.TOLD(reward=1.0))
        return node.status()

    assert running(federation, tmp_path, work)["open_decisions"] == 0


def test_nothing_is_released_before_a_peer_has_said_what_it_has_seen(tmp_path):
    federation = clinics(noise="secure")

    async def work():
        deployed = DeployedFederation(federation, tmp_path)
        await deployed.start("clinic-0")
        node = deployed.nodes["clinic-0"]
        await decide(node, 1.0)
        with pytest.raises(
            NotReadyError, match="releases wait until most peers say what they saw: hub"
        ):
            await node.tick(1)
        await deployed.start("hub")
        await until(lambda: bool(node.delivery.greeted))
        await node.tick(1)
        await deployed.stop()

    asyncio.run(work())


def test_when_the_ledger_refuses_decisions_go_on(tmp_path, monkeypatch):
    # A ledger whose budget is a tenth of what the releases cost.
    monkeypatch.setattr(HostedSeat, "budget", property(lambda _: (0.05, 1e-5)))
    federation = clinics(noise="secure", start="2020-01-01T00:00:00Z", every="9000 days")

    async def work(deployed):
        node = deployed.nodes["clinic-0"]
        await decide(node, 1.0)
        with pytest.raises(Exception, match="budget"):
            await node.tick(1)
        assert node.exhausted
        assert (await node.privacy())["exhausted"]
        await decide(node, 1.0)
        return node.status()

    told = running(federation, tmp_path, work, seeded=False)
    assert told["exhausted"]
    assert told["decisions"] == 2


def test_a_clock_that_jumps_stops_releases(tmp_path, monkeypatch):
    monkeypatch.setattr("fedbandits.deployment.hosting.clock._LONGEST_PAUSE", 0.1)
    start = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    federation = clinics(start=start, every="1 min", message_time="10 s")

    async def work(deployed):
        node, real = deployed.nodes["clinic-0"], time.time
        monkeypatch.setattr(
            "fedbandits.deployment.hosting.clock.time.time", lambda: real() + 86_400.0
        )
        await until(lambda: "clock" in node.status()["problems"])
        return node.status()

    told = running(federation, tmp_path, work)
    assert "jumped" in told["problems"]["clock"]
    assert told["ticks"] == 0


def test_a_new_party_owes_no_release_that_was_due_before_it_was_there(tmp_path):
    """It would release what it has not got, and pay for it. One that was away owes one in all."""
    federation = clinics(
        noise="secure", start="2020-01-01T00:00:00Z", every="1 day", message_time="100 ms"
    )

    async def work(deployed):
        node = deployed.nodes["clinic-0"]
        await until(lambda: node.clock.done > 1000)
        told = await node.privacy()
        await decide(node, 1.0)
        await node.host.call(lambda batch: batch.store.set_number(batch.connection, TICKS, 100))
        await deployed.stop("clinic-0")
        await deployed.start("clinic-0")
        node = deployed.nodes["clinic-0"]
        await until(lambda: node.clock.done > 1000)
        return told["releases"], (await node.privacy())["releases"]

    assert running(federation, tmp_path, work, seeded=False) == (0, 1)


def test_what_was_missed_is_ended_when_somebody_says_so(tmp_path, monkeypatch):
    """Without records in between it is noise, and costs as much; and others count on its number."""
    monkeypatch.setattr(Node.__init__, "__defaults__", (print, False))
    settings = 'graph = "complete"\nschedule = "every(4)"\nepsilon = 1.0\ndelta = 1e-5'
    federation = clinics(
        "feducb-p2p", settings, others="", noise="secure", start="2020-01-01T00:00:00Z",
        every="1 day",
    )  # fmt: skip

    async def work(deployed):
        node = deployed.nodes["clinic-0"]
        await until(lambda: "clock" in node.status()["problems"])
        told = node.status()
        await decide(node, 1.0)
        before = (await node.privacy())["releases"]
        monkeypatch.setattr(Node.__init__, "__defaults__", (print, True))
        await deployed.stop("clinic-0")
        await deployed.start("clinic-0")
        node = deployed.nodes["clinic-0"]
        await until(lambda: node.clock.done > 1000)
        return told, before, (await node.privacy())["releases"]

    told, before, after = running(federation, tmp_path, work, seeded=False)
    assert (
        "rounds were to end while this party, or most of its peers, were away"
        in (told["problems"]["clock"])
    )
    assert "--catch-up" in told["problems"]["clock"]
    assert "all 40 rounds were over on 2020-02-10" in told["problems"]["rounds"]
    assert (before, after) == (0, federation.plan.schedule.releases)


def test_rounds_that_are_over():
    start, day = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC).timestamp(), 86_400.0
    federation = clinics(start="2020-01-01T00:00:00Z", every="1 day", rounds=40)
    assert over_since(federation, start + 40 * day - 1.0) == ""
    assert "2020-02-10 00:00 UTC" in over_since(federation, start + 40 * day)
    assert over_since(clinics(kind="rounds"), start + 1e9) == ""


@pytest.mark.parametrize(
    ("catches_up", "slept", "awaited", "owed", "ends", "said"),
    [
        (False, 0.0, (), 4, True, True), (False, 0.0, (), 3, True, False),
        (True, 0.0, (), 9, True, False), (False, 0.0, (), 9, False, False),
        (False, 9.0, (), 9, True, True), (False, 7.0, (), 9, True, False),
        (False, 7.0, ("hub",), 9, True, True),
    ],
)  # fmt: skip
def test_who_was_away_asleep_or_alone_waits_for_a_word(
    catches_up, slept, awaited, owed, ends, said, monkeypatch
):
    """And nobody else: rounds that wait for a disk have records in between."""
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC).timestamp()
    monkeypatch.setattr("fedbandits.deployment.hosting.clock.time.time", lambda: now)
    settings = 'graph = "complete"\nepsilon = 1.0\ndelta = 1e-5'
    federation = clinics(
        "feducb-p2p", settings, others="", noise="secure", start="2020-01-01T00:00:00Z",
        every="1 s",
    )  # fmt: skip
    seat = HostedSeat.of(federation, "clinic-0")
    view, delivery = SimpleNamespace(next_end=4 if ends else None), SimpleNamespace(awaited=awaited)
    clock = Clock(None, SimpleNamespace(seat=seat, view=view), delivery, catches_up)
    if slept:
        clock._was_away, clock._looked = False, now - slept
    clock.done = clock._elapsed() - owed
    assert bool(clock._owes()) is said


@pytest.mark.parametrize(
    ("ticks", "apart", "waits"),
    [(1, 0.0, False), (2, 0.0, True), (2, 29.0, True), (2, 31.0, False)],
)
def test_who_missed_a_tick_hears_first_what_peers_have_kept_for_it(
    ticks, apart, waits, monkeypatch
):
    """It must know which sums it has missed, for as long as a message may take."""
    monkeypatch.setattr("fedbandits.deployment.hosting.clock.time.time", lambda: 1e9)
    monkeypatch.setattr("fedbandits.deployment.hosting.clock.time.monotonic", lambda: 100.0)
    start = datetime.datetime.fromtimestamp(1e9 - 1.0, datetime.UTC).isoformat()
    seat = HostedSeat.of(clinics(start=start, every="1 s", message_time="30 s"), "clinic-0")
    view = SimpleNamespace(waits_for_sum=False)
    clock = Clock(SimpleNamespace(exhausted=False), SimpleNamespace(seat=seat, view=view), None)
    clock._apart = 100.0 - apart
    assert clock._must_wait(clock.done + ticks) is waits
