"""Ledgers that are damaged, foreign, of another version or changed by hand."""

from __future__ import annotations

import contextlib
import math
import random
import sqlite3

import numpy as np
import pytest

from fedbandits.errors import (
    LedgerCorruptError,
    LedgerError,
    LedgerMismatchError,
    LedgerVersionError,
)
from fedbandits.privacy.accounting import ContinualSum
from fedbandits.privacy.ledger import Ledger
from fedbandits.privacy.ledger.tables import METADATA
from tests.privacy.ledgers import BUDGET, Clock, ledger_at, running_sum, single


@pytest.fixture
def path(tmp_path):
    """A ledger of two parties with four charges each, two of them drawn."""
    path, plan = tmp_path / "ledger.db", running_sum(9, 0.5 * BUDGET).plan
    with ledger_at(path, "A", "B") as ledger, ledger.begin() as connection:
        for party in "AB":
            for step in (1, 2):
                event = ContinualSum(plan, 2.0, step)
                ledger.draw(connection, party, "sum", step, event, lambda: np.ones(3))
            ledger.charge(connection, party, "one", 1, single(0.1 * BUDGET))
            ledger.charge(connection, party, "two", 1, single(0.2 * BUDGET))
        ledger.verify(connection)
    return path


def by_hand(path, statement, *values):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute(statement, values).rowcount != 0, "nothing was changed"
        connection.commit()


def opened(path, federation="hospitals"):
    with Ledger.open(path, federation, Clock(2000.0)):
        pass


def verified(path):
    with Ledger.open(path, "hospitals", Clock(2000.0)) as ledger, ledger.read() as connection:
        ledger.verify(connection)


CHARGE = "UPDATE ledger_charges SET {} WHERE party = 'B' AND number = 3"


@pytest.mark.parametrize(
    "change",
    [
        "event = replace(event, '1.0', '9.0')",
        "event = 'x'",
        "event = NULLIF(1, 1)",
        "mu = mu * 0.999999",
        "mu = 'much'",
        "added = added - 1e-9",
        "time = time - 0.5",
        "stream = 'three'",
        "step = 2",
        "digest = 'ab'",
        "hash = upper(hash) || 'x'",
        "number = 33",
        "party = 'C'",
    ],
)
def test_a_charge_that_was_changed_is_named(path, change):
    """At opening at the latest by verify, which says whose it is and which one."""
    with (
        Ledger.open(path, "hospitals", Clock(2000.0)) as ledger,
        contextlib.closing(sqlite3.connect(path)) as other,
    ):
        try:
            other.execute(CHARGE.format(change))
        except sqlite3.IntegrityError:
            return  # the tables themselves refuse it
        other.commit()
        with (
            ledger.read() as connection,
            pytest.raises(LedgerCorruptError, match=r"party 'B', charge 3"),
        ):
            ledger.verify(connection)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger_accounts SET mu = 2 * mu WHERE party = 'B'",
        "UPDATE ledger_accounts SET epsilon = 2 WHERE party = 'B'",
        "UPDATE ledger_accounts SET claim = replace(claim, 'record', 'cell') WHERE party = 'B'",
        "UPDATE ledger_accounts SET spent = '0' WHERE party = 'B'",
        "UPDATE ledger_accounts SET spent = 'none' WHERE party = 'B'",
        "UPDATE ledger_accounts SET charges = 3 WHERE party = 'B'",
        "UPDATE ledger_accounts SET head = 'x' WHERE party = 'B'",
        "UPDATE ledger_accounts SET time = 5 WHERE party = 'B'",
        "UPDATE ledger_accounts SET time = 'noon' WHERE party = 'B'",
        "DELETE FROM ledger_accounts WHERE party = 'B'",
        "DELETE FROM ledger_charges WHERE party = 'B' AND number = 4",
        "DELETE FROM ledger_charges WHERE party = 'B' AND number = 1",
        "UPDATE ledger_charges SET mu = 1e-9 WHERE party = 'B' AND number = 4",
        "DELETE FROM ledger_noise WHERE party = 'B' AND step = 1",
        "INSERT INTO ledger_noise VALUES ('B', 'one', 1, '[1]', x'0000000000000000')",
        "DROP TABLE ledger_noise",
        "DROP TABLE ledger_meta",
        "ALTER TABLE ledger_charges RENAME COLUMN mu TO nu",
    ],
)
def test_what_gives_more_to_spend_is_noticed_at_opening(path, statement):
    by_hand(path, statement)
    with pytest.raises(LedgerCorruptError):
        opened(path)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger_noise SET draw = x'00' WHERE party = 'B' AND step = 2",
        "UPDATE ledger_noise SET shape = '[1, 3]' WHERE party = 'B' AND step = 2",
        "UPDATE ledger_noise SET draw = 'text' WHERE party = 'B' AND step = 2",
        "UPDATE ledger_noise SET step = 7 WHERE party = 'B' AND step = 2",
    ],
)
def test_a_draw_that_was_changed_is_named_and_not_given_back(path, statement):
    by_hand(path, statement)
    with Ledger.open(path, "hospitals", Clock(2000.0)) as ledger, ledger.read() as connection:
        with pytest.raises(LedgerCorruptError, match=r"party 'B', charge 2"):
            ledger.verify(connection)
        if "step = 7" not in statement:
            with pytest.raises(LedgerCorruptError, match=r"party 'B', 'sum', step 2"):
                ledger.draws(connection, "B", "sum")


