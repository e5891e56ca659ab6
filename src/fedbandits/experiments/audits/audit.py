"""Audit of an experiment's privacy claims: attacks on every system in two worlds, and a verdict.

Parts of an audit are played one after the other, or side by side in processes of their own.
"""

from __future__ import annotations

import multiprocessing
import os
import pathlib
import pickle
import signal
from collections.abc import Sequence
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

import msgspec

from fedbandits.errors import BackendError, StoppedError
from fedbandits.experiments.audits.parts import AuditPart, Clock, Result, parts_of
from fedbandits.experiments.audits.verdict import Audit, Verdict, judge, with_examined
from fedbandits.experiments.events import (
    AuditFinished,
    AuditInterrupted,
    AuditStarted,
    PartAdvanced,
    PartFinished,
    PartStarted,
)
from fedbandits.experiments.signals import Leaving, Listener, Stop, Stream
from fedbandits.privacy.auditing import Finding
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.error_rates import Examined
from fedbandits.privacy.noise_check import NoiseFinding
from fedbandits.privacy.protocol_check import ProtocolFinding
from fedbandits.privacy.sensitivity_check import SensitivityFinding
from fedbandits.settings import CONFIDENCE, RUNS
from fedbandits.settings.experiment import Experiment, load


class _LeaveError(Exception):
    """The end of a part of an audit after a stop. This error never leaves this module."""


def audit(
    experiment: Experiment | str | os.PathLike[str],
    runs: int = RUNS,
    confidence: float = CONFIDENCE,
    *,
    jobs: int = 1,
    on_event: Listener | None = None,
    stop: Stop | None = None,
) -> Audit:
    """Attack every system of an experiment that claims an ε.

    Parameters
    ----------
    experiment
        An :class:`.Experiment`, or the path of a TOML file. Contents of releases are attacked with
        this configuration. Whole parties are attacked in a small world.
    runs : int
        Size of the audit: the number of runs in each world, for contents of releases. All other
        parts are scaled in proportion. With the default, whole parties play at most 100 runs in
        each world, and 24 pairs of runs with the same noise. Noise is compared exactly, in three
        runs. Each part keeps enough runs for a finding.
    confidence : float
        Probability with which all bounds of one system hold together, whatever ``runs`` is.
    jobs : int
        Number of parts that are played side by side, in processes of their own. Without forks of
        processes, parts are played one after the other.
    on_event
        A function that is called with every event of the audit; see
        :mod:`fedbandits.experiments.events`.
    stop
        A :class:`.Stop`. When it is set, the audit ends early, even in the middle of a part.

    Returns
    -------
    Audit
        The verdicts. After an interruption (Ctrl-C or ``stop``) only finished systems have
        verdicts, and ``missing`` names all others.

    Raises
    ------
    StoppedError
        If ``stop`` ended the audit before any system was finished.
    KeyboardInterrupt
        If Ctrl-C ended the audit before any system was finished. Ctrl-C ends an audit at its next
        step; a second Ctrl-C ends it at once.
    """
    if not isinstance(experiment, Experiment):
        experiment = load(pathlib.Path(experiment))
    stream, leaving = Stream(on_event), Leaving(stop)
    claims = experiment.claims()
    planned = {
        entry.label: parts_of(experiment, entry, runs, confidence, claims[entry.label].delta)
        for entry in experiment.systems
    }
    parts = [part for of_system in planned.values() for part in of_system]
    shown = tuple(part.shown for part in parts)
    stream.tell(
        AuditStarted(experiment=experiment.name, systems=tuple(planned), runs=runs, parts=shown)
    )
    clock = Clock([part.kind for part in shown], jobs=min(jobs, max(1, len(parts))))
    player = _Player(stream, leaving, clock, parts)

    def verdicts() -> tuple[Verdict, ...]:
        """Return the verdicts on finished systems, in order."""
        done, first = [], 0
        for label, of_system in planned.items():
            places = range(first, first + len(of_system))
            first += len(of_system)
            if any(place not in player.results for place in places):
                break
            results = [player.results[place] for place in places]
            verdict = _verdict(label, claims[label], results, confidence)
            left_out = of_system[0].left_out if of_system else ()
            done.append(msgspec.structs.replace(verdict, not_played=left_out))
        return tuple(done)

    try:
        # Ctrl-C raises no exception: compiled code does not expect one.
        with stream.with_compilations(), leaving.at_ctrl_c(once=True):
            play_parts(parts, player, jobs)
    except (KeyboardInterrupt, _LeaveError):
        finished = verdicts()
        audited = tuple(verdict.system for verdict in finished)
        stream.tell(AuditInterrupted(finished=player.done, total=len(parts), audited=audited))
        if finished:
            missing = tuple(label for label in planned if label not in audited)
            return Audit(finished, missing)
        if stop:
            raise StoppedError("audit: it was stopped before any system was done") from None
        raise KeyboardInterrupt from None
    whole = Audit(verdicts())
    broken = tuple(verdict.system for verdict in whole.verdicts if verdict.outcome == "broken")
    stream.tell(AuditFinished(total=len(parts), summary=whole.summary, broken=broken))
    return whole


