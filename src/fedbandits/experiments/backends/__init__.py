"""Who plays the replicates of a run: threads of this process, or the workers of a cluster."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager
from typing import Protocol

from fedbandits.errors import ConfigError
from fedbandits.experiments.backends.local import open_local
from fedbandits.experiments.replicate import Job
from fedbandits.experiments.stop import Leaving
from fedbandits.experiments.stream import Stream
from fedbandits.experiments.trace import ReplicateTrace

_NAMES = ("local", "dask", "ray")


class Backend(Protocol):
    """Plays replicates side by side."""

    def play(
        self, jobs: list[Job], stream: Stream, stop: Leaving, workers: int | None
    ) -> Generator[tuple[Job, ReplicateTrace], None, None]:
        """Make ready; then give what each replicate left, in any order, as it is finished.

        Ends early once ``stop`` is true, or when closed. Finished replicates are in the
        checkpoints of their experiment, if there are such.

        Parameters
        ----------
        jobs
            The replicates, of one experiment or of several.
        stream, stop
            Where events go, and who tells all to leave: those of every job.
        workers
            How many are played at once; by default as many as can be.
        """


def choose_backend(name: str, scheduler: str | None) -> AbstractContextManager[Backend]:
    """A backend, connected for as long as the context lasts.

    Raises
    ------
    ConfigError
        For an unknown name, or an address that is missing or has no use.
    """
    if name not in _NAMES:
        raise ConfigError(f"backend: given {name!r}, allowed: {', '.join(_NAMES)}")
    if name == "local":
        if scheduler is not None:
            raise ConfigError("scheduler: needs --backend dask or ray, which it is the address of")
        return open_local()
    # Here, not above: who stays at home must not wait for these imports, nor need the packages.
    if name == "ray":
        from fedbandits.experiments.backends.on_ray import open_ray

        return open_ray(scheduler)
    if scheduler is None:
        raise ConfigError("backend: dask needs --scheduler ADDRESS, e.g. tcp://HOST:8786")
    from fedbandits.experiments.backends.on_dask import open_dask

    return open_dask(scheduler)
