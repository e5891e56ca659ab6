"""Durable members of every preset, in memory and over NATS: where they are after a run.

    python benchmarks/deployed.py [preset …]

Each preset plays its small world three times with the same seed and simulated noise: as parties
in one process; as durable members in memory, which are stopped and started on the way; and as
durable members over a real broker with TLS, every frame sealed. The states of all parties must be
the same, bit for bit; the first difference ends the benchmark.
"""

from __future__ import annotations

import logging
import pathlib
import sys
import tempfile
import time
from typing import Any

from fedbandits.settings.federation import Federation
from fedbandits.systems import preset_names
from fedbandits.testing.applications import ROUNDS, Setting
from fedbandits.testing.deployed import DeployedFederation, table_from
from fedbandits.testing.deployed_systems import does_as_simulated

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from tests.deployment.brokered import Brokered, InOrder

logging.getLogger("asyncio").setLevel(logging.ERROR)  # the client's ends of connections


def in_memory(preset: str, folder: pathlib.Path) -> None:
    """Held in order, with members that stop and start."""
    does_as_simulated(preset, folder, restarts=True)


def over_nats(preset: str, folder: pathlib.Path) -> None:
    """Over a broker, sealed, in the order in which a simulation delivers."""
    with Brokered(table_from(Setting(preset)), folder) as here:

        def make(federation: Federation, folder: pathlib.Path, **given: Any) -> DeployedFederation:
            return DeployedFederation(
                federation, folder, seals=here.seals, order=InOrder(here.transport),
                supplies=given["supplies"],
            )  # fmt: skip

        does_as_simulated(preset, folder, make=make)


def main() -> None:
    presets = sys.argv[1:] or sorted(preset_names())
    print(f"{'preset':28s} {'members':>7s} {'in memory':>10s} {'NATS, TLS':>10s}  states")
    for preset in presets:
        setting = Setting(preset)
        if setting.roles is None:
            continue
        seconds = []
        for play in (in_memory, over_nats):
            with tempfile.TemporaryDirectory() as folder:
                began = time.perf_counter()
                play(preset, pathlib.Path(folder))
                seconds.append(time.perf_counter() - began)
        members = sum(map(len, setting.roles.parties.values()))
        print(
            f"{preset:28s} {members:7d} {seconds[0]:8.1f} s {seconds[1]:8.1f} s  equal after "
            f"{ROUNDS} rounds",
            flush=True,
        )


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
