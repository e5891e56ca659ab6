"""A store that is older than what has left its party: it is refused, or pays for that once more."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from sqlalchemy.engine import Connection

from fedbandits.deployment.hosting.known import has_begun, is_older, stale
from fedbandits.deployment.hosting.seat import HostedSeat
from fedbandits.deployment.storage.rows import Left
from fedbandits.deployment.storage.store import Store
from fedbandits.errors import BudgetExceededError, StaleStoreError
from fedbandits.federation.party import Party
from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import GaussianRelease

_LOG = logging.getLogger("fedbandits.deployment")
#: Under which name it is kept how often the store was put back.
_RESTORED = "restored"
#: Under which name the start of the machine is kept.
_BOOT = "boot"


def _spent(store: Store, connection: Connection, seat: HostedSeat) -> float:
    """Return μ of all that the party was charged for; 0 where nothing is charged."""
    if seat.budget is None:
        return 0.0
    return store.ledger.spent(connection, seat.member).mu


def all_left(
    store: Store, connection: Connection, seat: HostedSeat, marks: Mapping[str, tuple[int, bytes]]
) -> Left | None:
    """Return all that has left, given the newest marks; None where no file of it is kept."""
    if store.left is None:
        return None
    return Left(_spent(store, connection, seat), dict(marks))


def require_newest(store: Store, connection: Connection, seat: HostedSeat) -> None:
    """Refuse a store that does not know all that has left its party.

    Who restores on purpose goes on: then all that has left is charged once more, because the same
    records may leave with other noise. Where the file is missing that is the whole budget. A helper
    of secure sums must not go on: it would open a sum for a second set of members.

    Raises
    ------
    StaleStoreError
        If the store is older than its file, or has none and is not new. Or if it is restored, and
        its budget cannot pay once more for what has left.
    """
    if (file := store.left) is None:
        return
    left = file.read()
    if left is None and not has_begun(connection):
        file.write(Left(0.0, {}))  # before the first commit: from then on it must be there
        return
    if left is not None and not is_older(store.ledger, connection, seat.member, left):
        return
    if not (file.restores and seat.role.may_be_restored):
        raise stale(seat.member, seat.role, file, left)
    _pay_again(store, connection, seat, left)


def require_same_boot(
    store: Store, connection: Connection, seat: HostedSeat, party: Party[Any], now: int
) -> None:
    """Note under which start of the machine the party runs; refuse another one in mid-run.

    Where messages set the pace, commits do not wait for the disk, but for pulls. A process that is
    killed loses nothing; a machine that loses power may lose the newest commits. The party might
    then send other contents than before under the same numbers, so its run ends.
    """
    before = store.number(connection, _BOOT)
    under_way = (
        party.awaited is not None or party.next_end is not None or party.round_to_act is not None
    )
    if before and now and before != now and under_way:
        raise StaleStoreError(
            f"{seat.member}: the machine was restarted in mid-run, and its newest commits may be "
            "lost: this run ends; order a new one"
        )
    if before != now:
        store.set_number(connection, _BOOT, now)


def _pay_again(store: Store, connection: Connection, seat: HostedSeat, left: Left | None) -> None:
    """Charge for all that has left, as if the same records left with other noise."""
    times = store.number(connection, _RESTORED) + 1
    store.set_number(connection, _RESTORED, times)
    price = 0.0 if seat.budget is None else gaussian.mu_of(*seat.budget)
    if left is not None:
        price = min(price, left.spent)
    if price > 0.0:
        event = GaussianRelease(price, 1.0)
        try:
            store.ledger.charge(connection, seat.member, f"restored {times}", 1, event)
        except BudgetExceededError as refused:
            raise StaleStoreError(
                f"{seat.member}: an old store was to be restored, and its budget cannot pay once "
                "more for what may have left: go on in a new federation, which counts what this "
                f"one has spent ({refused})"
            ) from refused
    _LOG.warning("%s: an old store is restored; it has paid μ = %.6g for it", seat.member, price)