def _verdict(
    label: str,
    claim: PrivacyClaim,
    results: list[Result | None],
    confidence: float,
) -> Verdict:
    """Return the verdict on one system, from the findings of its parts."""
    findings = tuple(result for result in results if isinstance(result, Finding))
    noise = tuple(result for result in results if isinstance(result, NoiseFinding))
    moved = tuple(result for result in results if isinstance(result, SensitivityFinding))
    protocol = tuple(result for result in results if isinstance(result, ProtocolFinding))
    examined = next((result for result in results if isinstance(result, Examined)), None)
    return with_examined(
        judge(label, claim, findings, confidence, noise, moved, protocol), examined
    )


class _Player:
    """Player of parts, which keeps findings, tells the progress, and raises after a stop."""

    def __init__(self, stream: Stream, stop: Stop, clock: Clock, parts: list[AuditPart]) -> None:
        self._stream, self._stop, self._clock, self._parts = stream, stop, clock, parts
        self.results: dict[int, Result | None] = {}

    @property
    def done(self) -> int:
        """Number of finished parts."""
        return len(self.results)

    def begin(self, place: int) -> None:
        """Begin a part; ``place`` counts parts from 0."""
        self.leave_if_stopped()
        self._clock.begin(place)
        self._tell(PartStarted, place, None)

    def advance(self, place: int, share: float) -> None:
        """Note the finished share of a part."""
        # The end of a part has an event of its own.
        if share < 1.0:
            self._clock.advance(place, share)
            self._tell(PartAdvanced, place, self._clock.left(), share=share)
        self.leave_if_stopped()

    def finish(self, place: int, finding: Result | None) -> None:
        """Keep the finding of a part."""
        self._clock.end(place)
        self.results[place] = finding
        self._tell(PartFinished, place, self._clock.left())

    def leave_if_stopped(self) -> None:
        """Raise _LeaveError after a stop."""
        if self._stop:
            raise _LeaveError

    def _tell(self, kind: type, place: int, left: float | None, **more: float) -> None:
        shown = self._parts[place].shown
        described = {name: getattr(shown, name) for name in shown.__struct_fields__}
        total = self._clock.parts
        self._stream.tell(kind(**described, done=self.done, total=total, seconds_left=left, **more))


#: Seconds between two looks at the stop switch, while workers are silent.
_SECONDS = 0.2


class _Done(NamedTuple):
    result: Result | None


def play_parts(parts: Sequence[AuditPart], player: _Player, jobs: int) -> None:
    """Play parts, ``jobs`` of them side by side if processes can be forked."""
    jobs = min(jobs, len(parts))
    # A forked process also knows learners that a notebook has registered.
    if jobs > 1 and hasattr(os, "fork") and "fork" in multiprocessing.get_all_start_methods():
        _play_in_processes(parts, player, jobs)
        return
    for place, part in enumerate(parts):
        player.begin(place)
        finding = _noted(part, partial(player.advance, place))
        player.finish(place, finding)


def _noted(part: AuditPart, tick: Any) -> Result | None:
    try:
        return part.play(tick)
    except Exception as error:
        error.add_note(f"{part.shown.system} was being audited: {part.shown.looks_at}")
        raise


def _play_in_processes(parts: Sequence[AuditPart], player: _Player, jobs: int) -> None:
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
            ready: list[Any] = wait(list(busy), _SECONDS)
            for link in ready:
                message, place = _heard(link, parts[busy[link]]), busy[link]
                if isinstance(message, Exception):
                    raise message
                if isinstance(message, _Done):
                    del busy[link]
                    player.finish(place, message.result)
                    go_on(link)
                else:
                    player.advance(place, message)
            player.leave_if_stopped()
    finally:
        for link, worker in workers.items():
            link.close()
            worker.terminate()
            worker.join()


def _heard(link: Connection, part: AuditPart) -> Any:
    """Return the next message of a worker; raise BackendError if the worker is dead."""
    try:
        return link.recv()
    except EOFError:
        shown = part.shown
        raise BackendError(
            f"audit: the process that played {shown.looks_at} of {shown.system} died (out of "
            "memory?); try --jobs 1"
        ) from None


def _work(parts: Sequence[AuditPart], link: Connection) -> None:
    """Play the parts whose numbers come in, until the parent process is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process decides when workers end
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
    """Return an error in a form that can be sent to another process."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 (our own)
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
