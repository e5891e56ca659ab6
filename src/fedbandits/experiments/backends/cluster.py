"""A cluster that plays replicates: orders go out, traces come back, are checked and saved.

Orders are text and numbers, see :class:`Order`. A worker checks that its program is the same,
builds the simulation, and sends a :class:`~fedbandits.experiments.trace.ReplicateTrace`.
"""

from __future__ import annotations

import abc
import functools
import hashlib
import os
import pathlib
import socket
import tempfile
import time
import tomllib
import uuid
from collections import deque
from collections.abc import Generator, Iterator, Mapping
from importlib.metadata import version
from typing import Any

import msgspec
import numpy as np

from fedbandits import _compile
from fedbandits._version import __version__
from fedbandits.errors import BackendError, ConfigError, DataError, FedbanditsError
from fedbandits.experiments.checkpoint import CheckpointFolder
from fedbandits.experiments.replicate import (
    PULSE,
    Job,
    Shared,
    checkpoint_rounds,
    compile_kernels,
    play_replicate,
    several,
)
from fedbandits.experiments.signals import Leaving, Stop, Stream
from fedbandits.experiments.trace import ReplicateTrace, Task
from fedbandits.settings.experiment import Experiment
from fedbandits.settings.modules import Module, write_modules

#: A file in the folder of checkpoints. A worker that reads the right text in the file shares the
#: client's file system.
TOKEN = "token"  # noqa: S105 (no secret)
#: Packages on whose versions the bits of a result depend.
_PACKAGES = ("numpy", "numba", "scipy")
#: Keys with a name, never the path of a file.
_NAMING = ("name", "label", "preset", "kind", "module", "module_digests")


class DataFile(msgspec.Struct, frozen=True):
    """A file that the experiment reads, and workers must have with the same content."""

    keys: tuple[str | int, ...]  # place in the configuration
    path: str
    digest: str


class Order(msgspec.Struct, frozen=True):
    """The common settings of a run's replicates, as they travel."""

    identity: dict[str, str]  # of the client and of all workers, see :func:`identity`
    config: str  # the resolved configuration, as TOML
    files: tuple[DataFile, ...]  # data files that the configuration names
    #: The client's output folder, and the text of the :data:`TOKEN` file beside it; empty without a
    #: folder.
    out: str
    token: str
    save_every: float  # seconds between two checkpoints of a replicate
    modules: tuple[Module, ...] = ()  # code that the configuration names


def identity() -> dict[str, str]:
    """Return the versions that must be equal on two machines for equal results."""
    versions = {name: version(name) for name in _PACKAGES}
    kernels = _compile.results_digest(_compile.PACKAGE)
    return {"fedbandits": __version__, "kernels": kernels} | versions


def refuse_stranger(where: str, theirs: Mapping[str, str], ours: Mapping[str, str]) -> None:
    """Refuse a worker of other versions, with a BackendError that names the differences."""
    differing = [key for key in ours if theirs.get(key) != ours[key]]
    if differing:
        listed = ", ".join(f"{key} {theirs.get(key)} instead of {ours[key]}" for key in differing)
        raise BackendError(
            f"{where} has {listed}; install the same versions there and restart the workers"
        )


def data_files(experiment: Experiment) -> tuple[DataFile, ...]:
    """Find the files that a configuration names, by texts with a dot or a slash."""
    return tuple(
        DataFile(keys, str(pathlib.Path(text).resolve()), _digest_of_file(text))
        for keys, text in _texts(experiment.to_table(), ())
        if ("/" in text or "." in text or os.sep in text) and os.path.isfile(text)
    )


