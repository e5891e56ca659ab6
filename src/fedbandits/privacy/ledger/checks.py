"""Checks of a ledger: its tables, its totals, and each of its rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from fedbandits.errors import (
    LedgerCorruptError,
    LedgerMismatchError,
    LedgerVersionError,
    StepError,
)
from fedbandits.privacy.accounting import ContinualSum, Event, Parallel
from fedbandits.privacy.ledger.tables import (
    ACCOUNTS,
    CHARGES,
    META,
    METADATA,
    NOISE,
    SCHEMA,
    Charge,
    DrawTable,
    decode_claim,
    decode_event,
    digits,
    genesis,
    link,
    price,
    root,
    squared,
)

#: Tolerance on budgets, in μ: four units in the last place, the rounding of a budget that is shared
#: among releases. A last planned release must not be refused for it. ε changes by one part in 10¹⁵.
ROUNDING = 1.0 + 4.0 * math.ulp(1.0)
#: Tolerance on prices, which another machine's libraries may have computed.
_PRICE_TOLERANCE = 1e-12


def create(connection: Connection, federation: str) -> None:
    """Create the tables, unless another process was faster."""
    if not is_ledger(connection):
        METADATA.create_all(connection)
        rows = [("schema", str(SCHEMA)), ("federation", federation)]
        connection.execute(sa.insert(META), [{"name": n, "value": v} for n, v in rows])


def is_ledger(connection: Connection) -> bool:
    """Tell whether there is a ledger, of any format.

    Raises LedgerCorruptError if the table with the format is missing.
    """
    missing = _missing(connection)
    if META.name in missing and len(missing) < len(METADATA.tables):
        raise LedgerCorruptError(f"the ledger is damaged: no {META.name}")
    return META.name not in missing


def _missing(connection: Connection) -> list[str]:
    inspector = sa.inspect(connection)
    return [name for name in METADATA.tables if not inspector.has_table(name)]


def check_opened(connection: Connection, federation: str) -> None:
    """Check an opened ledger: its version, federation, pages and totals.

    Raises LedgerVersionError, LedgerMismatchError or LedgerCorruptError.
    """
    meta = {row.name: row.value for row in connection.execute(sa.select(META))}
    if meta.get("schema") != str(SCHEMA):
        raise LedgerVersionError(
            f"the ledger has format {meta.get('schema')}, this program reads and writes {SCHEMA}: "
            "use the version of fedbandits that wrote it"
        )
    if meta.get("federation") != federation:
        raise LedgerMismatchError(
            f"the ledger belongs to federation {meta.get('federation')!r}, not {federation!r}"
        )
    missing = _missing(connection)
    _require(not missing, "the ledger", f"damaged, there is no {', '.join(missing)}")
    if connection.dialect.name == "sqlite":
        answer = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        _require(answer == "ok", "the ledger", f"damaged, SQLite says: {answer}")
    accounts = connection.execute(sa.select(ACCOUNTS)).all()
    for account in accounts:
        _check_totals(connection, federation, account)
    charges = _count(connection, CHARGES)
    _require(charges == sum(a.charges for a in accounts), "the ledger", "charges without account")
    kept, due = (
        _count(connection, NOISE),
        _count(connection, CHARGES, CHARGES.c.digest.is_not(None)),
    )
    _require(kept == due, "the ledger", f"{kept} draws are kept, {due} were charged for")


def _count(connection: Connection, table: sa.Table, *conditions: Any) -> int:
    count = sa.select(sa.func.count()).select_from(table).where(*conditions)
    return int(connection.execute(count).scalar_one())


def _check_totals(connection: Connection, federation: str, account: Any) -> None:
    """Compare an account with its first and last charge, the number of charges and their total."""
    place, head = f"party {account.party!r}", genesis(federation, tuple(account[:6]))
    of_party = CHARGES.c.party == account.party
    count = sa.select(sa.func.count(), sa.func.max(CHARGES.c.number)).where(of_party)
    counted = tuple(connection.execute(count).one())
    _require(counted == (account.charges, account.charges or None), place, "charges are missing")
    time = account.opened
    if account.charges:
        first, last = (
            connection.execute(
                sa.select(CHARGES).where(of_party, CHARGES.c.number == number)
            ).first()
            for number in (1, account.charges)
        )
        if first is None or last is None:
            raise LedgerCorruptError(f"{place}: charges are missing")
        begun = first.hash == link(head, Charge(*first[:-1]))
        _require(begun, place, "the account was changed after it was opened, or charge 1 was")
        head, time = last.hash, last.time
    same = (account.head, account.time) == (head, time)
    _require(same, place, "the account was changed, or its last charge")
    total = 0
    for stream in streams(connection, account.party):
        _require(stream.step == stream.charges, place, f"steps of {stream.stream!r} are missing")
        total += _square(stream.mu, place)
    _require(total == digits(account.spent, account.party), place, "the total does not add up")


def streams(connection: Connection, party: str) -> Iterator[Any]:
    """Yield the latest charge of every stream of a party, in order of their names."""
    latest = (
        sa.select(
            CHARGES.c.stream,
            sa.func.max(CHARGES.c.step).label("step"),
            sa.func.count().label("charges"),
        )
        .where(CHARGES.c.party == party)
        .group_by(CHARGES.c.stream)
        .subquery()
    )
    columns = (CHARGES.c.stream, CHARGES.c.step, CHARGES.c.event, CHARGES.c.mu)
    same = (CHARGES.c.stream == latest.c.stream) & (CHARGES.c.step == latest.c.step)
    yield from connection.execute(
        sa.select(*columns, latest.c.charges)
        .join(latest, same)
        .where(CHARGES.c.party == party)
        .order_by(CHARGES.c.stream)
    )


class Tail(NamedTuple):
    """The newest step of a stream, its event as stored, and its price."""

    step: int
    event: str
    mu: float


def require_step(place: str, step: int) -> None:
    """Refuse, by StepError, a value that is not the number of a release."""
    if type(step) is not int:  # 1.0 and True equal 1, but are written differently
        raise StepError(f"{place}: a step is a whole number, not a {type(step).__name__}")
    if step < 1:
        raise StepError(f"{place}: steps start at 1")


def require_next(place: str, tail: Tail | None, step: int, event: Event) -> None:
    """Refuse a charge that does not continue its stream.

    Raises StepError if the step is not the next step, or the event does not cover the earlier
    events. A running sum, and releases of disjoint records, have a price as a whole; any other
    event would replace the price to which it should be added.
    """
    due = 1 if tail is None else tail.step + 1
    require_step(place, step)
    if step != due:
        raise StepError(f"{place}: out of order, the next step is {due}")
    if isinstance(event, ContinualSum):
        covered = event.plan.releases if event.releases is None else event.releases
        if covered < step:
            raise StepError(f"{place}: the event covers {covered} releases only")
    if tail is not None and not _continues(decode_event(tail.event, place), event):
        raise StepError(
            f"{place}: this is not the running sum with which the stream began; charge a single "
            "release to its own stream"
        )


def _continues(before: Event, event: Event) -> bool:
    """Tell whether an event continues the previously charged event."""
    if isinstance(before, ContinualSum) and isinstance(event, ContinualSum):
        return (before.plan, before.record_norm) == (event.plan, event.record_norm)
    both_parallel = isinstance(before, Parallel) and isinstance(event, Parallel)
    return both_parallel and set(before.parts) <= set(event.parts)  # type: ignore[union-attr]


def verify(connection: Connection, federation: str) -> None:
    """Check every row: chains, order, prices, totals, budgets, draws.

    Raises LedgerCorruptError for the first party and charge that have changed since they were
    written.
    """
    for account in connection.execute(sa.select(ACCOUNTS).order_by(ACCOUNTS.c.party)).all():
        _verify_account(connection, federation, account)
    check_opened(connection, federation)


def _verify_account(connection: Connection, federation: str, account: Any) -> None:
    place = f"party {account.party!r}"
    decode_claim(account.claim, account.party)
    head, spent, time = genesis(federation, tuple(account[:6])), 0, account.opened
    draws, tails = DrawTable(connection.dialect), dict[str, Tail]()
    rows = connection.execute(
        sa.select(CHARGES).where(CHARGES.c.party == account.party).order_by(CHARGES.c.number)
    )
    for number, row in enumerate(rows, 1):
        charge, here = Charge(*row[:-1]), f"{place}, charge {number}"
        _require(charge.number == number, here, "missing")
        head = link(head, charge)
        _require(head == row.hash, here, "changed after it was written, or the account was")
        _require(charge.time >= time, here, "earlier than the one before")
        draws.check(connection, charge, here)
        spent += _verify_price(charge, tails, here)
        _require(root(spent) <= account.mu * ROUNDING, here, "beyond the budget")
        time = charge.time
    _require(account.head == head, place, "the account was changed after it was written")
    _require(account.time == time, place, "the time is not the last charge's")
    _require(account.spent == str(spent), place, "the total does not add up")


def _verify_price(charge: Charge, tails: dict[str, Tail], here: str) -> int:
    """Check a charge's event and place in its stream; return its addition to Σ μ²."""
    event, tail = decode_event(charge.event, here), tails.get(charge.stream)
    try:
        require_next(here, tail, charge.step, event)
    except StepError as error:
        raise LedgerCorruptError(str(error)) from error
    due = math.isclose(charge.mu, price(event), rel_tol=_PRICE_TOLERANCE)
    _require(due, here, "not the price of its event")
    before = 0.0 if tail is None else tail.mu
    _require(charge.added == charge.mu**2 - before**2, here, "not what it added")
    tails[charge.stream] = Tail(charge.step, charge.event, charge.mu)
    return squared(charge.mu) - squared(before)


def _square(mu: Any, place: str) -> int:
    finite = isinstance(mu, float) and math.isfinite(mu)
    _require(finite, place, "a price is no number")
    return squared(mu)


def _require(condition: bool, place: str, what: str) -> None:
    if not condition:
        raise LedgerCorruptError(f"{place}: {what}")
