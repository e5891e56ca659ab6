"""Parties in one process: a deterministic network with delays and drops on demand."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fedbandits.errors import FedbanditsError
from fedbandits.federation.messages import Codec, Message
from fedbandits.federation.party import Party
from fedbandits.federation.transcript import Transcript

#: Ticks that a message takes, or None to lose it. Asked once a message, in order of sending.
Route = Callable[[Message], int | None]


class MemoryNetwork:
    """Delivers messages between parties in order of arrival, ties in order of sending.

    Every message passes through the codec, so that what cannot be encoded fails here too.

    Parameters
    ----------
    parties
        The parties, by name.
    codec
        Codec of the system's messages.
    route
        Delays and drops; immediate and reliable by default.
    """

    def __init__(
        self, parties: Mapping[str, Party], codec: Codec, route: Route | None = None
    ) -> None:
        self.parties = dict(parties)
        self.transcript = Transcript()
        self.clock = 0
        self._codec = codec
        self._route = route or (lambda _: 0)
        self._queue: list[tuple[int, int, Any, bytes]] = []
        self._count = 0

    def send(self, messages: Iterable[Message]) -> None:
        """Put messages on their way."""
        for message in messages:
            ticks = self._route(message)
            if ticks is not None:
                entry = (
                    self.clock + ticks,
                    self._count,
                    message.receiver,
                    self._codec.encode(message),
                )
                heapq.heappush(self._queue, entry)
                self._count += 1

    def settle(self) -> None:
        """Deliver until nothing is on its way."""
        while self.deliver() is not None:
            pass

    def deliver(self) -> str | None:
        """Deliver the next message, moving the clock to its arrival.

        Returns
        -------
        str or None
            Who received it; None if nothing is on its way.
        """
        if not self._queue:
            return None
        self.clock = max(self.clock, self._queue[0][0])
        _, _, receiver, data = heapq.heappop(self._queue)
        if receiver not in self.parties:
            raise FedbanditsError(f"no party is called {receiver!r}")
        message = self._codec.decode(data)
        outgoing = self.parties[receiver].receive(message)
        self.transcript.record(self.clock, message, data)
        self.send(outgoing)
        return str(receiver)
