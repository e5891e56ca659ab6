"""Accounts: who has one, on which terms it was opened, the times that are recorded, and charges.

A charge reads the account, adds a row, and updates the account.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from fedbandits.errors import (
    BudgetExceededError,
    ClaimError,
    ClockError,
    LedgerBusyError,
    LedgerCorruptError,
    LedgerMismatchError,
    NoiseReuseError,
    UnknownPartyError,
)
from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import Event
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.ledger.checks import ROUNDING, Tail, require_next, require_step
from fedbandits.privacy.ledger.database import Compiled, named_errors
from fedbandits.privacy.ledger.tables import (
    ACCOUNTS,
    CHARGES,
    META,
    Charge,
    decode_claim,
    digits,
    encode_claim,
    encode_event,
    genesis,
    link,
    price,
    require_names,
    root,
    squared,
    write_meta,
)

#: A budget may exceed a claim by as much as rounding, and margins for it, come to.
_SLACK = 1e-3
#: Room for going from μ to ε and back, and the least budget there can be.
_ROUND_TRIP, _LEAST = 1.0 + 2.0**-20, 1e-6
#: The newest entry, and the latest time that was excused, for a SELECT.
NEWEST = sa.select(sa.func.max(ACCOUNTS.c.time)).scalar_subquery()
EXCUSED = (
    sa.select(META.c.value).where(META.c.name == sa.literal_column("'excused'")).scalar_subquery()
)


def find(connection: Connection, party: str) -> Any:
    """Return a party's row, or None."""
    return connection.execute(sa.select(ACCOUNTS).where(ACCOUNTS.c.party == party)).first()


def require(connection: Connection, party: str) -> Any:
    """Return a party's row; raises UnknownPartyError if it has no account."""
    require_names(party=party)
    account = find(connection, party)
    if account is None:
        raise unknown(party)
    return account


def whole_budget(claim: PrivacyClaim, place: int | None = None) -> float:
    """Return the budget ε of an account that can pay for a whole claim, at the claim's δ.

    It is slightly larger than the ε of the ``claim``. The account converts ε to μ, and with exactly
    the ε of the claim, rounding might refuse the last release. If δ is so large that it alone pays
    for everything, the result is still above 0, because a budget cannot be 0.

    ``place`` is the number of the party that pays, if each party has its own budget. By default the
    largest budget is taken.
    """
    epsilon = claim.epsilon_contents
    if place is not None and claim.epsilon_each:
        epsilon = claim.epsilon_each[place]
    return max(epsilon * _ROUND_TRIP, _LEAST)


def open_account(
    connection: Connection,
    federation: str,
    times: LedgerClock,
    party: str,
    claim: PrivacyClaim,
    budget: tuple[float, float],
) -> None:
    """Give a party a budget (ε, δ); see :meth:`.book.Ledger.open_account`."""
    require_names(party=party)
    epsilon, delta, mu = _budget(party, *budget)
    terms = (encode_claim(claim), epsilon, delta, mu)
    with named_errors():
        found = find(connection, party)
        if found is None:
            require_kept(party, claim, mu)
            opened = times.now(*connection.execute(sa.select(NEWEST, EXCUSED)).one())
            fixed = (party, *terms, opened)
            row = (*fixed, 0, "0", fixed[-1], genesis(federation, fixed))
            connection.execute(sa.insert(ACCOUNTS).values(row))
            return
        same = claim.promises_as(decode_claim(found.claim, party))
        if not same or (found.epsilon, found.delta) != (epsilon, delta):
            raise LedgerMismatchError(
                f"party {party!r} has an account with another claim or budget "
                f"(ε = {found.epsilon:g} at δ = {found.delta:g}): a budget cannot be changed"
            )


def _budget(party: str, epsilon: float, delta: float) -> tuple[float, float, float]:
    try:
        mu = gaussian.mu_of(epsilon, delta)
        return float(epsilon), float(delta), mu
    except (ValueError, TypeError, OverflowError) as error:
        raise ClaimError(f"party {party!r}: {error}") from error


def unknown(party: str) -> UnknownPartyError:
    """Make the error for a party without an account."""
    return UnknownPartyError(f"party {party!r} has no account in this ledger: open one first")


def require_kept(party: str, claim: PrivacyClaim, mu: float) -> None:
    """Refuse, by ClaimError, a budget under which a claim could be broken."""
    if not (claim.is_private and claim.delta > 0.0):
        return
    allowed = gaussian.epsilon_of(mu, claim.delta)
    if allowed > claim.epsilon * (1.0 + _SLACK):
        raise ClaimError(
            f"party {party!r}: the budget allows ε = {allowed:.4g} at δ = {claim.delta:g}, "
            f"the claim promises {claim.epsilon:.4g}"
        )


class LedgerClock:
    """The times to record, by a clock that may run backwards by a tolerance, in seconds."""

    def __init__(self, clock: Callable[[], float], tolerance: float) -> None:
        self._clock, self._tolerance = clock, tolerance

    def now(self, newest: float | None, excused: str | None = None) -> float:
        """Return the time to record, never before the ``newest`` one in the ledger.

        Entries up to the ``excused`` time were made by a wrong clock; see :func:`excuse_clock`.
        Raises ClockError if the clock is behind the newest entry by more than the tolerance, or
        tells no time.
        """
        told = self._told()
        if newest is None:
            return told
        behind = told < newest - self._tolerance
        if behind and newest > _time(excused):
            raise ClockError(
                f"the clock says {told:.3f}, but the last entry is of {newest:.3f}: "
                "correct the clock; nothing was spent. If the clock was wrong before and is "
                "right now, call "
                "Ledger.excuse_clock"
            )
        return max(told, newest)

    def _told(self) -> float:
        try:
            told = float(self._clock())
        except (TypeError, ValueError, OverflowError) as error:
            raise ClockError("the clock did not return a time: nothing was spent") from error
        if not math.isfinite(told):
            raise ClockError(f"the clock says {told}: nothing was spent")
        return told


def _time(written: str | None) -> float:
    try:
        return -math.inf if written is None else float(written)
    except (TypeError, ValueError) as error:
        raise LedgerCorruptError("the ledger: the excused time is no number") from error


def excuse_clock(connection: Connection) -> float | None:
    """Note that the clock was wrong at the newest entry; returns its time, None if there is none.

    What was written stays. Later entries bear that time too, until the clock has reached it.
    """
    with named_errors():
        newest: float | None = connection.execute(sa.select(NEWEST)).scalar()
        if newest is not None:
            write_meta(connection, "excused", repr(newest))
    return newest


# ---------------------------------------------------------------- charges


class Spent(NamedTuple):
    """What a party was charged for: the number of its charges, and their μ together."""

    charges: int
    mu: float


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
        whose = ACCOUNTS.c.party == sa.bindparam("payer", type_=sa.Text)
        self._total = Compiled(
            sa.select(ACCOUNTS.c.charges, ACCOUNTS.c.spent).where(whose), dialect
        )

    def spent(self, connection: Connection, party: str) -> Spent:
        """Return what a party was charged for, without looking at each charge."""
        row = self._total.first(connection, {"payer": party})
        if row is None:
            raise unknown(party)
        charges, text = row
        return Spent(charges, root(digits(text, party)))

    def priced(
        self, connection: Connection, party: str, stream: str, step: int, event: Event
    ) -> PricedCharge:
        """Price a charge, and refuse one that may not be written. Nothing is written."""
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
    """Move an account on, unless another charge moved the account first: on every database."""
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
