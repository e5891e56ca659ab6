"""Checkpoints of a run: saved atomically, resumed to the same bits, refused if they do not fit.

A checkpoint has all changing arrays of a replicate, with the identity of its code and
configuration. It is written beside its final name, forced to disk, then renamed. So a process that
is killed at any instant leaves the last complete checkpoint.

A file is: a line that names the format; SHA-256 of the header, its length; the header, JSON; the
bytes of the arrays one after another, as in memory. The header is checked before its arrays are
read. The arrays are not packed, so a small file cannot unpack to much memory. The digests show
damage. They have no key: a process that can write checkpoints can write any result.
"""

from __future__ import annotations

import hashlib
import math
import os
import pathlib
import shutil
import stat
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

import msgspec
import numpy as np
from numpy.typing import NDArray

from fedbandits import _compile
from fedbandits.environments.open_world import noted_in
from fedbandits.errors import CheckpointError
from fedbandits.experiments.files import replace_durably
from fedbandits.experiments.trace import TRACED, ReplicateTrace, Spells
from fedbandits.settings.experiment import Experiment
from fedbandits.systems import Simulation, find_system
from fedbandits.systems.registry import code_of, text_of

_NAME = b"fedbandits checkpoint "
_MAGIC = _NAME + b"6\n"
_PREFIX = len(_MAGIC) + 32 + 8
#: Most bytes of a header: a configuration, a name and a shape for each array, and times.
_LARGEST_HEADER = 16 << 20

