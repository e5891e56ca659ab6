"""Jobs of a host, and the transactions that jobs share."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sqlalchemy.engine import Connection

from fedbandits.deployment.hosting.batch import Batch
from fedbandits.deployment.storage.rows import Sent
from fedbandits.deployment.storage.store import Store
from fedbandits.errors import (
    ClockError,
    FedbanditsError,
    LedgerBusyError,
    LedgerError,
    StoreError,
)

#: Outcome of a job: an answer, or an error.
Outcome = tuple[Any, BaseException | None]


class Job(NamedTuple):
    """Work for a transaction, and the future of its outcome.

    A ``quick`` job takes no longer than a request to the door. After an error of a ``whole`` job,
    the transaction fails: the job is no event that the party could refuse unchanged.
    """

    work: Callable[[Batch], Any]
    future: asyncio.Future[Any]
    quick: bool = False
    whole: bool = False

    def done(self, batch: Batch) -> Outcome:
        """Do the work; an error that is not an outcome is raised, and fails the transaction.

        An event that the party refuses has changed nothing, so other jobs go on.
        """
        try:
            return self.work(batch), None
        except FedbanditsError as refused:
            fails = isinstance(refused, LedgerError | StoreError)
            if self.whole or (fails and type(refused) is not ClockError):
                raise
            return None, refused

    def settle(self, outcome: Outcome) -> None:
        """Resolve the job's future with its outcome."""
        answer, error = outcome
        if self.future.done():  # its request was cancelled
            return
        if error is None:
            self.future.set_result(answer)
        else:
            self.future.set_exception(error)


#: A transaction of a store, committed when it is left.
Transaction = contextlib.AbstractContextManager[Connection]


class Begun(NamedTuple):
    """A transaction that has begun, and its connection."""

    transaction: Transaction
    connection: Connection


def begin(store: Store, waits: bool = True) -> Begun:
    """Begin a transaction; see :meth:`.store.Store.begin`."""
    transaction = store.begin(waits)
    return Begun(transaction, transaction.__enter__())


def begin_at_once(store: Store) -> Begun | None:
    """Begin a transaction; None if that would have to wait."""
    try:
        return begin(store, waits=False)
    except LedgerBusyError:
        return None


class Done(NamedTuple):
    """Jobs that were done in a transaction; leaving the ``transaction`` commits the jobs.

    ``again`` are messages of earlier commits, which are sent again.
    """

    batch: Batch
    outcomes: list[Outcome]
    transaction: Transaction
    again: Sequence[Sent] = ()
