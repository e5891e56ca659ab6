from __future__ import annotations

import json
import math
import sqlite3
import stat
import subprocess
import sys
from functools import partial
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import example, given
from hypothesis import strategies as st

from fedbandits.errors import (
    BudgetExceededError,
    ClaimError,
    ClockError,
    LedgerBusyError,
    LedgerCorruptError,
    LedgerError,
    LedgerMismatchError,
    NoiseError,
    NoiseReuseError,
    ReleaseRefusedError,
    StepError,
    UnknownEventError,
    UnknownPartyError,
)
from fedbandits.privacy import accounting, continual
from fedbandits.privacy.accounting import Clear, ContinualSum, GaussianRelease, Parallel
from fedbandits.privacy.claims import Limit, View
from fedbandits.privacy.ledger import Ledger, LedgeredNoise, add_up
from fedbandits.privacy.ledger.tables import METADATA, decode_claim, encode_claim, root, squared
from fedbandits.privacy.running_sum import init, release
from fedbandits.privacy.secure_noise import GRID_BITS, SecureNoise, own_sampler
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

MEMORY = "sqlite://"
ROUNDING = 1.0 + 2.0**-50


@pytest.fixture
def ledger():
    with ledger_at(MEMORY, "A", "B") as ledger:
        yield ledger


@pytest.fixture
def connection(ledger):
    with ledger.begin() as connection:
        yield connection


def fill(ledger, connection, event, party="A", stream="sum"):
    for step in range(1, event.plan.releases + 1):
        charged = msgspec.structs.replace(event, releases=step)
        ledger.charge(connection, party, stream, step, charged)


@given(st.floats(1e-12, 1e12))
def test_what_is_squared_has_the_root_that_it_came_from(mu):
    assert math.sqrt(float(squared(mu)) / 2.0**128) == pytest.approx(mu, rel=1e-15)
    if mu > 1e-6:
        assert root(squared(mu)) == mu


@given(st.sampled_from(["tree", "toeplitz"]), st.integers(1, 80), st.floats(0.01, 50.0))
def test_the_last_release_of_a_plan_is_not_refused_and_no_other_is_left(mechanism, n, record_norm):
    plan = continual.calibrated(mechanism, n, BUDGET, record_norm)
    with ledger_at(MEMORY, "A") as ledger, ledger.begin() as connection:
        for step in range(1, n + 1):
            ledger.charge(connection, "A", "sum", step, ContinualSum(plan, record_norm, step))
        assert ledger.statement(connection, "A").spent_mu <= BUDGET
        with pytest.raises(BudgetExceededError, match="'more'"):
            # Calibration leaves room for rounding, and no more.
            ledger.charge(connection, "A", "more", 1, single(1e-2 * BUDGET))


@given(st.integers(1, 60))
@example(65)  # the shares, rounded to the nearest, are together one last digit too much
def test_a_budget_in_equal_shares_reaches_to_the_last(n):
    share = GaussianRelease(1.0, math.sqrt(n) / BUDGET)
    with ledger_at(MEMORY, "A") as ledger, ledger.begin() as connection:
        for k in range(n):
            ledger.charge(connection, "A", f"release {k}", 1, share)
        with pytest.raises(BudgetExceededError):
            ledger.charge(connection, "A", "one more", 1, share)


#: A plan that is part of many.
EIGHT = running_sum(8, 0.7 * BUDGET).plan
charges = st.tuples(st.sampled_from(["A", "B"]), st.integers(0, 5), st.floats(0.0, 0.6 * BUDGET))


def all_rows(connection):
    return [connection.execute(sa.select(table)).all() for table in METADATA.sorted_tables]


