"""Checkpoints of a run: saved atomically, resumed to the same bits, refused if they do not fit.

A checkpoint holds everything that changes in one replicate, as arrays, with the identity of what
it belongs to. It is written beside its final name, forced to disk, then renamed: a process that
is killed at any instant leaves the last complete one.
"""

from __future__ import annotations

import io
import json
import os
import pathlib
import shutil
import uuid
import zipfile
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from fedbandits import _compile
from fedbandits.errors import CheckpointError
from fedbandits.experiments.result import ReplicateTrace, Spells
from fedbandits.settings.experiment import Experiment
from fedbandits.systems import Simulation, find_system
from fedbandits.systems.registry import code_of

_FORMAT = 2


class Progressed(msgspec.Struct, frozen=True):
    """Where a replicate stands: its next checkpointed round, and when it was being played."""

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
        self._identity = {
            "format": _FORMAT,
            "kernels": _compile.kernels_digest(_compile.PACKAGE),
            "config": experiment.to_toml(),
            "systems": [code_of(find_system(entry.system)) for entry in experiment.systems],
        }

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
        if simulation.state is None:
            return
        state = {f"state.{name}": array for name, array in _leaves(simulation.state, "")}
        self._write(trace, state, progressed)

    def save_finished(self, trace: ReplicateTrace) -> None:
        """Save what a replicate left; nothing is played from it, so it holds no state."""
        self._write(trace, {}, Progressed(len(trace.rounds), trace.spells))

    def load(self, trace: ReplicateTrace, simulation: Simulation) -> Progressed | None:
        """Put a replicate back where it stood; once it is finished only its trace is filled.

        Returns
        -------
        Progressed or None
            None if there is no checkpoint of this replicate.

        Raises
        ------
        CheckpointError
            If the file is damaged, or belongs to another configuration or version.
        """
        stored = self._read(self._file(trace.system, trace.replicate))
        if stored is None:
            return None
        arrays, progressed = stored
        for name, array in trace.arrays().items():
            np.copyto(array, arrays[f"trace.{name}"])
        if progressed.position < len(trace.rounds):
            for name, array in _leaves(simulation.state, ""):
                np.copyto(array, arrays[f"state.{name}"])
        return progressed

    def finished(
        self, system: int, replicate: int, rounds: NDArray[np.int64]
    ) -> ReplicateTrace | None:
        """What a replicate left, or None if it is not finished; raises like :meth:`load`."""
        stored = self._read(self._file(system, replicate))
        if stored is None or stored[1].position < len(rounds):
            return None
        noted = {n.removeprefix("trace."): a for n, a in stored[0].items() if n != "header"}
        return ReplicateTrace.of(system, replicate, rounds, noted, stored[1].spells)

    def _write(
        self, trace: ReplicateTrace, state: dict[str, NDArray[Any]], progressed: Progressed
    ) -> None:
        arrays: dict[str, Any] = state | {
            f"trace.{name}": array for name, array in trace.arrays().items()
        }
        header = self._identity | msgspec.structs.asdict(progressed)
        arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        _replace(self._file(trace.system, trace.replicate), buffer.getvalue())

    def _read(self, file: pathlib.Path) -> tuple[dict[str, NDArray[Any]], Progressed] | None:
        try:
            with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
            header = json.loads(arrays["header"].tobytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            raise CheckpointError(f"{file}: damaged; delete it or run without --resume") from None
        self._check(file, header)
        return arrays, Progressed(header["position"], tuple((a, b) for a, b in header["spells"]))

    def _check(self, file: pathlib.Path, header: dict[str, Any]) -> None:
        reasons = {
            "format": "a checkpoint of another format",
            "kernels": "a checkpoint of another version of fedbandits",
            "config": "a checkpoint of another configuration",
        }
        for key, reason in reasons.items():
            if header.get(key) != self._identity[key]:
                raise CheckpointError(
                    f"{file}: {reason}; run without --resume, or choose another --out"
                )

    def _file(self, system: int, replicate: int) -> pathlib.Path:
        return self.path / f"{system}-{replicate}.npz"


def _leaves(node: Any, name: str) -> Iterator[tuple[str, NDArray[Any]]]:
    """All arrays in a tree of named tuples, with their paths."""
    if isinstance(node, np.ndarray):
        yield name, node
    else:
        for field in node._fields:
            yield from _leaves(getattr(node, field), f"{name}.{field}" if name else field)


def _replace(file: pathlib.Path, data: bytes) -> None:
    """Write a file so that any reader, at any time, finds the old one or the new one."""
    beside = file.with_suffix(f".{uuid.uuid4().hex}")  # another machine may be writing it too
    with beside.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(beside, file)
