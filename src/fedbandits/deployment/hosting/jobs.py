"""Jobs of a host: what is to be done in a transaction, and what it has come to."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sqlalchemy.engine import Connection

from fedbandits.deployment.hosting.batch import Batch
from fedbandits.deployment.storage.rows import Sent
from fedbandits.deployment.storage.store import Store
from fedbandits.errors import ClockError, FedbanditsError, LedgerBusyError, LedgerError, StoreError

#: What a job has come to: an answer, or an error.
Outcome = tuple[Any, BaseException | None]


class Job(NamedTuple):
    """Work to be done in a transaction, and who waits for it.

    What is ``quick`` takes no longer than a request to the door.
    """

    work: Callable[[Batch], Any]
    future: asyncio.Future[Any]
    quick: bool = False

    def done(self, batch: Batch) -> Outcome:
        """Do it. An event that the party refuses has changed nothing, and the others go on."""
        try:
            return self.work(batch), None
        except FedbanditsError as refused:
            if isinstance(refused, LedgerError | StoreError) and type(refused) is not ClockError:
                raise  # the transaction itself has failed
            return None, refused

    def settle(self, outcome: Outcome) -> None:
        """Tell whoever waits for it what it has come to."""
        answer, error = outcome
        if self.future.done():  # whoever asked has gone
            return
        if error is None:
            self.future.set_result(answer)
        else:
            self.future.set_exception(error)


class Begun(NamedTuple):
    """A transaction that has begun, to be ended by closing it, and its connection."""

    transaction: contextlib.ExitStack
    connection: Connection


def begin(store: Store, waits: bool = True) -> Begun:
    """Begin a transaction; see :meth:`.store.Store.begin`."""
    transaction = contextlib.ExitStack()
    return Begun(transaction, transaction.enter_context(store.begin(waits)))


def begin_at_once(store: Store) -> Begun | None:
    """Begin a transaction; None if that would have to wait."""
    try:
        return begin(store, waits=False)
    except LedgerBusyError:
        return None


class Done(NamedTuple):
    """Jobs that were done in a transaction, whose end is its commit.

    ``again`` are messages of earlier commits.
    """

    batch: Batch
    outcomes: list[Outcome]
    transaction: contextlib.ExitStack
    again: Sequence[Sent] = ()
