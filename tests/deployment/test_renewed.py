"""A federation that is renewed goes on with the account of the one before it."""

from __future__ import annotations

import asyncio
import math

import pytest

from fedbandits.deployment.delivery.transport import MemoryHub
from fedbandits.deployment.hosting.known import EARLIER, left_beside, with_noise
from fedbandits.deployment.hosting.node import Node
from fedbandits.deployment.hosting.seat import HostedSeat, spent_before
from fedbandits.deployment.storage.rows import Left
from fedbandits.deployment.storage.store import Store
from fedbandits.errors import LedgerError, LedgerMismatchError
from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import GaussianRelease
from fedbandits.privacy.ledger import Ledger, add_up
from fedbandits.privacy.person import person_cost
from fedbandits.testing.deployed import DeployedFederation, until
from tests.deployment.federations import clinics, with_helpers


def released(federation, folder, ticks):
    """Let a federation release so many times."""

    async def play():
        deployed = DeployedFederation(federation, folder)
        await deployed.start()
        await deployed.greeted()
        node = deployed.nodes["clinic-0"]
        for tick in range(1, ticks + 1):
            await node.tick(tick)
        await deployed.stop()

    asyncio.run(play())


def test_what_was_spent_before_is_spent(tmp_path):
    first, renewed = clinics(noise="secure"), clinics(noise="secure", rounds=50)
    released(first, tmp_path, 2)
    before = tmp_path / "clinic-0.db"
    spent = spent_before([before])
    assert spent > 0.0
    seat = HostedSeat.of(renewed, "clinic-0")._replace(earlier=spent)
    alone, together = seat._replace(earlier=0.0).claim, seat.claim
    assert together.mu == pytest.approx(math.hypot(alone.mu, spent), rel=1e-12)
    assert together.epsilon > alone.epsilon
    assert together.epsilon == pytest.approx(gaussian.epsilon_of(together.mu, together.delta))

    async def play(seat, releases):
        store = Store.open(tmp_path / "new.db", "clinics", "clinic-0", seat.terms.digest)
        hub = MemoryHub()
        deployed = DeployedFederation(renewed, tmp_path / "others")
        deployed.hub = hub
        (tmp_path / "others").mkdir(exist_ok=True)
        seals = deployed._seals("clinic-0")
        node = Node(seat, store, hub.transport("clinic-0"), *seals)
        try:
            await node.start()
            told = await node.privacy()
            if releases:
                await deployed.start("hub")
                await until(lambda: bool(node.delivery.greeted))
                for tick in range(1, releases + 1):
                    await node.tick(tick)
            return told, await node.privacy()
        finally:
            await node.stop()
            await deployed.stop()

    most = renewed.plan.schedule.releases
    told, after = asyncio.run(play(seat, most))
    assert told["epsilon_spent"] == pytest.approx(gaussian.epsilon_of(spent, 1e-5))
    assert after["releases"] == 1 + most  # all that was planned can be paid for
    assert after["epsilon_spent"] == pytest.approx(together.epsilon, rel=1e-9)
    # Started again it is charged once; an earlier federation that went on is noticed.
    assert asyncio.run(play(seat, 0))[1] == after
    with pytest.raises(LedgerMismatchError):
        asyncio.run(play(seat._replace(earlier=2 * spent), 0))


def test_what_has_left_an_old_backup_is_spent_too(tmp_path):
    """Else a backup of the first release would pay for all that came after it."""
    federation = clinics(noise="secure")
    released(federation, tmp_path, 1)
    store, left = tmp_path / "clinic-0.db", left_beside(tmp_path / "clinic-0.db")
    once, found = spent_before([store]), left.read()
    left.write(Left(2.0 * once, found.marks if found else {}))
    assert spent_before([store]) == pytest.approx(2.0 * once)
    left.write(Left(0.5 * once, {}))  # a crash came before it was written
    assert spent_before([store]) == once
    left.path.unlink()
    assert spent_before([store]) == once


