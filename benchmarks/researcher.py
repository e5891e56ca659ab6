"""Seconds from a fresh clone to a plot of one's own algorithm against FedUCB.

The researcher's task: `examples/own_algorithm.py`, an algorithm in fewer than 30 lines, played
beside FedUCB on the same draws. What is timed: cloning this repository's last commit, installing by
the rule of `make quickstart`, the first run, which compiles, and a second one. On the clock on the
wall, one run each.

    python benchmarks/researcher.py            installs into the clone
    python benchmarks/researcher.py --here     with what is installed for this Python
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

ROOT = pathlib.Path(__file__).resolve().parents[1]
SCRIPT = "examples/own_algorithm.py"
PLOT = "own_algorithm/plots/regret.png"


def main() -> None:
    here = "--here" in sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        clone = pathlib.Path(folder) / "fedbandits"
        surroundings = {**os.environ, "XDG_CACHE_HOME": str(pathlib.Path(folder) / "cache")}
        surroundings.pop("NUMBA_CACHE_DIR", None)
        surroundings.pop("PYTHONPATH", None)
        python = sys.executable
        total = timed("clone", ["git", "clone", "--quiet", str(ROOT), str(clone)], surroundings)
        if here:
            surroundings["PYTHONPATH"] = str(clone / "src")
        else:
            make = ["make", "--silent", "-C", str(clone), ".venv/installed"]
            total += timed("install", make, surroundings)
            python = str(clone / ".venv" / "bin" / "python")
        run = [python, str(clone / SCRIPT)]
        total += timed("first run, which compiles", run, surroundings, pathlib.Path(folder))
        plot = pathlib.Path(folder) / PLOT
        print(f"{'in all':28}{total:7.1f} s, {plot.stat().st_size:,} bytes of plot", flush=True)
        shutil.rmtree(plot.parents[1])
        timed("second run", run, surroundings, pathlib.Path(folder))


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


if __name__ == "__main__":
    main()
