"""The part that all clusters share: orders go out, traces come back, are checked and saved."""

from __future__ import annotations

import abc
import time
import tomllib
import uuid
from collections import deque
from collections.abc import Generator, Iterator
from typing import Any

import msgspec
import numpy as np

from fedbandits.errors import BackendError, ConfigError
from fedbandits.experiments.backends.worker import TOKEN, Order, data_files, identity
from fedbandits.experiments.checkpoint import CheckpointFolder
from fedbandits.experiments.replicate import (
    PULSE,
    Job,
    Shared,
    checkpoint_rounds,
    several,
)
from fedbandits.experiments.signals import Leaving, Stream
from fedbandits.experiments.trace import ReplicateTrace, Task
from fedbandits.settings.experiment import Experiment

#: Seconds that a cluster may take to answer, or to show its first worker.
ANSWER = 5.0
#: Seconds that it may be silent, or without any worker, in the middle of a run.
PATIENCE = 60.0


class Cluster(abc.ABC):
    """Replicates on other machines, one thread each.

    joblib has backends for Dask and Ray, but cannot be used here: with Dask it waits for ever for
    a replicate whose worker was killed, and plays in this process, unasked, when the cluster has
    one thread; with Ray it gives nothing back before everything is finished.
    """

    @abc.abstractmethod
    def slots(self) -> int:
        """Return the number of replicates that the cluster can play side by side now."""

    @abc.abstractmethod
    def submit(self, order: dict[str, Any], task: Task) -> Any:
        """Send one replicate; returns a handle, hashable."""

    @abc.abstractmethod
    def finished(self, handles: list[Any], seconds: float) -> list[Any]:
        """Return the replicates that have ended, well or badly.

        It waits for one no longer than so many seconds.
        """

    @abc.abstractmethod
    def result(self, handle: Any, name: str) -> Any:
        """Return the trace of an ended replicate, called ``name``, or raise its error."""

    @abc.abstractmethod
    def cancel(self, handles: list[Any]) -> None:
        """Drop replicates that wait, and tell workers to leave those that they play."""

    def play(
        self, jobs: list[Job], stream: Stream, stop: Leaving, workers: int | None
    ) -> Generator[tuple[Job, ReplicateTrace], None, None]:
        """Play replicates; see :class:`fedbandits.experiments.backends.backend.Backend`."""
        del stream
        orders = {
            id(shared.experiment): msgspec.to_builtins(
                _order(shared.experiment, shared.checkpoints, shared.save_every)
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
                # Twice as many as can be played: nobody waits for orders, few wait in vain.
                for job in _take(waiting, (workers or 2 * slots) - len(flying)):
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
    """A watch on workers, which notices when there have been none for too long."""

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


def _order(experiment: Experiment, folder: CheckpointFolder | None, save_every: float) -> Order:
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


def _take(waiting: deque[Job], count: int) -> Iterator[Job]:
    for _ in range(min(count, len(waiting))):
        yield waiting.popleft()


def _checked(trace: Any, experiment: Experiment, task: Task, name: str) -> ReplicateTrace:
    """Refuse anything but the trace that was asked for, whatever it calls itself."""
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
    return BackendError(f"backend: {package} is not installed; pip install 'fedbandits[cluster]'")


def unfit(where: str, error: BaseException) -> BackendError:
    """Make the error for a worker that cannot even read its order."""
    reason = str(error).strip().partition("\n")[0]
    return BackendError(
        f"{where} cannot load this version of fedbandits ({type(error).__name__}: {reason}); "
        "install it there and restart the workers"
    )


def died(name: str) -> BackendError:
    """Make the error for a replicate that no worker survives."""
    return BackendError(
        f"{name}: every worker that played it died (out of memory?); --resume goes on with what "
        "is finished"
    )


def out_of_reach(scheduler: str, error: BaseException) -> BackendError:
    """Make the error for an address where nobody answers as expected."""
    reason = str(error).strip().partition("\n")[0] or f"waited {ANSWER:g} seconds"
    return BackendError(f"scheduler: {scheduler} does not answer: {reason}; is it running there?")
