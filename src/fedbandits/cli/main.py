"""The ``fedbandits`` command."""

from __future__ import annotations

import io
import pathlib
import sys
import warnings
from typing import Annotated, TextIO

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fedbandits.cli import console
from fedbandits.errors import ConfigError, ConfigWarning, FedbanditsError
from fedbandits.experiments.audit import CONFIDENCE, RUNS
from fedbandits.settings.experiment import load

app = typer.Typer(
    help="Private federated bandits: simulate it, deploy it, prove it, with the same code.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        from fedbandits import __version__

        typer.echo(f"fedbandits {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    """Private federated bandits: simulate it, deploy it, prove it, with the same code."""


ConfigFile = Annotated[pathlib.Path, typer.Argument(metavar="CONFIG.toml", help="What to run.")]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="key.path=value",
        help="Change one key, e.g. systems.0.epsilon=2, systems.LABEL.delta=0.1, "
        "systems.*.exploration_scale=0.1, rounds=1000. May be repeated.",
    ),
]


@app.command()
def run(
    config: ConfigFile,
    assignments: Assignments = None,
    out: Annotated[
        pathlib.Path | None, typer.Option(help="Output folder.  [default: runs/NAME]")
    ] = None,
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
) -> None:
    """Run an experiment and write results, plots and a report.

    All systems of the file meet the same contexts and reward draws. Ctrl-C keeps the replicates
    that are finished. Long runs save their state every few seconds; after an interruption or a
    crash the same command with --resume goes on where they were, to the same result.
    """
    from fedbandits.experiments.progress import TerminalProgress
    from fedbandits.experiments.result import summarise
    from fedbandits.experiments.run import run as run_experiment

    changes = list(assignments or [])
    changes += [f"seed={seed}"] if seed is not None else []
    changes += [f"replicates={replicates}"] if replicates is not None else []
    experiment = load(config, changes)
    folder = out or pathlib.Path("runs") / experiment.name
    stderr = Console(stderr=True)
    try:
        result = run_experiment(
            experiment,
            out=folder,
            jobs=jobs,
            backend=backend,
            scheduler=scheduler,
            progress=TerminalProgress(stderr),
            resume=resume,
        )
    except KeyboardInterrupt:
        typer.echo("Interrupted before any replicate was finished; --resume goes on.", err=True)
        raise typer.Exit(130) from None
    console.output().print(console.summary_table(experiment, summarise(experiment, result)))
    typer.echo(f"Report: {folder / 'report.html'}")
    if result.attrs["interrupted"]:
        typer.echo(
            "Interrupted: only finished replicates are counted; --resume goes on. Complete results "
            "of an earlier run are left as they were.",
            err=True,
        )
        raise typer.Exit(130)


@app.command()
def privacy(
    config: Annotated[
        pathlib.Path | None, typer.Argument(metavar="CONFIG.toml", help="Whose systems.")
    ] = None,
    assignments: Assignments = None,
    every: Annotated[
        bool, typer.Option("--all", help="All presets instead, in worlds of reference.")
    ] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="As a page of Markdown.")] = False,
    ledger: Annotated[
        pathlib.Path | None,
        typer.Option(metavar="FILE", help="A privacy ledger: what was spent, and what is left."),
    ] = None,
) -> None:
    """Show what every system would claim and spend, before anything runs.

    With --ledger: check a deployment's ledger, and show what its parties have spent.
    """
    if ledger is not None:
        console.show_ledger(ledger)
        if config is None and not every:
            return
    from fedbandits.experiments import claims_page

    if every == (config is not None) or (every and assignments):
        raise ConfigError("privacy: name a CONFIG.toml, or give --all and nothing else to change")
    if config is None:
        claims, page = claims_page.reference_claims(), claims_page.reference_page
    else:
        experiment = load(config, assignments or [])
        experiment.check()
        claims, page = experiment.claims(), claims_page.claims_markdown
    if markdown:
        typer.echo(page(claims), nl=False)
        return
    shown = console.output()
    for label, claim in claims.items():
        shown.print(console.claim_table(label, claim))


@app.command()
def audit(
    config: ConfigFile,
    assignments: Assignments = None,
    runs: Annotated[
        int, typer.Option(min=200, help="Runs in either world, for the contents of releases.")
    ] = RUNS,
    confidence: Annotated[
        float, typer.Option(min=0.5, max=0.999999, help="With which all bounds of a system hold.")
    ] = CONFIDENCE,
    out: Annotated[
        pathlib.Path | None, typer.Option(help="Output folder.  [default: runs/NAME]")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if a claim is broken.")
    ] = False,
) -> None:
    """Attack what every system claims: lower bounds on ε from two neighbouring worlds.

    Plays the configured releases, and whole parties in a small world, many times with one record
    replaced, and looks at contents, existence, times and number of messages. A claim holds as far
    as no attack shows more ε than it allows; that is evidence, not proof. Writes audit.json and
    audit.html; a run's report in the same folder shows the verdicts too.
    """
    from fedbandits.experiments.audit import audit as audit_experiment
    from fedbandits.experiments.output import check_output, write_audit
    from fedbandits.experiments.progress import audit_progress

    experiment = load(config, assignments or [])
    experiment.check()
    folder = out or pathlib.Path("runs") / experiment.name
    check_output(folder, experiment)
    try:
        with audit_progress(Console(stderr=True)) as progress:
            found = audit_experiment(experiment, runs, confidence, progress)
    except KeyboardInterrupt:
        typer.echo("Interrupted: nothing is written.", err=True)
        raise typer.Exit(130) from None
    write_audit(folder, experiment, found)
    console.output().print(console.audit_table(found))
    typer.echo(f"Audit: {folder / 'audit.html'}")
    for verdict in found.verdicts:
        typer.echo(verdict.line)
    typer.echo(found.summary)
    if strict and found.broken:
        raise typer.Exit(1)


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(help="A figure; fedbandits list names them all.")],
    full: Annotated[
        bool, typer.Option("--full", help="The paper's scale instead of a quick one.")
    ] = False,
    data: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="Data to make it from, where it needs some. Repeatable."),
    ] = None,
    out: Annotated[
        pathlib.Path | None, typer.Option(help="Output folder.  [default: runs/NAME]")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Replicates side by side.  [default: all processors]")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep what is complete, continue what is not.")
    ] = False,
) -> None:
    """Make a figure of a paper again: quick in minutes, or at the paper's scale.

    Writes figure.png, table.csv and remarks.md (what agrees with the paper and what does not), and
    every experiment behind them into a folder of its own.
    """
    from fedbandits.experiments.progress import TerminalProgress
    from fedbandits.reproduce import FIGURES, Context, write_outcome

    if name not in FIGURES:
        raise ConfigError(f"reproduce: given {name!r}, allowed: {', '.join(FIGURES)}")
    figure = FIGURES[name]
    folder = out or pathlib.Path("runs") / name
    progress = TerminalProgress(Console(stderr=True))
    try:
        context = Context(folder, full, data or [], jobs, resume, progress)
        outcome = figure.make(context)
    except KeyboardInterrupt:
        typer.echo("Interrupted: what is finished is kept; --resume goes on.", err=True)
        raise typer.Exit(130) from None
    write_outcome(context, figure, outcome)
    table = Table(title=f"{figure.title} ({figure.source})")
    for column in outcome.rows[0]:
        table.add_column(column)
    for row in outcome.rows:
        table.add_row(
            *(
                escape(f"{value:,}" if isinstance(value, int) else str(value))
                for value in row.values()
            )
        )
    shown = console.output()
    shown.print(table)
    for remark in outcome.remarks:
        shown.print(f"• {escape(remark)}")
    typer.echo(f"Figure: {folder / 'figure.png'}")


@app.command("list")
def list_() -> None:
    """List systems with their presets, environments, and figures that can be reproduced."""
    from fedbandits.environments import ENVIRONMENTS
    from fedbandits.reproduce import FIGURES
    from fedbandits.systems import systems

    shown = console.output()
    for system in systems():
        table = Table(title=f"{system.name}: {system.paper}", title_justify="left", box=None)
        table.add_column("preset", style="bold", no_wrap=True)
        table.add_column("what it is")
        for preset_name, preset in system.presets.items():
            table.add_row(preset_name, preset.description)
        shown.print(table, "")
    table = Table(title="environments", title_justify="left", box=None)
    table.add_column("kind", style="bold", no_wrap=True)
    table.add_column("what it is")
    for kind, environment in ENVIRONMENTS.items():
        table.add_row(kind, (environment.__doc__ or "").partition("\n")[0])
    shown.print(table, "")
    table = Table(title="figures", title_justify="left", box=None)
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("what it shows")
    for name, figure in FIGURES.items():
        table.add_row(name, f"{figure.title}, {figure.source}")
    shown.print(table)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """One line for what this package warns of; where in its code it does so helps nobody."""
    if issubclass(category, ConfigWarning):
        typer.echo(f"fedbandits: warning: {message}", err=True)
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line)
        print(text, end="", file=file or sys.stderr)


def main() -> None:
    """Entry point: errors of this package end with one line and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may lack ε; that must not end a run
    warnings.showwarning = _show_warning
    try:
        app()
    except FedbanditsError as error:
        typer.echo(f"fedbandits: {error}", err=True)
        sys.exit(2)
