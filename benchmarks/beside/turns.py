"""Contenders take turns, each in a process of its own, and are compared within one turn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent
#: Libraries of linear algebra work with one thread, so that seconds are of one core.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Worker:
    """A process that does what it is told, and answers in JSON, a line each."""

    def __init__(self, module: str, *arguments: str) -> None:
        command = [sys.executable, "-m", module, *arguments]
        path = os.pathsep.join([str(FOLDER), os.environ.get("PYTHONPATH", "")])
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - until the process ends; a pipe fills up
        self._process = subprocess.Popen(  # noqa: S603 - this package's own modules
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": path},
        )

    def tell(self, **told: Any) -> dict[str, Any] | None:
        """Have one thing done; None if the process has ended, then :meth:`end` says why."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(told) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return None
        line = self._process.stdout.readline()
        return json.loads(line) if line else None

    def end(self) -> str:
        """End the process; the last line of what it said of errors."""
        self._process.communicate()
        with self._errors as errors:
            errors.seek(0)
            lines = errors.read().strip().splitlines()
        return lines[-1] if lines else ""


def ratios(seconds: Sequence[float], base: Sequence[float]) -> float:
    """The median of the ratios of two who took turns: how many times the base's time."""
    return median(a / b for a, b in zip(seconds, base, strict=True))


def take_turns(jobs: Mapping[str, Callable[[], float]], turns: int) -> dict[str, list[float]]:
    """Call every job once in each turn; what they return, by name, a number for each turn."""
    found: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(turns):
        for name, job in jobs.items():
            found[name].append(job())
    return found
