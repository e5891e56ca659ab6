"""Running a sweep: all its points in one pool, and what several points share once."""

from __future__ import annotations

import os
import pathlib
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import xarray as xr

from fedbandits.environments import kind_of
from fedbandits.environments import registry as environment_registry
from fedbandits.errors import ConfigError, ResumeWarning, StoppedError
from fedbandits.experiments.backends import choose_backend
from fedbandits.experiments.estimate import refuse_what_cannot_fit, warn_of_long_runs
from fedbandits.experiments.files import locked
from fedbandits.experiments.output import check_output, holds_complete_run
from fedbandits.experiments.playing import play_jobs
from fedbandits.experiments.stop import Leaving, Stop
from fedbandits.experiments.stream import Listener
from fedbandits.experiments.sweeps.estimate import sweep_estimate
from fedbandits.experiments.sweeps.playing import Playing
from fedbandits.experiments.sweeps.result import SweepParts
from fedbandits.experiments.sweeps.units import units_of
from fedbandits.settings.experiment import Experiment
from fedbandits.settings.sweeps import Sweep, load_any, sweep_of
from fedbandits.systems.registry import refuse_registered


def sweep(
    experiment: Experiment | Sweep | str | os.PathLike[str],
    keys: Mapping[str, Sequence[Any]] | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    backend: str = "local",
    scheduler: str | None = None,
    resume: bool = False,
    save_every: float = 5.0,
    on_event: Listener | None = None,
    stop: Stop | None = None,
) -> xr.Dataset:
    """Run an experiment for all combinations of the values of some keys.

    What several points have in common is played once. A system that adds no noise, for instance, is
    the same at every ε. Each point has the same result, bit for bit, as a run of it alone.

    Parameters
    ----------
    experiment
        An :class:`Experiment`, or the path of a TOML file. The file may have a table ``[sweep]``.
    keys
        Keys, each with the list of its values: ``{"systems.*.epsilon": [0.1, 1.0]}``. ``*`` means
        all systems that have the key. They replace the table ``[sweep]`` of a file.
    out
        Folder for ``results.nc``, ``summary.csv``, plots, ``report.html`` and ``config.toml``.
        Without ``out`` no files are written.
    jobs
        Number of replicates that run at the same time, of whatever points. By default the number of
        processors of this machine or of the cluster.
    backend, scheduler
        Where replicates run; see :func:`fedbandits.run`.
    resume
        Whether to continue an interrupted or killed sweep with the same ``out``. Replicates that
        are finished are not played again. The values of the keys may have changed since.
    save_every
        Time between two checkpoints of a replicate, in seconds.
    on_event
        A function that is called with every event of the sweep; see
        :mod:`fedbandits.experiments.events`.
    stop
        A :class:`.Stop`. When it is set, the sweep ends early, as with Ctrl-C.

    Returns
    -------
    xarray.Dataset
        Dimensions: one for each key, then ``system``, ``replicate``, ``party``, ``round``. A
        dimension has the short name of its key, such as ``epsilon``. Where points differ in their
        parties or rounds, it is NaN for those that a point has not. The variables ``parties``,
        ``acting`` and ``rounds`` tell how many each point has. If ``epsilon`` is swept, the
        measured ε is called ``epsilon_spent``.

    Warns
    -----
    LongRunWarning
        If the sweep is expected to take long.
    ResumeWarning
        With ``resume``, if there is nothing to resume, or if the sweep is complete already.

    Raises
    ------
    ConfigError, DataError, OutputExistsError, OutputBusyError, ResourceError
        Before anything runs. The message names the key and the values of the point.
    OutputError, CheckpointError, BackendError
        See :func:`fedbandits.run`.
    StoppedError
        If ``stop`` ended the sweep before any replicate was finished.
    KeyboardInterrupt
        If Ctrl-C ended the sweep before any replicate was finished.
    """
    made = _sweep(experiment, keys)
    if jobs is not None and (not isinstance(jobs, int) or jobs < 1):
        raise ConfigError(f"jobs: given {jobs!r}, allowed: a whole number ≥ 1")
    if resume and out is None:
        raise ConfigError("resume: needs out; checkpoints are kept beside that folder")
    chosen = choose_backend(backend, scheduler)
    if backend != "local":
        refuse_registered(entry.system for entry in made.experiment.systems)
        environment_registry.refuse_registered(kind_of(made.experiment.environment))
    points = made.points()
    units = units_of(points)
    named, expected = sweep_estimate(made, points, units, jobs)
    refuse_what_cannot_fit(named, expected, elsewhere=backend != "local")
    parts = SweepParts(made, points, units, [point.experiment.claims() for point in points])
    folder = pathlib.Path(out).resolve() if out is not None else None
    playing = Playing(parts, folder, Leaving(stop), on_event, save_every)
    with locked(folder) if folder is not None else nullcontext():
        if folder is not None:
            again = resume and playing.has_checkpoints
            check_output(folder, made, ("sweep",) if again else ())
            if resume and not playing.has_checkpoints:
                if holds_complete_run(folder):
                    return playing.complete_already(folder)
                _say_that_nothing_is_there(playing.room, folder)
        if backend == "local":
            warn_of_long_runs(named, expected)
        with chosen as connected:
            playing.begin(resume)
            play_jobs(connected, playing.left(), playing.stream, playing.stop, jobs, playing.take)
        result = playing.finish(folder)
    if result is not None:
        return result
    if stop:
        raise StoppedError("sweep: it was stopped before any replicate was finished")
    raise KeyboardInterrupt


def _sweep(
    given: Experiment | Sweep | str | os.PathLike[str], keys: Mapping[str, Sequence[Any]] | None
) -> Sweep:
    if not isinstance(given, Experiment | Sweep):
        given = load_any(pathlib.Path(given))
    if keys is None:
        return given if isinstance(given, Sweep) else sweep_of(given, {})
    return sweep_of(given.experiment if isinstance(given, Sweep) else given, keys)


def _say_that_nothing_is_there(room: pathlib.Path | None, folder: pathlib.Path) -> None:
    warnings.warn(
        f"resume: there is nothing to resume: no checkpoints in {room}, and no complete sweep in "
        f"{folder}. The sweep starts from the beginning",
        ResumeWarning,
        stacklevel=3,
    )
