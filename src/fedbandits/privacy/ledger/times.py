"""The times that a ledger records. They never decrease."""

from __future__ import annotations

import math
from collections.abc import Callable

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from fedbandits.errors import ClockError, LedgerCorruptError
from fedbandits.privacy.ledger.database import named_errors
from fedbandits.privacy.ledger.tables import ACCOUNTS, META, write_meta

#: The newest entry, and the latest time that was excused, for a SELECT.
NEWEST = sa.select(sa.func.max(ACCOUNTS.c.time)).scalar_subquery()
EXCUSED = (
    sa.select(META.c.value).where(META.c.name == sa.literal_column("'excused'")).scalar_subquery()
)


class Times:
    """The times to record.

    Parameters
    ----------
    clock, tolerance
        Function that returns the time, in seconds since 1970, and how many seconds it may run
        backwards.
    """

    def __init__(self, clock: Callable[[], float], tolerance: float) -> None:
        self._clock, self._tolerance = clock, tolerance

    def now(self, newest: float | None, excused: str | None = None) -> float:
        """The time to record, never before the newest one that was.

        Parameters
        ----------
        newest
            The newest time in the ledger.
        excused
            Entries up to this time were made by a wrong clock; see :func:`excuse`.

        Raises
        ------
        ClockError
            If the clock is behind the newest entry by more than the tolerance, or tells no time.
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

    def at_opening(self, connection: Connection) -> float:
        """The time to record for a new account; as :meth:`now`."""
        return self.now(*connection.execute(sa.select(NEWEST, EXCUSED)).one())

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


def excuse(connection: Connection) -> float | None:
    """Note that the clock was wrong at the newest entry; returns its time, None if there is none.

    What was written stays. Later entries bear that time too, until the clock has reached it.
    """
    with named_errors():
        newest: float | None = connection.execute(sa.select(NEWEST)).scalar()
        if newest is not None:
            write_meta(connection, "excused", repr(newest))
    return newest
