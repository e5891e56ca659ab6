"""The account that a party's releases are charged to."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import GaussianRelease
from fedbandits.privacy.ledger import Ledger
from fedbandits.privacy.ledger.accounts import whole_budget
from fedbandits.systems.terms import claim_under

if TYPE_CHECKING:
    from fedbandits.deployment.hosting.seat import HostedSeat
    from fedbandits.deployment.hosting.writing import Batch
    from fedbandits.privacy.claims import PrivacyClaim


#: Names the charge for what earlier federations have released.
_EARLIER = "earlier federations"


def claim_of(seat: HostedSeat) -> PrivacyClaim:
    """What is promised under the terms of a seat's federation, with what was released before."""
    claim = claim_under(seat.federation.system, seat.federation.plan, seat.terms)
    if not seat.earlier or not math.isfinite(claim.mu) or claim.delta <= 0.0:
        return claim

    def with_earlier(epsilon: float) -> float:
        if not math.isfinite(epsilon):
            return epsilon
        alone = gaussian.mu_of(epsilon, claim.delta) if epsilon > 0.0 else 0.0
        return gaussian.epsilon_of(math.hypot(alone, seat.earlier), claim.delta)

    return msgspec.structs.replace(
        claim,
        mu=math.hypot(claim.mu, seat.earlier),
        epsilon=with_earlier(claim.epsilon),
        epsilon_contents=with_earlier(claim.epsilon_contents),
        epsilon_each=tuple(map(with_earlier, claim.epsilon_each)),
        events=(*claim.events, _event(seat)),
        conditional_on=(
            *claim.conditional_on,
            "Only this federation and earlier ones have released anything of the same records. The "
            f"earlier ones cost μ = {seat.earlier:.6g} together.",
        ),
    )


def _event(seat: HostedSeat) -> GaussianRelease:
    """Something that costs as much as all that was released before."""
    return GaussianRelease(seat.earlier, 1.0)


def spent_before(stores: Iterable[str | os.PathLike[str]]) -> float:
    """μ of all that is charged in stores of earlier federations together.

    Raises
    ------
    LedgerError
        If one of them cannot be read.
    """
    squares = 0.0
    for where in stores:
        with Ledger.existing(where) as ledger, ledger.read() as connection:
            for party in ledger.parties(connection):
                squares += ledger.statement(connection, party).spent_mu ** 2
    return math.sqrt(squares)


def budget_of(seat: HostedSeat) -> tuple[float, float] | None:
    """(ε, δ) that the contents of a party's messages may cost; None where nothing is charged."""
    claim = claim_of(seat)
    if not seat.role.acts or not math.isfinite(claim.epsilon_contents) or claim.delta <= 0.0:
        return None
    return whole_budget(claim, seat.place), claim.delta


def open_account(batch: Batch, seat: HostedSeat) -> None:
    """Give the party its budget, if its releases cost anything; the second time does nothing."""
    budget, ledger = budget_of(seat), batch.store.ledger
    if budget is None:
        return
    ledger.open_account(batch.connection, seat.member, claim_of(seat), *budget)
    if seat.earlier and not ledger.statement(batch.connection, seat.member).charges:
        ledger.charge(batch.connection, seat.member, _EARLIER, 1, _event(seat))
