"""``fedbandits run --advise``: from where on it pays."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:  # importing them takes long
    from fedbandits.experiments.answers.advise import Trial
    from fedbandits.experiments.answers.answer import Answer
    from fedbandits.settings.experiment import Experiment


def print_advice(
    experiment: Experiment, answer: Answer, folder: pathlib.Path, jobs: int | None
) -> None:
    """Say what is going to be tried, try it, print what was found, and put it into the report.

    Parameters
    ----------
    experiment, answer
        What was run, and its answer: the best private system is tried.
    folder
        Folder of the run.
    jobs
        Replicates side by side.
    """
    from rich.console import Console

    from fedbandits.cli import console
    from fedbandits.errors import ConfigError
    from fedbandits.experiments.answers.advise import advise, pair_of, trial_work, trials, work
    from fedbandits.experiments.output import write_advice
    from fedbandits.experiments.progress import TerminalProgress

    best = next((one.system for one in answer.comparisons if one.kind == "alone"), None)
    try:
        base = pair_of(experiment, best)
    except ConfigError as error:
        typer.echo(f"No advice: {error}", err=True)
        return
    found = trials(base)
    share = sum(map(trial_work, found)) / max(work(experiment), 1e-9)
    typer.echo(_announced(base, found, share), err=True)
    try:
        with TerminalProgress(Console(stderr=True)) as progress:
            advice = advise(experiment, best, jobs=jobs, on_event=progress)
    except KeyboardInterrupt:
        typer.echo("No advice: interrupted before any value was finished.", err=True)
        raise typer.Exit(130) from None
    write_advice(folder, experiment, advice)
    console.print_lines(advice.lines)


def _announced(base: Experiment, found: list[Trial], share: float) -> str:
    """What is going to be played, and how much that is."""
    words = base.environment.words
    names = {"parties": words.parties, "epsilon": "ε"}
    values = "; ".join(
        f"{names[trial.axis]} {', '.join(f'{value:,g}' for value in trial.values)}"
        for trial in found
    )
    return (
        f"--advise tries {values}: {base.replicates} replicates each of {base.systems[0].label!r} "
        f"and {base.systems[1].label!r}, about {_one_digit(share)} times the work of this run."
    )


def _one_digit(value: float) -> str:
    """A number with one digit that counts: ``0.2``, ``3`` or ``10``."""
    return f"{float(f'{value:.1g}'):,g}"