@given(st.lists(charges, max_size=40))
def test_random_charges_never_exceed_and_add_up_as_accounting_says(tmp_path_factory, wishes):
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"
    spent = {"A": {}, "B": {}}
    with ledger_at(path, "A", "B") as ledger, ledger.begin() as connection:
        for party, stream, mu in wishes:
            mine = spent[party]
            name, step, event = f"sum {stream}", len(mine.get(stream, [])) + 1, None
            if stream == 0:
                event = ContinualSum(EIGHT, 2.0, step)
            else:
                name, step, event = f"single {len(mine)}, {stream}, {mu}", 1, single(mu)
            before = all_rows(connection)
            try:
                ledger.charge(connection, party, name, step, event)
            except BudgetExceededError:
                assert all_rows(connection) == before
            except StepError:  # of the running sum's ninth release
                assert step > 1
            else:
                mine[stream if stream == 0 else name] = [event] * step
        statements = [ledger.statement(connection, party) for party in "AB"]
        ledger.verify(connection)
    for statement in statements:
        events = [made[-1] for made in spent[statement.party].values()]
        assert statement.spent_mu == pytest.approx(accounting.total_mu(events), rel=1e-14)
        assert statement.spent_mu <= BUDGET * ROUNDING
        assert statement.charges == sum(map(len, spent[statement.party].values()))
    with ledger_at(path, "A", "B") as again, again.begin() as connection:
        assert [again.statement(connection, party) for party in "AB"] == statements


def test_a_statement_tells_what_was_spent_and_what_is_left(ledger, connection):
    event = running_sum(10, 0.6 * BUDGET)
    fill(ledger, connection, event)
    ledger.charge(connection, "A", "membership", 1, single(0.3 * BUDGET))
    statement = ledger.statement(connection, "A")
    assert (statement.party, statement.claim) == ("A", CLAIM)
    assert (statement.epsilon, statement.delta, statement.mu) == (EPSILON, DELTA, BUDGET)
    assert statement.spent_mu == pytest.approx(math.hypot(0.6, 0.3) * BUDGET, rel=5e-5)
    assert statement.left_mu == pytest.approx(math.sqrt(1.0 - 0.45) * BUDGET, rel=5e-5)
    assert statement.spent_epsilon < EPSILON < statement.spent_epsilon + statement.left_epsilon
    assert statement.charges == 11
    assert statement.first < statement.last
    assert [(s.name, s.steps) for s in statement.streams] == [("membership", 1), ("sum", 10)]
    assert "toeplitz running sum, 10 releases planned" in statement.streams[1].description
    assert ledger.statement(connection, "B").spent_mu == 0.0
    assert ledger.statement(connection, "B").first is None
    assert ledger.parties(connection) == ["A", "B"]


def test_what_was_left_can_be_spent(ledger, connection):
    ledger.charge(connection, "A", "first", 1, single(0.3 * BUDGET))
    left = ledger.statement(connection, "A").left_mu
    ledger.charge(connection, "A", "second", 1, single(left))
    assert ledger.statement(connection, "A").left_mu <= 1e-7 * BUDGET


def test_an_account_is_opened_once(ledger, connection):
    ledger.charge(connection, "A", "sum", 1, single(0.1))
    before = ledger.statement(connection, "A")
    ledger.open_account(connection, "A", CLAIM, EPSILON, DELTA)
    assert ledger.statement(connection, "A") == before
    other = msgspec.structs.replace(CLAIM, unit="one user")
    for terms in ((CLAIM, 2.0, DELTA), (CLAIM, EPSILON, 1e-6), (other, EPSILON, DELTA)):
        with pytest.raises(LedgerMismatchError, match=r"'A'.*cannot be changed"):
            ledger.open_account(connection, "A", *terms)
    assert ledger.statement(connection, "A") == before


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.0, 0.1), (math.inf, 0.1), (1.0, 0.0), (1.0, 1.0)]
)
def test_a_budget_must_be_one(ledger, connection, epsilon, delta):
    with pytest.raises(ClaimError, match="'C'"):
        ledger.open_account(connection, "C", CLAIM, epsilon, delta)
    assert ledger.parties(connection) == ["A", "B"]


def test_a_claim_without_unit_is_refused():
    with pytest.raises(ClaimError, match="unit"):
        msgspec.structs.replace(CLAIM, unit=" ")


