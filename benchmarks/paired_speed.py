"""Speed of one version against another: the same compiled runs in turn, ratios pair by pair.

    python benchmarks/paired_speed.py OLD NEW [PAIRS]      two checkouts

Times are those of ``summary.csv``, without compilation, on one thread. A ratio above 1: NEW is
faster. The first run of either version is not counted; it compiles.
"""

from __future__ import annotations

import csv
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

#: Kind of world, its keys, and the systems that play there with what they need.
WORLDS = {
    "linear": (
        {"rounds": 8_000}, {"agents": 20, "dim": 10, "arms": 50},
        {"feducb": "", "feducb-published": "", "linucb-alone": "", "linucb-pooled": "",
         "feducb-p2p": 'graph = "ring"\ngamma = 3\n', "fedlinucb-async": ""},
    ),
    "bernoulli": (
        {"rounds": 30_000}, {"arms": 50}, {"plain-ucb": "", "samba-ucb": 'cipher = "stream"\n'},
    ),
    "procurement": ({"rounds": 40_000}, {}, {"pfcb": "", "pfcb-published": ""}),
    "clustered": (
        {"rounds": 60_000}, {},
        {"fclub": "", "fclub-dc": "", "fclub-published": "", "linucb-per-user": ""},
    ),
}  # fmt: skip


def main() -> None:
    old, new = (pathlib.Path(root).resolve() for root in sys.argv[1:3])
    pairs = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    for kind, (head, world, systems) in WORLDS.items():
        text = table(head) + f'[environment]\nkind = "{kind}"\n' + table(world)
        for preset, parts in systems.items():
            text += f'[[systems]]\npreset = "{preset}"\n{parts}'
        times = [(run(old, text), run(new, text)) for _ in range(pairs + 1)][1:]
        for preset in systems:
            ratios = sorted(one[preset] / other[preset] for one, other in times)
            middle = statistics.median(ratios)
            print(f"{preset:18} {middle:5.2f}   {ratios[0]:.2f} to {ratios[-1]:.2f}", flush=True)


def table(keys: dict[str, int]) -> str:
    return "".join(f"{key} = {value}\n" for key, value in keys.items())


def run(root: pathlib.Path, text: str) -> dict[str, float]:
    """Seconds by preset of one run of an experiment, by the command of a checkout."""
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "speed.toml"
        config.write_text(text, encoding="utf-8")
        subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-m", "fedbandits", "run", str(config), "--jobs", "1",
             "--out", f"{folder}/out"],
            env={**os.environ, "PYTHONPATH": str(root / "src")}, capture_output=True, check=True,
        )  # fmt: skip
        with (pathlib.Path(folder) / "out" / "summary.csv").open(encoding="utf-8") as file:
            return {row["system"]: float(row["seconds"]) for row in csv.DictReader(file)}


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
