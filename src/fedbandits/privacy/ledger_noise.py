"""Noise that is charged for before it is drawn, and kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy.engine import Connection

from fedbandits._typing import Floats
from fedbandits.privacy.accounting import ContinualSum

if TYPE_CHECKING:
    from fedbandits.privacy.ledger import Ledger


class LedgeredNoise:
    """A source of noise that is charged for, and whose every draw is kept.

    Parameters
    ----------
    ledger, party, stream
        Who pays for which stream.
    event
        The running sum; of its k-th release the first k are charged.
    source
        Draws step k's noise. It must be secure: a seed protects nobody.
    connection
        In whose transaction to charge and draw. Without one each draw is committed by itself; a
        process that stops before it has saved its own state cannot ask for that step again.
    """

    def __init__(
        self,
        ledger: Ledger,
        party: str,
        stream: str,
        event: ContinualSum,
        source: Callable[..., Floats],
        connection: Connection | None = None,
    ) -> None:
        self._ledger, self._party, self._stream = ledger, party, stream
        self._event, self._source, self._connection = event, source, connection

    def __call__(self, step: int, *args: Any) -> Floats:
        """Draw step ``step``, passing on what else the source is given; see :meth:`Ledger.draw`."""
        if self._connection is not None:
            return self._draw(self._connection, step, args)
        with self._ledger.begin() as connection:
            return self._draw(connection, step, args)

    def _draw(self, connection: Connection, step: int, args: tuple[Any, ...]) -> Floats:
        event = msgspec.structs.replace(self._event, releases=step)
        return self._ledger.draw(
            connection,
            self._party,
            self._stream,
            step,
            event,
            lambda: self._source(step, *args),
        )
