"""Plays an experiment and kills its own process at the n-th event: a chunk played or a save."""

from __future__ import annotations

import os
import pathlib
import signal
import sys
import warnings

import fedbandits as fb
from fedbandits.errors import ResumeWarning
from fedbandits.experiments.events import Event, ReplicateAdvanced


class Countdown:
    def __init__(self, left: int) -> None:
        self.left = left

    def tick(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def __call__(self, event: Event) -> None:
        if isinstance(event, ReplicateAdvanced):
            self.tick()


def play(config: pathlib.Path, out: pathlib.Path, events: int) -> int:
    """To the end, if it comes first; nothing of this process is of use afterwards."""
    countdown = Countdown(events)
    replace = os.replace

    def replace_and_tick(old: str, new: str) -> None:
        countdown.tick()  # the new checkpoint is written, but not in place
        replace(old, new)
        countdown.tick()  # it is

    os.replace = replace_and_tick
    begun = (out.parent / f".{out.name}.checkpoint").exists()
    with warnings.catch_warnings():
        # It may have been killed before its first checkpoint.
        warnings.simplefilter("ignore", ResumeWarning)
        fb.run(config, out=out, jobs=1, on_event=countdown, resume=begun, save_every=0.0)
    return 0


if __name__ == "__main__":
    play(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3]))
