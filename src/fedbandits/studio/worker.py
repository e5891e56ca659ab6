"""The process behind the page: ``python -m fedbandits.studio.worker WORK``.

WORK is ``run``, ``attack`` or ``answer``.

A line of JSON comes in, and lines of JSON go out. A run ends when its input ends: it saves its
replicates, so no work continues when the server is gone.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from typing import Any, TextIO

from fedbandits.errors import FedbanditsError
from fedbandits.experiments.signals import Stop
from fedbandits.studio.processes import Tell, error_of

_FAILED = "this cannot be answered, and should be: the terminal of the studio shows why"


def _teller(out: TextIO) -> Tell:
    guard = threading.Lock()

    def tell(**line: Any) -> None:
        text = json.dumps(line, allow_nan=False)
        with guard:
            out.write(text + "\n")
            out.flush()

    return tell


def _stop_at_end(stop: Stop) -> None:
    """Set a switch when the input ends: the server asks for an end, or is gone."""

    def listen() -> None:
        while os.read(0, 1 << 12):
            pass
        stop.set()

    threading.Thread(target=listen, daemon=True).start()


def _play(work: Callable[[dict[str, Any], Tell, Stop], str], tell: Tell) -> None:
    """Do a long work, and report its end."""
    job, stop = json.loads(sys.stdin.readline()), Stop()
    _stop_at_end(stop)
    warnings.showwarning = lambda message, *_, **__: tell(event="said", text=str(message))
    try:
        tell(event="ended", status=work(job, tell, stop), why="")
    except FedbanditsError as error:
        status = "interrupted" if stop else "failed"
        tell(event="ended", status=status, why=str(error))


def _answer(tell: Tell) -> None:
    """Answer questions until the input ends."""
    from fedbandits.studio.questions import QUESTIONS

    for line in sys.stdin:
        asked = json.loads(line)
        try:
            tell(answer=QUESTIONS[asked["question"]](**asked["given"]))
        except FedbanditsError as error:
            tell(error=error_of(error))
        except Exception:
            traceback.print_exc()
            tell(error=error_of(FedbanditsError(_FAILED)))


def main() -> None:
    """Do the work that the command line names, until the server is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends workers
    try:
        _work()
    except BrokenPipeError:  # the server is gone; the replicates are saved
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _work() -> None:
    tell, sys.stdout = _teller(sys.stdout), sys.stderr  # prints must not get between the lines
    work = sys.argv[1]
    if work == "answer":
        _answer(tell)
    elif work == "run":
        from fedbandits.studio.playing import play

        _play(play, tell)
    else:
        from fedbandits.studio.attack import attack

        _play(attack, tell)


if __name__ == "__main__":
    main()
