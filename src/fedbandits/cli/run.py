"""``fedbandits run``."""

from __future__ import annotations

import pathlib
from typing import Annotated, Any

import typer

from fedbandits.cli.options import Assignments, ConfigFile, OutputFolder, SweptKeys


def run(
    config: ConfigFile,
    assignments: Assignments = None,
    sweeps: SweptKeys = None,
    out: OutputFolder = None,
    seed: Annotated[int | None, typer.Option(help="Overrides the file's seed.")] = None,
    replicates: Annotated[int | None, typer.Option(help="Overrides the file's.")] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Replicates side by side.  [default: all processors, of the cluster if given]",
        ),
    ] = None,
    backend: Annotated[
        str, typer.Option(help="Who plays them: local, or a cluster: dask, ray.")
    ] = "local",
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="The cluster's: tcp://HOST:8786 or HOST:6379."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue a run that was interrupted or killed.")
    ] = False,
    no_alone: Annotated[
        bool,
        typer.Option(
            "--no-alone",
            help="Do not add a system whose parties learn alone. Without one, the first line "
            "cannot say whether learning together pays.",
        ),
    ] = False,
    advise: Annotated[
        bool,
        typer.Option(
            "--advise",
            help="Also try other numbers of parties and other ε, and say from where on it pays.",
        ),
    ] = False,
) -> None:
    """Run an experiment, say whether it pays, and write results, plots and a report.

    The first line says whether learning together privately pays, compared with parties that learn
    alone. If no system of the file learns alone, one is added, with the same settings otherwise.

    All systems of the file meet the same contexts and reward draws. Ctrl-C keeps the replicates
    that are finished. Long runs save their state every few seconds; after an interruption or a
    crash the same command with --resume goes on where they were, to the same result. Where there is
    nothing to resume, it says so and starts from the beginning; where the run is complete, it plays
    nothing.

    With --sweep, or a table [sweep] in the file, all combinations of the values are run. What
    several of them have in common is played once. The table then has a row for each combination and
    system; the report shows regret against the swept values.
    """
    from fedbandits.cli.adding import add_alone, add_alone_to
    from fedbandits.errors import ConfigError
    from fedbandits.settings.experiment import Experiment
    from fedbandits.settings.sweeps import load_any

    changes = list(assignments or [])
    changes += [f"seed={seed}"] if seed is not None else []
    changes += [f"replicates={replicates}"] if replicates is not None else []
    loaded = load_any(config, changes, sweeps or [])
    options: dict[str, Any] = {
        "jobs": jobs,
        "backend": backend,
        "scheduler": scheduler,
        "resume": resume,
    }
    if not isinstance(loaded, Experiment):
        if advise:
            raise ConfigError("--advise: is for one experiment, not for a sweep; leave one out")
        from fedbandits.cli.sweeps import run_sweep

        run_sweep(loaded if no_alone else add_alone_to(loaded), out, options)
        return
    experiment = loaded
    # Only now: a wrong key must not wait for what a run needs.
    from rich.console import Console

    from fedbandits.cli import console
    from fedbandits.cli.summary import summary_table
    from fedbandits.experiments.answers.answer import answer
    from fedbandits.experiments.folder import holds_complete_run
    from fedbandits.experiments.progress import TerminalProgress
    from fedbandits.experiments.run import run as run_experiment
    from fedbandits.experiments.summary import summarise

    if not no_alone:
        experiment = add_alone(experiment)
    folder = out or pathlib.Path("runs") / experiment.name
    earlier = holds_complete_run(folder)
    try:
        with TerminalProgress(Console(stderr=True)) as progress:
            result = run_experiment(experiment, out=folder, on_event=progress, **options)
    except KeyboardInterrupt:
        typer.echo("Interrupted before any replicate was finished; --resume goes on.", err=True)
        raise typer.Exit(130) from None
    found = answer(experiment, result)
    console.print_answer(found)
    shown = console.output()
    shown.print(summary_table(experiment, summarise(experiment, result), shown.width))
    if advise and not result.attrs["interrupted"]:
        from fedbandits.cli.advising import print_advice

        print_advice(experiment, found, folder, jobs)
    typer.echo(f"Report: {folder / 'report.html'}")
    if result.attrs["interrupted"]:
        typer.echo(
            "Interrupted: only finished replicates are counted; --resume goes on."
            + (f" {folder} still holds the complete results of an earlier run." if earlier else ""),
            err=True,
        )
        raise typer.Exit(130)
