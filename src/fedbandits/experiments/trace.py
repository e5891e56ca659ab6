"""Measurements of one replicate at every checkpoint, which are saved, and sent by workers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from fedbandits.experiments.events import Row
from fedbandits.systems import Simulation

#: Measurements of every party.
PER_PARTY = ("regret", "reward")
#: Measurements of the whole group.
PER_GROUP = ("messages", "bytes", "syncs", "epsilon")
#: Measurements at every checkpoint.
TRACED = (*PER_PARTY, *PER_GROUP)
_METRIC = "metrics."


#: Times of play of a replicate: (began, ended) for each process, in seconds of the system's clock,
#: so that the spells of different processes can be compared.
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
    metrics: dict[str, NDArray[np.float64]] = {}  # of the system, (parties, checkpoints)

    @property
    def task(self) -> Task:
        """The played replicate."""
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

        ``metrics`` are the names of the system's further measurements.
        """
        count = len(rounds)
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(PER_PARTY, (parties, count))
        shapes |= dict.fromkeys(PER_GROUP, (count,))
        arrays: dict[str, Any] = {name: np.zeros(shape) for name, shape in shapes.items()}
        more = {name: np.zeros((parties, count)) for name in metrics}
        return cls(system, replicate, rounds, **arrays, metrics=more)

    @classmethod
    def of(
        cls,
        system: int,
        replicate: int,
        rounds: NDArray[np.int64],
        arrays: Mapping[str, NDArray[np.float64]],
        spells: Spells,
    ) -> ReplicateTrace:
        """Make a trace from saved ``arrays``, which :meth:`arrays` returned."""
        common: dict[str, Any] = {name: arrays[name] for name in TRACED}
        more = {n.removeprefix(_METRIC): a for n, a in arrays.items() if n.startswith(_METRIC)}
        return cls(system, replicate, rounds, **common, spells=spells, metrics=more)

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return all measurements by name; names of metrics begin with ``metrics.``."""
        more = {f"{_METRIC}{name}": values for name, values in self.metrics.items()}
        return {name: getattr(self, name) for name in TRACED} | more

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
        """Return the record at the checkpoint with index ``position``, summed over parties."""
        regret, reward = (float(getattr(self, name)[:, position].sum()) for name in PER_PARTY)
        group = (float(getattr(self, name)[position]) for name in PER_GROUP)
        known = regret if regret_is_known else math.nan
        return Row(int(self.rounds[position]), known, reward, *group)
