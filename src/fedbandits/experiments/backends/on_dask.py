"""Replicates on the workers of a Dask cluster."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from fedbandits.errors import BackendError
from fedbandits.experiments.backends import cluster
from fedbandits.experiments.backends.cluster import identity, play, refuse_stranger
from fedbandits.experiments.signals import Stop
from fedbandits.experiments.trace import ReplicateTrace, Task

try:
    import distributed
except ModuleNotFoundError as error:
    raise cluster.missing("dask.distributed") from error

#: Statuses of a future that has ended; a lost future is played again.
_ENDED = ("finished", "error", "cancelled")


@contextmanager
def open_dask(scheduler: str) -> Iterator[DaskCluster]:
    """Connect to a scheduler, and check every worker before the run.

    Raises
    ------
    BackendError
        Without a scheduler or a worker, or if a worker has another version.
    """
    _refuse_silence(scheduler)
    client = distributed.Client(scheduler, timeout=cluster.ANSWER, set_as_default=False)
    try:
        _await_workers(client, scheduler)
        _inspect(client)
        yield DaskCluster(client)
    finally:
        with suppress(OSError):  # the scheduler may be gone
            client.close(timeout=cluster.ANSWER)


def _refuse_silence(scheduler: str) -> None:
    """Refuse an address without a greeting, for which a client would wait for ever."""
    with ThreadPoolExecutor(1) as worker:  # this thread may have an event loop already
        try:
            worker.submit(lambda: asyncio.run(_greet(scheduler))).result()
        except Exception as error:  # other servers may send any answer
            raise cluster.out_of_reach(scheduler, error) from None


async def _greet(scheduler: str) -> None:
    tls = distributed.Security().get_connection_args("client")
    async with asyncio.timeout(cluster.ANSWER):
        comm = await distributed.comm.connect(scheduler, timeout=cluster.ANSWER, **tls)
    comm.abort()


def _await_workers(client: Any, scheduler: str) -> None:
    try:
        client.wait_for_workers(1, timeout=cluster.ANSWER)
    except TimeoutError:
        raise BackendError(
            f"scheduler: {scheduler} has no workers; start some: dask worker {scheduler}"
        ) from None


def _inspect(client: Any) -> None:
    """Refuse workers that lack this package or have another version of it."""
    ours, patience = identity(), cluster.PATIENCE
    try:
        answers = client.run(identity, on_error="return", callback_timeout=patience)
    except TimeoutError:
        raise BackendError(f"scheduler: a worker has not answered for {patience:g} s") from None
    for worker, answer in answers.items():
        if isinstance(answer, OSError):
            continue  # the worker has just left; later workers are checked with a replicate
        if isinstance(answer, Exception):
            raise cluster.unfit(f"the worker {worker}", answer)
        refuse_stranger(f"the worker {worker}", answer, ours)


def _lost() -> BackendError:
    return BackendError("scheduler: was lost; --resume goes on with what is finished")


class DaskCluster(cluster.Cluster):
    """The workers of a Dask cluster."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._run = uuid.uuid4().hex  # Dask takes equal keys for equal work
        self._numbers = itertools.count()

    def slots(self) -> int:
        try:
            return sum(self._client.nthreads(callback_timeout=cluster.PATIENCE).values())
        except OSError:
            raise _lost() from None

    def submit(self, order: dict[str, Any], task: Task) -> Any:
        key = f"fedbandits-{self._run}-{next(self._numbers)}"
        return self._client.submit(_play, order, *task, key=key, pure=False)

    def finished(self, handles: list[Any], seconds: float) -> list[Any]:
        # The error of a failed replicate comes with its result.
        with suppress(TimeoutError, distributed.CancelledError), self._client.as_current():
            distributed.wait(handles, timeout=seconds, return_when="FIRST_COMPLETED")
        return [handle for handle in handles if handle.status in _ENDED]

    def result(self, handle: Any, name: str) -> Any:
        try:
            return handle.result(timeout=cluster.PATIENCE)
        except TimeoutError:
            raise BackendError(
                f"{name}: is finished, but its worker does not hand it over; --resume goes on "
                "with what has come back"
            ) from None
        except distributed.KilledWorker:
            raise cluster.died(name) from None
        except distributed.CancelledError:
            raise _lost() from None
        except (ImportError, AttributeError) as error:
            raise cluster.unfit("a worker", error) from error

    def cancel(self, handles: list[Any]) -> None:
        self._client.cancel(handles, force=True)


def _play(order: Mapping[str, Any], system: int, replicate: int) -> ReplicateTrace | None:
    return play(order, system, replicate, _Unwanted())


class _Unwanted(Stop):
    """A stop that is set once its task is cancelled, or the client is gone."""

    def __init__(self) -> None:
        super().__init__()
        worker = distributed.get_worker()
        self._tasks, self._key = worker.state.tasks, worker.get_current_task()

    def __bool__(self) -> bool:
        task = self._tasks.get(self._key)
        return task is None or task.state == "cancelled"
