"""Mutated messages for every role of every system: what became of them.

    python benchmarks/mutants.py [mutants]

Each preset's parties play a run. Before a party is given a message, a twin of it is given mutants
of that message: it must take each or refuse it by name, and whatever is not taken must change
nothing but the numbers of its link. The first violation ends the benchmark.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from fedbandits import system
from fedbandits.federation.party import Party
from fedbandits.systems import find_preset, preset_names
from fedbandits.systems.base import PartiesReplicate
from fedbandits.testing.mutants import AttackedParty, Mutants
from fedbandits.testing.worlds import small_world

ROUNDS = 120
MUTANTS = 300_000


def exchanges_messages(preset: str) -> bool:
    """Whether a preset's parties send one another anything."""
    declared: Any = find_preset(preset)
    world = small_world(declared)
    plan = system(preset).plan(world, ROUNDS)
    if declared.roles(plan) is None:
        return False
    run = PartiesReplicate(declared, plan, world, 1, 0)
    run.advance(ROUNDS)
    return run.messages > 0


def attack(preset: str, wanted: int, found: Counter[str]) -> None:
    """Add what became of at least so many mutants of a preset's messages."""
    declared: Any = find_preset(preset)
    world = small_world(declared)
    plan = system(preset).plan(world, ROUNDS)
    roles = declared.roles(plan)
    quiet = PartiesReplicate(declared, plan, world, 1, 0)
    quiet.advance(ROUNDS)
    heard = Counter(roles.role_of(m.receiver) for _, m in quiet.network.transcript.deliveries)
    # As many for a role that hears one message as for one that hears thousands.
    counts = dict.fromkeys(roles.parties, 0)
    counts |= {role: -(-wanted // (len(heard) * number)) for role, number in heard.items()}
    mutants = Mutants(roles.codec, 7)

    def embody(make: Callable[[], Party[Any]]) -> AttackedParty:
        return AttackedParty(make, roles.codec, mutants, counts, found)

    PartiesReplicate(declared, plan, world, 1, 0, embody=embody).advance(ROUNDS)


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else MUTANTS
    presets = [name for name in sorted(preset_names()) if exchanges_messages(name)]
    found: Counter[str] = Counter()
    for preset in presets:
        before = found.total()
        attack(preset, -(-wanted // len(presets)), found)
        print(f"{preset:28s} {found.total() - before:9,d} mutants", flush=True)
    print()
    for name, count in sorted(found.items()):
        print(f"{name:48s} {count:9,d}")
    print(f"{'all':48s} {found.total():9,d}")


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
