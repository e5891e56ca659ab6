"""Noise that is charged before it is drawn, and stored."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.engine import Connection

from fedbandits._typing import Floats
from fedbandits.errors import NoiseError
from fedbandits.privacy.accounting import Event
from fedbandits.privacy.ledger.book import Ledger
from fedbandits.privacy.running_sum import CoveringNoise, checked_noise, draw_ahead
from fedbandits.privacy.secure_noise import SecureNoise


class LedgeredNoise:
    """A source of noise that charges a ledger for every release and stores the released values.

    It adds the noise of ``source`` to values, see :class:`.secure_noise.SecureNoise`, and stores
    the sums. These are called covered values. A release is computed only from covered values. Noise
    that was drawn in advance is not stored, because noise together with a release would reveal the
    data.

    Parameters
    ----------
    ledger, party, stream
        The ledger, the paying party, and the name of the stream.
    event
        A function from k to the event of the first k releases of the stream; the plan of every
        system has one.
    source
        The source of noise. It must be secure, because noise from a seed protects nobody.
    connection
        Connection in whose transaction charges and draws are written, or a function that returns
        a connection. By default each draw is committed alone.
    replays
        Whether to repeat stored steps. Use it for a party that has loaded a state older than its
        newest release, and that gets the same events again. Each stored step is returned once more.
        Nothing is charged, and nothing new is revealed. The events must be exactly the same:
        another record in the place of a released record would be in two batches. By default no step
        can be repeated.
    """

    def __init__(
        self,
        ledger: Ledger,
        party: str,
        stream: str,
        event: Callable[[int], Event],
        source: CoveringNoise,
        connection: Connection | Callable[[], Connection] | None = None,
        replays: bool = False,
    ) -> None:
        self._ledger, self._party, self._stream = ledger, party, stream
        self._event, self._source, self._connection = event, source, connection
        #: Stored steps that have not been repeated yet.
        self._kept = set(range(1, len(self._drawn()) + 1)) if replays else set()

    def draw_ahead(self, count: int) -> None:
        """Let the source draw ``count`` numbers in advance; nothing is charged or stored yet."""
        draw_ahead(self._source, count)

    def end_replay(self) -> None:
        """End the repetition: from now on no step can be repeated."""
        self._kept.clear()

    def cover(self, step: int, values: Floats) -> Floats:
        """Charge ``step``, add noise to its ``values``, and store the sums.

        See :meth:`Ledger.draw`.
        """
        return self._once(step, values.size, lambda: self._source.cover(step, values))

    def draw_whole_ahead(self, deviations: Floats) -> None:
        """Let the source draw whole noise of ``deviations`` in advance; nothing is charged yet."""
        self._whole_source.draw_whole_ahead(deviations)

    def cover_whole(self, step: int, values: Floats, deviations: Floats) -> Floats:
        """Charge ``step``, add whole noise of ``deviations`` to ``values``, and store the sums."""
        source = self._whole_source
        return self._once(step, values.size, lambda: source.cover_whole(step, values, deviations))

    @property
    def _whole_source(self) -> SecureNoise:
        """The source, as a source of whole noise."""
        if not isinstance(self._source, SecureNoise):
            raise NoiseError("this source of noise has no whole noise, which secure sums need")
        return self._source

    def _once(self, step: int, size: int, make: Callable[[], Floats]) -> Floats:
        """Return the stored covered values of a step, or cover the step now, in a transaction."""
        if step in self._kept:
            kept = checked_noise(self._drawn()[step - 1], size)
            self._kept.remove(step)
            return kept
        if (connection := self._current()) is not None:
            return self._draw(connection, step, size, make)
        with self._ledger.begin() as connection:
            return self._draw(connection, step, size, make)

    def _draw(
        self, connection: Connection, step: int, size: int, make: Callable[[], Floats]
    ) -> Floats:
        return self._ledger.draw(
            connection,
            self._party,
            self._stream,
            step,
            self._event(step),
            # Values that are no noise must not be booked: the step could never be drawn again.
            lambda: checked_noise(make(), size),
        )

    def _current(self) -> Connection | None:
        given = self._connection
        return given if given is None or isinstance(given, Connection) else given()

    def _drawn(self) -> list[Floats]:
        """Read the stored draws of all steps so far."""
        if (connection := self._current()) is not None:
            return self._ledger.draws(connection, self._party, self._stream)
        with self._ledger.read() as connection:
            return self._ledger.draws(connection, self._party, self._stream)
