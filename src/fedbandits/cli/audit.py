"""``fedbandits audit``."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from fedbandits.cli.options import Assignments, ConfigFile, OutputFolder
from fedbandits.settings.defaults import CONFIDENCE, RUNS


def audit(
    config: ConfigFile,
    assignments: Assignments = None,
    runs: Annotated[
        int,
        typer.Option(
            min=200,
            help="How large the audit is: runs in either world for the contents of releases. All "
            "other parts grow and shrink in proportion; whole parties have a hundredth as many, "
            "but at least 50.",
        ),
    ] = RUNS,
    confidence: Annotated[
        float, typer.Option(min=0.5, max=0.999999, help="With which all bounds of a system hold.")
    ] = CONFIDENCE,
    out: OutputFolder = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit with 1 if a claim is broken or not attacked."),
    ] = False,
) -> None:
    """Attack what every system claims: lower bounds on ε from two neighbouring worlds.

    Plays the configured releases, and whole parties in a small world, many times with one record
    replaced, and looks at contents, existence, times and number of messages. A claim holds as far
    as no attack shows more ε than it allows; that is evidence, not proof. Then all released numbers
    of all parties are held against the noise that is planned for each, and one record may move
    releases no further than is charged. Where encryption protects and no ε is claimed, participants
    look and guess, and no guess may be better than chance unless the claim says so. Writes
    audit.json and audit.html; a run's report in the same folder shows the verdicts too.

    A small --runs makes all of it fast, for a first look: what tells the worlds apart in every run
    still shows, but an ε that is a little too large does not. Ctrl-C ends an audit early: it shows
    the verdicts of the systems that are done, and writes nothing.
    """
    from rich.console import Console

    from fedbandits.cli import console
    from fedbandits.settings.experiment import load

    experiment = load(config, assignments or [])
    # Only now: a wrong key must not wait for what an audit needs.
    from fedbandits.cli.adding import as_kept
    from fedbandits.experiments.audits.audit import audit as audit_experiment
    from fedbandits.experiments.folder import check_output
    from fedbandits.experiments.output import write_audit
    from fedbandits.experiments.progress import TerminalProgress

    experiment.check()
    folder = out or pathlib.Path("runs") / experiment.name
    kept = as_kept(folder, experiment)
    check_output(folder, kept)
    try:
        with TerminalProgress(Console(stderr=True)) as progress:
            found = audit_experiment(experiment, runs, confidence, on_event=progress)
    except KeyboardInterrupt:
        typer.echo("Interrupted before any system was done: nothing is written.", err=True)
        raise typer.Exit(130) from None
    if not found.missing:
        write_audit(folder, kept, found)
    if any(verdict.findings for verdict in found.verdicts):
        console.output().print(console.audit_table(found))
    for table in console.examined_tables(found):
        console.output().print(table)
    if not found.missing:
        typer.echo(f"Audit: {folder / 'audit.html'}")
    for verdict in found.verdicts:
        for line in filter(None, (verdict.noise_line, verdict.sensitivity_line)):
            typer.echo(line)
    for verdict in found.verdicts:
        typer.echo(verdict.line)
    typer.echo(found.summary)
    if found.missing:
        typer.echo("Interrupted: nothing is written.", err=True)
        raise typer.Exit(130)
    if strict and (found.broken or found.untested):
        raise typer.Exit(1)
