"""Events of any size and any type, and clocks of any time: an answer with a name, at once."""

from __future__ import annotations

import math
import subprocess
import sys

import msgspec
import numpy as np
import pytest

from fedbandits.errors import (
    BudgetExceededError,
    ClaimError,
    ClockError,
    FedbanditsError,
    LedgerError,
    UnknownEventError,
)
from fedbandits.privacy import accounting, continual
from fedbandits.privacy.accounting import (
    ContinualSum,
    Encrypted,
    GaussianRelease,
    LaplaceRelease,
    Parallel,
)
from fedbandits.privacy.continual import ContinualPlan, toeplitz_coefficients
from tests.privacy.ledgers import (
    BUDGET,
    CLAIM,
    DELTA,
    EPSILON,
    Clock,
    ledger_at,
    running_sum,
    single,
)

HUGE = 10**400


@pytest.fixture
def ledger():
    with ledger_at("sqlite://", "A") as ledger:
        yield ledger


def nested(depth):
    event = single(0.1)
    for _ in range(depth):
        event = Parallel((event,))
    return event


PRICELESS = [
    GaussianRelease(1e200, 1.0),
    GaussianRelease(1e308, 1e-308),
    LaplaceRelease(1e308, 1e-308),
    ContinualSum(ContinualPlan("tree", 5, 1e-300), 1e300),
    ContinualSum(ContinualPlan("toeplitz", 10**9, 1e-3), 2.0),
    ContinualSum(ContinualPlan("tree", HUGE, 1.0), 2.0),
]
UNKNOWN = [
    None, "a tree", 5, GaussianRelease, {"sensitivity": 1.0}, GaussianRelease("1", 1.0),
    GaussianRelease(1.0, None), GaussianRelease(1.0 + 0j, 1.0), GaussianRelease(HUGE, 1.0),
    GaussianRelease(1.0, HUGE), GaussianRelease(np.ones(3), 1.0), GaussianRelease([1.0], 1.0),
    GaussianRelease(True, 1.0), LaplaceRelease("1", "2"), LaplaceRelease(HUGE, 1.0),
    ContinualSum(None, 2.0), ContinualSum("tree", 2.0), ContinualSum(running_sum(3).plan, "2"),
    ContinualSum(running_sum(3).plan, HUGE), ContinualSum(running_sum(3).plan, 2.0, 1.5),
    ContinualSum(running_sum(3).plan, 2.0, HUGE), ContinualSum(running_sum(3).plan, 2.0, "1"),
    ContinualSum(ContinualPlan("forest", 5, 1.0), 2.0),
    ContinualSum(ContinualPlan("toeplitz", HUGE, 1.0), 2.0),
    Parallel(5), Parallel(None), Parallel((5,)), Parallel((None, "x")), Parallel("xyz"),
    Parallel((Encrypted("x"),)), nested(3), nested(100_000),
    Encrypted("\ud800"), Encrypted(5), Encrypted(None), Encrypted(b"\xff"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("event", "refused"),
    [(e, BudgetExceededError) for e in PRICELESS] + [(e, UnknownEventError) for e in UNKNOWN],
    ids=lambda value: None if isinstance(value, type) else type(value).__name__,
)
def test_whatever_the_event_is_the_answer_has_a_name(ledger, event, refused):
    with ledger.begin() as connection:
        before = ledger.statement(connection, "A")
        with pytest.raises(refused):
            ledger.charge(connection, "A", "sum", 1, event)
        assert ledger.statement(connection, "A") == before
        ledger.verify(connection)


@pytest.mark.parametrize("event", [e for e in UNKNOWN if not isinstance(e, Encrypted)])
def test_an_accountant_prices_nothing_of_a_wrong_type(event):
    """What it does price is a number; it never raises anything without a name."""
    try:
        assert accounting.mu(event) >= 0.0
    except FedbanditsError as error:
        assert isinstance(error, UnknownEventError)  # noqa: PT017


@pytest.mark.parametrize("step", ["1", None, -(2**70), 2**70, 0, -1, 1.5, HUGE])
def test_a_step_of_any_type_is_refused_by_name(ledger, step):
    with ledger.begin() as connection:
        ledger.charge(connection, "A", "sum", 1, running_sum(5))
        with pytest.raises(LedgerError):
            ledger.charge(connection, "A", "sum", step, running_sum(5))


@pytest.mark.parametrize(
    "terms",
    [
        ("1", DELTA), (EPSILON, "1"), (None, DELTA), (HUGE, DELTA), (EPSILON, HUGE),
        (EPSILON, np.ones(2)),
    ],
)  # fmt: skip
def test_a_budget_of_any_type_is_refused_by_name(ledger, terms):
    with ledger.begin() as connection, pytest.raises(ClaimError):
        ledger.open_account(connection, "B", CLAIM, *terms)


def test_a_claim_that_cannot_be_written_is_refused_by_name(ledger):
    claim = msgspec.structs.replace(CLAIM, unit="one \ud800")
    with ledger.begin() as connection, pytest.raises(ClaimError, match="written down"):
        ledger.open_account(connection, "B", claim, EPSILON, DELTA)
    with ledger.begin() as connection, pytest.raises(LedgerError):
        ledger.statement(connection, "\ud800")


SMALL = """
import resource
from fedbandits.privacy.accounting import ContinualSum, describe, mu, relative_deviation
from fedbandits.privacy.continual import ContinualPlan
mu(ContinualSum(ContinualPlan("toeplitz", 100, 1.0), 2.0))
relative_deviation(ContinualSum(ContinualPlan("toeplitz", 100, 1.0), 2.0))
with open("/proc/self/statm") as told:
    now = int(told.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + (512 << 20),) * 2)
for releases in (10**9, 2**62):
    for made in (None, 1, 1000, 10**8):
        for mechanism in ("toeplitz", "tree"):
            event = ContinualSum(ContinualPlan(mechanism, releases, 1.0), 2.0, made)
            assert 0.0 < mu(event) < 20.0
            assert 0.0 < relative_deviation(event) < 20.0
            describe(event)
"""


def test_an_event_with_a_billion_releases_takes_no_memory():
    told = subprocess.run([sys.executable, "-c", SMALL], check=False, capture_output=True)
    assert told.returncode == 0, told.stderr.decode()


def test_where_sums_end_the_closed_form_goes_on(monkeypatch):
    """Landau's constants: the expansion is held against the sum itself, from above."""
    exact = np.cumsum(toeplitz_coefficients(200_000).astype(np.longdouble) ** 2)
    monkeypatch.setattr(continual, "SUMMED", 1000)
    plan = ContinualPlan("toeplitz", 10**9, 1.0)
    for count in (1001, 1500, 5000, 60_000, 200_000):
        found = plan.sensitivity(count)
        due = math.sqrt(float(exact[count - 1]))
        assert due * (1.0 - 1e-15) <= found <= due * (1.0 + 1e-11)
        assert plan.deviation(count) == found
    assert plan.sensitivity(1000) == ContinualPlan("toeplitz", 1000, 1.0).sensitivity()


def test_prices_do_not_depend_on_how_many_are_planned():
    for count in (1, 2, 63, 64, 65, 1000):
        alone = ContinualPlan("toeplitz", count, 1.0).sensitivity()
        assert ContinualPlan("toeplitz", 5000, 1.0).sensitivity(count) == alone
        due = float(np.sqrt(np.cumsum(toeplitz_coefficients(count) ** 2))[-1])
        assert alone == due


YEAR_2100 = 4.1e9


def test_a_clock_that_was_far_ahead_once_can_be_excused(tmp_path):
    clock = Clock(1000.0)
    path = tmp_path / "ledger.db"
    with ledger_at(path, "A", "B", clock=clock) as ledger:
        clock.now = YEAR_2100
        with ledger.begin() as connection:
            ledger.charge(connection, "A", "one", 1, single(0.1 * BUDGET))
            wrong = ledger.statement(connection, "A").last
        clock.now = 2000.0
        with (
            ledger.begin() as connection,
            pytest.raises(ClockError, match=r"Ledger\.excuse_clock"),
        ):
            ledger.charge(connection, "B", "one", 1, single(0.1 * BUDGET))
        with ledger.begin() as connection:
            assert ledger.excuse_clock(connection) == wrong
    with ledger_at(path, "C", clock=clock) as ledger, ledger.begin() as connection:
        for party in "AB":  # in another process, too
            ledger.charge(connection, party, "two", 1, single(0.1 * BUDGET))
            assert ledger.statement(connection, party).last == wrong, "times never decrease"
        ledger.verify(connection)
        clock.now = YEAR_2100 + 100.0  # it has come to that
        ledger.charge(connection, "A", "three", 1, single(0.1 * BUDGET))
        clock.now = YEAR_2100
        with pytest.raises(ClockError):
            ledger.charge(connection, "B", "three", 1, single(0.1 * BUDGET))
        ledger.verify(connection)


def test_there_is_nothing_to_excuse_in_an_empty_ledger():
    with ledger_at("sqlite://") as ledger, ledger.begin() as connection:
        assert ledger.excuse_clock(connection) is None


@pytest.mark.parametrize("told", [None, "noon", HUGE, math.nan])
def test_a_clock_that_tells_no_time_is_refused_by_name(told):
    with (
        ledger_at("sqlite://", clock=lambda: told) as ledger,
        ledger.begin() as connection,
        pytest.raises(ClockError),
    ):
        ledger.open_account(connection, "A", CLAIM, EPSILON, DELTA)


def test_an_excuse_that_is_none_is_corruption(ledger):
    with ledger.begin() as connection:
        connection.exec_driver_sql("INSERT INTO ledger_meta VALUES ('excused', 'noon')")
        ledger._times._clock = lambda: 0.0
        with pytest.raises(LedgerError, match="excused"):
            ledger.charge(connection, "A", "one", 1, single(0.1))
