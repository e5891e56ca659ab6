"""Seconds from a fresh clone to a plot of one's own algorithm against FedUCB.

The researcher's task: `examples/own_algorithm.py`, an algorithm in fewer than 30 lines, played
beside FedUCB on the same draws. What is timed: cloning this repository's last commit, installing by
the rule of `make quickstart`, the first run, which compiles, and a second one. On the clock on the
wall, one run each.

    python benchmarks/researcher.py            installs into the clone
    python benchmarks/researcher.py --here     with what is installed for this Python
"""

from __future__ import annotations

import pathlib
import shutil
import sys
import tempfile

from fresh_clone import fresh_clone, timed

SCRIPT = "examples/own_algorithm.py"
PLOT = "own_algorithm/plots/regret.png"


def main() -> None:
    here = "--here" in sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        clone = fresh_clone(pathlib.Path(folder), here)
        total, surroundings = clone.seconds, clone.surroundings
        run = [clone.python, str(clone.folder / SCRIPT)]
        total += timed("first run, which compiles", run, surroundings, pathlib.Path(folder))
        plot = pathlib.Path(folder) / PLOT
        print(f"{'in all':28}{total:7.1f} s, {plot.stat().st_size:,} bytes of plot", flush=True)
        shutil.rmtree(plot.parents[1])
        timed("second run", run, surroundings, pathlib.Path(folder))


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
