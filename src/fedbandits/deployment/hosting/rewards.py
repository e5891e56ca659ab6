"""Rewards that no decision waits for."""

from __future__ import annotations

from typing import Any

from sqlalchemy.engine import Connection

from fedbandits.deployment.storage.store import Store
from fedbandits.errors import DuplicateRewardError, LateRewardError, UnknownDecisionError
from fedbandits.federation.party import Party


def require_open(
    store: Store, connection: Connection, member: str, party: Party[Any], number: int
) -> None:
    """Refuse a reward whose decision is not open, and say in which way it is not."""
    waiting = party.open_decisions
    if waiting is None or number in waiting:
        return
    if not 0 < number <= party.decisions_made:
        raise UnknownDecisionError(f"{member}: decision {number} was never made")
    if store.has_expired(connection, number):
        raise LateRewardError(
            f"{member}: the reward of decision {number} did not come in time, and a default "
            "counts in its place"
        )
    if number <= party.settled_decisions:
        raise LateRewardError(
            f"{member}: decision {number} has its reward already, or it is in a release that "
            "has left"
        )
    raise DuplicateRewardError(f"{member}: decision {number} has its reward already")