def test_claims_without_a_finite_epsilon_can_be_kept(ledger, connection):
    timing = msgspec.structs.replace(CLAIM, epsilon=math.inf, holds_for="nothing")
    ledger.open_account(connection, "C", timing, EPSILON, DELTA)
    assert ledger.statement(connection, "C").claim == timing


@pytest.mark.parametrize(
    ("refused", "stream", "step", "event"),
    [
        (BudgetExceededError, "new", 1, Clear()),
        (BudgetExceededError, "new", 1, ContinualSum(continual.ContinualPlan("none", 5, 0.0), 2.0)),
        (BudgetExceededError, "new", 1, single(1.01 * BUDGET)),
        (UnknownEventError, "new", 1, "a tree, surely"),
        (UnknownEventError, "new", 1, single(math.nan)),
        (UnknownEventError, "new", 1, single(-1.0)),
        (UnknownEventError, "new", 1, GaussianRelease(1.0, math.inf)),
        (StepError, "new", 2, running_sum(5)),
        (StepError, "new", 0, running_sum(5)),
        (StepError, "sum", 1, running_sum(5)),
        (StepError, "sum", 3, running_sum(5)),
        (StepError, "sum", 2, running_sum(6)),
        (StepError, "sum", 2, msgspec.structs.replace(running_sum(5), releases=1)),
        (StepError, "sum", 2, single(0.1 * BUDGET)),
        (StepError, "single", 2, single(0.1 * BUDGET)),
    ],
)  # fmt: skip
def test_what_is_refused_costs_nothing(ledger, connection, refused, stream, step, event):
    """A second single release in a stream would replace the first one's price, and hide it."""
    ledger.charge(connection, "A", "sum", 1, msgspec.structs.replace(running_sum(5), releases=1))
    ledger.charge(connection, "A", "single", 1, single(0.1 * BUDGET))
    before = ledger.statement(connection, "A")
    with pytest.raises(refused):
        ledger.charge(connection, "A", stream, step, event)
    with pytest.raises(refused):
        ledger.draw(connection, "A", stream, step, event, lambda: pytest.fail("was drawn"))
    assert ledger.statement(connection, "A") == before
    ledger.verify(connection)


def test_overspending_is_a_refused_release():
    assert issubclass(BudgetExceededError, ReleaseRefusedError)
    assert issubclass(NoiseReuseError, ReleaseRefusedError)


def test_strangers_have_no_account(ledger, connection):
    for action in (
        lambda: ledger.charge(connection, "C", "sum", 1, single(0.1)),
        lambda: ledger.draw(connection, "C", "sum", 1, single(0.1), lambda: np.zeros(1)),
        lambda: ledger.draws(connection, "C", "sum"),
        lambda: ledger.statement(connection, "C"),
    ):
        with pytest.raises(UnknownPartyError, match="'C'"):
            action()


def test_numbers_of_numpy_are_numbers(ledger, connection):
    ledger.charge(connection, "A", "sum", 1, GaussianRelease(np.float64(0.1), np.float32(1.0)))
    ledger.verify(connection)


def test_a_clock_that_runs_backwards_stops_everybody():
    clock = Clock()
    with ledger_at(MEMORY, "A", "B", clock=clock) as ledger, ledger.begin() as connection:
        clock.now = 5000.0
        ledger.charge(connection, "A", "one", 1, single(0.01))
        for wrong in (3000.0, 4998.9, math.nan, math.inf):
            clock.now = wrong
            with pytest.raises(ClockError, match="nothing was spent"):
                ledger.charge(connection, "B", "one", 1, single(0.01))
            clock.now = wrong
            with pytest.raises(ClockError):
                ledger.open_account(connection, "C", CLAIM, EPSILON, DELTA)
        clock.now = 5000.2 - 1.0
        ledger.charge(connection, "B", "one", 1, single(0.01))
        assert ledger.statement(connection, "B").last == 5001.0, "recorded times never decrease"
        assert ledger.statement(connection, "B").charges == 1


