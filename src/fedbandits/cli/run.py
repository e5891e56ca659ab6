"""``fedbandits run``: an experiment or a sweep, with its opponents and advice."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from fedbandits.cli.options import AllowModules, Assignments, ConfigFile, OutputFolder, SweptKeys

if TYPE_CHECKING:  # importing them takes long
    from fedbandits.experiments.answers.advise import Trial
    from fedbandits.experiments.answers.answer import Answer
    from fedbandits.settings.experiment import Experiment
    from fedbandits.settings.sweeps import Sweep

_NOTHING_YET = "Interrupted before any replicate was finished; --resume goes on."


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
    allow_modules: AllowModules = False,
) -> None:
    """Run an experiment, say whether it pays, and write results, plots and a report.

    The first line says whether learning together privately pays, compared with parties that learn
    alone. If no system of the file learns alone, such a system is added, with the same settings
    otherwise.

    All systems of the file meet the same contexts and reward draws. Ctrl-C keeps the replicates
    that are finished. Long runs save their state every few seconds; after an interruption or a
    crash the same command with --resume continues from the saved state, to the same result. Without
    a state, --resume warns and starts from the beginning; a complete run is not played again.

    With --sweep, or a table [sweep] in the file, all combinations of the values are run. Replicates
    that several combinations share are played once. The table then has a row for each combination
    and system; the report shows regret against the swept values.
    """
    from fedbandits.errors import ConfigError
    from fedbandits.settings.experiment import Experiment
    from fedbandits.settings.sweeps import load_any

    changes = list(assignments or [])
    changes += [f"seed={seed}"] if seed is not None else []
    changes += [f"replicates={replicates}"] if replicates is not None else []
    loaded = load_any(config, changes, sweeps or [], allow_modules=allow_modules)
    options: dict[str, Any] = {
        "jobs": jobs, "backend": backend, "scheduler": scheduler, "resume": resume,
    }  # fmt: skip
    if not isinstance(loaded, Experiment):
        if advise:
            raise ConfigError("--advise: is for one experiment, not for a sweep; leave one out")
        if not no_alone:
            both = _add_alone(loaded.experiment, _sweep_folder(loaded, out), jobs, resume)
            loaded = msgspec.structs.replace(loaded, experiment=both)
        _run_sweep(loaded, out, options)
        return
    # Only now: the error of a wrong key must not wait for the imports of a run.
    from fedbandits.cli import console
    from fedbandits.cli.summary import summary_table
    from fedbandits.experiments.answers.answer import answer
    from fedbandits.experiments.folder import holds_complete_run
    from fedbandits.experiments.opponents import opponents_for, run_beside
    from fedbandits.experiments.result import summarise
    from fedbandits.experiments.run import Playing

    folder = out or pathlib.Path("runs") / loaded.name
    experiment, opponents = loaded, None
    if not no_alone:
        experiment = _add_alone(loaded, folder, jobs, resume)
        with console.shown_progress(_NOTHING_YET, passing=True) as progress:
            opponents = opponents_for(folder, experiment, Playing(jobs, progress))
    earlier = holds_complete_run(folder)
    with console.shown_progress(_NOTHING_YET) as progress:
        result = run_beside(experiment, opponents, out=folder, on_event=progress, **options)
    verdict = answer(experiment, result)
    console.print_lines(verdict.lines[:1], "bold")
    console.print_lines(verdict.lines[1:])
    shown = console.output()
    shown.print(summary_table(experiment, summarise(experiment, result), shown.width))
    if advise and not result.attrs["interrupted"]:
        _print_advice(experiment, verdict, folder, jobs)
    typer.echo(f"Report: {folder / 'report.html'}")
    if result.attrs["interrupted"]:
        typer.echo(
            "Interrupted: only finished replicates are counted; --resume goes on."
            + (f" {folder} still holds the complete results of an earlier run." if earlier else ""),
            err=True,
        )
        raise typer.Exit(130)


def _run_sweep(sweep: Sweep, out: pathlib.Path | None, options: dict[str, Any]) -> None:
    """Play a sweep with options of :func:`fedbandits.sweep`, and print its table."""
    from fedbandits.cli import console
    from fedbandits.cli.summary import sweep_table
    from fedbandits.experiments.answers.answer import MOST_ANSWERS, point_answers
    from fedbandits.experiments.run import sweep as play

    folder = _sweep_folder(sweep, out)
    with console.shown_progress(_NOTHING_YET) as progress:
        result = play(sweep, out=folder, on_event=progress, **options)
    points = sweep.points()
    for point in point_answers(points[:MOST_ANSWERS], result):
        console.print_lines([f"{point.point}: {point.answer.headline}"])
    console.output().print(sweep_table(sweep, points, result))
    typer.echo(f"Report: {folder / 'report.html'}")
    if result.attrs["interrupted"]:
        typer.echo(
            "Interrupted: only finished replicates are counted; --resume goes on. Complete results "
            "of an earlier sweep, if there were any, are left as they were.",
            err=True,
        )
        raise typer.Exit(130)


def _sweep_folder(sweep: Sweep, out: pathlib.Path | None) -> pathlib.Path:
    return out or pathlib.Path("runs") / f"{sweep.experiment.name}-sweep"


def _add_alone(
    experiment: Experiment, folder: pathlib.Path, jobs: int | None, resume: bool
) -> Experiment:
    """Find parties that learn alone at their best, add new ones, and tell the user.

    Parties that an earlier run in the same folder has added are kept. With ``resume``, a run that
    began without such parties goes on without them.
    """
    from fedbandits.cli import console
    from fedbandits.experiments.best_alone import with_alone
    from fedbandits.experiments.folder import check_output, kept_in

    both = kept_in(folder, experiment)
    if both is None:  # refuse a folder that cannot be written before the search
        check_output(folder, experiment, but=("best_alone", "systems"))
        check_output(folder, experiment, but=("best_alone",))
    if both is None or not (both.best_alone or resume):
        with console.shown_progress(_NOTHING_YET, passing=True) as progress:
            both = with_alone(experiment, jobs=jobs, on_event=progress)
    for added in both.systems[len(experiment.systems) :]:
        typer.echo(
            f"Added {added.label!r} ({added.preset}), to see whether learning together pays; "
            "--no-alone leaves it out.",
            err=True,
        )
    return both


def _print_advice(
    experiment: Experiment, answer: Answer, folder: pathlib.Path, jobs: int | None
) -> None:
    """Print the values to try, try them, print the advice, and put the advice into the report.

    Values are tried with the best private system of the run's answer.
    """
    from fedbandits.cli import console
    from fedbandits.errors import ConfigError
    from fedbandits.experiments.answers.advise import advise, pair_of, trial_work, trials, work
    from fedbandits.experiments.output import write_advice
    from fedbandits.experiments.run import Playing

    best = next((one.system for one in answer.comparisons if one.kind == "alone"), None)
    try:
        base = pair_of(experiment, best, Playing(jobs))
    except ConfigError as error:
        typer.echo(f"No advice: {error}", err=True)
        return
    tried = trials(base)
    share = sum(map(trial_work, tried)) / max(work(experiment), 1e-9)
    typer.echo(_announced(base, tried, share), err=True)
    interrupted = "No advice: interrupted before any value was finished."
    with console.shown_progress(interrupted) as progress:
        advice = advise(base, best, jobs=jobs, on_event=progress)
    write_advice(folder, experiment, advice)
    console.print_lines(advice.lines)


def _announced(base: Experiment, trials: list[Trial], share: float) -> str:
    """Describe the sweeps of an advice, and their work beside that of the run."""
    words = base.environment.words
    names = {"parties": words.parties, "epsilon": "ε"}
    values = "; ".join(
        f"{names[trial.axis]} {', '.join(f'{value:,g}' for value in trial.values)}"
        for trial in trials
    )
    return (
        f"--advise tries {values}: {base.replicates} replicates each of {base.systems[0].label!r} "
        f"and {base.systems[1].label!r}, about {_one_digit(share)} times the work of this run."
    )


def _one_digit(value: float) -> str:
    """Write a number with one significant digit: ``0.2``, ``3`` or ``10``."""
    return f"{float(f'{value:.1g}'):,g}"
