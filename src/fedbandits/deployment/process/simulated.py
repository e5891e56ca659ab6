"""What a party brings under terms with simulated noise, which protects nobody."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from fedbandits.deployment.hosting.seat import Supply
from fedbandits.deployment.process.folder import PartyFolder


def simulated_supply(folder: PartyFolder) -> Supply | None:
    """Makes what a party brings from the seed in its settings; None where noise is secure.

    Where a simulated world would know something of the party, its own settings and the facts do.
    """
    simulated, federation = folder.settings.simulated, folder.federation
    if simulated is None:
        return None
    role, place = federation.seat_of(folder.member)
    world = SimpleNamespace()
    if "costs" in folder.settings.own:
        world.cost = {place: np.array(folder.settings.own["costs"], np.float64)}
    if hasattr(federation.facts, "capacities"):
        world.capacity = np.array(federation.facts.capacities, np.int64)
    supplies = federation.system.simulated_supplies(federation.plan, world, simulated.seed, 0)

    def supply(means: Any) -> Any:
        del means
        return supplies(role.name, place)

    return supply