def _texts(node: Any, keys: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(node, str):
        yield keys, node
    elif isinstance(node, dict | list):
        for key, inner in node.items() if isinstance(node, dict) else enumerate(node):
            if key not in _NAMING:
                yield from _texts(inner, (*keys, key))


def _digest_of_file(path: str) -> str:
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def play(
    order: Mapping[str, Any], system: int, replicate: int, stop: Stop | None = None
) -> ReplicateTrace | None:
    """Play one replicate of an :class:`Order`, given as plain values.

    Returns None if ``stop`` became true before the end. Errors have the type of the same failure on
    the client, and begin with the name of this machine.
    """
    where = f"the worker on {socket.gethostname()}"
    refuse_stranger(where, identity(), order["identity"])
    given = msgspec.convert(order, Order)
    try:
        asked, played = _prepare(given.config, given.files, given.modules)
        folder = _shared_folder(given, asked)
        shared = Shared(played, Stream(), Leaving(stop), folder, given.save_every)
        return play_replicate(shared, Task(system, replicate))
    except FedbanditsError as error:
        raise type(error)(f"{where}: {error}") from None


@functools.lru_cache(maxsize=1)  # a process knows one module of a name
def _prepare(
    config: str, files: tuple[DataFile, ...], modules: tuple[Module, ...]
) -> tuple[Experiment, Experiment]:
    """Return the ordered experiment, and the experiment to play, with data and kernels loaded."""
    table = tomllib.loads(config)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="fedbandits-modules-") if modules else ".")
    write_modules(modules, folder)  # for the life of the process: code may be compiled later
    asked = Experiment.from_table(table, folder)
    for file in files:
        _refuse_other_data(file)
        holder: Any = table
        for key in file.keys[:-1]:
            holder = holder[key]
        holder[file.keys[-1]] = file.path  # a relative path would be relative to another folder
    played = Experiment.from_table(table, modules=modules)
    played.check()
    compile_kernels(Shared(played, Stream(), Leaving(), None, 0.0))
    return asked, played


#: Digests of files that environments have read, which they keep for the life of the process.
_read: dict[str, str] = {}


def _refuse_other_data(file: DataFile) -> None:
    try:
        digest = _digest_of_file(file.path)
    except OSError as error:
        raise DataError(
            f"{file.path}: cannot be read ({error.strerror}); put it there under the same path"
        ) from None
    if digest != file.digest:
        raise DataError(f"{file.path}: another content than at home")
    if _read.setdefault(file.path, digest) != digest:
        raise DataError(f"{file.path}: has changed since it was read; restart the workers")


def _shared_folder(order: Order, experiment: Experiment) -> CheckpointFolder | None:
    """Find the folder to save in, if this machine sees the client's checkpoints."""
    if not order.out:
        return None
    folder = CheckpointFolder(pathlib.Path(order.out), experiment)
    try:
        seen = (folder.path / TOKEN).read_text(encoding="utf-8") == order.token
    except OSError:
        return None
    return folder if seen and os.access(folder.path, os.W_OK) else None


#: Seconds that a cluster may take to answer, or to show its first worker.
ANSWER = 5.0
#: Seconds that a cluster may be silent, or without a worker, during a run.
PATIENCE = 60.0


class Cluster(abc.ABC):
    """Replicates on other machines, one thread each.

    joblib has backends for Dask and Ray, but does not fit: with Dask, joblib waits for ever for a
    replicate whose worker was killed, and plays in this process, unasked, if the cluster has one
    thread. With Ray, joblib returns no replicate before all are finished.
    """

    @abc.abstractmethod
    def slots(self) -> int:
        """Return the number of replicates that the cluster can play side by side now."""

    @abc.abstractmethod
    def submit(self, order: dict[str, Any], task: Task) -> Any:
        """Send one replicate; return a hashable handle."""

    @abc.abstractmethod
    def finished(self, handles: list[Any], seconds: float) -> list[Any]:
        """Return the handles of replicates that have ended, with a trace or an error.

        The call waits for the first such replicate at most ``seconds`` seconds.
        """

    @abc.abstractmethod
    def result(self, handle: Any, name: str) -> Any:
        """Return the trace of an ended replicate, called ``name``, or raise its error."""

    @abc.abstractmethod
    def cancel(self, handles: list[Any]) -> None:
        """Drop waiting replicates, and tell workers to leave replicates in play."""

    def play(
        self, jobs: list[Job], stream: Stream, stop: Leaving, workers: int | None
    ) -> Generator[tuple[Job, ReplicateTrace], None, None]:
        """Play replicates; see :class:`fedbandits.experiments.backends.backend.Backend`."""
        del stream
        orders = {
            id(shared.experiment): msgspec.to_builtins(
                _order_of(shared.experiment, shared.checkpoints, shared.save_every)
            )
            for shared in several(jobs)
        }
        return self._play(orders, deque(jobs), stop, workers)

    def _play(
        self,
        orders: dict[int, dict[str, Any]],
        waiting: deque[Job],
        stop: Leaving,
        workers: int | None,
    ) -> Generator[tuple[Job, ReplicateTrace], None, None]:
        flying: dict[Any, Job] = {}
        presence = _Presence()
        try:
            while waiting or flying:
                slots = self.slots()
                presence.note(slots)
                # Twice as many as slots: no worker waits, and few replicates wait in vain.
                for _ in range(min((workers or 2 * slots) - len(flying), len(waiting))):
                    job = waiting.popleft()
                    order = orders[id(job.shared.experiment)]
                    flying[self.submit(order, job.task)] = job
                if not flying:
                    time.sleep(PULSE)  # until workers come
                for handle in self.finished(list(flying), PULSE) if flying else ():
                    job = flying.pop(handle)
                    yield job, self._collect(job.shared, handle, job.task)
                if stop:
                    return
        finally:
            self.cancel(list(flying))

    def _collect(self, shared: Shared, handle: Any, task: Task) -> ReplicateTrace:
        experiment = shared.experiment
        name = f"replicate {task.replicate} of {experiment.systems[task.system].label!r}"
        trace = _checked(self.result(handle, name), experiment, task, name)
        if shared.checkpoints is not None:
            shared.checkpoints.save_finished(trace)
        shared.tell(task, experiment.rounds)
        return trace