Arrays = Mapping[str, NDArray[Any]]
#: Name, type and shape of an array.
Layout = tuple[str, str, tuple[int, ...]]


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The identity of a checkpoint, its place, and the layout of its arrays."""

    #: Identity of the code, of the configuration, of systems and of a world of another package.
    kernels: str
    config: str
    systems: tuple[str, ...]
    environment: str = ""
    position: int = 0  # the next checkpointed round
    spells: tuple[tuple[float, float], ...] = ()  # times of play
    arrays: tuple[Layout, ...] = ()  # in the order of their bytes
    digest: str = ""  # SHA-256 of the bytes of all arrays


class Opened(NamedTuple):
    """An open checkpoint, of which the header alone was read."""

    file: pathlib.Path
    header: Header
    start: int  # of the arrays' bytes
    size: int  # of the file


def layout_of(arrays: Arrays) -> tuple[Layout, ...]:
    """Return the names, types and shapes of arrays."""
    return tuple((name, a.dtype.str, tuple(a.shape)) for name, a in arrays.items())


def encode(header: Header, arrays: Arrays) -> bytes:
    """Encode a file; the header gets its ``arrays`` and ``digest``."""
    body = b"".join(array.tobytes() for array in arrays.values())
    filled = msgspec.structs.replace(
        header, arrays=layout_of(arrays), digest=hashlib.sha256(body).hexdigest()
    )
    head = msgspec.json.encode(filled)
    length = len(head).to_bytes(8, "little")
    return b"".join((_MAGIC, hashlib.sha256(head).digest(), length, head, body))


def open_file(file: pathlib.Path) -> Opened | None:
    """Read the header of a file; None without a file.

    Raises CheckpointError if the file is damaged, of another format, or no regular file.
    """
    head_and_size = _read_part(file, 0, _PREFIX)
    if head_and_size is None:
        return None
    prefix, size = head_and_size
    if not prefix.startswith(_MAGIC):
        if prefix.startswith(_NAME):
            raise CheckpointError(
                f"{file}: a checkpoint of another format; "
                "run without --resume, or choose another --out"
            )
        damaged(file)
    length = int.from_bytes(prefix[-8:], "little")
    if len(prefix) < _PREFIX or length > min(_LARGEST_HEADER, size - _PREFIX):
        damaged(file)
    head = _whole_part(file, _PREFIX, length)
    if hashlib.sha256(head).digest() != prefix[len(_MAGIC) : -8]:
        damaged(file)
    return Opened(file, _decoded(file, head), _PREFIX + length, size)


def read_arrays(opened: Opened, expected: tuple[Layout, ...]) -> dict[str, NDArray[Any]]:
    """Read the arrays in the ``expected`` layout.

    With another layout or size, CheckpointError is raised before any array is read.
    """
    if opened.header.arrays != expected:
        damaged(opened.file)
    sizes = [np.dtype(kind).itemsize * math.prod(shape) for _, kind, shape in expected]
    if opened.size != opened.start + sum(sizes):
        damaged(opened.file)
    body = _whole_part(opened.file, opened.start, sum(sizes))
    if hashlib.sha256(body).hexdigest() != opened.header.digest:
        damaged(opened.file)
    arrays, at = {}, 0
    for (name, kind, shape), size in zip(expected, sizes, strict=True):
        flat = np.frombuffer(body, np.dtype(kind), math.prod(shape), at)
        arrays[name], at = flat.reshape(shape).copy(), at + size
    return arrays


def damaged(file: pathlib.Path) -> NoReturn:
    """Refuse a file with a CheckpointError."""
    raise CheckpointError(f"{file}: damaged; delete it or run without --resume")


def _decoded(file: pathlib.Path, head: bytes) -> Header:
    try:
        header = msgspec.json.decode(head, type=Header)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        damaged(file)
    times = [time for spell in header.spells for time in spell]
    if header.position < 0 or not all(map(math.isfinite, times)):
        damaged(file)
    return header


def _whole_part(file: pathlib.Path, start: int, length: int) -> bytes:
    part = _read_part(file, start, length)
    if part is None or len(part[0]) != length:
        damaged(file)
    return part[0]


def _read_part(file: pathlib.Path, start: int, length: int) -> tuple[bytes, int] | None:
    """Read ``length`` bytes of a file, and its size; None without a file."""
    try:
        # Without a wait for the other end, if the file is a pipe.
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                damaged(file)
            stream.seek(start)
            return stream.read(length), status.st_size
    except FileNotFoundError:
        return None
    except OSError:
        damaged(file)


#: A number of metrics above that of any system.
_METRICS = 256
_TRACE = "trace."


class Progressed(msgspec.Struct, frozen=True):
    """The progress of a replicate: its next checkpointed round, and the times of play."""

    position: int
    spells: Spells


class CheckpointFolder:
    """The checkpoints of one experiment, one file a system and replicate.

    Parameters
    ----------
    out
        The run's output folder; checkpoints lie beside the folder until the run is complete.
    experiment
        The experiment; checkpoints of other experiments are refused.
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
        """True without a checkpoint to resume."""
        return not any(self.path.glob("*.checkpoint"))

    def begin(self, resume: bool) -> None:
        """Make the folder; without ``resume``, checkpoints of an earlier run are discarded."""
        if not resume and self.path.exists():
            shutil.rmtree(self.path)
        self.path.mkdir(parents=True, exist_ok=True)

    def save(self, trace: ReplicateTrace, simulation: Simulation, progressed: Progressed) -> None:
        """Save a replicate in the middle of its rounds, if it has a state."""
        if simulation.state is not None:
            self._write(trace, _kept(simulation), progressed)

    def save_finished(self, trace: ReplicateTrace) -> None:
        """Save the trace of a finished replicate, without a state."""
        self._write(trace, {}, Progressed(len(trace.rounds), trace.spells))

    def load(self, trace: ReplicateTrace, simulation: Simulation) -> Progressed | None:
        """Restore a replicate from its checkpoint; of a finished replicate the trace alone.

        Returns
        -------
        Progressed or None
            None without a checkpoint of this replicate.

        Raises
        ------
        CheckpointError
            If the file is damaged, or of another configuration or version.
        """
        opened = self._open(trace.system, trace.replicate)
        if opened is None:
            return None
        position, expected = opened.header.position, _traced(trace)
        if position > len(trace.rounds):
            damaged(opened.file)
        if position < len(trace.rounds):
            expected = _kept(simulation) | expected
        layout = layout_of(expected)
        # All arrays are read and checked before the replicate changes.
        for name, array in read_arrays(opened, layout).items():
            np.copyto(expected[name], array)
        return Progressed(position, opened.header.spells)

    def finished(
        self, system: int, replicate: int, rounds: NDArray[np.int64]
    ) -> ReplicateTrace | None:
        """Load the trace of a finished replicate; else None. Raises like :meth:`load`."""
        opened = self._open(system, replicate)
        if opened is None or opened.header.position < len(rounds):
            return None
        if opened.header.position > len(rounds):
            damaged(opened.file)
        layout = self._finished_layout(opened, len(rounds))
        arrays = read_arrays(opened, layout)
        noted = {name.removeprefix(_TRACE): array for name, array in arrays.items()}
        return ReplicateTrace.of(system, replicate, rounds, noted, opened.header.spells)

    def _finished_layout(self, opened: Opened, count: int) -> tuple[Layout, ...]:
        """Lay out the arrays of a finished replicate; names of metrics are free."""
        parties = self._experiment.environment.parties
        names = [name for name, _, _ in opened.header.arrays][len(TRACED) :]
        are_metrics = all(name.startswith(f"{_TRACE}metrics.") for name in names)
        if not are_metrics or len(set(names)) != len(names) or len(names) > _METRICS:
            damaged(opened.file)
        rounds = np.empty(count, np.int64)
        metrics = [name.removeprefix(f"{_TRACE}metrics.") for name in names]
        return layout_of(_traced(ReplicateTrace.empty(0, 0, rounds, parties, metrics)))

    def _write(
        self, trace: ReplicateTrace, state: dict[str, NDArray[Any]], progressed: Progressed
    ) -> None:
        """Write a checkpoint; on a full disk, the previous checkpoint is kept."""
        header = msgspec.structs.replace(
            self._own, position=progressed.position, spells=progressed.spells
        )
        data = encode(header, state | _traced(trace))
        replace_durably(self._file(trace.system, trace.replicate), data)

    def _open(self, system: int, replicate: int) -> Opened | None:
        """Open the checkpoint of a replicate, if there is one; refuse those of other runs."""
        file = self._file(system, replicate)
        opened = open_file(file)
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
    """Return the arrays of a trace by their names in a file."""
    return {f"{_TRACE}{name}": array for name, array in trace.arrays().items()}


def _kept(simulation: Simulation) -> dict[str, NDArray[Any]]:
    """Return all changing arrays of a replicate by their names in a file; none without a state."""
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
