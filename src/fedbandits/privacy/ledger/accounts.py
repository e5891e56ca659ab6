"""Accounts: their opening and terms, the recorded times, and charges.

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

#: Share by which a budget may exceed a claim, for rounding and its margins.
_SLACK = 1e-3
#: Room for converting μ to ε and back, and the least budget.
_ROUND_TRIP, _LEAST = 1.0 + 2.0**-20, 1e-6
#: Subqueries for the time of the newest entry, and the latest excused time.
NEWEST = sa.select(sa.func.max(ACCOUNTS.c.time)).scalar_subquery()
EXCUSED = (
    sa.select(META.c.value).where(META.c.name == sa.literal_column("'excused'")).scalar_subquery()
)


def find(connection: Connection, party: str) -> Any:
    """Return a party's row, or None."""
    return connection.execute(sa.select(ACCOUNTS).where(ACCOUNTS.c.party == party)).first()


def require(connection: Connection, party: str) -> Any:
    """Return a party's row; raises UnknownPartyError if the party has no account."""
    require_names(party=party)
    account = find(connection, party)
    if account is None:
        raise unknown(party)
    return account


def whole_budget(claim: PrivacyClaim, place: int | None = None) -> float:
    """Return the budget ε of an account that can pay for a whole claim, at the claim's δ.

    The budget is slightly larger than the ε of the ``claim``. The account converts ε to μ, and with
    exactly the ε of the claim, rounding might refuse the last release. If δ alone pays for
    everything, the result is still above 0, because a budget cannot be 0.

    ``place`` is the number of the paying party, if each party has its own budget. By default the
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
        account = find(connection, party)
        if account is None:
            require_kept(party, claim, mu)
            opened = times.now(*connection.execute(sa.select(NEWEST, EXCUSED)).one())
            fixed = (party, *terms, opened)
            row = (*fixed, 0, "0", fixed[-1], genesis(federation, fixed))
            connection.execute(sa.insert(ACCOUNTS).values(row))
            return
        same = claim.promises_as(decode_claim(account.claim, party))
        if not same or (account.epsilon, account.delta) != (epsilon, delta):
            raise LedgerMismatchError(
                f"party {party!r} has an account with another claim or budget "
                f"(ε = {account.epsilon:g} at δ = {account.delta:g}): a budget cannot be changed"
            )


def _budget(party: str, epsilon: float, delta: float) -> tuple[float, float, float]:
    try:
        mu = gaussian.mu_of(epsilon, delta)
        return float(epsilon), float(delta), mu
    except (ValueError, TypeError, OverflowError) as error:
        raise ClaimError(f"party {party!r}: {error}") from error


def unknown(party: str) -> UnknownPartyError:
    """Return the error for a party without an account."""
    return UnknownPartyError(f"party {party!r} has no account in this ledger: open one first")


def require_kept(party: str, claim: PrivacyClaim, mu: float) -> None:
    """Refuse, by ClaimError, a budget that allows more than the claim promises."""
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
        """Return the time to record, never before the ``newest`` time in the ledger.

        Entries up to the ``excused`` time come from a wrong clock; see :func:`excuse_clock`. Raises
        ClockError if the clock is behind the newest entry by more than the tolerance, or returns no
        time.
        """
        now = self._told()
        if newest is None:
            return now
        behind = now < newest - self._tolerance
        if behind and newest > _time(excused):
            raise ClockError(
                f"the clock says {now:.3f}, but the last entry is of {newest:.3f}: "
                "correct the clock; nothing was spent. If the clock was wrong before and is "
                "right now, call "
                "Ledger.excuse_clock"
            )
        return max(now, newest)

    def _told(self) -> float:
        try:
            seconds = float(self._clock())
        except (TypeError, ValueError, OverflowError) as error:
            raise ClockError("the clock did not return a time: nothing was spent") from error
        if not math.isfinite(seconds):
            raise ClockError(f"the clock says {seconds}: nothing was spent")
        return seconds


def _time(written: str | None) -> float:
    try:
        return -math.inf if written is None else float(written)
    except (TypeError, ValueError) as error:
        raise LedgerCorruptError("the ledger: the excused time is no number") from error


def excuse_clock(connection: Connection) -> float | None:
    """Record that the clock was wrong at the newest entry; return its time, None without entries.

    Entries do not change. Later entries have the same time until the clock has reached it.
    """
    with named_errors():
        newest: float | None = connection.execute(sa.select(NEWEST)).scalar()
        if newest is not None:
            write_meta(connection, "excused", repr(newest))
    return newest


# ---------------------------------------------------------------- charges


class Spent(NamedTuple):
    """Charges of a party: their number, and their μ together."""

    charges: int
    mu: float


class PricedCharge(NamedTuple):
    """A charge to write: its row, Σ μ² with the charge, and the hash of the preceding charge."""

    charge: Charge
    spent: int
    head: str


class Till:
    """A till, which prices charges and writes them down."""

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
        """Return the number of a party's charges and their total μ, without reading each charge."""
        row = self._total.first(connection, {"payer": party})
        if row is None:
            raise unknown(party)
        charges, text = row
        return Spent(charges, root(digits(text, party)))

    def priced(
        self, connection: Connection, party: str, stream: str, step: int, event: Event
    ) -> PricedCharge:
        """Price a charge, and refuse a charge that is not allowed. Nothing is written."""
        require_names(party=party, stream=stream)
        require_step(f"party {party!r}, {stream!r}", step)
        written = encode_event(
            event
        )  # first, because only a writable event has numbers where they are due
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
        """Write a charge, and the digest of its draw.

        Raises LedgerBusyError if another process charged this party after the price was computed.
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
    """Make the query for the present row of an account and the latest charge of a stream."""
    party, stream = sa.bindparam("payer", type_=sa.Text), sa.bindparam("name", type_=sa.Text)
    of_stream = (CHARGES.c.party == party) & (CHARGES.c.stream == stream)
    latest = sa.select(sa.func.max(CHARGES.c.step)).where(of_stream).scalar_subquery()
    account = (ACCOUNTS.c.charges, ACCOUNTS.c.spent, ACCOUNTS.c.head, ACCOUNTS.c.mu)
    return (
        sa.select(*account, NEWEST, EXCUSED, CHARGES.c.step, CHARGES.c.event, CHARGES.c.mu)
        .select_from(ACCOUNTS.outerjoin(CHARGES, of_stream & (CHARGES.c.step == latest)))
        .where(ACCOUNTS.c.party == party)
    )


def _advancing() -> Any:
    """Make the update of an account, which fails after another charge: on every database."""
    moved: dict[str, Any] = {
        name: sa.bindparam(f"new_{name}") for name in ("charges", "spent", "time", "head")
    }
    unmoved = ACCOUNTS.c.charges == sa.bindparam("before")
    return (
        sa.update(ACCOUNTS).where(ACCOUNTS.c.party == sa.bindparam("payer"), unmoved).values(moved)
    )


def _affordable(place: str, spent: int, before: float, mu: float, budget: float) -> int:
    """Return Σ μ² after a stream's price went from ``before`` to ``mu``.

    Raises BudgetExceededError if the sum exceeds the budget.
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
    """Refuse a step that was drawn before; a step that was only charged is merely out of order."""
    here = (CHARGES.c.party == party) & (CHARGES.c.stream == stream) & (CHARGES.c.step == step)
    with named_errors():
        drawn = connection.execute(sa.select(CHARGES.c.digest).where(here)).scalar()
    if drawn is not None:
        raise NoiseReuseError(
            f"party {party!r}, {stream!r}: the noise of step {step} was drawn before; "
            "continue from the state that was saved with it"
        )
