"""Checkpoints of a run: saved atomically, resumed to the same bits, refused if they do not fit.

A checkpoint holds everything that changes in one replicate, as arrays, with the identity of what
it belongs to. It is written beside its final name, forced to disk, then renamed: a process that
is killed at any instant leaves the last complete one.
"""

from __future__ import annotations

import pathlib
import shutil
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from fedbandits import _compile
from fedbandits.environments.open_world import noted_in
from fedbandits.errors import CheckpointError
from fedbandits.experiments import checkpoint_file
from fedbandits.experiments.checkpoint_file import Header, Layout, Opened
from fedbandits.experiments.files import replace_durably
from fedbandits.experiments.trace import TRACED, ReplicateTrace, Spells
from fedbandits.settings.experiment import Experiment
from fedbandits.systems import Simulation, find_system
from fedbandits.systems.registry import code_of, text_of

#: More numbers of its own than any system notes.
_METRICS = 256
_TRACE = "trace."


class Progressed(msgspec.Struct, frozen=True):
    """The place of a replicate: its next checkpointed round, and when it was played."""

    position: int
    spells: Spells


class CheckpointFolder:
    """The checkpoints of one experiment, one file a system and replicate.

    Parameters
    ----------
    out
        The run's output folder; checkpoints lie beside it until the run is complete.
    experiment
        What is run; a checkpoint of anything else is refused.
    """

    def __init__(self, out: pathlib.Path, experiment: Experiment) -> None:
        self.out = out
        self.path = out.parent / f".{out.name}.checkpoint"
        self._experiment = experiment
        self._own = Header(
            kernels=_compile.results_digest(_compile.PACKAGE),
            config=experiment.to_toml(),
            systems=tuple(code_of(find_system(entry.system)) for entry in experiment.systems),
            environment=text_of(type(experiment.environment)),
        )

    @property
    def empty(self) -> bool:
        """True if there is nothing to resume."""
        return not any(self.path.glob("*.checkpoint"))

    def begin(self, resume: bool) -> None:
        """Make the folder; without ``resume`` what an earlier run left is discarded."""
        if not resume:
            self.remove()
        self.path.mkdir(parents=True, exist_ok=True)

    def remove(self) -> None:
        """Discard all checkpoints."""
        if self.path.exists():
            shutil.rmtree(self.path)

    def save(self, trace: ReplicateTrace, simulation: Simulation, progressed: Progressed) -> None:
        """Save one replicate in the middle of its rounds, if it can be saved."""
        if simulation.state is not None:
            self._write(trace, _kept(simulation), progressed)

    def save_finished(self, trace: ReplicateTrace) -> None:
        """Save what a replicate left; nothing is played from it, so it holds no state."""
        self._write(trace, {}, Progressed(len(trace.rounds), trace.spells))

    def load(self, trace: ReplicateTrace, simulation: Simulation) -> Progressed | None:
        """Put a replicate back to its checkpoint; once it is finished only its trace is filled.

        Returns
        -------
        Progressed or None
            None if there is no checkpoint of this replicate.

        Raises
        ------
        CheckpointError
            If the file is damaged, or belongs to another configuration or version.
        """
        opened = self._open(trace.system, trace.replicate)
        if opened is None:
            return None
        position, expected = opened.header.position, _traced(trace)
        if position > len(trace.rounds):
            checkpoint_file.damaged(opened.file)
        if position < len(trace.rounds):
            expected = _kept(simulation) | expected
        layout = checkpoint_file.layout_of(expected)
        # All is read and checked before anything of the replicate changes.
        for name, array in checkpoint_file.read_arrays(opened, layout).items():
            np.copyto(expected[name], array)
        return Progressed(position, opened.header.spells)

    def finished(
        self, system: int, replicate: int, rounds: NDArray[np.int64]
    ) -> ReplicateTrace | None:
        """Load the trace of a replicate; None if it is not finished. Raises like :meth:`load`."""
        opened = self._open(system, replicate)
        if opened is None or opened.header.position < len(rounds):
            return None
        if opened.header.position > len(rounds):
            checkpoint_file.damaged(opened.file)
        layout = self._finished_layout(opened, len(rounds))
        arrays = checkpoint_file.read_arrays(opened, layout)
        noted = {name.removeprefix(_TRACE): array for name, array in arrays.items()}
        return ReplicateTrace.of(system, replicate, rounds, noted, opened.header.spells)

    def _finished_layout(self, opened: Opened, count: int) -> tuple[Layout, ...]:
        """Lay out the arrays of a finished replicate; names of a system's own metrics are free."""
        parties = self._experiment.environment.parties
        names = [name for name, _, _ in opened.header.arrays][len(TRACED) :]
        own = all(name.startswith(f"{_TRACE}metrics.") for name in names)
        if not own or len(set(names)) != len(names) or len(names) > _METRICS:
            checkpoint_file.damaged(opened.file)
        rounds = np.empty(count, np.int64)
        metrics = [name.removeprefix(f"{_TRACE}metrics.") for name in names]
        return checkpoint_file.layout_of(
            _traced(ReplicateTrace.empty(0, 0, rounds, parties, metrics))
        )

    def _write(
        self, trace: ReplicateTrace, state: dict[str, NDArray[Any]], progressed: Progressed
    ) -> None:
        """Write a checkpoint; if the disk is full, the one before it is kept."""
        header = msgspec.structs.replace(
            self._own, position=progressed.position, spells=progressed.spells
        )
        data = checkpoint_file.encode(header, state | _traced(trace))
        replace_durably(self._file(trace.system, trace.replicate), data)

    def _open(self, system: int, replicate: int) -> Opened | None:
        """Open a checkpoint, if there is one and it belongs to this run."""
        file = self._file(system, replicate)
        opened = checkpoint_file.open_file(file)
        if opened is None:
            return None
        reasons = {
            "kernels": "a checkpoint of another version of fedbandits",
            "config": "a checkpoint of another configuration",
            "systems": "a checkpoint of another version of a system",
            "environment": "a checkpoint of another version of the environment",
        }
        for key, reason in reasons.items():
            if getattr(opened.header, key) != getattr(self._own, key):
                raise CheckpointError(
                    f"{file}: {reason}; run without --resume, or choose another --out"
                )
        return opened

    def _file(self, system: int, replicate: int) -> pathlib.Path:
        return self.path / f"{system}-{replicate}.checkpoint"


def _traced(trace: ReplicateTrace) -> dict[str, NDArray[Any]]:
    """Return a trace's arrays by their names in a file."""
    return {f"{_TRACE}{name}": array for name, array in trace.arrays().items()}


def _kept(simulation: Simulation) -> dict[str, NDArray[Any]]:
    """Return all arrays that change in a replicate by their names in a file; maybe none."""
    if simulation.state is None:
        return {}
    noted = noted_in(getattr(simulation, "world", None))
    return {f"state.{name}": array for name, array in _leaves(simulation.state, "")} | {
        f"world.{name}": array for name, array in noted.items()
    }


def _leaves(node: Any, name: str) -> Iterator[tuple[str, NDArray[Any]]]:
    """Walk all arrays in a tree of named tuples, with their paths; skip None."""
    if isinstance(node, np.ndarray):
        yield name, node
    elif node is not None:
        for field in node._fields:
            yield from _leaves(getattr(node, field), f"{name}.{field}" if name else field)
