"""What a party has spent and what is left, as a ledger states it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import Event, describe
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.ledger.checks import streams
from fedbandits.privacy.ledger.tables import (
    CHARGES,
    decode_claim,
    decode_event,
    digits,
    root,
    squared,
)


class StreamStatement(msgspec.Struct, frozen=True):
    """One stream of releases.

    Parameters
    ----------
    name
        Name of the stream.
    steps
        How many releases were charged.
    event
        The latest event, whose price is the whole stream's.
    mu
        That price, a μ of Gaussian differential privacy.
    """

    name: str
    steps: int
    event: Event
    mu: float

    @property
    def description(self) -> str:
        """The event in one line."""
        return describe(self.event)


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """A party's account.

    Parameters
    ----------
    party
        Whose account it is.
    claim
        What the party promises.
    epsilon, delta, mu
        The budget: (ε, δ) as it was given, and the μ that it allows.
    spent_mu, spent_epsilon
        μ of all that was charged, and its ε at the budget's δ.
    left_mu
        √(μ² - spent²): what may still be added.
    left_epsilon
        ε at the budget's δ of something that costs ``left_mu`` by itself. With ``spent_epsilon`` it
        does not add up to ``epsilon``: in Gaussian differential privacy squares of μ add up.
    charges
        How many there were.
    first, last
        Times of the first and of the last one, in seconds since 1970; None without any.
    streams
        What was released, by name.
    """

    party: str
    claim: PrivacyClaim
    epsilon: float
    delta: float
    mu: float
    spent_mu: float
    spent_epsilon: float
    left_mu: float
    left_epsilon: float
    charges: int
    first: float | None
    last: float | None
    streams: tuple[StreamStatement, ...]


class Total(msgspec.Struct, frozen=True, kw_only=True):
    """What several accounts cost the same records together.

    A record that is behind all of them has paid for each. μ of Gaussian differential privacy adds
    up in squares, whoever was charged and in whatever order: that is exact for Gaussian releases.

    Parameters
    ----------
    accounts
        How many they are.
    delta
        The smallest δ of their budgets, at which both ε are.
    spent_mu, spent_epsilon
        Of all that was charged.
    mu, epsilon
        Of all that may be: the budgets together.
    """

    accounts: int
    delta: float
    spent_mu: float
    spent_epsilon: float
    mu: float
    epsilon: float


def add_up(statements: Sequence[Statement]) -> Total:
    """What accounts, of one ledger or of several, cost the records that are behind all of them."""
    delta = min(each.delta for each in statements)
    spent = gaussian.compose(each.spent_mu for each in statements)
    budget = gaussian.compose(each.mu for each in statements)
    return Total(
        accounts=len(statements),
        delta=delta,
        spent_mu=spent,
        spent_epsilon=gaussian.epsilon_of(spent, delta),
        mu=budget,
        epsilon=gaussian.epsilon_of(budget, delta),
    )


def state(connection: Connection, account: Any) -> Statement:
    """The statement of a row of accounts."""
    spent = digits(account.spent, account.party)
    left = root(max(0, squared(account.mu) - spent))
    times = sa.select(sa.func.min(CHARGES.c.time), sa.func.max(CHARGES.c.time))
    first, last = connection.execute(times.where(CHARGES.c.party == account.party)).one()
    return Statement(
        party=account.party,
        claim=decode_claim(account.claim, account.party),
        epsilon=account.epsilon,
        delta=account.delta,
        mu=account.mu,
        spent_mu=root(spent),
        spent_epsilon=gaussian.epsilon_of(root(spent), account.delta),
        left_mu=left,
        left_epsilon=gaussian.epsilon_of(left, account.delta),
        charges=account.charges,
        first=first,
        last=last,
        streams=tuple(_stream(row, account.party) for row in streams(connection, account.party)),
    )


def _stream(row: Any, party: str) -> StreamStatement:
    event = decode_event(row.event, f"party {party!r}, stream {row.stream!r}")
    return StreamStatement(row.stream, row.step, event, row.mu)
