"""The process of one party: its log, signals, readiness, a customer's order, and how it ends.

The log goes to standard error, a line a record, without data, and nobody can flood it. Of an error
that nobody expected the kind and the place are told, not its text: that may hold what was asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import gc
import logging
import os
import pathlib
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any, TextIO

import msgspec

from fedbandits.deployment.delivery.nats_connection import worth_telling
from fedbandits.deployment.door import new_loop
from fedbandits.deployment.identity.private_files import Path
from fedbandits.deployment.process.folder import PartyFolder, load_party
from fedbandits.deployment.process.local_doors import LocalDoor
from fedbandits.deployment.process.looking import says_it_starts
from fedbandits.deployment.process.own_settings import LogSettings
from fedbandits.deployment.process.rehearsal import warm
from fedbandits.deployment.process.running import CUSTOMER, CustomerNode, RunningParty
from fedbandits.errors import ConfigError, DeploymentError, FedbanditsError


class _Lines(logging.Formatter):
    """Formats the log of a party, one line a record."""

    def __init__(self, party: str) -> None:
        super().__init__()
        self._party = party


class JsonLines(_Lines):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record as a line."""
        told = {"at": _time(record), "level": record.levelname.lower(), "party": self._party}
        told |= _said(record)
        return msgspec.json.encode(told | _failure(record)).decode()


class PlainLines(_Lines):
    """One line of text each."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record as a line."""
        words = {**_said(record), **_failure(record)}
        message = str(words.pop("message", ""))
        if not message.startswith(f"{self._party}: "):
            message = f"{self._party}: {message}"
        more = "".join(f" {name}={value}" for name, value in words.items())
        return f"{_time(record)} {record.levelname.lower():8} {message}{more}"


def _time(record: logging.LogRecord) -> str:
    at = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
    return at.isoformat(timespec="milliseconds")


def _said(record: logging.LogRecord) -> dict[str, Any]:
    """Read what a record says; some are objects already."""
    message = record.getMessage()
    if message.startswith("{"):
        try:
            return msgspec.json.decode(message, type=dict[str, Any])
        except msgspec.DecodeError:
            pass  # it is text that begins so
    return {"message": " ".join(message.split("\n"))}


def _failure(record: logging.LogRecord) -> dict[str, str]:
    """Tell the kind of an error, and where it came from."""
    if not record.exc_info or record.exc_info[0] is None:
        return {}
    frames = traceback.extract_tb(record.exc_info[2])
    place = f"{pathlib.PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return {"error": record.exc_info[0].__name__, "place": place}


def log_to_stderr(party: str, settings: LogSettings) -> None:
    """Log to standard error from now on, as the settings say; others' warnings, too.

    Of warnings that are alike a few a minute are written, see :class:`LimitedHandler`.
    """
    handler = LimitedHandler(sys.stderr)
    handler.setFormatter({"json": JsonLines, "plain": PlainLines}[settings.format](party))
    logging.getLogger("asyncio").addFilter(worth_telling)
    root = logging.getLogger()
    for other in list(root.handlers):
        root.removeHandler(other)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("fedbandits").setLevel(settings.level.upper())
    logging.captureWarnings(True)


_LOG = logging.getLogger("fedbandits.deployment")
#: Seconds that the service manager is asked to wait for what is compiled.
_COMPILING = 600