class _Presence:
    """A watch on workers, which notices their absence."""

    def __init__(self) -> None:
        self._seen = time.monotonic()

    def note(self, slots: int) -> None:
        now = time.monotonic()
        if slots > 0:
            self._seen = now
        elif now - self._seen > PATIENCE:
            raise BackendError(
                f"the cluster has had no worker for {PATIENCE:g} seconds; start some, "
                "then --resume goes on with what is finished"
            )


def _order_of(experiment: Experiment, folder: CheckpointFolder | None, save_every: float) -> Order:
    config = experiment.to_toml()
    table, modules = tomllib.loads(config), experiment.modules
    if Experiment.from_table(table, modules=modules) != experiment:
        raise ConfigError("systems: a part set to None cannot travel to a cluster; leave it out")
    token, out = uuid.uuid4().hex, ""
    if folder is not None:
        (folder.path / TOKEN).write_text(token, encoding="utf-8")
        out = str(folder.out)
    files = data_files(experiment)
    return Order(identity(), config, files, out, token, save_every, modules)


def _checked(trace: Any, experiment: Experiment, task: Task, name: str) -> ReplicateTrace:
    """Refuse any other object than the ordered trace."""
    rounds = checkpoint_rounds(experiment.rounds, experiment.checkpoints)
    fits = (
        isinstance(trace, ReplicateTrace)
        and (trace.system, trace.replicate) == task
        and np.array_equal(trace.rounds, rounds)
        and trace.regret.shape == (experiment.environment.parties, len(rounds))
    )
    if not fits:
        raise BackendError(f"{name}: a worker returned something else; restart the workers")
    checked: ReplicateTrace = trace
    return checked


def missing(package: str) -> BackendError:
    """Make the error for a package that is not installed."""
    return BackendError(
        f"backend: {package} is not installed; install the extra 'cluster' as docs/install.md says"
    )


def unfit(where: str, error: BaseException) -> BackendError:
    """Make the error for a worker that cannot read its order."""
    reason = str(error).strip().partition("\n")[0]
    return BackendError(
        f"{where} cannot load this version of fedbandits ({type(error).__name__}: {reason}); "
        "install it there and restart the workers"
    )


def died(name: str) -> BackendError:
    """Make the error for a replicate whose workers all died."""
    return BackendError(
        f"{name}: every worker that played it died (out of memory?); --resume goes on with what "
        "is finished"
    )


def out_of_reach(scheduler: str, error: BaseException) -> BackendError:
    """Make the error for an address without a cluster."""
    reason = str(error).strip().partition("\n")[0] or f"waited {ANSWER:g} seconds"
    return BackendError(f"scheduler: {scheduler} does not answer: {reason}; is it running there?")
