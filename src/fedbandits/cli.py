"""The ``fedbandits`` command."""

from __future__ import annotations

import io
import math
import pathlib
import sys
import warnings
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fedbandits.errors import ConfigError, ConfigWarning, FedbanditsError
from fedbandits.experiments.config import Experiment, load
from fedbandits.experiments.progress import rounded
from fedbandits.privacy.claims import PrivacyClaim

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
    console = Console(stderr=True)
    try:
        result = run_experiment(
            experiment,
            out=folder,
            jobs=jobs,
            backend=backend,
            scheduler=scheduler,
            progress=TerminalProgress(console),
            resume=resume,
        )
    except KeyboardInterrupt:
        typer.echo("Interrupted before any replicate was finished; --resume goes on.", err=True)
        raise typer.Exit(130) from None
    _console().print(_summary_table(experiment, summarise(experiment, result)))
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
) -> None:
    """Show what every system would claim and spend, before anything runs."""
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
    console = _console()
    for label, claim in claims.items():
        console.print(_claim_table(label, claim))


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
    from fedbandits.experiments.reproduce import FIGURES, Context, write_outcome

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
    console = _console()
    console.print(table)
    for remark in outcome.remarks:
        console.print(f"• {escape(remark)}")
    typer.echo(f"Figure: {folder / 'figure.png'}")


@app.command("list")
def list_() -> None:
    """List systems with their presets, environments, and figures that can be reproduced."""
    from fedbandits.environments import ENVIRONMENTS
    from fedbandits.experiments.reproduce import FIGURES
    from fedbandits.systems import FAMILIES

    console = _console()
    for name, family in FAMILIES.items():
        table = Table(title=f"{name}: {family.paper}", title_justify="left", box=None)
        table.add_column("preset", style="bold", no_wrap=True)
        table.add_column("what it is")
        for preset_name, preset in family.presets.items():
            table.add_row(preset_name, preset.description)
        console.print(table, "")
    table = Table(title="environments", title_justify="left", box=None)
    table.add_column("kind", style="bold", no_wrap=True)
    table.add_column("what it is")
    for kind, environment in ENVIRONMENTS.items():
        table.add_row(kind, (environment.__doc__ or "").partition("\n")[0])
    console.print(table, "")
    table = Table(title="figures", title_justify="left", box=None)
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("what it shows")
    for name, figure in FIGURES.items():
        table.add_row(name, f"{figure.title}, {figure.source}")
    console.print(table)


def _console() -> Console:
    """Standard output, wide enough for the tables where no terminal sets a width."""
    console = Console()
    return console if console.is_terminal else Console(width=120)


def _summary_table(experiment: Experiment, rows: list[dict[str, Any]]) -> Table:
    environment = experiment.environment
    parties = f"{environment.parties} {environment.PARTIES}"
    table = Table(title=f"{experiment.name}: {experiment.rounds:,} rounds, {parties}")
    table.add_column("system", style="bold", no_wrap=True)
    several = environment.acting > 1
    share = ["an agent"] if several else []
    for title in ("runs", "regret", "± s.e.", *share, "reward", "syncs", "ε", "steps/s"):
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            escape(row["system"]),
            str(row["replicates"]),
            f"{row['regret_mean']:,.1f}",
            "–" if math.isnan(row["regret_sem"]) else f"{row['regret_sem']:,.1f}",
            *([f"{row['regret_mean'] / environment.acting:,.1f}"] if several else []),
            f"{row['reward_mean']:,.0f}",
            f"{row['syncs']:,.0f}",
            _epsilon(row["epsilon_accounted"]),
            rounded(row["agent_steps_per_second"]),
        )
    return table


def _claim_table(label: str, claim: PrivacyClaim) -> Table:
    table = Table(
        title=f"{escape(label)}: {claim.headline}", title_justify="left", show_header=False
    )
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for title, lines in claim.rows():
        for line in lines:
            table.add_row(title, escape(line))
    return table


def _epsilon(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.4g}"


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
