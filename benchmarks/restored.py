"""Every party of every preset, killed and restored at every event: how many events that were.

    python benchmarks/restored.py

A party is saved before each event. After it, one that is made anew loads what was saved and is
given the event again: it must answer the same and come to the same bytes, and it is the one that
goes on. The run must end as one that nobody has disturbed.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from fedbandits import system
from fedbandits.systems import find_preset, preset_names
from fedbandits.systems.base import PartiesReplicate
from fedbandits.testing.restored import MortalParty
from fedbandits.testing.worlds import small_world

ROUNDS = 120


def restored(preset: str, events: Counter[str]) -> bool:
    """Add the events of a preset's run; whether it has parties."""
    found: Any = find_preset(preset)
    world = small_world(found)
    plan = system(preset).plan(world, ROUNDS)
    if found.roles(plan) is None:
        return False
    smooth = PartiesReplicate(found, plan, world, 1, 0)
    rough = PartiesReplicate(
        found, plan, world, 1, 0, embody=lambda make: MortalParty(make, events)
    )
    for run in (smooth, rough):
        run.advance(ROUNDS)
    same = smooth.regret.tolist() == rough.regret.tolist() and smooth.bytes == rough.bytes
    if not same:
        raise AssertionError(f"{preset}: the restored run is another one")
    return True


def main() -> None:
    events: Counter[str] = Counter()
    presets = [preset for preset in sorted(preset_names()) if restored(preset, events)]
    for name, count in sorted(events.items()):
        print(f"{name:36s} {count:8,d}")
    print(f"{f'all, of {len(presets)} presets':36s} {events.total():8,d}")


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
