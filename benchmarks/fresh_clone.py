"""What a newcomer does first, on the clock: clone the last commit, install it, run commands."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[1]


class FreshClone(NamedTuple):
    """A clone that is ready to be used.

    Parameters
    ----------
    seconds
        How long cloning and installing took.
    folder
        Where it is.
    python
        The Python that has it.
    surroundings
        Environment variables for its commands; nothing is compiled yet.
    """

    seconds: float
    folder: pathlib.Path
    python: str
    surroundings: dict[str, str]


def fresh_clone(folder: pathlib.Path, here: bool) -> FreshClone:
    """Clone into a folder and install; with ``here`` use what this Python has installed."""
    clone = folder / "fedbandits"
    surroundings = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    surroundings.pop("NUMBA_CACHE_DIR", None)
    surroundings.pop("PYTHONPATH", None)
    total = timed("clone", ["git", "clone", "--quiet", str(ROOT), str(clone)], surroundings)
    if here:
        surroundings["PYTHONPATH"] = str(clone / "src")
        return FreshClone(total, clone, sys.executable, surroundings)
    make = ["make", "--silent", "-C", str(clone), ".venv/installed"]
    total += timed("install", make, surroundings)
    return FreshClone(total, clone, str(clone / ".venv" / "bin" / "python"), surroundings)


def timed(
    title: str,
    command: Sequence[str],
    surroundings: dict[str, str],
    folder: pathlib.Path | None = None,
) -> float:
    """Run a command, print how long it took and return that."""
    began = time.monotonic()
    subprocess.run(command, env=surroundings, cwd=folder, check=True)  # noqa: S603 - our own
    seconds = time.monotonic() - began
    print(f"{title:28}{seconds:7.1f} s", flush=True)
    return seconds
