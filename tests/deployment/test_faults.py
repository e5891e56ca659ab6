"""Stores that fail at any commit, carriers that lose and repeat: nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
import contextlib
import itertools

import numpy as np
import pytest

from fedbandits.deployment.storage.store import Store
from fedbandits.environments.linear import Linear
from fedbandits.errors import (
    DuplicateRewardError,
    FedbanditsError,
    LocalProtocolError,
    StoreError,
    StoreFullError,
)
from fedbandits.federation import snapshots
from fedbandits.random import Key, uniform
from fedbandits.systems.base import PartiesReplicate
from fedbandits.testing.deployed import DeployedFederation, simulated, until
from fedbandits.testing.deployed_systems import WorldDriver
from tests.deployment.federations import clinics, with_helpers
from tests.deployment.federations import undisturbed as undisturbed_states

ENVIRONMENT = Linear(agents=3, dim=4, arms=5)
ROUNDS = 25


def undisturbed(federation, seed=7, rounds=ROUNDS):
    run = PartiesReplicate(federation.system, federation.plan, ENVIRONMENT, seed, 0)
    run.advance(rounds)
    return run


class Patient(WorldDriver):
    """An application that asks again until it is answered.

    A decision that was made but not answered would stay open, and take its place in a batch: what
    is compared would differ. So while one is made, no commit is made that nobody hears of.
    """

    deciding = False

    async def decided(self, node, asked):
        while True:
            self.deciding = True
            try:
                return await node.decide(asked)
            except StoreError:
                continue
            finally:
                self.deciding = False

    async def rewarded(self, node, number, told):
        while True:
            try:
                return await node.reward(number, told)
            except DuplicateRewardError:
                return None
            except StoreError:
                continue

    async def end_round(self, round_):
        for member in self.players:
            node = self.deployed.nodes[member]
            while node.host.view.next_end == round_:
                # A round that has ended unheard of cannot end again.
                with contextlib.suppress(StoreError, LocalProtocolError):
                    await node.end_round(round_)
                    break
        await self.deployed.settle()


def failing(monkeypatch, game, chances, seed):
    """Let commits fail: some before they are made, some when they are made already."""
    begin, count = Store.begin, itertools.count()
    key = Key(seed, 0)
    failed = {"before": 0, "after": 0}

    @contextlib.contextmanager
    def sometimes(self, waits=True):
        draw = uniform(key, 0, next(count), 1, 0)
        with begin(self, waits) as connection:
            yield connection
            if draw < chances:
                failed["before"] += 1
                raise StoreError("this commit fails")
        if draw > 1.0 - chances and not game.deciding:
            failed["after"] += 1
            raise StoreError("nobody hears of this commit")

    monkeypatch.setattr(Store, "begin", sometimes)
    return failed


def plain(states):
    return {member: snapshots.plain(state) for member, state in states.items()}


def statistics(states):
    return {member: state.statistic.tobytes() for member, state in states.items()}


@pytest.fixture
def impatient(monkeypatch):
    """What was not answered is said again soon: tests need not wait."""
    monkeypatch.setattr("fedbandits.deployment.delivery.exchange.FIRST_PAUSE", 0.02)
    monkeypatch.setattr("fedbandits.deployment.delivery.exchange.LONGEST_PAUSE", 0.1)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("made", [clinics, with_helpers])
def test_no_commit_that_fails_loses_or_repeats_anything(tmp_path, monkeypatch, made, seed):
    federation = made()

    async def play():
        deployed = DeployedFederation(
            federation, tmp_path, supplies=simulated(federation, ENVIRONMENT, 7)
        )
        await deployed.start()
        await deployed.greeted()
        game = Patient(deployed, ENVIRONMENT, 7)
        failed = failing(monkeypatch, game, 0.1, seed)
        await game.advance(ROUNDS)
        monkeypatch.undo()
        await deployed.settle()
        found = {m: deployed.state(m) for m in federation.everybody}
        await deployed.stop()
        return found, failed

    found, failed = asyncio.run(play())
    assert min(failed.values()) >= 5
    run = undisturbed(federation)
    for agent in run.of("agent"):
        state = found[federation.member_of[agent.name]]
        assert state.records == agent.state.records == ROUNDS
        np.testing.assert_array_equal(state.statistic, agent.state.statistic)
        np.testing.assert_array_equal(state.pool.moment, agent.state.pool.moment)
        assert state.released.made == agent.state.released.made == 2


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("made", [clinics, with_helpers])
def test_a_carrier_that_loses_repeats_and_reorders(tmp_path, made):
    federation = made()
    key, count = Key(3, 0), itertools.count()

    def route(sender, receiver, frame):
        draws = [uniform(key, 0, next(count), i, 0) for i in range(3)]
        if draws[0] < 0.2:
            return []
        arriving = [(0.05 * draws[1], frame)]
        return arriving * 2 if draws[2] < 0.2 else arriving

    async def play():
        deployed = DeployedFederation(
            federation, tmp_path, supplies=simulated(federation, ENVIRONMENT, 7)
        )
        deployed.hub.route = route
        await deployed.start()
        await deployed.greeted()
        await WorldDriver(deployed, ENVIRONMENT, 7).advance(ROUNDS)
        found = {m: deployed.state(m) for m in federation.everybody}
        await deployed.stop()
        return found

    found = asyncio.run(play())
    assert plain(found) == undisturbed_states(federation, ENVIRONMENT, 7, ROUNDS)


@pytest.mark.parametrize("made", [clinics, with_helpers])
def test_members_that_stop_and_start_at_any_time(tmp_path, made):
    federation = made()

    async def play():
        deployed = DeployedFederation(
            federation, tmp_path, supplies=simulated(federation, ENVIRONMENT, 7)
        )
        await deployed.start()
        game = WorldDriver(deployed, ENVIRONMENT, 7)
        for round_ in range(1, ROUNDS + 1):
            await deployed.greeted()
            await game.advance(round_)
            member = federation.everybody[round_ % len(federation.everybody)]
            await deployed.stop(member)
            await deployed.start(member)
        found = {m: deployed.state(m) for m in federation.everybody}
        await deployed.stop()
        return found

    found = asyncio.run(play())
    assert plain(found) == undisturbed_states(federation, ENVIRONMENT, 7, ROUNDS)


def test_a_full_disk_is_told_and_loses_nothing(tmp_path):
    federation = clinics()

    async def play():
        deployed = DeployedFederation(
            federation, tmp_path, supplies=simulated(federation, ENVIRONMENT, 7)
        )
        await deployed.start()
        await deployed.greeted()
        game = Patient(deployed, ENVIRONMENT, 7)
        await game.advance(5)
        node = deployed.nodes["clinic-0"]

        def limit(batch, pages):
            batch.connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}").close()

        await node.host.call(lambda batch: limit(batch, 1))
        asked = node.application.ASKED(actions=[[0.1] * 4] * 5)
        told = []
        for _ in range(2_000):
            try:
                await node.decide(asked)
            except FedbanditsError as error:
                told.append(error)
                break
        assert isinstance(told[0], StoreFullError)
        assert node.status()["problems"]["store"]
        assert not node.ready
        before = node.host.view.decisions
        await node.host.call(lambda batch: limit(batch, 1 << 30))
        decided = await node.decide(asked)
        assert decided.number == before + 1
        assert node.ready
        await node.reward(decided.number, node.application.TOLD(reward=1.0))
        await deployed.stop()
        await deployed.start()
        assert deployed.nodes["clinic-0"].host.view.decisions == before + 1
        await deployed.stop()

    asyncio.run(play())


def test_an_old_backup_is_refused(tmp_path, caplog):
    federation = clinics()
    (tmp_path / "old").mkdir()

    async def play():
        deployed = DeployedFederation(
            federation, tmp_path, supplies=simulated(federation, ENVIRONMENT, 7)
        )
        await deployed.start()
        await deployed.greeted()
        game = WorldDriver(deployed, ENVIRONMENT, 7)
        await game.advance(9)
        await deployed.stop("clinic-1")
        saved = (tmp_path / "clinic-1.db").read_bytes()
        left = (tmp_path / "clinic-1.left").read_bytes()
        await deployed.start("clinic-1")
        await deployed.greeted()
        await game.advance(12)
        await deployed.stop("clinic-1")
        for path in tmp_path.glob("clinic-1.*"):
            path.unlink()
        (tmp_path / "old" / "clinic-1.db").write_bytes(saved)
        (tmp_path / "old" / "clinic-1.left").write_bytes(left)
        stores = {"clinic-1": str(tmp_path / "old" / "clinic-1.db")}
        again = DeployedFederation(
            federation,
            tmp_path,
            supplies=simulated(federation, ENVIRONMENT, 7),
            stores=stores,
            moved=True,
        )
        again.hub = deployed.hub
        fatal = []
        node = again.make("clinic-1", fatal.append)
        await node.start()
        await until(lambda: bool(fatal))
        with pytest.raises(FedbanditsError, match="old backup"):
            await node.decide(node.application.ASKED(actions=[[0.1] * 4] * 5))
        await node.stop()
        await deployed.stop()
        return fatal

    (why,) = asyncio.run(play())
    assert type(why).__name__ == "StaleStoreError"
    assert "clinic-1" in str(why)
    said = [line for line in caplog.messages if line.endswith("was put back; it must stop")]
    assert 0 < len(said) == len(set(said)), "a peer says it once, not at every greeting"
