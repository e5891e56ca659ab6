"""All of a federation on one machine: its broker, and a process for every party.

A process that dies is started again, after pauses that grow; not where that is of no use, because
somebody must mend something first. In the end parties that decide stop first, then the others,
then the broker.
"""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
import socket
import sys
import time
from collections.abc import Callable, Collection, Sequence
from urllib.parse import urlsplit

from fedbandits.deployment.delivery.broker import CONFIG, Broker
from fedbandits.deployment.delivery.nats_transport import publish_members
from fedbandits.deployment.delivery.transport import MemoryHub
from fedbandits.deployment.process.federation_folder import AUTHORITY, BROKER
from fedbandits.deployment.process.folder import PartyFolder
from fedbandits.deployment.process.local_doors import LocalDoor
from fedbandits.deployment.process.party_process import first_of, told_to_end
from fedbandits.deployment.process.running import RunningParty
from fedbandits.errors import TransportError

#: Told what happens, a line each.
Say = Callable[[str], None]
#: Seconds between two looks.
_LOOK = 0.2
#: The first and the longest pause before a process is started again, seconds; and how long one
#: must have run for the pauses to begin anew.
_FIRST_PAUSE, _LONGEST_PAUSE, _WELL = 1.0, 60.0, 60.0
#: Seconds between two publications of the list of members: who was away missed the last.
_PUBLISH = 30.0
#: Seconds that a party has to end in.
_PATIENCE = 40.0


class Child:
    """The process of one party.

    ``arguments`` are more of ``party run``. After one of the ``final`` exit codes it is no use to
    start it again.
    """

    def __init__(
        self, party: PartyFolder, arguments: list[str], final: Collection[int], say: Say
    ) -> None:
        self.door, self.name = LocalDoor(party), party.member
        self.role = party.federation.seat_of(party.member).role
        #: Whether it is not started any more.
        self.given_up = False
        #: The exit code after which that is so.
        self.code = 0
        self._arguments, self._final, self._say = arguments, final, say
        self._process: asyncio.subprocess.Process | None = None
        self._pause, self._started, self._next = _FIRST_PAUSE, 0.0, 0.0

    async def look(self) -> None:
        """Start it, if it does not run and should."""
        if self._process is not None and self._process.returncode is None:
            if time.monotonic() - self._started > _WELL:
                self._pause = _FIRST_PAUSE
            return
        if self._process is not None:
            self._note_end(self._process.returncode)
        if not self.given_up and time.monotonic() >= self._next:
            await self._start()

    async def _start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "fedbandits", "party", "run", str(self.door.folder.path)),
            *("--attached", *self._arguments),
            stdin=asyncio.subprocess.PIPE,  # closed when this process is gone, however it ends
            start_new_session=True,  # Ctrl-C is for this process: it stops them in order
        )
        self._started = time.monotonic()

    def _note_end(self, code: int | None) -> None:
        self._process = None
        if code == 0 or code in self._final:
            self.given_up, self.code = True, code or 0
            self._say(f"{self.name}: has ended (exit code {code}) and is not started again")
            return
        self._next = time.monotonic() + self._pause
        self._say(
            f"{self.name}: has died (exit code {code}); it is started again in {self._pause:.0f} s"
        )
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)

    async def stop(self) -> None:
        """Tell it to end, and wait until it has."""
        process, self.given_up = self._process, True
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), _PATIENCE)
        except TimeoutError:
            self._say(
                f"{self.name}: does not end; it is killed, and loses nothing that it answered"
            )
            self.kill()
            await process.wait()

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()


