"""Running an experiment, or a sweep of it over the values of some keys."""

from __future__ import annotations

import os
import pathlib
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import xarray as xr

from fedbandits.errors import ConfigWarning, LongRunWarning, StoppedError
from fedbandits.experiments.runner import Options, play
from fedbandits.experiments.signals import Listener, Stop
from fedbandits.settings.experiment import Experiment, load
from fedbandits.settings.sweeps import Sweep, load_any, sweep_of

__all__ = ["run", "sweep"]


def run(
    experiment: Experiment | str | os.PathLike[str],
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
    """Run an experiment.

    Parameters
    ----------
    experiment
        An :class:`Experiment`, or the path of a TOML file.
    out
        Folder for ``results.nc``, ``summary.csv``, plots, ``report.html`` and ``config.toml``.
        ``run.json`` is written last: if it is missing, these files may be of different runs.
        Without ``out`` no files are written.
    jobs
        Number of replicates that run at the same time. By default the number of processors of this
        machine or of the cluster.
    backend
        Where replicates run. ``local``: on this machine. ``dask`` or ``ray``: on a cluster. Results
        are the same bit for bit.
    scheduler
        Address of the cluster: ``tcp://HOST:8786`` for Dask, ``HOST:6379`` for Ray. Without an
        address Ray finds or starts a cluster on this machine.
    resume
        Whether to continue from the checkpoints of an interrupted or killed run with the same
        ``out``. If that run is complete, its result is returned, and nothing is played. If there
        are no checkpoints, the run starts from the beginning. In both cases there is a warning.
    save_every
        Time between two checkpoints of a replicate, in seconds. Without ``out`` there are no
        checkpoints. When the run is complete, they are deleted.
    on_event
        A function that is called with every event of the run: its progress and the results so far.
        :mod:`fedbandits.experiments.events` lists the events and what the function may do.
    stop
        A :class:`.Stop`. When it is set, the run ends early, as with Ctrl-C.

    Returns
    -------
    xarray.Dataset
        Dimensions ``system``, ``replicate``, ``party``, ``round``. After an interruption (Ctrl-C or
        ``stop``) it has the finished replicates, NaN for all others, and ``attrs["interrupted"]``
        is 1. A complete run that was in ``out`` before is then not changed.

    Warns
    -----
    LongRunWarning
        If the run is expected to take long.
    ResumeWarning
        With ``resume``, if there is nothing to resume, or if the run is complete already.

    Raises
    ------
    ConfigError, DataError, OutputExistsError
        Before anything runs.
    OutputBusyError
        Before anything runs, if another process is writing to ``out``.
    OutputError
        If the disk is full. Earlier results are not changed, and checkpoints are kept.
    ResourceError
        Before anything runs, if it needs more memory than the machine has.
    CheckpointError
        If a checkpoint is damaged, or belongs to another configuration or version.
    BackendError
        If a cluster cannot be reached, cannot play this experiment, or is lost.
    StoppedError
        If ``stop`` ended the run before any replicate was finished. Checkpoints are kept beside
        ``out``, for ``resume``.
    KeyboardInterrupt
        If Ctrl-C ended the run before any replicate was finished.
    """
    if not isinstance(experiment, Experiment):
        experiment = load(pathlib.Path(experiment))
    options = Options(out, jobs, backend, scheduler, resume, save_every, on_event, stop)
    return play(Sweep(experiment, ()), options)


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

    Replicates that several points have in common are played once. A system without noise, for
    instance, is the same at every ε. Each point has the same result, bit for bit, as its own run.

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
        Number of replicates that run at the same time, of any points. By default the number of
        processors of this machine or of the cluster.
    resume
        Whether to continue an interrupted or killed sweep with the same ``out``. Finished
        replicates are not played again. The values of the keys may be others.
    backend, scheduler, save_every, on_event, stop
        See :func:`fedbandits.run`.

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
    given = _sweep(experiment, keys)
    options = Options(out, jobs, backend, scheduler, resume, save_every, on_event, stop)
    return play(given, options)


class Playing(NamedTuple):
    """The options of :func:`run` that trials beside a run share with the run."""

    jobs: int | None = None
    on_event: Listener | None = None
    stop: Stop | None = None


#: The usual options of trials.
DEFAULTS = Playing()


def play_trial(experiment: Experiment, playing: Playing, warns_of_length: bool) -> xr.Dataset:
    """Play a trial beside a run to its end, without the warnings that the run itself gives.

    ``playing`` has the options of the trial. A trial that ``warns_of_length`` keeps the warning of
    a long run.

    Raises
    ------
    KeyboardInterrupt, StoppedError
        If the trial was ended before its last replicate.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfigWarning)
        if not warns_of_length:
            warnings.simplefilter("ignore", LongRunWarning)
        result = run(experiment, **playing._asdict())
    if result.attrs["interrupted"]:
        raise StoppedError("stopped before all were played") if playing.stop else KeyboardInterrupt
    return result


def _sweep(
    given: Experiment | Sweep | str | os.PathLike[str], keys: Mapping[str, Sequence[Any]] | None
) -> Sweep:
    """Return the sweep of an experiment or a file, over ``keys`` if they are given."""
    if not isinstance(given, Experiment | Sweep):
        given = load_any(pathlib.Path(given).expanduser())
    if keys is None:
        return given if isinstance(given, Sweep) else sweep_of(given, {})
    return sweep_of(given.experiment if isinstance(given, Sweep) else given, keys)
