"""Mutated frames and messages through real hosts of every preset: what became of them.

    python benchmarks/fuzzing.py [mutants]

Members play in memory, all frames sealed. Before a frame comes to a delivery, mutants of it do:
altered, cut, of another sender, or sealed by an honest key around nonsense. Before a message comes
to a host, a twin of that host carries out mutants of it, as its own writer does what comes: each is
taken, or refused by name, and whatever is not taken changes nothing but the numbers of its link.
Hosts must be alive at the end. The first violation ends the benchmark.
"""

from __future__ import annotations

import asyncio
import logging
import pathlib
import sys
import tempfile
import time
from collections import Counter

from fedbandits.systems import preset_names
from fedbandits.testing.applications import Setting

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from tests.deployment.fuzzed import Fuzzed

MUTANTS = 300_000
logging.getLogger("fedbandits").setLevel(logging.CRITICAL)  # every refusal is logged


def fuzz(preset: str, counts: tuple[int, int], found: Counter[str]) -> int:
    """Play a preset under fire; how many mutants there were."""
    before = found.total()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(Fuzzed(preset, pathlib.Path(folder), counts, found).run())
    return found.total() - before


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else MUTANTS
    presets = [name for name in sorted(preset_names()) if Setting(name).roles is not None]
    found: Counter[str] = Counter()
    began = time.monotonic()
    # With one mutant of each message and each frame; parties that are alone exchange none.
    few = {preset: fuzz(preset, (1, 1), found) for preset in presets}
    talking = [preset for preset in presets if few[preset]]
    for preset in talking:
        more = -(-wanted // (len(talking) * few[preset]))
        print(f"{preset:28s} {few[preset] + fuzz(preset, (more, more), found):9,d}", flush=True)
    print()
    for kind, count in sorted(found.items()):
        print(f"{kind:48s} {count:9,d}")
    seconds = time.monotonic() - began
    print(f"{'all':48s} {found.total():9,d}   asked: >= {wanted:,d}   {seconds:.0f} s")


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
