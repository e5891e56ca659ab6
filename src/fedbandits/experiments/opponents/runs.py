"""A run with its opponents beside it: its result keeps them, and its answer compares with them."""

from __future__ import annotations

import pathlib
from typing import Any

import xarray as xr

from fedbandits.errors import FedbanditsError
from fedbandits.experiments.folder import kept_in, read_result
from fedbandits.experiments.opponents.opponent import Opponent, noted, opponents_in
from fedbandits.experiments.opponents.play import opponents_of
from fedbandits.experiments.runner import Options, play
from fedbandits.experiments.signals import Listener, Stop
from fedbandits.settings.experiment import Experiment
from fedbandits.settings.sweeps import Sweep


def with_opponents(
    experiment: Experiment,
    result: xr.Dataset,
    *,
    jobs: int | None = None,
    on_event: Listener | None = None,
    stop: Stop | None = None,
) -> xr.Dataset:
    """Play what a user has without a private system beside a run; ``fedbandits run`` does so too.

    :func:`.answer` then compares with it, replicate by replicate. Parties alone play LinUCB as it
    usually is (α = 1, λ = 1), on rows that are prepared. If each arm is right or wrong, they play
    logistic regression too, alone and pooled in clear: it is greedy, and few parties and replicates
    are played, so that it takes about 3 seconds at most.

    Parameters
    ----------
    experiment
        The experiment, as :func:`.with_alone` returned it.
    result
        Its result.
    jobs, on_event, stop
        How replicates are played; see :func:`fedbandits.run`.

    Returns
    -------
    xarray.Dataset
        The result with ``attrs["opponents"]``.

    Raises
    ------
    KeyboardInterrupt, StoppedError
        If it was ended before all were played.
    """
    found = opponents_of(experiment, jobs=jobs, on_event=on_event, stop=stop)
    return result.assign_attrs(noted(found))


def run_beside(
    experiment: Experiment, opponents: tuple[Opponent, ...] | None, **options: Any
) -> xr.Dataset:
    """Run an experiment as :func:`fedbandits.run` does, and keep opponents in its result.

    They are None if nobody looked for them.
    """
    usual: dict[str, Any] = {
        "out": None, "jobs": None, "backend": "local", "scheduler": None, "resume": False,
        "save_every": 5.0, "on_event": None, "stop": None,
    }  # fmt: skip
    kept = {} if opponents is None else noted(opponents)
    return play(Sweep(experiment, ()), Options(**(usual | options), noted=kept))


def opponents_for(
    out: pathlib.Path,
    experiment: Experiment,
    *,
    jobs: int | None = None,
    on_event: Listener | None = None,
    stop: Stop | None = None,
) -> tuple[Opponent, ...]:
    """Return the opponents that a run of the same experiment in a folder has, or play them.

    There are none for an experiment without ``best_alone``: nobody asks for a verdict there.
    Parameters and errors are those of :func:`.opponents_of`.
    """
    if not experiment.best_alone:
        return ()
    if kept_in(out, experiment) is not None:
        try:
            found = opponents_in(read_result(out).attrs)
        except (FedbanditsError, OSError):
            found = None
        if found is not None:
            return found
    return opponents_of(experiment, jobs=jobs, on_event=on_event, stop=stop)
