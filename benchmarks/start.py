"""Processor seconds until the command answers: help, a refusal, and first runs that compile.

Each command runs in a process of its own with an empty cache of compiled kernels. Median of
several, for what takes seconds of one.

    python benchmarks/start.py [ROOT]      of another checkout, for comparison
"""

from __future__ import annotations

import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

WRONG_KEY = (
    'rounds = 10\n[environment]\nkind = "linear"\nagnets = 3\n[[systems]]\npreset = "feducb"\n'
)
BOTH = """rounds = 200
[environment]
kind = "linear"
agents = 4
dim = 5
arms = 10
[[systems]]
preset = "feducb"
[[systems]]
preset = "feducb-p2p"
graph = "ring"
gamma = 2
"""


def main() -> None:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        wrong, both = here / "wrong.toml", here / "both.toml"
        wrong.write_text(WRONG_KEY, encoding="utf-8")
        both.write_text(BOTH, encoding="utf-8")
        quickstart = str(root / "examples" / "quickstart.toml")
        for title, arguments, times in (
            ("--version", ["--version"], 5),
            ("--help", ["--help"], 5),
            ("a wrong key", ["run", str(wrong)], 5),
            ("list", ["list"], 5),
            ("list feducb", ["list", "feducb"], 5),
            ("explain epsilon", ["explain", "epsilon"], 5),
            ("quickstart, first run", ["run", quickstart, "--out", str(here / "a")], 1),
            ("feducb and feducb-p2p, first run", ["run", str(both), "--out", str(here / "b")], 1),
        ):
            spent = [
                seconds(root, arguments, here / f"cache-{title[:4]}-{i}") for i in range(times)
            ]
            print(f"{title:34} {statistics.median(spent):6.2f} s", flush=True)


def seconds(root: pathlib.Path, arguments: list[str], cache: pathlib.Path) -> float:
    """User and system time of one command, children included."""
    surroundings = {**os.environ, "PYTHONPATH": str(root / "src"), "XDG_CACHE_HOME": str(cache)}
    surroundings.pop("NUMBA_CACHE_DIR", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "fedbandits", *arguments],
        env=surroundings, cwd=root, capture_output=True, check=False,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
