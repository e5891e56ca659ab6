"""Charges of a ledger: it reads the account, adds a row, and updates the account."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from fedbandits.errors import BudgetExceededError, LedgerBusyError, NoiseReuseError
from fedbandits.privacy.accounting import Event
from fedbandits.privacy.ledger.accounts import EXCUSED, NEWEST, LedgerClock, unknown
from fedbandits.privacy.ledger.checks import ROUNDING, Tail, require_next, require_step
from fedbandits.privacy.ledger.database import Compiled, named_errors
from fedbandits.privacy.ledger.tables import (
    ACCOUNTS,
    CHARGES,
    Charge,
    digits,
    encode_event,
    link,
    price,
    require_names,
    root,
    squared,
)


class PricedCharge(NamedTuple):
    """A charge to be written: its row, Σ μ² with it, and the hash that it continues."""

    charge: Charge
    spent: int
    head: str


class Till:
    """Prices charges and writes them down."""

    def __init__(self, dialect: sa.Dialect, times: LedgerClock) -> None:
        self._times = times
        self._look = Compiled(_looking(), dialect)
        self._advance = Compiled(_advancing(), dialect)
        self._append = Compiled(sa.insert(CHARGES), dialect, [c.name for c in CHARGES.columns])

    def priced(
        self, connection: Connection, party: str, stream: str, step: int, event: Event
    ) -> PricedCharge:
        """Price a charge, and refuse what may not be charged. Nothing is written."""
        require_names(party=party, stream=stream)
        require_step(f"party {party!r}, {stream!r}", step)
        written = encode_event(
            event
        )  # first: what can be written down has numbers where they are due
        mu = price(event)
        row = self._look.first(connection, {"payer": party, "name": stream})
        if row is None:
            raise unknown(party)
        number, text, head, budget, newest, excused, *latest = row
        place, tail = f"party {party!r}, {stream!r}", Tail(*latest) if latest[0] else None
        if tail is not None and step <= tail.step:
            _refuse_reuse(connection, party, stream, step)
        require_next(f"{place}, step {step}", tail, step, event)
        before = 0.0 if tail is None else tail.mu
        spent = _affordable(f"{place}, step {step}", digits(text, party), before, mu, budget)
        time, added = self._times.now(newest, excused), mu**2 - before**2
        charge = Charge(party, number + 1, stream, step, written, mu, added, time, None)
        return PricedCharge(charge, spent, head)

    def write(self, connection: Connection, entry: PricedCharge, digest: str | None = None) -> None:
        """Write a charge, and the digest of the draw that goes with it.

        Raises LedgerBusyError if somebody else charged this party after it was priced.
        """
        charge = entry.charge._replace(digest=digest)
        head = link(entry.head, charge)
        account = {
            "payer": charge.party,
            "before": charge.number - 1,
            "new_charges": charge.number,
            "new_spent": str(entry.spent),
            "new_time": charge.time,
            "new_head": head,
        }
        if self._advance.run(connection, account) != 1:
            raise LedgerBusyError(
                f"party {charge.party!r} was charged by another process at this moment: "
                "nothing was spent, roll back and try again"
            )
        self._append.run(connection, {**charge._asdict(), "hash": head})


def _looking() -> Any:
    """Make the query for where an account and one of its streams stand."""
    party, stream = sa.bindparam("payer", type_=sa.Text), sa.bindparam("name", type_=sa.Text)
    own = (CHARGES.c.party == party) & (CHARGES.c.stream == stream)
    latest = sa.select(sa.func.max(CHARGES.c.step)).where(own).scalar_subquery()
    account = (ACCOUNTS.c.charges, ACCOUNTS.c.spent, ACCOUNTS.c.head, ACCOUNTS.c.mu)
    return (
        sa.select(*account, NEWEST, EXCUSED, CHARGES.c.step, CHARGES.c.event, CHARGES.c.mu)
        .select_from(ACCOUNTS.outerjoin(CHARGES, own & (CHARGES.c.step == latest)))
        .where(ACCOUNTS.c.party == party)
    )


def _advancing() -> Any:
    """Move an account on, unless it has moved since it was looked at: right on every database."""
    moved: dict[str, Any] = {
        name: sa.bindparam(f"new_{name}") for name in ("charges", "spent", "time", "head")
    }
    unmoved = ACCOUNTS.c.charges == sa.bindparam("before")
    return (
        sa.update(ACCOUNTS).where(ACCOUNTS.c.party == sa.bindparam("payer"), unmoved).values(moved)
    )


def _affordable(place: str, spent: int, before: float, mu: float, budget: float) -> int:
    """Return Σ μ² after a stream's price went from ``before`` to ``mu``.

    Raises BudgetExceededError if that is more than the budget.
    """
    total = spent - squared(before) + squared(mu) if math.isfinite(mu) else None
    reached = math.inf if total is None else root(total)
    if total is None or reached > budget * ROUNDING:
        raise BudgetExceededError(
            f"{place}: refused, all releases together would have μ = {reached:.6g}, "
            f"the budget is {budget:.6g}; nothing was spent"
        )
    return total


def _refuse_reuse(connection: Connection, party: str, stream: str, step: int) -> None:
    """Refuse a step that was drawn before; one that was only charged is out of order, no more."""
    here = (CHARGES.c.party == party) & (CHARGES.c.stream == stream) & (CHARGES.c.step == step)
    with named_errors():
        drawn = connection.execute(sa.select(CHARGES.c.digest).where(here)).scalar()
    if drawn is not None:
        raise NoiseReuseError(
            f"party {party!r}, {stream!r}: the noise of step {step} was drawn before; "
            "continue from the state that was saved with it"
        )
