"""A run for the page: each recorded row is reported during the run, and the answer at the end."""

from __future__ import annotations

import math
import pathlib
import time
from collections import defaultdict
from typing import Any

from fedbandits.experiments import events
from fedbandits.experiments.answers.answer import answer
from fedbandits.experiments.best_alone import with_alone
from fedbandits.experiments.folder import CONFIG, RESULTS, kept_in, read_result
from fedbandits.experiments.opponents import opponents_for, run_beside
from fedbandits.experiments.replicate import checkpoint_rounds
from fedbandits.experiments.run import Playing
from fedbandits.experiments.signals import Stop
from fedbandits.settings.experiment import Experiment
from fedbandits.studio.curves import by_buttons, curves_of, playing_curve
from fedbandits.studio.processes import Tell
from fedbandits.studio.setup import read

#: Seconds between two reports about one system.
_PACE = 0.1


class _Replicates:
    """Values of one system so far, by replicate."""

    def __init__(self) -> None:
        self.finished: dict[int, list[float]] = {}
        self.playing: dict[int, list[float]] = {}
        self.reported = -math.inf


class _Heard:
    """Listener of a run, which reports its events to the page."""

    def __init__(self, experiment: Experiment, tell: Tell) -> None:
        self._tell, self._world = tell, experiment.environment
        self._rounds = checkpoint_rounds(experiment.rounds, experiment.checkpoints).tolist()
        self._all = experiment.rounds * experiment.replicates * len(experiment.systems)
        self._replicates = experiment.replicates
        self._systems = defaultdict[str, _Replicates](_Replicates)
        self._done: dict[tuple[str, int], int] = {}
        self._reported = -math.inf

    def __call__(self, event: events.Event) -> None:
        match event:
            case events.RunStarted():
                for known in event.finished:
                    self._done[known.system, known.replicate] = event.rounds
                words, acting = self._world.words, self._world.acting
                unit = words.loss_of_one(acting) if self._world.regret_is_known else ""
                self._tell(event="started", unit=unit, total=self._all)
            case events.Compiling():
                self._tell(event="compiling", kernel=event.kernel)
            case events.ReplicateAdvanced():
                self._advance(event)
            case events.ReplicateFinished():
                system = self._systems[event.system]
                system.playing.pop(event.replicate, None)
                system.finished[event.replicate] = [self._value(row) for row in event.rows]
                is_last = len(system.finished) == self._replicates
                if not self._tell_curve(event.system, system, is_last):
                    self._tell(event="advanced", done=sum(self._done.values()))
            case _:
                pass

    def _advance(self, event: events.ReplicateAdvanced) -> None:
        self._done[event.system, event.replicate] = event.done
        system, now = self._systems[event.system], time.monotonic()
        if event.row is not None:
            system.playing.setdefault(event.replicate, []).append(self._value(event.row))
            self._tell_curve(event.system, system)
        if now - self._reported >= _PACE:
            self._reported = now
            self._tell(event="advanced", done=sum(self._done.values()))

    def _value(self, row: events.Row) -> float:
        """Return the regret of one party, as in the lines of a result."""
        return row.regret / self._world.acting

    def _tell_curve(self, label: str, system: _Replicates, is_last: bool = False) -> bool:
        """Report a curve with all of its replicates, unless the last report is too recent."""
        now = time.monotonic()
        # The values of a log are estimated at the end.
        if not self._world.regret_is_known or (now - system.reported < _PACE and not is_last):
            return False
        system.reported = now
        curve = playing_curve(label, self._rounds, system.finished, system.playing)
        self._tell(event="curve", curve=curve, done=sum(self._done.values()))
        return True


#: Replicates that most searches for the best alone play, of all settings together.
_USUALLY_PLAYED = 60


class _Searching:
    """Listener of the search for the best alone, which reports the finished share to the page.

    The number of settings is not known before the end of the search, so the share is a guess.
    """

    def __init__(self, tell: Tell) -> None:
        self._tell, self._reported, self._share = tell, -math.inf, -1.0
        self._all, self._before = 1, 0
        self._done: dict[tuple[str, int], int] = {}

    def __call__(self, event: events.Event) -> None:
        match event:
            case events.Compiling():
                self._tell(event="compiling", kernel=event.kernel)
            case events.RunStarted():
                self._all = max(self._all, event.rounds * _USUALLY_PLAYED)
                if self._share < 0.0:
                    self._tell_share(0.0)
            case events.ReplicateAdvanced():
                self._done[event.system, event.replicate] = event.done
                if time.monotonic() - self._reported >= _PACE:
                    played = self._before + sum(self._done.values())
                    self._tell_share(min(0.99, played / self._all))
            case events.RunFinished():
                self._before += sum(self._done.values())
                self._done.clear()
            case _:
                pass

    def end(self) -> None:
        """Report the end of the search, if the search began."""
        if self._share >= 0.0:
            self._tell_share(1.0)

    def _tell_share(self, share: float) -> None:
        self._reported, self._share = time.monotonic(), max(share, self._share)
        text = "looking for the best that one can do alone"
        self._tell(event="phase", text=text, share=self._share)


def play(job: dict[str, Any], tell: Tell, stop: Stop) -> str:
    """Play a run into its folder; return ``complete`` or ``interrupted``."""
    folder = pathlib.Path(job["folder"])
    experiment = read(job["toml"], pathlib.Path(), job["allow_modules"])
    known, opponents, search = kept_in(folder, experiment), None, _Searching(tell)
    if known is None or not (known.best_alone or job["resume"]):
        known = with_alone(experiment, on_event=search, stop=stop) if job["alone"] else experiment
    if job["alone"]:
        opponents = opponents_for(folder, known, Playing(None, search, stop))
    search.end()
    heard = _Heard(known, tell)
    options = {"out": folder, "resume": job["resume"], "on_event": heard, "stop": stop}
    result = run_beside(known, opponents, **options)
    _tell_result(known, folder, tell)
    return "interrupted" if result.attrs["interrupted"] else "complete"


def _tell_result(experiment: Experiment, folder: pathlib.Path, tell: Tell) -> None:
    """Report all curves of the written result, and the answer."""
    if not (folder / RESULTS).is_file() or not (folder / CONFIG).is_file():
        return
    result = read_result(folder)
    unit, curves = curves_of(result)
    for curve in curves:
        tell(event="curve", curve=curve, done=None)
    verdict = answer(experiment, result)
    lines = list(map(by_buttons, verdict.lines))
    tell(event="answer", lines=lines, how=verdict.how, unit=unit)
