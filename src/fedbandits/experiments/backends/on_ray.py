"""Replicates on the nodes of a Ray cluster."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fedbandits.errors import BackendError, FedbanditsError
from fedbandits.experiments.backends import cluster
from fedbandits.experiments.backends.cluster import identity, play, refuse_stranger
from fedbandits.experiments.trace import Task

try:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
except ModuleNotFoundError as error:
    raise cluster.missing("ray") from error

#: Seconds that a node may take to start a process and import this package.
_START = 120.0


@contextmanager
def open_ray(scheduler: str | None) -> Iterator[RayCluster]:
    """Connect to a cluster, or start one on this machine; check every node before the run.

    An open connection of this process is used, and left open.

    Raises
    ------
    BackendError
        Without a cluster at the address, or if a node has another version.
    """
    ours = not ray.is_initialized()
    if ours:
        _connect(scheduler)
    try:
        _inspect()
        yield RayCluster()
    finally:
        if ours:
            ray.shutdown()


def _connect(scheduler: str | None) -> None:
    if scheduler is not None and ":" in scheduler:
        _refuse_silence(scheduler)
    # Without this variable, Ray reports the use of clusters that it starts to its makers.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray.init(address=scheduler, logging_level=logging.ERROR, log_to_driver=False)
    except (OSError, ValueError, RuntimeError, ImportError, ray.exceptions.RayError) as error:
        raise cluster.out_of_reach(scheduler or "Ray", error) from None


def _refuse_silence(address: str) -> None:
    """Refuse an address without a listening process, for which Ray would wait a minute."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=cluster.ANSWER).close()
    except (OSError, ValueError) as error:
        raise cluster.out_of_reach(address, error) from None


def _inspect() -> None:
    """Refuse nodes that lack this package or have another version of it."""
    nodes = [node for node in ray.nodes() if node["Alive"]]
    probe = ray.remote(num_cpus=0, max_retries=0)(identity)
    answers = {
        node["NodeManagerAddress"]: probe.options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        ).remote()
        for node in nodes
    }
    for address, answer in answers.items():
        where = f"the node {address}"
        try:
            refuse_stranger(where, ray.get(answer, timeout=_START), identity())
        except ray.exceptions.GetTimeoutError:
            raise BackendError(f"{where} has not answered for {_START:g} seconds") from None
        except ray.exceptions.RayTaskError as error:
            raise cluster.unfit(where, error.cause) from None


class RayCluster(cluster.Cluster):
    """The nodes of a Ray cluster."""

    def __init__(self) -> None:
        self._remote = ray.remote(num_cpus=1)(play)

    def slots(self) -> int:
        return int(ray.cluster_resources().get("CPU", 0))

    def submit(self, order: dict[str, Any], task: Task) -> Any:
        return self._remote.remote(order, *task)

    def finished(self, handles: list[Any], seconds: float) -> list[Any]:
        ray.wait(handles, num_returns=1, timeout=seconds)
        ended, _ = ray.wait(handles, num_returns=len(handles), timeout=0.0)
        return list(ended)

    def result(self, handle: Any, name: str) -> Any:
        try:
            return ray.get(handle)
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, FedbanditsError):
                raise error.cause from None
            if isinstance(error.cause, ImportError | AttributeError):
                raise cluster.unfit("a node", error.cause) from error
            raise error.cause from error
        except ray.exceptions.RayError:
            raise cluster.died(name) from None

    def cancel(self, handles: list[Any]) -> None:
        for handle in handles:
            ray.cancel(handle, force=True)