def test_a_ledger_of_another_federation_is_refused(path):
    with pytest.raises(LedgerMismatchError, match="'hospitals', not 'banks'"):
        opened(path, "banks")


@pytest.mark.parametrize("version", [0, 2, 17])
def test_another_format_is_refused_and_named(path, version):
    by_hand(path, "UPDATE ledger_meta SET value = ? WHERE name = 'schema'", str(version))
    with pytest.raises(LedgerVersionError, match=f"format {version}, this .* 1"):
        opened(path)


def test_another_formats_tables_may_be_others(path):
    by_hand(path, "DROP TABLE ledger_noise")
    by_hand(path, "UPDATE ledger_meta SET value = '2' WHERE name = 'schema'")
    with pytest.raises(LedgerVersionError):
        opened(path)


def test_a_file_that_is_no_database_is_refused_and_left(tmp_path):
    path = tmp_path / "ledger.db"
    path.write_text("dear diary, " * 100, encoding="utf-8")
    with pytest.raises(LedgerCorruptError, match="not a database"):
        opened(path)
    assert path.read_text(encoding="utf-8") == "dear diary, " * 100


def test_other_tables_in_the_file_do_no_harm(tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "ledger.db")) as connection:
        connection.execute("CREATE TABLE outbox (step INTEGER)")
    opened(tmp_path / "ledger.db")
    verified(tmp_path / "ledger.db")


def test_half_a_file_is_refused(path):
    data = path.read_bytes()
    for part in (0.3, 0.5, 0.9):
        path.write_bytes(data[: int(part * len(data))])
        with pytest.raises(LedgerCorruptError):
            opened(path)


def test_whatever_bytes_are_damaged_no_other_error_comes(path):
    """Nothing, or an error with a name; never a budget that is larger than it was."""
    data, random_ = path.read_bytes(), random.Random(5)  # noqa: S311
    refused = 0
    for _ in range(150):
        damaged, at = bytearray(data), random_.randrange(len(data))
        for i in range(at, min(at + random_.choice((1, 8, 200)), len(data))):
            damaged[i] = random_.randrange(256)
        path.write_bytes(damaged)
        try:
            verified(path)
        except LedgerError:
            refused += 1
    assert refused > 10, "damage was hardly ever noticed: is anything read?"


CELLS = [
    (table, column.name, value)
    for table in METADATA.tables.values()
    for column in table.columns
    for value in (None, -1, 1e308, math.inf, "", "[1,2", "1" * 5000, b"\xff\x00")
]


def test_whatever_cell_is_changed_no_other_error_comes(path):
    data = path.read_bytes()
    for table, column, value in CELLS:
        path.write_bytes(data)
        with contextlib.closing(sqlite3.connect(path)) as connection:
            try:
                connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = 2", (value,))  # noqa: S608
            except sqlite3.IntegrityError:
                continue
            connection.commit()
        with pytest.raises(LedgerError):
            verified(path)