def test_draws_are_given_back_as_they_were(tmp_path):
    rng = np.random.default_rng(1)
    event = running_sum(4)
    with ledger_at(tmp_path / "ledger.db", "A") as ledger, ledger.begin() as connection:
        drawn = [
            ledger.draw(connection, "A", "sum", k, event, lambda: rng.normal(size=(2, 3)))
            for k in (1, 2)
        ]
    later = Clock(2000.0)
    with ledger_at(tmp_path / "ledger.db", clock=later) as ledger, ledger.begin() as connection:
        np.testing.assert_array_equal(ledger.draws(connection, "A", "sum"), drawn)
        assert ledger.draws(connection, "A", "another") == []
        for step in (1, 2):
            with pytest.raises(NoiseReuseError, match=f"step {step} was drawn before; continue"):
                ledger.draw(connection, "A", "sum", step, event, lambda: rng.normal(size=3))
        third = ledger.draw(connection, "A", "sum", 3, event, lambda: rng.normal(size=(2, 3)))
        np.testing.assert_array_equal(ledger.draws(connection, "A", "sum"), [*drawn, third])
        ledger.verify(connection)


def test_a_source_that_fails_leaves_nothing(ledger, connection):
    def broken():
        raise OSError("no entropy")

    with pytest.raises(OSError, match="no entropy"):
        ledger.draw(connection, "A", "sum", 1, running_sum(4), broken)
    assert ledger.statement(connection, "A").charges == 0
    ledger.draw(connection, "A", "sum", 1, running_sum(4), lambda: np.ones(2))


def outbox(connection):
    connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS outbox (step INTEGER)")
    return lambda: connection.exec_driver_sql("SELECT count(*) FROM outbox").scalar()


@pytest.mark.parametrize("own_engine", [True, False])
def test_a_callers_rollback_undoes_charge_and_draw(tmp_path, own_engine):
    """Also on an engine with sqlite3's habits: no transaction until something is written."""
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'ledger.db'}", hide_parameters=True)
    where = tmp_path / "ledger.db" if own_engine else engine
    with ledger_at(where, "A") as ledger:
        event = running_sum(3)
        connect = ledger.begin if own_engine else engine.connect
        with connect() as connection:
            outbox(connection)
            ledger.draw(connection, "A", "sum", 1, event, lambda: np.ones(2))
            connection.exec_driver_sql("INSERT INTO outbox VALUES (1)")
            connection.commit()
        with connect() as connection:
            ledger.draw(connection, "A", "sum", 2, event, lambda: np.ones(2))
            connection.exec_driver_sql("INSERT INTO outbox VALUES (2)")
            connection.rollback()
        with connect() as connection:
            assert outbox(connection)() == 1
            assert ledger.statement(connection, "A").charges == 1
            assert len(ledger.draws(connection, "A", "sum")) == 1
            ledger.draw(connection, "A", "sum", 2, event, lambda: np.ones(2))
            ledger.verify(connection)
            connection.commit()
    engine.dispose()


def test_an_error_in_the_block_undoes_it(tmp_path):
    with ledger_at(tmp_path / "ledger.db", "A") as ledger:

        def charge_and_fail():
            with ledger.begin() as connection:
                ledger.charge(connection, "A", "sum", 1, single(0.1))
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            charge_and_fail()
        with ledger.read() as connection:
            assert ledger.statement(connection, "A").charges == 0


def test_writers_come_one_at_a_time_and_readers_any_time(tmp_path):
    path = tmp_path / "ledger.db"
    with ledger_at(path, "A") as one, ledger_at(path, busy_timeout=0.0) as other:
        with one.begin() as connection:
            with pytest.raises(LedgerBusyError), other.begin():
                pytest.fail("two writers at once")
            one.charge(connection, "A", "sum", 1, single(0.1))
            with other.read() as reading:
                assert other.statement(reading, "A").charges == 0
        with other.begin() as connection:
            assert other.statement(connection, "A").charges == 1