def run_party(
    folder: Path,
    *,
    moved: bool = False,
    restores: bool = False,
    catches_up: bool = False,
    log: Callable[[LogSettings], LogSettings] = lambda settings: settings,
    attached: bool = False,
    exit_code: Callable[[FedbanditsError], int] = lambda _: 1,
) -> None:
    """Run a party until it is told to end, by SIGTERM, SIGINT or SIGHUP.

    Then it takes no more requests, finishes what waits, saves its state and returns. A second
    signal ends the process at once: nothing that was answered is lost. So does the first one before
    the party runs, while kernels are compiled: then the process ends with 0. An ``attached`` one
    ends, too, when standard input does: when whoever started it is gone.

    ``log`` changes the folder's settings of the log, and ``exit_code`` is the code that the process
    will end with, for the log's last line. See :class:`.running.RunningParty` for ``moved``,
    ``restores`` and ``catches_up``. Raises FedbanditsError if it cannot run, or go on.
    """
    party = load_party(folder)
    log_to_stderr(party.member, log(party.settings.log))
    try:
        running = RunningParty(party, moved=moved, restores=restores, catches_up=catches_up)
        with contextlib.ExitStack() as starting:
            starting.enter_context(says_it_starts(party.path))
            with _ends_while_it_starts(party.member, starting.close):
                _compile(party)
                with asyncio.Runner(loop_factory=new_loop) as runner:
                    runner.run(serve(running, attached, starting.close))
    except FedbanditsError as error:
        kind, code = type(error).__name__, exit_code(error)
        _LOG.critical("%s: ends with exit code %d: %s: %s", party.member, code, kind, error)
        raise
    except Exception:
        _LOG.critical("%s: ends with a failure of its own", party.member, exc_info=True)
        raise


