"""What is drawn in a silent run: places by the Controller, exploration by the owners."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats, Words64
from fedbandits.crypto.keystream import KeyStream
from fedbandits.systems.samba.agreement import Agreement
from fedbandits.systems.samba.streams import (
    OwnersKeys,
    SilentControllerKeys,
    SimulatedSecrets,
    fill_units,
    position,
)


class SilentBatch(NamedTuple):
    """All draws of some steps but the owners' own, for the compiled loop."""

    exploration: Floats  # (steps,) uniform
    places: Words64  # (steps, iterations, arms)


class SilentStreams:
    """The streams of one silent run, for a simulation, which holds every key.

    They are the same however the run is executed: what hides the scores changes no draw.

    Parameters
    ----------
    secrets
        The parties' secrets.
    agreed
        What they agreed on.
    """

    def __init__(self, secrets: SimulatedSecrets, agreed: Agreement) -> None:
        self._iterations, self._arms = agreed.iterations, agreed.arms
        controllers = SilentControllerKeys.derive(secrets.controller, agreed.run)
        owners = OwnersKeys.derive(secrets.owners, agreed.run)
        self._places = KeyStream(controllers.ties, agreed.arms)
        self._exploration = KeyStream(owners.exploration, 1)

    def batch(self, first: int, steps: int) -> SilentBatch:
        """Draws of steps ``first`` … ``first + steps - 1``."""
        start, count = position(first, 1, self._iterations), steps * self._iterations
        exploration = np.empty(steps)
        fill_units(self._exploration.block(first, steps)[:, 0], exploration)
        places = self._places.block(start, count)
        return SilentBatch(exploration, places.reshape(steps, self._iterations, self._arms))
