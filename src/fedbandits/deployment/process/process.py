"""The process of one party: signals, readiness, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator

from fedbandits.deployment.door import new_loop
from fedbandits.deployment.process.folder import LogSettings, Path, load_party
from fedbandits.deployment.process.logs import log_to_stderr
from fedbandits.deployment.process.running import RunningParty
from fedbandits.deployment.process.warming import warm

_LOG = logging.getLogger("fedbandits.deployment")


def run_party(
    folder: Path,
    *,
    moved: bool = False,
    log: Callable[[LogSettings], LogSettings] = lambda settings: settings,
    attached: bool = False,
) -> None:
    """Run a party until it is told to end, by SIGTERM or SIGINT.

    Then it takes no more requests, finishes what waits, saves its state and returns. A second
    signal ends the process at once: nothing that was answered is lost.

    Parameters
    ----------
    folder, moved
        See :class:`.running.RunningParty`.
    log
        Changes the folder's settings of the log.
    attached
        Whether to end, too, when standard input does: when whoever started it is gone.

    Raises
    ------
    FedbanditsError
        Why it cannot run, or cannot go on.
    """
    party = load_party(folder)
    log_to_stderr(party.member, log(party.settings.log))
    running = RunningParty(party, moved=moved)
    kernels = warm(party.federation, {party.member: party.settings.own})
    if kernels:
        _LOG.info("%s: compiled %d kernels, which are kept", party.member, kernels)
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(serve(running, attached))


async def serve(running: RunningParty, attached: bool = False) -> None:
    """Start a party, and stop it when it is told to end or cannot go on; see :func:`run_party`."""
    told = asyncio.Event()
    with told_to_end(told), _ends_with_input(told) if attached else contextlib.nullcontext():
        await running.start()
        notify("READY=1")
        await first_of(told, running.ended)
        notify("STOPPING=1")
        _LOG.info("%s: ends", running.folder.member)
        await running.stop()
    if running.failure is not None:
        raise running.failure


async def first_of(*events: asyncio.Event) -> None:
    """Wait until one of the events is set."""
    waits = [asyncio.create_task(event.wait()) for event in events]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()


@contextlib.contextmanager
def told_to_end(told: asyncio.Event) -> Iterator[None]:
    """Set an event at a signal to end; at the second one, end at once."""
    loop = asyncio.get_running_loop()

    def end(number: int) -> None:
        if told.is_set():
            os._exit(128 + number)
        told.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end, number)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


@contextlib.contextmanager
def _ends_with_input(told: asyncio.Event) -> Iterator[None]:
    """Set an event when standard input ends: whoever has started this process is gone."""
    loop, standard_input = asyncio.get_running_loop(), sys.stdin.fileno()
    loop.add_reader(standard_input, _read_to_end, loop, told)
    try:
        yield
    finally:
        loop.remove_reader(standard_input)


def _read_to_end(loop: asyncio.AbstractEventLoop, told: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 1024):
        loop.remove_reader(sys.stdin.fileno())
        told.set()


def notify(state: str) -> None:
    """Tell the service manager, if there is one that listens: systemd's ``Type=notify``."""
    where = os.environ.get("NOTIFY_SOCKET", "")
    if not where:
        return
    address = "\0" + where[1:] if where.startswith("@") else where
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
        try:
            sending.sendto(state.encode(), address)
        except OSError as error:
            _LOG.warning("NOTIFY_SOCKET: %s cannot be told: %s", where, error.strerror)
