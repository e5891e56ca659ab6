"""A member that sends nonsense, in every preset: what the others earn, with it and without it.

    python benchmarks/attacks.py [preset …]

Real hosts and delivery in memory, all frames sealed. Twice in a run every member sends each of its
peers absurd statistics (1e200, 1.7e308, -1e16, infinities), counts beyond all bounds, requests
again, and bytes with a flipped bit; frames are replayed and altered on their way. Regret and reward
must be those of a run in which nobody does, bit for bit, and nobody may stop.
"""

from __future__ import annotations

import asyncio
import logging
import pathlib
import sys
import tempfile

import numpy as np

from fedbandits.systems import preset_names
from fedbandits.testing.applications import Setting

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from tests.deployment.misbehaving import Ended, disturbed

logging.getLogger("fedbandits").setLevel(logging.CRITICAL)  # every refusal is logged


def played(preset: str, disturbs: bool) -> Ended:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(disturbed(preset, pathlib.Path(folder), disturbs))


def main() -> None:
    print(f"{'preset':28s} {'refused messages':>16s} {'refused frames':>14s}  regret, reward")
    for preset in sys.argv[1:] or sorted(preset_names()):
        if Setting(preset).roles is None:
            continue
        quiet, attacked = played(preset, False), played(preset, True)
        same = np.array_equal(quiet.regret, attacked.regret)
        same = same and np.array_equal(quiet.reward, attacked.reward)
        print(
            f"{preset:28s} {attacked.refusals:16d} {attacked.frames:14d}  "
            f"{'equal' if same else 'OTHERS THAN WITHOUT'}",
            flush=True,
        )


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
