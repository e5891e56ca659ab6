"""The exchange with one peer, and the interface of the party that is given its messages."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Collection
from itertools import islice
from typing import NamedTuple, Protocol

from fedbandits.deployment.delivery.frames import Hello, extended
from fedbandits.federation.links import MOST_HELD, Link
from fedbandits.federation.terms import Terms, cut

#: The most messages that may be on their way at once: a receiver holds no more.
WINDOW = MOST_HELD
#: Seconds until an unanswered frame is sent again: at first, and at most.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 20.0


def uptime() -> float:
    """Read the machine's other clock, in seconds: nobody sets it, and it runs on in sleep."""
    clock: int | None = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class Standing(NamedTuple):
    """A count of what was exchanged with a peer, as is committed.

    ``received`` and ``sent`` are the numbers of its next message, and of the next one to it.
    ``seen`` messages of it have come, whatever became of them, and the last one had that ``mark``.
    """

    received: int = 0
    sent: int = 0
    seen: int = 0
    mark: bytes = b""


def standing_of(link: Link) -> Standing:
    """Return where a link stands."""
    return Standing(link.received, link.sent, link.seen, link.mark)


class Receiver(Protocol):
    """A party that is given what was delivered. All of it is called on the event loop."""

    def counts(self, peer: str) -> Standing:
        """Return where the exchange with a peer stands."""

    @property
    def witnesses(self) -> Collection[str]:
        """Peers of which most must say what they have seen, before anything leaves."""

    def receive(self, peer: str, body: bytes, number: int, mark: bytes) -> None:
        """Take a message; when it is committed, :meth:`Delivery.received` is to be called."""

    def acknowledged(self, peer: str, number: int, mark: bytes) -> None:
        """Forget all messages to a peer below a number; keep the mark of these."""

    def sums(self, peer: str) -> tuple[int, int | None]:
        """Return the newest secure sums that a peer has confirmed, and that this party has opened.

        The first is 0 if it has confirmed none, and the second None if this party opens none.
        """

    def stale(self, why: str, most: bool, heard: bool) -> None:
        """Note that a peer, or most of them, say that this party was put back from a backup.

        They have seen it in messages of this party, or have only ``heard`` of it.
        """

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
        #: Whether it has said, in this life of ours, that it has seen nothing else than was sent.
        self.vouches = False
        #: Whether it says that it has seen more than was ever sent to it, or something else.
        self.saw_more = False
        #: Whether the peer's last greeting named other terms, in this life of ours.
        self.has_other_terms = False
        #: Whether it is revoked, and nothing is kept for it; and below which number nothing was.
        self.revoked, self.dropped = False, 0
        #: Whether secrets are waited for, which it may have.
        self.wants = False
        #: Whether it is to say once more what its clock says.
        self.asks = False
        #: The problem with the peer, in a line; empty if there is none.
        self.problem = ""
        #: By how many seconds the peer's clock is ahead of :func:`uptime` here; when the peer said
        #: so last, and when any frame of the peer came last, by that clock.
        self.ahead, self.said, self.heard = 0.0, -math.inf, -math.inf
        #: The number of the peer's next message; whether an acknowledgement is due.
        self.received, self.owes = 0, False
        #: The number in the last acknowledgement to the peer.
        self.told = 0
        #: All messages below this number have been received by it.
        self.acknowledged = 0
        #: Messages that have not, by number, in order.
        self.unacknowledged: OrderedDict[int, bytes] = OrderedDict()
        #: Marks of all messages up to a number: of these, and of the one before them.
        self.marks: dict[int, bytes] = {-1: b""}
        #: When the oldest of these became the oldest, by :func:`uptime`.
        self.stuck_since = 0.0
        self._pause, self.next_try = FIRST_PAUSE, 0.0

    def go_on_from(self, number: int, mark: bytes) -> None:
        """Go on from a store: the mark is of all messages below the number, which were received."""
        self.marks = {number - 1: mark}

    def add(self, number: int, body: bytes) -> None:
        """Add a message that is to be sent; one that is there already stays as it is."""
        if not self.unacknowledged:
            self.stuck_since = uptime()
        self.unacknowledged[number] = body
        if number not in self.marks:
            self.marks[number] = extended(self.marks.get(number - 1, b""), body)

    def accuses(self, hello: Hello, member: str, sent: int, opened: int | None) -> bool:
        """Tell whether a peer has seen what is not among the messages that were ``sent`` to it.

        Or it has heard of a sum beyond the last that this party has ``opened``.
        """
        mark = self.marks.get(hello.seen - 1)
        if (count := max(hello.received, hello.seen)) > sent:
            seen = f"{count} messages"
        elif mark is not None and mark != hello.mark:
            seen = f"another message {hello.seen - 1}"
        elif opened is not None and hello.heard > opened:
            seen, sent = f"sum {hello.heard}", opened
        else:
            self.saw_more = False
            return False
        self.problem = (
            f"{self.peer} has seen {seen} of {member}, whose store knows of {sent}: an old backup "
            "was put back; what it released since is not in its ledger"
        )
        self.greeted, self.vouches, self.saw_more = False, False, True
        return True

    @property
    def offset(self) -> float:
        """Seconds by which the peer's clock is ahead of this machine's, which may have been set."""
        return self.ahead + uptime() - time.time()

    def take_over(self, hello: Hello, received: int) -> None:
        """Take over the numbers that a peer has just stated; they contradict nothing here."""
        self.problem, self.asks, self.said = "", False, uptime()
        self.has_other_terms = False
        self.ahead = hello.time - self.said
        self.greeted, self.received = True, max(self.received, received)
        said = hello.seen >= hello.received and self.marks.get(hello.seen - 1) == hello.mark
        self.vouches = self.vouches or said

    def has_forgotten(self, hello: Hello) -> bool:
        """Tell whether a peer does not know any more of messages that it has acknowledged.

        While it was revoked nothing was kept for it, and it has acknowledged nothing of that.
        """
        first = next(iter(self.marks))
        return max(hello.received, hello.seen) < first and first >= self.dropped

    def differs(self, hello: Hello, terms: Terms) -> str:
        """Say in which key a peer's terms differ first, if it has told them."""
        found: object = f"they are {cut(repr(hello.terms))}, not {terms.digest!r}"
        if hello.content:
            try:
                found = terms.difference(hello.content) or found
            except ValueError as broken:
                found = broken
        return f"OtherTermsError: {self.peer} has other terms: {found}"

    @property
    def waits(self) -> bool:
        """True if a frame to the peer has not been answered."""
        return not self.greeted or self.wants or self.asks or bool(self.unacknowledged)

    def hurry(self) -> None:
        """Send unanswered frames again at once."""
        self._pause, self.next_try = FIRST_PAUSE, 0.0

    def ask(self) -> None:
        """Ask the peer once more for its clock."""
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
            self.next_try = now + self._pause

    def in_window(self) -> list[tuple[int, bytes]]:
        """List messages that may be on their way now."""
        return list(islice(self.unacknowledged.items(), WINDOW))

    def took(self, number: int) -> list[tuple[int, bytes]]:
        """Forget messages below a number; returns those that may be sent now and were not."""
        before = self.acknowledged + WINDOW
        self.acknowledged = max(self.acknowledged, number)
        while self.unacknowledged and next(iter(self.unacknowledged)) < number:
            self.unacknowledged.popitem(last=False)
            self.stuck_since = uptime()
        while next(iter(self.marks)) < number - 1:
            del self.marks[next(iter(self.marks))]
        self._pause = max(FIRST_PAUSE, 0.5 * self._pause)  # a slow peer may be slow again
        if not self.unacknowledged:
            self.next_try = math.inf
            return []
        after = self.acknowledged + WINDOW
        return [(n, body) for n, body in self.in_window() if before <= n < after]