class Supervisor:
    """Runs a federation's broker, if it is here, and all parties that are; see :class:`Child`."""

    def __init__(
        self,
        folder: pathlib.Path,
        parties: Sequence[PartyFolder],
        arguments: list[str],
        final: Collection[int],
        say: Say,
    ) -> None:
        self._folder, self._say = folder, say
        self.children = [Child(party, arguments, final, say) for party in parties]
        self.federation = parties[0].federation
        self._broker = Broker(folder / BROKER) if (folder / BROKER / CONFIG).exists() else None
        #: When the configuration that the broker has read was written.
        self._read: float | None = None
        #: When the list of members is published next.
        self._next_list = 0.0
        self._ends = asyncio.Event()

    async def run(self) -> int:
        """Run all until SIGINT, SIGTERM or SIGHUP, then end them in order; a second kills them.

        Returns 0, or the exit code of a party that could not run and was given up. Raises
        TransportError if the broker does not start.
        """
        with told_to_end(self._ends, self._kill):
            try:
                await self._start_broker()
                ready = asyncio.create_task(self._say_when_ready())
                await self._look_after()
                ready.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await ready
            finally:
                await self._stop()
        return next((child.code for child in self.children if child.code), 0)

    def _kill(self, number: int) -> None:
        del number
        for child in self.children:
            child.kill()

    async def _look_after(self) -> None:
        while not self._ends.is_set():
            for child in self.children:
                await child.look()
            if all(child.given_up for child in self.children):
                return
            await self._look_after_broker()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ends.wait(), _LOOK)

    async def _start_broker(self) -> None:
        if self._broker is None:
            return
        where = urlsplit(self._broker.address)
        with socket.socket(socket.AF_INET6 if ":" in str(where.hostname) else socket.AF_INET) as s:
            if s.connect_ex((str(where.hostname), int(where.port or 0))) == 0:
                raise TransportError(
                    f"something listens at {self._broker.address} already: this federation, or a "
                    "broker that was left when its process was killed; stop it first"
                )
        await asyncio.to_thread(self._broker.start)
        self._read = (self._folder / BROKER / CONFIG).stat().st_mtime

    async def _look_after_broker(self) -> None:
        """Start it again if it died; tell it of new members, and everybody of the list of them."""
        if self._broker is None:
            return
        if self._broker.pid is None:
            await self._start_broker_again(self._broker)
        written = (self._folder / BROKER / CONFIG).stat().st_mtime
        has_changed, authority = written != self._read, self._folder / AUTHORITY
        if (has_changed or time.monotonic() >= self._next_list) and authority.is_dir():
            self._next_list = time.monotonic() + _PUBLISH
            try:
                await publish_members(authority)
            except TransportError as error:
                self._say(str(error))
        if has_changed and self._broker.pid is not None:
            self._read = written
            self._broker.reload()  # now who was revoked is no longer let in

    async def _start_broker_again(self, broker: Broker) -> None:
        self._say("the broker has died; it is started again")
        try:
            await asyncio.to_thread(broker.start)
        except TransportError as error:
            self._say(str(error))
            await asyncio.sleep(_FIRST_PAUSE)

    async def _say_when_ready(self) -> None:
        waiting = list(self.children)
        while waiting:
            for child in list(waiting):
                running = await asyncio.to_thread(child.door.ready)
                if running is not None:
                    waiting.remove(child)
                    self._say(f"{child.name:16} {child.role.name:12} {running.url}")
            await asyncio.sleep(_LOOK)
        count = len(self.children)
        self._say(
            f"ready: {count} {'party' if count == 1 else 'parties'} of {self.federation.name}"
        )

    async def _stop(self) -> None:
        """Stop parties that decide first: what they answer needs nobody, what they send does."""
        for acts in (True, False):
            await asyncio.gather(*(c.stop() for c in self.children if c.role.acts == acts))
        if self._broker is not None:
            await asyncio.to_thread(self._broker.stop)


async def run_in_process(
    folders: Sequence[PartyFolder], say: Say, catches_up: bool = False
) -> None:
    """Run all parties in this process, without a broker; see :meth:`Supervisor.run`.

    Raises FedbanditsError if one of them cannot run, or cannot go on.
    """
    hub, ends = MemoryHub(), asyncio.Event()
    parties = [
        RunningParty(folder, hub.transport(folder.member), catches_up=catches_up)
        for folder in folders
    ]
    async with contextlib.AsyncExitStack() as closing:
        closing.enter_context(told_to_end(ends))
        for party in parties:
            await party.start()
            closing.push_async_callback(party.stop)
            say(f"{party.folder.member:16} {party.node.seat.role.name:12} {party.door.url}")
        say(f"ready: {len(parties)} parties of {parties[0].folder.federation.name}")
        await first_of(ends, *(party.ended for party in parties))
    for party in parties:
        if party.failure is not None:
            raise party.failure
