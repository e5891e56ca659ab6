"""Parts of an audit, one after the other, or side by side in processes of their own."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
from collections.abc import Sequence
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple, Protocol

from fedbandits.errors import BackendError
from fedbandits.experiments.audits.parts import AuditPart, Found

#: How long nothing may be heard of workers before it is asked whether to leave.
_SECONDS = 0.2


class Player(Protocol):
    """Hears how far parts are; it may raise an error to end all of them."""

    def begin(self, place: int) -> None:
        """Note that a part begins; ``place`` counts parts from 0."""

    def advance(self, place: int, share: float) -> None:
        """Note how much of a part is done."""

    def finish(self, place: int, found: Found | None) -> None:
        """Take what a part came to."""

    def ask(self) -> None:
        """Do nothing, or raise an error to end all parts."""


class _Done(NamedTuple):
    found: Found | None


def play(parts: Sequence[AuditPart], player: Player, jobs: int) -> None:
    """Play parts, as many side by side as there are ``jobs``, if processes can be forked here."""
    jobs = min(jobs, len(parts))
    # A forked process knows all that this one does: also learners that a notebook has registered.
    if jobs > 1 and hasattr(os, "fork") and "fork" in multiprocessing.get_all_start_methods():
        _play_in_processes(parts, player, jobs)
        return
    for place, part in enumerate(parts):
        player.begin(place)
        found = _noted(part, partial(player.advance, place))
        player.finish(place, found)


def _noted(part: AuditPart, tick: Any) -> Found | None:
    try:
        return part.play(tick)
    except Exception as error:
        error.add_note(f"{part.shown.system} was being audited: {part.shown.looks_at}")
        raise


def _play_in_processes(parts: Sequence[AuditPart], player: Player, jobs: int) -> None:
    context = multiprocessing.get_context("fork")
    waiting, workers = iter(range(len(parts))), dict[Connection, Any]()
    busy = dict[Connection, int]()

    def go_on(link: Connection) -> None:
        place = next(waiting, None)
        if place is not None:
            player.begin(place)
            link.send(place)
            busy[link] = place

    try:
        for _ in range(jobs):
            ours, theirs = context.Pipe()
            workers[ours] = context.Process(target=_work, args=(parts, theirs), daemon=True)
            workers[ours].start()
            theirs.close()
            go_on(ours)
        while busy:
            heard: list[Any] = wait(list(busy), _SECONDS)
            for link in heard:
                told, place = _heard(link, parts[busy[link]]), busy[link]
                if isinstance(told, Exception):
                    raise told
                if isinstance(told, _Done):
                    del busy[link]
                    player.finish(place, told.found)
                    go_on(link)
                else:
                    player.advance(place, told)
            player.ask()
    finally:
        for link, worker in workers.items():
            link.close()
            worker.terminate()
            worker.join()


def _heard(link: Connection, part: AuditPart) -> Any:
    """Return what a worker says of a part; raise BackendError if the worker is dead."""
    try:
        return link.recv()
    except EOFError:
        shown = part.shown
        raise BackendError(
            f"audit: the process that played {shown.looks_at} of {shown.system} died (out of "
            "memory?); try --jobs 1"
        ) from None


def _work(parts: Sequence[AuditPart], link: Connection) -> None:
    """Play one part after the other, as its number comes in, until nobody is there any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the parent to say when to leave
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    while True:
        try:
            place = link.recv()
        except EOFError:
            return
        try:
            link.send(_Done(_noted(parts[place], link.send)))
        except Exception as error:
            link.send(_as_sent(error))


def _as_sent(error: Exception) -> Exception:
    """Return an error as it can be sent to another process."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 (our own)
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
