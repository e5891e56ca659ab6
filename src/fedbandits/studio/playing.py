"""A run for the page: each recorded row is told as it comes, and the answer at the end."""

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
from fedbandits.experiments.signals import Stop
from fedbandits.settings.experiment import Experiment
from fedbandits.studio.curves import by_buttons, curves_of, playing_curve
from fedbandits.studio.processes import Tell
from fedbandits.studio.setup import read

#: Seconds between two lines about one system.
_PACE = 0.1


class _Replicates:
    """Values of one system so far."""

    def __init__(self) -> None:
        self.finished: dict[int, list[float]] = {}
        self.playing: dict[int, list[float]] = {}
        self.told = -math.inf


class _Heard:
    """Hears the events of a run, and tells what the page shows."""

    def __init__(self, experiment: Experiment, tell: Tell) -> None:
        self._tell, self._world = tell, experiment.environment
        self._rounds = checkpoint_rounds(experiment.rounds, experiment.checkpoints).tolist()
        self._all = experiment.rounds * experiment.replicates * len(experiment.systems)
        self._replicates = experiment.replicates
        self._systems = defaultdict[str, _Replicates](_Replicates)
        self._done: dict[tuple[str, int], int] = {}
        self._told = -math.inf

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
                own = self._systems[event.system]
                own.playing.pop(event.replicate, None)
                own.finished[event.replicate] = [self._value(row) for row in event.rows]
                is_last = len(own.finished) == self._replicates
                if not self._tell_curve(event.system, own, is_last):
                    self._tell(event="advanced", done=sum(self._done.values()))
            case _:
                pass

    def _advance(self, event: events.ReplicateAdvanced) -> None:
        self._done[event.system, event.replicate] = event.done
        own, now = self._systems[event.system], time.monotonic()
        if event.row is not None:
            own.playing.setdefault(event.replicate, []).append(self._value(event.row))
            self._tell_curve(event.system, own)
        if now - self._told >= _PACE:
            self._told = now
            self._tell(event="advanced", done=sum(self._done.values()))

    def _value(self, row: events.Row) -> float:
        """Return the regret of one party, as lines of a result have it."""
        return row.regret / self._world.acting

    def _tell_curve(self, system: str, own: _Replicates, is_last: bool = False) -> bool:
        """Tell a curve, with all of its replicates, unless that was just told."""
        now = time.monotonic()
        # A log is estimated at the end: until then it has no values.
        if not self._world.regret_is_known or (now - own.told < _PACE and not is_last):
            return False
        own.told = now
        curve = playing_curve(system, self._rounds, own.finished, own.playing)
        self._tell(event="curve", curve=curve, done=sum(self._done.values()))
        return True


#: So many replicates are played in most looks for the best alone, of all settings together.
_USUALLY_PLAYED = 60


class _Looking:
    """Tells how far the look for the best that one can do alone is, also as a share.

    How many settings will be tried is not known before, so the share is a guess until the end.
    """

    def __init__(self, tell: Tell) -> None:
        self._tell, self._told, self._share = tell, -math.inf, -1.0
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
                if time.monotonic() - self._told >= _PACE:
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
        self._told, self._share = time.monotonic(), max(share, self._share)
        text = "looking for the best that one can do alone"
        self._tell(event="phase", text=text, share=self._share)


def play(job: dict[str, Any], tell: Tell, stop: Stop) -> str:
    """Play a run into its folder; return how it ended."""
    folder = pathlib.Path(job["folder"])
    experiment = read(job["toml"], pathlib.Path(), job["allow_modules"])
    known, opponents = kept_in(folder, experiment), None
    looking = _Looking(tell)
    if known is None or not (known.best_alone or job["resume"]):
        known = with_alone(experiment, on_event=looking, stop=stop) if job["alone"] else experiment
    if job["alone"]:
        opponents = opponents_for(folder, known, on_event=looking, stop=stop)
    looking.end()
    heard = _Heard(known, tell)
    options = {"out": folder, "resume": job["resume"], "on_event": heard, "stop": stop}
    result = run_beside(known, opponents, **options)
    _tell_result(known, folder, tell)
    return "interrupted" if result.attrs["interrupted"] else "complete"


def _tell_result(experiment: Experiment, folder: pathlib.Path, tell: Tell) -> None:
    """Tell all curves of what was written, and the answer."""
    if not (folder / RESULTS).is_file() or not (folder / CONFIG).is_file():
        return
    result = read_result(folder)
    unit, curves = curves_of(result)
    for curve in curves:
        tell(event="curve", curve=curve, done=None)
    said = answer(experiment, result)
    tell(event="answer", lines=list(map(by_buttons, said.lines)), how=said.how, unit=unit)
