"""Statements of a ledger: the spent budget of a party, and the rest of the budget."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
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

#: Name of the noise of an account that shares some noise, if the sharing accounts are not known.
UNKNOWN = "unknown"


class StreamStatement(msgspec.Struct, frozen=True):
    """One stream of releases in an account.

    Parameters
    ----------
    name
        Name of the stream.
    steps
        Number of releases that were charged.
    event
        The latest event. Its price is the price of the whole stream.
    mu
        The price of the stream: a μ of Gaussian differential privacy.
    """

    name: str
    steps: int
    event: Event
    mu: float

    @property
    def description(self) -> str:
        """A description of the event in one line."""
        return describe(self.event)


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """The account of a party: its budget, and its spending.

    Parameters
    ----------
    party
        Name of the party.
    claim
        The privacy claim of the party.
    epsilon, delta, mu
        The budget: (ε, δ) as given, and the μ that it allows.
    spent_mu, spent_epsilon
        μ of all charges together, and its ε at the δ of the budget.
    left_mu
        The rest of the budget: √(μ² - spent_mu²).
    left_epsilon
        ε of ``left_mu``, at the δ of the budget. ``spent_epsilon`` and ``left_epsilon`` do not add
        up to ``epsilon``, because in Gaussian differential privacy the squares of μ are added.
    charges
        Number of charges.
    first, last
        Times of the first and the last charge, in seconds since 1970. None without charges.
    streams
        The streams of releases, by name.
    noise
        Name of the noise that this account shares with others: all accounts with the same name have
        one noise. Empty where releases have noise of their own. A ledger uses the name of its
        federation, where the claim states that one noise covers all parties. :data:`UNKNOWN` may be
        the noise of any account that shares noise.
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
    noise: str = ""


class Total(msgspec.Struct, frozen=True, kw_only=True):
    """The total privacy cost of several accounts for records that are in all of them.

    The squares of μ of Gaussian differential privacy are added: the total is exact for Gaussian
    releases. The order of charges does not matter. Accounts of parties that share one noise are
    added up first, μ by μ: a record in each moves one and the same sum. This price is an upper
    bound.

    Parameters
    ----------
    accounts
        Number of accounts.
    delta
        The smallest δ of the budgets. Both values of ε are at this δ.
    spent_mu, spent_epsilon
        μ and ε of all charges.
    mu, epsilon
        μ and ε of all budgets together.
    one_noise
        Groups of parties whose accounts share one noise, if a group has several parties.
    """

    accounts: int
    delta: float
    spent_mu: float
    spent_epsilon: float
    mu: float
    epsilon: float
    one_noise: tuple[tuple[str, ...], ...] = ()


def add_up(statements: Sequence[Statement]) -> Total:
    """Add up the cost of accounts for records that are in all of them.

    ``statements`` may be from one ledger or from several.
    """
    delta = min(statement.delta for statement in statements)
    spent = gaussian.compose(
        by_noise((statement.noise, statement.spent_mu) for statement in statements)
    )
    budget = gaussian.compose(by_noise((statement.noise, statement.mu) for statement in statements))
    return Total(
        accounts=len(statements),
        delta=delta,
        spent_mu=spent,
        spent_epsilon=gaussian.epsilon_of(spent, delta),
        mu=budget,
        epsilon=gaussian.epsilon_of(budget, delta),
        one_noise=_sharing(statements),
    )


def by_noise(prices: Iterable[tuple[str, float]]) -> list[float]:
    """Add up μ of accounts that share one noise; other accounts keep their μ.

    An account is the name of its shared noise, or an empty name, and its μ. Some accounts may have
    other releases beside the shared ones, as of earlier federations. The sum is an upper bound of
    the cost: the length of a sum is at most the sum of lengths. If an account has :data:`UNKNOWN`
    noise, all sharing accounts are one group.
    """
    accounts = list(prices)
    groups = _groups([noise for noise, _ in accounts])
    return [gaussian.several([accounts[i][1] for i in group], one_noise=True) for group in groups]


def _groups(noises: Sequence[str]) -> list[list[int]]:
    """Return groups of accounts that may share one noise, as places in ``noises``."""
    groups = defaultdict[str | int, list[int]](list)
    for place, noise in enumerate(noises):
        groups[(UNKNOWN if UNKNOWN in noises else noise) if noise else place].append(place)
    return list(groups.values())


def _sharing(statements: Sequence[Statement]) -> tuple[tuple[str, ...], ...]:
    groups = _groups([group.noise for group in statements])
    return tuple(tuple(statements[i].party for i in group) for group in groups if len(group) > 1)


def state(connection: Connection, account: Any, federation: str) -> Statement:
    """Return the statement of a row of accounts in the ledger of a federation."""
    claim = decode_claim(account.claim, account.party)
    spent = digits(account.spent, account.party)
    left = root(max(0, squared(account.mu) - spent))
    times = sa.select(sa.func.min(CHARGES.c.time), sa.func.max(CHARGES.c.time))
    first, last = connection.execute(times.where(CHARGES.c.party == account.party)).one()
    return Statement(
        party=account.party,
        claim=claim,
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
        noise=federation if claim.one_noise else "",
    )


def _stream(row: Any, party: str) -> StreamStatement:
    event = decode_event(row.event, f"party {party!r}, stream {row.stream!r}")
    return StreamStatement(row.stream, row.step, event, row.mu)
