"""Events of a sweep; :mod:`fedbandits.experiments.events` has those of a run and of an audit."""

from __future__ import annotations

from typing import Any

from fedbandits.experiments.event_base import Event


class SweepStarted(Event, frozen=True, kw_only=True, tag="sweep_started"):
    """A sweep begins.

    Parameters
    ----------
    experiment
        Name of the experiment.
    systems
        Labels of its systems, in order.
    points
        The values of each point, by the names of the swept keys, in the order of the points.
    replicates
        Number of replicates that this sweep needs. Those that several points share count once.
    asked
        Number of replicates that the points have: points times systems times replicates.
    finished
        Number of replicates that an earlier run has finished. They are not played again.
    """

    experiment: str
    systems: tuple[str, ...]
    points: tuple[dict[str, Any], ...]
    replicates: int
    asked: int
    finished: int = 0


class SweepAdvanced(Event, frozen=True, kw_only=True, tag="sweep_advanced"):
    """More rounds of a replicate have been played.

    It comes as often as :class:`~fedbandits.experiments.events.ReplicateAdvanced` does in a run.

    Parameters
    ----------
    point
        Number of the point, from 0. A replicate that several points share counts for the first.
    values
        Values of the point, by the names of the swept keys.
    system
        Label of the system.
    replicate
        Number of the replicate, from 0.
    done
        Number of rounds that have been played, including those before an interruption.
    rounds
        Number of all rounds.
    share
        Share of the whole sweep that is done, from 0 to 1: rounds played, over all rounds.
    """

    point: int
    values: dict[str, Any]
    system: str
    replicate: int
    done: int
    rounds: int
    share: float


class PointFinished(Event, frozen=True, kw_only=True, tag="point_finished"):
    """All replicates of a point are finished.

    Parameters
    ----------
    point
        Number of the point, from 0.
    values
        Values of the point, by the names of the swept keys.
    finished
        Number of points that are finished, including those of an earlier run.
    total
        Number of all points.
    """

    point: int
    values: dict[str, Any]
    finished: int
    total: int


class SweepFinished(Event, frozen=True, kw_only=True, tag="sweep_finished"):
    """Every point is finished, and all files are written.

    Parameters
    ----------
    total
        Number of points.
    out
        Folder of the files; None if no files are written.
    """

    total: int
    out: str | None


class SweepInterrupted(Event, frozen=True, kw_only=True, tag="sweep_interrupted"):
    """The sweep ended early, by Ctrl-C or by a :class:`.Stop`.

    Parameters
    ----------
    finished
        Number of points that are finished.
    total
        Number of all points.
    out
        Folder of the files; see :class:`SweepFinished`.
    """

    finished: int
    total: int
    out: str | None
