"""Transports carry frames between members; one is in memory, for tests and for one process."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

#: Takes a frame: the member it came from, as the transport says, and its bytes. It never raises.
Receive = Callable[[str, bytes], None]


class Transport(Protocol):
    """Carries sealed frames between members. It may lose, repeat and reorder them.

    Nothing rests on it but progress: frames are sealed and authenticated by whoever uses it, and
    sent again until the receiver has acknowledged what is in them.
    """

    @property
    def connected(self) -> bool:
        """True if frames can be sent now."""

    async def open(self, receive: Receive, on_connected: Callable[[], None]) -> None:
        """Begin. It returns at once, and connects as soon as that is possible.

        Every frame is given to ``receive``, on the event loop that this was called on.
        ``on_connected`` is called there whenever a connection begins, the first one included.
        Raises TransportError or IdentityError if it can never connect: its own settings or keys are
        wrong.
        """

    async def send(self, receiver: str, frame: bytes) -> bool:
        """Send a frame; return whether it was handed over, which needs a connection."""

    def hurry(self) -> None:
        """Connect again soon, if there is no connection: messages wait to be sent."""

    async def close(self) -> None:
        """End, after what was handed over has left."""


#: What becomes of a frame on its way: the frames that arrive instead of it, each after so many
#: seconds. Given who sends it to whom.
Route = Callable[[str, str, bytes], list[tuple[float, bytes]]]


class MemoryHub:
    """Connects transports in one process.

    The ``route`` delays, loses, repeats and changes frames; it is immediate and reliable by
    default. With ``held``, frames wait until :meth:`deliver` is called, in the order in which they
    were sent.
    """

    def __init__(self, route: Route | None = None, held: bool = False) -> None:
        self._held = held
        self._waiting: deque[tuple[str, str, bytes]] = deque()
        self.members: dict[str, MemoryTransport] = {}
        self.route = route or (lambda sender, receiver, frame: [(0.0, frame)])

    def carry(self, sender: str, receiver: str, frame: bytes) -> None:
        """Put a frame on its way."""
        if self._held:
            self._waiting.append((sender, receiver, frame))
            return
        loop = asyncio.get_running_loop()
        for delay, arriving in self.route(sender, receiver, frame):
            loop.call_later(delay, self.arrive, sender, receiver, arriving)

    def deliver(self) -> bool:
        """Deliver the frame that has waited longest; return whether there was one."""
        if not self._waiting:
            return False
        self.arrive(*self._waiting.popleft())
        return True

    def arrive(self, sender: str, receiver: str, frame: bytes) -> None:
        """Hand on a frame that has come."""
        other = self.members.get(receiver)
        if other is not None:
            other.take(sender, frame)

    def transport(self, member: str) -> MemoryTransport:
        """Make the transport of a member."""
        return MemoryTransport(self, member)


class MemoryTransport:
    """Carries a member's frames. See :class:`Transport`."""

    def __init__(self, hub: MemoryHub, member: str) -> None:
        self._hub, self._member = hub, member
        self._receive: Receive | None = None
        self._on_connected: Callable[[], None] = lambda: None

    @property
    def connected(self) -> bool:
        """True if frames can be sent now."""
        return self._hub.members.get(self._member) is self

    async def open(self, receive: Receive, on_connected: Callable[[], None]) -> None:
        """Begin."""
        self._receive, self._on_connected = receive, on_connected
        self.connect()

    def connect(self) -> None:
        """Connect, for the first time or again."""
        self._hub.members[self._member] = self
        asyncio.get_running_loop().call_soon(self._on_connected)

    def cut(self) -> None:
        """Disconnect, until :meth:`connect`."""
        if self.connected:
            del self._hub.members[self._member]

    async def send(self, receiver: str, frame: bytes) -> bool:
        """Send a frame; return whether it was handed over."""
        if not self.connected:
            return False
        self._hub.carry(self._member, receiver, frame)
        return True

    def hurry(self) -> None:
        """Connect no sooner: whoever has cut it connects it again."""

    def take(self, sender: str, frame: bytes) -> None:
        """Hand a frame on to whoever listens."""
        if self._receive is not None:
            self._receive(sender, frame)

    async def close(self) -> None:
        """End."""
        self.cut()
        self._receive = None