def test_on_any_engine_a_charge_in_between_is_noticed(tmp_path):
    """Between look and write somebody else spends the last; sqlite3 alone would not stop it."""
    path, clock = tmp_path / "ledger.db", Clock()
    engine = sa.create_engine(f"sqlite:///{path}", hide_parameters=True)
    with ledger_at(path, "A") as other, ledger_at(engine, clock=lambda: interfere()) as ledger:

        def interfere():
            with other.begin() as connection:
                other.charge(connection, "A", "theirs", 1, single(0.9 * BUDGET))
            return clock()

        with engine.connect() as connection:
            with pytest.raises(LedgerBusyError, match=r"'A'.*try again"):
                ledger.charge(connection, "A", "ours", 1, single(0.9 * BUDGET))
            connection.rollback()
        with other.begin() as connection:
            assert [s.name for s in other.statement(connection, "A").streams] == ["theirs"]
            other.verify(connection)
    engine.dispose()


def test_ledgered_noise_is_charged_drawn_and_kept(ledger):
    plan = continual.calibrated("toeplitz", 3, BUDGET, 2.0)
    event = partial(ContinualSum, plan, 2.0)
    noise = LedgeredNoise(ledger, "A", "sum", event, SecureNoise())
    state = init(plan, 2)
    for k in range(3):
        state, _ = release(plan, state, np.full(2, 5.0 * k), np.ones(2), noise)
    with ledger.begin() as connection:
        np.testing.assert_array_equal(ledger.draws(connection, "A", "sum"), state.draws)
        statement = ledger.statement(connection, "A")
        assert statement.streams[0].event == ContinualSum(plan, 2.0, 3)
    with pytest.raises(NoiseReuseError):
        noise.cover(3, np.zeros(2))
    with pytest.raises(BudgetExceededError):
        noise.cover(4, np.zeros(2))


def test_noise_drawn_ahead_is_neither_charged_nor_written(tmp_path):
    """Beside a release it would tell the sums; a process that ends loses it, and draws others."""
    plan = continual.calibrated("toeplitz", 3, BUDGET, 2.0)
    event, drawn = partial(ContinualSum, plan, 2.0), []

    def sample(count):
        fresh = own_sampler(count)
        drawn.extend(fresh)
        return fresh

    for restart in range(2):
        with ledger_at(tmp_path / "ledger.db", "A") as ledger:
            noise = LedgeredNoise(ledger, "A", "sum", event, SecureNoise(sample))
            noise.draw_ahead(2)
            assert len(drawn) == 2 + 2 * restart
            with ledger.read() as connection:
                assert ledger.draws(connection, "A", "sum") == []
                assert ledger.statement(connection, "A").charges == 0
            if restart:
                state, _ = release(plan, init(plan, 2), np.array([3.0, 5.0]), np.ones(2), noise)
                assert len(drawn) == 4  # none for the release
                kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert state.draws[0].tobytes() in kept
    for sample_ in drawn:
        assert np.float64(sample_).tobytes() not in kept
        assert np.float64(sample_ / 2.0**GRID_BITS).tobytes() not in kept


def test_ledgered_noise_passes_on_what_it_is_given_in_the_callers_transaction(ledger):
    with ledger.begin() as connection:
        source = SecureNoise(lambda count: [1 << GRID_BITS] * count)
        noise = LedgeredNoise(ledger, "A", "sum", lambda _: running_sum(3), source, connection)
        np.testing.assert_array_equal(noise.cover(1, np.ones(2)), [2.0, 2.0])
        connection.rollback()
    with ledger.begin() as connection:
        assert ledger.statement(connection, "A").charges == 0


def test_releases_on_disjoint_records_are_one_stream_that_costs_the_costliest(ledger):
    cheap, dear = (GaussianRelease(1.0, d / BUDGET) for d in (4.0, 2.0))
    with ledger.begin() as connection:
        for step, parts in enumerate([(cheap,), (cheap,), (cheap, dear), (dear, cheap)], 1):
            ledger.charge(connection, "A", "batches", step, Parallel(parts))
        spent = ledger.statement(connection, "A").spent_mu
        assert spent == pytest.approx(0.5 * BUDGET)
        with pytest.raises(StepError, match="not the running sum"):  # would drop the dear one
            ledger.charge(connection, "A", "batches", 5, Parallel((cheap,)))
        ledger.verify(connection)


