"""Measurements of one replicate at every checkpoint, as they are saved and sent."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from fedbandits.experiments.events import Row
from fedbandits.systems import Simulation

#: Noted of every party.
PER_PARTY = ("regret", "reward")
#: Noted of the whole group.
PER_GROUP = ("messages", "bytes", "syncs", "epsilon")
#: What a trace notes at every checkpoint.
TRACED = (*PER_PARTY, *PER_GROUP)
_OWN = "metrics."


#: When a replicate was being played: (began, ended), one a process that worked on it, in seconds
#: of the system's clock, so that the spells of different processes can be laid side by side.
Spells = tuple[tuple[float, float], ...]


class Task(NamedTuple):
    """One replicate of one system, by their numbers."""

    system: int
    replicate: int


class ReplicateTrace(msgspec.Struct, frozen=True):
    """Measurements of one replicate of one system at every checkpoint; all are cumulative."""

    system: int
    replicate: int
    rounds: NDArray[np.int64]  # of the checkpoints, (checkpoints,)
    regret: NDArray[np.float64]  # of each party, (parties, checkpoints)
    reward: NDArray[np.float64]  # the same
    messages: NDArray[np.float64]  # (checkpoints,)
    bytes: NDArray[np.float64]  # of payload, (checkpoints,)
    syncs: NDArray[np.float64]  # (checkpoints,)
    epsilon: NDArray[np.float64]  # ε spent on the contents of one party's messages, (checkpoints,)
    spells: Spells = ()
    metrics: dict[str, NDArray[np.float64]] = {}  # the system's own, (parties, checkpoints)

    @property
    def task(self) -> Task:
        """The replicate that was played."""
        return Task(self.system, self.replicate)

    @classmethod
    def empty(
        cls,
        system: int,
        replicate: int,
        rounds: NDArray[np.int64],
        parties: int,
        metrics: Iterable[str] = (),
    ) -> ReplicateTrace:
        """Make an empty trace, which :meth:`record` fills.

        ``metrics`` are the names of the system's own measurements.
        """
        count = len(rounds)
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(PER_PARTY, (parties, count))
        shapes |= dict.fromkeys(PER_GROUP, (count,))
        arrays: dict[str, Any] = {name: np.zeros(shape) for name, shape in shapes.items()}
        own = {name: np.zeros((parties, count)) for name in metrics}
        return cls(system, replicate, rounds, **arrays, metrics=own)

    @classmethod
    def of(
        cls,
        system: int,
        replicate: int,
        rounds: NDArray[np.int64],
        arrays: Mapping[str, NDArray[np.float64]],
        spells: Spells,
    ) -> ReplicateTrace:
        """Make a trace from saved ``arrays``, which are those of :meth:`arrays`."""
        common: dict[str, Any] = {name: arrays[name] for name in TRACED}
        own = {n.removeprefix(_OWN): a for n, a in arrays.items() if n.startswith(_OWN)}
        return cls(system, replicate, rounds, **common, spells=spells, metrics=own)

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return all measurements by name; the system's own begin with ``metrics.``."""
        own = {f"{_OWN}{name}": values for name, values in self.metrics.items()}
        return {name: getattr(self, name) for name in TRACED} | own

    def record(self, position: int, simulation: Simulation) -> None:
        """Record the state of ``simulation`` at the checkpoint with index ``position``."""
        self.regret[:, position] = simulation.regret
        self.reward[:, position] = simulation.reward
        for name in PER_GROUP:
            getattr(self, name)[position] = getattr(simulation, name)
        metrics = simulation.metrics if self.metrics else {}
        for name, values in self.metrics.items():
            values[:, position] = metrics[name]

    def row(self, position: int, regret_is_known: bool) -> Row:
        """Return what is recorded at the checkpoint with index ``position``, parties together."""
        regret, reward = (float(getattr(self, name)[:, position].sum()) for name in PER_PARTY)
        group = (float(getattr(self, name)[position]) for name in PER_GROUP)
        known = regret if regret_is_known else math.nan
        return Row(int(self.rounds[position]), known, reward, *group)
