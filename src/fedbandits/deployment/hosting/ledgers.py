"""The account that a party's releases are charged to."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fedbandits.privacy.ledger.accounts import whole_budget
from fedbandits.systems.terms import claim_under

if TYPE_CHECKING:
    from fedbandits.deployment.hosting.seat import HostedSeat
    from fedbandits.deployment.hosting.writing import Batch
    from fedbandits.privacy.claims import PrivacyClaim


def claim_of(seat: HostedSeat) -> PrivacyClaim:
    """What is promised under the terms of a seat's federation."""
    return claim_under(seat.federation.system, seat.federation.plan, seat.terms)


def budget_of(seat: HostedSeat) -> tuple[float, float] | None:
    """(ε, δ) that the contents of a party's messages may cost; None where nothing is charged."""
    claim = claim_of(seat)
    if not seat.role.acts or not math.isfinite(claim.epsilon_contents) or claim.delta <= 0.0:
        return None
    return whole_budget(claim, seat.place), claim.delta


def open_account(batch: Batch, seat: HostedSeat) -> None:
    """Give the party its budget, if its releases cost anything; the second time does nothing."""
    budget = budget_of(seat)
    if budget is not None:
        batch.store.ledger.open_account(batch.connection, seat.member, claim_of(seat), *budget)