def spent_in(federation, path, member, mu, earlier=0.0):
    """Make a store whose party has released once at a price of μ."""
    seat = HostedSeat.of(federation, member)._replace(earlier=earlier)
    with Store.open(path, federation.name, member, seat.terms.digest) as store, store.begin() as on:
        store.ledger.open_account(on, member, seat.claim, *seat.budget)
        if earlier:
            store.ledger.charge(on, member, EARLIER, 1, seat.earlier_event)
        store.ledger.charge(on, member, "releases", 1, GaussianRelease(mu, 1.0))
    return path


def stated(*paths):
    """Add up the accounts of stores, as the command does."""
    found = []
    for path in paths:
        with Ledger.existing(path) as ledger, ledger.read() as on:
            (party,) = ledger.parties(on)
            found.append(with_noise(on, ledger.statement(on, party)))
    return add_up(found).spent_mu


def test_members_of_one_federation_have_one_noise(tmp_path):
    """A federation is known by its terms: one that is renewed has the same name, and new noise."""
    secure, renewed = (with_helpers(noise="secure", rounds=rounds) for rounds in (40, 50))
    clear = clinics(noise="secure")
    one = spent_in(secure, tmp_path / "a.db", "clinic-0", 0.1)
    two = spent_in(secure, tmp_path / "b.db", "clinic-1", 0.2)
    later = spent_in(renewed, tmp_path / "c.db", "clinic-1", 0.2)
    alone = [spent_in(clear, tmp_path / f"{i}.db", f"clinic-{i}", 0.1) for i in (0, 1)]
    for total in (stated, lambda *paths: spent_before(paths)):
        assert total(one, two) == pytest.approx(0.3)
        assert total(one, later) == pytest.approx(math.hypot(0.1, 0.2))
        assert total(one, two, later) == pytest.approx(math.hypot(0.3, 0.2))
        assert total(*alone) == pytest.approx(math.hypot(0.1, 0.1))


def test_what_members_have_spent_before_may_be_of_one_noise(tmp_path):
    """They have noise of their own now, but both released to one secure sum before."""
    clear = clinics(noise="secure")
    stores = [
        spent_in(clear, tmp_path / f"{i}.db", f"clinic-{i}", 0.1, earlier=0.2) for i in (0, 1)
    ]
    assert stated(*stores) >= math.hypot(0.1, 0.1, 0.2 + 0.2)


def test_who_left_before_and_who_went_on_elsewhere_had_one_noise(tmp_path):
    """Both released to one secure sum. One left, the other went on, or both did under new terms."""
    secure, clear = with_helpers(noise="secure", rounds=40), clinics(noise="secure")
    renewed = with_helpers(noise="secure", rounds=50)
    left = spent_in(secure, tmp_path / "left.db", "clinic-0", 0.2)
    for i, (one, other) in enumerate([(clear, renewed), (renewed, clear), (clear, clear)]):
        stayed, went = (
            spent_in(federation, tmp_path / f"{i}-{member}.db", member, 0.1, earlier=0.2)
            for federation, member in ((one, "clinic-1"), (other, "clinic-0"))
        )
        assert stated(left, stayed) >= math.hypot(0.2 + 0.2, 0.1)
        assert spent_before([left, stayed]) == pytest.approx(stated(left, stayed))
        assert stated(stayed, went) >= math.hypot(0.2 + 0.2, 0.1, 0.1)
    alone = spent_in(clear, tmp_path / "alone.db", "clinic-2", 0.1)  # noise of its own alone
    assert stated(stayed, alone) == pytest.approx(math.hypot(0.1, 0.2, 0.1))


def test_a_person_s_price_has_what_was_spent_before():
    secure = with_helpers()
    person = person_cost(3, 0.1, 1e-5)
    seat = HostedSeat.of(secure, "clinic-0")._replace(earlier=0.2)
    assert seat._with_earlier(person).mu == pytest.approx(math.hypot(0.3, 0.6))
    price = gaussian.epsilon_of(math.hypot(0.3, 0.6), 1e-5)
    assert seat._with_earlier(person).epsilon == pytest.approx(price)


def test_a_store_that_is_not_there_is_named(tmp_path):
    with pytest.raises(LedgerError, match="there is no ledger"):
        spent_before([tmp_path / "gone.db"])