def test_nothing_secret_is_shown(tmp_path, caplog):
    """Neither in errors nor in the log of an engine whose owner shows every statement."""
    secret = np.array([1.2345678901234567])
    draw = ("A", "sum", 1, running_sum(3), lambda: secret)
    with caplog.at_level("DEBUG", "sqlalchemy"):
        engine = sa.create_engine(f"sqlite:///{tmp_path / 'ledger.db'}")
        with ledger_at(engine, "A") as ledger, engine.connect() as connection:
            ledger.draw(connection, *draw)
            ledger.draws(connection, "A", "sum")
            ledger.verify(connection)
            connection.exec_driver_sql("DELETE FROM ledger_charges")
            connection.exec_driver_sql("UPDATE ledger_accounts SET charges = 0, spent = '0'")
            with pytest.raises(LedgerBusyError) as caught:  # that draw is there already
                ledger.draw(connection, *draw)
    assert "ledger_accounts" in caplog.text
    shown = f"{caught.value} {caught.value.__cause__} {ledger!r} {caplog.text}"
    assert repr(secret.tobytes())[2:10] not in shown
    assert "1.23456" not in shown
    assert repr(ledger) == "Ledger(federation='hospitals')"
    engine.dispose()


def test_a_new_file_is_its_owners_alone_and_durable(tmp_path):
    path = tmp_path / "ledger.db"
    with ledger_at(path, "A") as ledger, ledger.begin() as connection:
        ledger.charge(connection, "A", "sum", 1, single(0.1))
        for file in tmp_path.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


@pytest.mark.parametrize("where", ["no such folder/ledger.db", ".", "nosuch://host/ledger"])
def test_where_no_database_can_be_none_is_opened(tmp_path, monkeypatch, where):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LedgerError), ledger_at(where):
        pytest.fail("was opened")


