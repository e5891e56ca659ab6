"""The exchange with one peer, and the interface of the party that is given its messages."""

from __future__ import annotations

import math
from collections import OrderedDict
from itertools import islice
from typing import Protocol

from fedbandits.federation.links import MOST_HELD

#: So many messages may be on their way at once: a receiver holds no more than these.
WINDOW = MOST_HELD
#: Seconds until something is said again that was not answered: at first, and at most.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 20.0


class Receiver(Protocol):
    """A party that is given what was delivered. All of it is called on the event loop."""

    def counts(self, peer: str) -> tuple[int, int]:
        """Return the numbers of the next message from a peer, and of the next one to it."""

    def receive(self, peer: str, body: bytes) -> None:
        """Take a message; when it is committed, :meth:`Delivery.received` is to be called."""

    def acknowledged(self, peer: str, number: int) -> None:
        """Forget all messages to a peer below a number."""

    def stale(self, why: str, most: bool) -> None:
        """Note that a peer, or most of them, say that this party was put back from a backup."""

    def given(self, peer: str, name: str, value: bytes) -> None:
        """Take a secret that a peer has handed over."""

    def gift(self, peer: str, name: str) -> bytes | None:
        """Return a secret that is to be handed to a peer; None if there is none."""

    @property
    def wants(self) -> list[str]:
        """Names of secrets that have not been handed over yet."""


class Exchange:
    """One peer, as delivery sees it."""

    def __init__(self, peer: str) -> None:
        self.peer = peer
        #: The peer's present life; empty while it is not known.
        self.life = b""
        #: Whether it has answered in this life of ours.
        self.greeted = False
        #: Whether it says that it has seen more than was ever sent to it.
        self.saw_more = False
        #: Whether its terms are other ones.
        self.has_other_terms = False
        #: Whether secrets are waited for, which it may have.
        self.wants = False
        #: Whether it is to say once more what its clock says.
        self.asks = False
        #: What is wrong, in a line.
        self.problem = ""
        #: By how many seconds its clock is ahead of ours.
        self.offset = 0.0
        #: The number of its message that comes next; whether it is to be told so.
        self.received, self.owes = 0, False
        #: What it was told last of that number.
        self.told = 0
        #: All messages below this number have been received by it.
        self.acknowledged = 0
        #: Messages that have not, by number, in order.
        self.unacknowledged: OrderedDict[int, bytes] = OrderedDict()
        self._pause, self.next_try = FIRST_PAUSE, 0.0

    @property
    def waits(self) -> bool:
        """True if something was said that has not been answered."""
        return not self.greeted or self.wants or self.asks or bool(self.unacknowledged)

    def hurry(self) -> None:
        """Say it again at once."""
        self._pause, self.next_try = FIRST_PAUSE, 0.0

    def ask(self) -> None:
        """Ask once more what its clock says."""
        if not self.asks:
            self.asks = True
            self.hurry()

    def grow(self, now: float) -> None:
        """Wait longer next time."""
        self.next_try = now + self._pause
        self._pause = min(2.0 * self._pause, LONGEST_PAUSE)

    def begin_waiting(self, now: float) -> None:
        """Give a message that has been sent time to be acknowledged."""
        if len(self.unacknowledged) == 1:
            self._pause, self.next_try = FIRST_PAUSE, now + FIRST_PAUSE

    def in_window(self) -> list[tuple[int, bytes]]:
        """List messages that may be on their way now."""
        return list(islice(self.unacknowledged.items(), WINDOW))

    def took(self, number: int) -> list[tuple[int, bytes]]:
        """Forget messages below a number; returns those that may be sent now and were not."""
        before = self.acknowledged + WINDOW
        self.acknowledged = max(self.acknowledged, number)
        while self.unacknowledged and next(iter(self.unacknowledged)) < number:
            self.unacknowledged.popitem(last=False)
        self._pause = FIRST_PAUSE
        if not self.unacknowledged:
            self.next_try = math.inf
            return []
        after = self.acknowledged + WINDOW
        return [(n, body) for n, body in self.in_window() if before <= n < after]
