"""Several processes and one budget."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import pytest

from fedbandits.errors import BudgetExceededError, LedgerError, NoiseReuseError
from fedbandits.privacy.ledger import Ledger
from tests.privacy.ledgers import (
    BUDGET,
    CLAIM,
    DELTA,
    EPSILON,
    forks,
    in_child,
    running_sum,
    single,
)

WON, REFUSED, DRAWN, OTHER = 0, 3, 4, 5


def race(path, runners: int, action: Callable[[Ledger, int], None]) -> list[int]:
    """Exit statuses of processes that open the ledger, wait for each other, and then act."""
    ready, started = os.pipe()
    waiting, go = os.pipe()

    def run(number: int) -> int:
        os.close(go)
        with Ledger.open(path, "hospitals") as ledger:
            os.write(started, b".")
            os.read(waiting, 1)  # returns when the last writer's end is closed
            try:
                action(ledger, number)
            except BudgetExceededError:
                return REFUSED
            except NoiseReuseError:
                return DRAWN
            except LedgerError:
                return OTHER
            return WON

    children = [in_child(lambda n=n: run(n)) for n in range(runners)]
    os.close(started)  # so that a read ends when a child has died before it was ready
    for _ in children:
        os.read(ready, 1)
    for end in (go, waiting, ready):
        os.close(end)
    return sorted(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)


def open_account(path) -> None:
    with Ledger.open(path, "hospitals") as ledger, ledger.begin() as connection:
        ledger.open_account(connection, "A", CLAIM, EPSILON, DELTA)


def verify(path) -> float:
    with Ledger.open(path, "hospitals") as ledger, ledger.begin() as connection:
        ledger.verify(connection)
        return ledger.statement(connection, "A").spent_mu


@forks
@pytest.mark.parametrize("runners", [2, 4])
def test_only_one_spends_the_last_of_it(tmp_path, runners):
    def charge(ledger, number):
        with ledger.begin() as connection:
            ledger.charge(connection, "A", f"release {number}", 1, single(0.8 * BUDGET))

    for attempt in range(5):
        path = tmp_path / f"{attempt}.db"
        open_account(path)
        assert race(path, runners, charge) == [WON] + [REFUSED] * (runners - 1)
        assert verify(path) == pytest.approx(0.8 * BUDGET)


@forks
def test_only_one_draws_a_step(tmp_path):
    event = running_sum(5)

    def draw(ledger, number):
        with ledger.begin() as connection:
            ledger.draw(connection, "A", "sum", 1, event, lambda: np.full(3, float(number)))

    for attempt in range(5):
        path = tmp_path / f"{attempt}.db"
        open_account(path)
        assert race(path, 4, draw) == [WON, DRAWN, DRAWN, DRAWN]
        verify(path)


@forks
def test_many_may_create_one_ledger_at_once(tmp_path):
    def account(ledger, number):
        with ledger.begin() as connection:
            ledger.open_account(connection, "A", CLAIM, EPSILON, DELTA)
            ledger.charge(connection, "A", f"release {number}", 1, single(0.1 * BUDGET))

    for attempt in range(5):
        assert race(tmp_path / f"{attempt}.db", 4, account) == [WON] * 4
        assert verify(tmp_path / f"{attempt}.db") == pytest.approx(0.2 * BUDGET)