def test_without_sqlalchemy_only_the_ledger_is_missing():
    program = (
        "import sys; sys.modules['sqlalchemy'] = None\n"
        "import fedbandits, fedbandits.privacy.accounting\n"
        "from fedbandits.errors import MissingExtraError\n"
        "try:\n    import fedbandits.privacy.ledger\n"
        "except MissingExtraError as error:\n    print(error)\n"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert b"install the extra 'federation'" in told.stdout


@pytest.mark.parametrize(
    "names",
    [
        {"party": 5}, {"party": "a\nb"}, {"stream": 5.0}, {"stream": "\ud800"}, {"step": 1.0},
        {"step": True}, {"step": np.int64(1)},
    ],
)  # fmt: skip
def test_what_would_come_back_as_something_else_is_refused(tmp_path, names):
    given = {"party": "A", "stream": "sum", "step": 1} | names
    with ledger_at(tmp_path / "ledger.db", "A") as ledger, ledger.begin() as connection:
        with pytest.raises(LedgerError):
            ledger.charge(connection, *given.values(), single(0.1 * BUDGET))
        if "party" in names:
            with pytest.raises(LedgerError):
                ledger.open_account(connection, names["party"], CLAIM, EPSILON, DELTA)
        zero = ContinualSum(continual.ContinualPlan("tree", 4, 1.0), -0.0, 1)
        ledger.charge(connection, "A", "nothing", 1, zero)
    with Ledger.open(tmp_path / "ledger.db", "hospitals") as ledger, ledger.read() as connection:
        ledger.verify(connection)


@pytest.mark.parametrize("federation", [None, 5, "a\ud800"])
def test_a_federation_has_a_name(tmp_path, federation):
    with pytest.raises(LedgerError, match="federation"):
        Ledger.open(tmp_path / "ledger.db", federation)


def test_a_budget_larger_than_the_claim_is_refused(tmp_path):
    with ledger_at(tmp_path / "ledger.db") as ledger, ledger.begin() as connection:
        with pytest.raises(ClaimError, match="the claim promises"):
            ledger.open_account(connection, "A", CLAIM, 2.0 * EPSILON, DELTA)
        ledger.open_account(connection, "A", CLAIM, 0.5 * EPSILON, DELTA)


def test_looking_at_a_file_does_not_change_it(tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE x (y)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(LedgerCorruptError):
        Ledger.existing(path)
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other.db"]
    with ledger_at(tmp_path / "ledger.db", "A"):
        pass
    with Ledger.existing(tmp_path / "ledger.db") as ledger:
        assert ledger.federation == "hospitals"


def test_noise_that_is_none_is_not_booked(ledger):
    source = SimpleNamespace(cover=lambda _, values: values * math.nan)
    noise = LedgeredNoise(
        ledger, "A", "sum", partial(ContinualSum, running_sum(3).plan, 2.0), source
    )
    with pytest.raises(NoiseError):
        noise.cover(1, np.ones(2))
    source.cover = SecureNoise().cover
    assert np.isfinite(noise.cover(1, np.ones(2))).all()


def test_an_account_outlives_the_words_of_its_claim(tmp_path):
    """Better words for the same promise open the same account; another promise does not."""
    better = msgspec.structs.replace(
        CLAIM,
        conditional_on=("said better",),
        not_protected=(Limit("the weather", "It is public."),),
    )
    with ledger_at(tmp_path / "ledger.db", "A") as ledger, ledger.begin() as connection:
        ledger.open_account(connection, "A", better, EPSILON, DELTA)
        for other in ({"epsilon": 2.0}, {"relation": "add-remove"}, {"holds_for": "fixed log"}):
            changed = msgspec.structs.replace(CLAIM, **other)
            with pytest.raises(LedgerMismatchError, match="another claim or budget"):
                ledger.open_account(connection, "A", changed, EPSILON, DELTA)


@pytest.mark.parametrize("views", [(), (View("whoever sees sums", EPSILON),)])
def test_claims_of_secure_sums_that_did_not_say_so_are_read(views):
    """Before there was a field, these alone told who looks."""
    stated = msgspec.structs.replace(CLAIM, views=views, one_noise=bool(views))
    table = json.loads(encode_claim(stated))
    del table["one_noise"]
    assert decode_claim(json.dumps(table), "A") == stated
    assert stated.promises_as(decode_claim(json.dumps(table), "A"))
    assert not stated.promises_as(msgspec.structs.replace(stated, one_noise=not views))


@pytest.mark.parametrize("one_noise", [True, False])
def test_accounts_of_one_federation_add_up_where_one_noise_covers_all(tmp_path, one_noise):
    claim = msgspec.structs.replace(CLAIM, one_noise=one_noise)
    statements = []
    for federation, mu in (("hospitals", 0.1), ("hospitals", 0.2), ("clinics", 0.1)):
        path = tmp_path / f"{len(statements)}.db"
        with Ledger.open(path, federation) as ledger, ledger.begin() as connection:
            ledger.open_account(connection, f"agent-{mu}", claim, EPSILON, DELTA)
            ledger.charge(connection, f"agent-{mu}", "sum", 1, single(mu))
            statements.append(ledger.statement(connection, f"agent-{mu}"))
    total = add_up(statements)
    together = math.hypot(0.1 + 0.2, 0.1) if one_noise else math.hypot(0.1, 0.2, 0.1)
    assert total.spent_mu == pytest.approx(together, rel=1e-12)
    assert total.one_noise == ((("agent-0.1", "agent-0.2"),) if one_noise else ())
    for each in statements:
        assert add_up([each]).spent_mu == each.spent_mu


def test_limits_that_were_sentences_once_are_read():
    """A ledger keeps a claim as it was written; its chain would break if it were written anew."""
    table = json.loads(encode_claim(CLAIM)) | {"not_protected": ["the weather, which is public"]}
    assert decode_claim(json.dumps(table), "A").not_protected == (
        Limit("the weather", "the weather, which is public"),
    )
