"""Add a system whose parties learn alone to a run, and tell the user."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:  # importing it takes long
    from fedbandits.settings.experiment import Experiment
    from fedbandits.settings.sweeps import Sweep


def add_alone(experiment: Experiment) -> Experiment:
    """The experiment with a system whose parties learn alone; says so if one was added."""
    from fedbandits.experiments.baselines import with_alone

    found = with_alone(experiment)
    if len(found.systems) > len(experiment.systems):
        added = found.systems[-1]
        typer.echo(
            f"Added {added.label!r} ({added.preset}), to see whether learning together pays; "
            "--no-alone leaves it out.",
            err=True,
        )
    return found


def add_alone_to(sweep: Sweep) -> Sweep:
    """The sweep with a system whose parties learn alone, at every point."""
    import msgspec

    return msgspec.structs.replace(sweep, experiment=add_alone(sweep.experiment))


def as_kept(folder: pathlib.Path, experiment: Experiment) -> Experiment:
    """The experiment as a run keeps it in ``folder``: with *alone*, unless --no-alone was given."""
    from fedbandits.experiments.baselines import with_alone
    from fedbandits.experiments.folder import stored_table

    found, there = with_alone(experiment), stored_table(folder)
    if there is None or len(there.get("systems", ())) == len(found.systems):
        return found
    return experiment
