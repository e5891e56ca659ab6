"""Accounts: who has one, and on which terms it was opened."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from fedbandits.errors import ClaimError, LedgerMismatchError, UnknownPartyError
from fedbandits.privacy import gaussian
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.ledger.database import named_errors
from fedbandits.privacy.ledger.tables import (
    ACCOUNTS,
    decode_claim,
    encode_claim,
    genesis,
    require_names,
)
from fedbandits.privacy.ledger.times import Times

#: A budget may exceed a claim by as much as rounding, and margins for it, come to.
_SLACK = 1e-3
#: Room for going from μ to ε and back, and the least budget there can be.
_ROUND_TRIP, _LEAST = 1.0 + 2.0**-20, 1e-6


def find(connection: Connection, party: str) -> Any:
    """A party's row, or None."""
    return connection.execute(sa.select(ACCOUNTS).where(ACCOUNTS.c.party == party)).first()


def require(connection: Connection, party: str) -> Any:
    """A party's row.

    Raises
    ------
    UnknownPartyError
        If it has no account.
    """
    require_names(party=party)
    account = find(connection, party)
    if account is None:
        raise unknown(party)
    return account


def whole_budget(claim: PrivacyClaim, place: int | None = None) -> float:
    """The budget ε of an account that can pay for a whole claim, at the δ of the claim.

    It is slightly larger than the ε of the claim. The account converts ε to μ, and with exactly the
    ε of the claim, rounding might refuse the last release. If δ is so large that it alone pays for
    everything, the result is still above 0, because a budget cannot be 0.

    Parameters
    ----------
    claim
        The privacy claim.
    place
        Number of the party that pays, if each party has its own budget. By default the largest
        budget is taken.
    """
    epsilon = claim.epsilon_contents
    if place is not None and claim.epsilon_each:
        epsilon = claim.epsilon_each[place]
    return max(epsilon * _ROUND_TRIP, _LEAST)


def open_account(
    connection: Connection,
    federation: str,
    times: Times,
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
            _insert(connection, federation, times, (party, *terms))
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


def _insert(
    connection: Connection,
    federation: str,
    times: Times,
    terms: tuple[str, str, float, float, float],
) -> None:
    fixed = (*terms, times.at_opening(connection))
    row = (*fixed, 0, "0", fixed[-1], genesis(federation, fixed))
    connection.execute(sa.insert(ACCOUNTS).values(row))


def unknown(party: str) -> UnknownPartyError:
    """The error for a party without an account."""
    return UnknownPartyError(f"party {party!r} has no account in this ledger: open one first")


def require_kept(party: str, claim: PrivacyClaim, mu: float) -> None:
    """Refuse a budget under which a claim could be broken.

    Raises
    ------
    ClaimError
    """
    if not (claim.is_private and claim.delta > 0.0):
        return
    allowed = gaussian.epsilon_of(mu, claim.delta)
    if allowed > claim.epsilon * (1.0 + _SLACK):
        raise ClaimError(
            f"party {party!r}: the budget allows ε = {allowed:.4g} at δ = {claim.delta:g}, "
            f"the claim promises {claim.epsilon:.4g}"
        )