@contextlib.contextmanager
def _ends_while_it_starts(member: str, leave: Callable[[], object]) -> Iterator[None]:
    """End the process at a signal to end, until the running party hears the signals itself.

    Nothing is to be saved by then. The first process of a container has no default handling of
    signals, so one that comes while kernels are compiled would be lost. ``leave`` is called first.
    """

    def end(number: int, _: object) -> None:
        _LOG.info("%s: ends before it runs, by %s", member, signal.Signals(number).name)
        leave()
        os._exit(0)

    before = {number: signal.signal(number, end) for number in _ending_signals()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ending_signals() -> list[signal.Signals]:
    """Return the signals that tell a party to end."""
    ends = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup has said that it goes on
        ends.append(signal.SIGHUP)  # its terminal is gone
    return ends


def _compile(party: PartyFolder) -> None:
    """Compile what the party needs, and say so at once: whoever starts it may not be patient.

    A rehearsal loads what all parties call. One that calls nothing compiled holds half without it.
    """
    if not party.federation.seat_of(party.member).role.is_compiled:
        return

    def say() -> None:
        _LOG.info("%s: compiles what it needs; that takes up to a minute", party.member)
        notify(f"STATUS=compiling\nEXTEND_TIMEOUT_USEC={_COMPILING * 1_000_000}")

    kernels = warm(party.federation, {party.member: party.settings.own}, say)
    if kernels:
        from fedbandits._compile.cache import are_kept  # Numba is loaded by now

        kept = "which are kept" if are_kept() else "which are not kept: the next start compiles too"
        _LOG.info("%s: compiled %d kernels, %s", party.member, kernels, kept)


async def serve(
    running: RunningParty, attached: bool = False, started: Callable[[], object] = lambda: None
) -> None:
    """Start a party, and stop it when it is told to end or cannot go on; see :func:`run_party`.

    Once it runs, ``started`` is called.
    """
    told = asyncio.Event()
    with told_to_end(told), _ends_with_input(told) if attached else contextlib.nullcontext():
        await running.start()
        started()
        look_at_what_is_new()
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
def told_to_end(
    told: asyncio.Event, at_once: Callable[[int], None] = lambda number: os._exit(128 + number)
) -> Iterator[None]:
    """Set an event at a signal to end; at every further one call ``at_once`` with its number."""
    loop = asyncio.get_running_loop()

    def end(number: int) -> None:
        if told.is_set():
            at_once(number)
        told.set()

    ends = _ending_signals()
    for number in ends:
        loop.add_signal_handler(number, end, number)
    try:
        yield
    finally:
        for number in ends:
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


#: New objects after which the newest are looked at, and how many such looks the older ones wait
#: for. A request makes some fifty objects, none of which is garbage that only the collector finds.
_NEW, _LOOKS = 20_000, 20


def look_at_what_is_new() -> None:
    """Let the collector pass over what was made so far, which stays, and look rarely.

    Compiled code has a million objects: one look at all of them takes longer than a request may.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW, _LOOKS, _LOOKS)


#: So many lines that are alike are written in so many seconds.
MOST_ALIKE, WINDOW = 10, 60.0
#: So many kinds of lines are told apart.
_MOST_KINDS = 1_000


class _Kind:
    """One kind of line: when its window began, how many lines came in it, and the newest."""

    def __init__(self, record: logging.LogRecord) -> None:
        self.began, self.count, self.newest = record.created, 0, record


class LimitedHandler(logging.StreamHandler[TextIO]):
    """Writes lines to a stream, and leaves out most of those that are alike.

    Lines are alike if they come from one place in the code, whatever is put into them. What is left
    out is counted. The count is in a line of its own, with the first line after the window. Lines
    below a warning are always written.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._kinds: dict[tuple[str, int], _Kind] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, unless there were many like it."""
        self._end_windows(record.created)
        if record.levelno < logging.WARNING:
            super().emit(record)
            return
        kind = self._kinds.setdefault((record.pathname, record.lineno), _Kind(record))
        kind.count, kind.newest = kind.count + 1, record
        if kind.count <= MOST_ALIKE:
            super().emit(record)

    def close(self) -> None:
        """End, and say what was left out since."""
        self._end_windows(float("inf"))
        super().close()

    def _end_windows(self, now: float) -> None:
        """Say of each kind whose window is over how many lines were left out."""
        over = [key for key, kind in self._kinds.items() if now - kind.began >= WINDOW]
        if len(self._kinds) >= _MOST_KINDS:
            over = list(self._kinds)
        for key in over:
            kind = self._kinds.pop(key)
            left_out = kind.count - MOST_ALIKE
            if left_out > 0:
                newest = kind.newest
                said = f"{left_out:,} more lines like this one were left out: {newest.getMessage()}"
                told = logging.LogRecord(
                    newest.name, newest.levelno, newest.pathname, newest.lineno, "%s", (said,), None
                )
                super().emit(told)


#: Seconds between two looks.
_LOOK = 0.5
Say = Callable[[str], None]


def order(folder: Path, say: Say) -> int:
    """Order a run, and wait for its total; ``say`` is told how it goes on.

    Raises ConfigError if the folder is no customer's, DeploymentError if the run has ended without
    a total, and FedbanditsError if the customer cannot run.
    """
    party = load_party(folder)
    door = LocalDoor(party)
    role = party.federation.seat_of(party.member).role.name
    if role != CUSTOMER:
        raise ConfigError(f"{folder}: is of {party.member}, whose role is {role}")
    if door.report().running:
        return _asked(door, say)
    log_to_stderr(party.member, LogSettings(format="plain", level="warning"))
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(_run(party, say))


def _asked(door: LocalDoor[PartyFolder], say: Say) -> int:
    """Order a run of the customer that runs."""
    progress = _Progress(say)
    while (total := progress.look(door.order())) is None:
        time.sleep(_LOOK)
    return total


async def _run(folder: PartyFolder, say: Say) -> int:
    """Run the customer as long as that takes."""
    party, progress = RunningParty(folder), _Progress(say)
    await party.start()
    try:
        while True:
            if party.failure is not None:
                raise party.failure
            if isinstance(party.node, CustomerNode):
                await party.node.order()
            total = progress.look(party.node.status())
            if total is not None:
                return total
            await asyncio.sleep(_LOOK)
    finally:
        await party.stop()


class _Progress:
    """Says what has changed."""

    def __init__(self, say: Say) -> None:
        self._say, self._said, self._began = say, "", time.monotonic()

    def look(self, status: dict[str, Any]) -> int | None:
        """Return the total, once it is there; raises DeploymentError if the run ended without."""
        stage, total = status["stage"], status.get("total")
        if stage == "ended":
            raise DeploymentError(
                f"{status['party']}: the run has ended without a total; see federation status, and "
                "the log of the controller"
            )
        connected = "connected" if status["connected"] else "not connected to the broker"
        problems = "".join(f"; {who}: {what}" for who, what in status["problems"].items())
        line = f"{connected}, {stage or 'begins'}{problems}"
        if line != self._said:
            self._said = line
            self._say(f"{time.monotonic() - self._began:6.1f} s  {line}")
        return total
