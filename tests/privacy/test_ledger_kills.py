"""A party that is killed again and again, at any instant, spends its budget once."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
from collections import defaultdict

import numpy as np
import pytest

from fedbandits.errors import BudgetExceededError
from fedbandits.privacy.accounting import ContinualSum
from fedbandits.privacy.ledger import Ledger
from tests.privacy.ledgers import BUDGET, CLAIM, DELTA, EPSILON, in_child, running_sum

RELEASES = 25
EVENT = running_sum(RELEASES)
OUTBOX = "CREATE TABLE IF NOT EXISTS outbox (step INTEGER PRIMARY KEY, release BLOB)"


def play(path, wire: int, progress: int) -> int:
    """Send again what may not have left, then release until nothing is planned any more.

    The noise is fresh in every process. A byte of progress marks each instant of interest.
    """
    rng = np.random.default_rng()
    with Ledger.open(path, "hospitals") as ledger:
        with ledger.begin() as connection:
            connection.exec_driver_sql(OUTBOX)
            ledger.open_account(connection, "A", CLAIM, EPSILON, DELTA)
            kept = connection.exec_driver_sql("SELECT step, release FROM outbox").all()
        for step, release in kept:
            send(wire, step, release)
        for step in range(len(kept) + 1, RELEASES + 1):
            os.write(progress, b"a")
            release = released(ledger, step, rng, progress)
            os.write(progress, b"d")  # committed, not sent
            send(wire, step, release)
            os.write(progress, b"e")
    return 0


def released(ledger: Ledger, step: int, rng: np.random.Generator, progress: int) -> bytes:
    with ledger.begin() as connection:
        event = ContinualSum(EVENT.plan, EVENT.record_norm, step)
        noise = ledger.draw(connection, "A", "sum", step, event, lambda: rng.normal(size=3))
        os.write(progress, b"b")  # charged and drawn, not kept
        release = (float(step) + noise).tobytes()
        connection.exec_driver_sql("INSERT INTO outbox VALUES (?, ?)", (step, release))
        os.write(progress, b"c")  # all written, not committed
    return release


def send(wire: int, step: int, release: bytes) -> None:
    os.write(wire, f"{step} {release.hex()}\n".encode())


def killed_at_some_instant(path, wire_path, chance: random.Random) -> bool:
    """Whether the child was killed; if not, it has come to the end of its plan."""
    reading, writing = os.pipe()
    wire = os.open(wire_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    child = in_child(lambda: play(path, wire, writing))
    os.close(writing)
    for _ in range(chance.randrange(25)):
        if not os.read(reading, 1):
            break
    for _ in range(chance.randrange(4000)):  # a moment, shorter than a commit
        pass
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    os.close(reading)
    os.close(wire)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def check(path, wire_path) -> int:
    """What must hold at any time; the number of releases that were sent."""
    sent = defaultdict(set)
    for line in wire_path.read_text().splitlines():
        step, release = line.split()
        sent[int(step)].add(release)
    with Ledger.open(path, "hospitals") as ledger, ledger.begin() as connection:
        ledger.verify(connection)
        if not ledger.parties(connection):
            assert not sent
            return 0
        statement = ledger.statement(connection, "A")
        draws = ledger.draws(connection, "A", "sum")
    assert statement.spent_mu <= BUDGET
    assert len(draws) == statement.charges <= RELEASES
    assert set(sent) <= set(range(1, len(draws) + 1))
    for step, copies in sent.items():
        assert copies == {(float(step) + draws[step - 1]).tobytes().hex()}
    return len(sent)


@pytest.mark.parametrize("least", [80, pytest.param(220, marks=pytest.mark.slow)])
def test_a_party_that_is_killed_again_and_again_spends_its_budget_once(tmp_path, least):
    """In a process that has loaded nothing else: one that plays tests is slow to fork."""
    campaign = multiprocessing.get_context("spawn").Process(
        target=kill_again_and_again, args=(tmp_path, least)
    )
    campaign.start()
    campaign.join()
    assert campaign.exitcode == 0


def kill_again_and_again(folder, least: int) -> None:
    chance = random.Random(20260101)  # noqa: S311
    kills = rounds = 0
    while kills < least:
        rounds += 1
        path, wire_path = folder / f"{rounds}.db", folder / f"{rounds}.wire"
        wire_path.touch()
        while True:
            was_killed = killed_at_some_instant(path, wire_path, chance)
            kills += was_killed
            sent = check(path, wire_path)
            if not was_killed or (sent == RELEASES and chance.random() < 0.5):
                break
        assert sent == RELEASES
        event = ContinualSum(EVENT.plan, EVENT.record_norm, RELEASES + 1)
        with (
            Ledger.open(path, "hospitals") as ledger,
            ledger.begin() as connection,
            pytest.raises(BudgetExceededError),
        ):
            ledger.charge(connection, "A", "sum", RELEASES + 1, event)
