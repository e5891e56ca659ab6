"""``fedbandits audit``."""

from __future__ import annotations

import math
import os
import pathlib
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from fedbandits.cli.console import folding, output, shown_progress, table
from fedbandits.cli.options import AllowModules, Assignments, ConfigFile, OutputFolder
from fedbandits.settings import CONFIDENCE, RUNS

if TYPE_CHECKING:  # importing them takes long
    from fedbandits.experiments.audits.verdict import Audit


def audit(
    config: ConfigFile,
    assignments: Assignments = None,
    runs: Annotated[
        int,
        typer.Option(
            min=200,
            help="How large the audit is: runs in either world for the contents of releases. All "
            "other parts grow and shrink in proportion; whole parties have one or two for each "
            "1,000, but at least 50.",
        ),
    ] = RUNS,
    confidence: Annotated[
        float, typer.Option(min=0.5, max=0.999999, help="With which all bounds of a system hold.")
    ] = CONFIDENCE,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Parts that are played side by side.  [default: all processors]"),
    ] = None,
    out: OutputFolder = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit with 1 if a claim is broken or not attacked."),
    ] = False,
    allow_modules: AllowModules = False,
) -> None:
    """Attack the claim of every system: lower bounds on ε from two neighbouring worlds.

    Plays the configured releases, and whole parties in a small world, many times with a replaced
    record, and looks at contents, existence, times and number of messages. A claim holds if no
    attack shows a larger ε; that is evidence, not proof. Then all released numbers of all parties
    are compared with their planned noise, and a record may move releases no further than charged.
    Further conditions of a claim are played too: masks, members of sums, visits that count, new
    processes. Where encryption protects without an ε, participants look and guess, and no guess may
    be better than chance unless the claim says so. Writes audit.json and audit.html; a run's report
    in the same folder shows the verdicts too.

    A small --runs makes an audit fast, for a first look: a difference of the worlds in every run
    still shows, but an ε that is a little too large does not. Ctrl-C ends an audit early: the
    verdicts of finished systems are shown, and no file is written.
    """
    from fedbandits.settings.experiment import load

    experiment = load(config, assignments or [], allow_modules=allow_modules)
    # Only now: the error of a wrong key must not wait for the imports of an audit.
    from fedbandits.experiments.audits.audit import audit as audit_experiment
    from fedbandits.experiments.folder import check_output, kept_in
    from fedbandits.experiments.output import write_audit

    experiment.check()
    folder = out or pathlib.Path("runs") / experiment.name
    kept = kept_in(folder, experiment) or experiment
    check_output(folder, kept)
    with shown_progress("Interrupted before any system was done: nothing is written.") as progress:
        side_by_side = jobs or os.cpu_count() or 1
        finished = audit_experiment(
            experiment, runs, confidence, jobs=side_by_side, on_event=progress
        )
    if not finished.missing:
        write_audit(folder, kept, finished)
    if any(verdict.findings for verdict in finished.verdicts):
        output().print(_audit_table(finished))
    for shown in examined_tables(finished):
        output().print(shown)
    if not finished.missing:
        typer.echo(f"Audit: {folder / 'audit.html'}")
    for verdict in finished.verdicts:
        lines = (
            verdict.noise_line, verdict.sensitivity_line, *verdict.protocol_lines,
            verdict.left_out_line,
        )  # fmt: skip
        for line in filter(None, lines):
            typer.echo(line)
    for verdict in finished.verdicts:
        typer.echo(verdict.line)
    typer.echo(finished.summary)
    if finished.missing:
        typer.echo("Interrupted: nothing is written.", err=True)
        raise typer.Exit(130)
    if strict and (finished.broken or finished.untested):
        raise typer.Exit(1)


def _epsilon(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.4g}"


def _audit_table(audit: Audit) -> Table:
    """Make a table of games: the attacked view, and the lower bound on ε of each."""
    columns = folding("system", "what they saw", "neighbours", "ε ≥", "best attack")
    rows = [
        (verdict.system, f.looks_at, f.neighbours, _epsilon(f.epsilon_low), f.attack)
        for verdict in audit.verdicts
        for f in verdict.findings
    ]
    return table(columns, rows, "What attackers found")


def examined_tables(audit: Audit) -> list[Table]:
    """Make tables of guesses and of sights, for systems whose participants were examined."""
    from fedbandits.experiments.report.tables import guesses_table

    tables = []
    for verdict in audit.verdicts:
        examined = verdict.examined
        if examined is None:
            continue
        guesses = guesses_table(examined.guesses)
        seen = folding("", *examined.participants)
        tables += [
            table(folding(*guesses.titles), guesses.rows, f"{verdict.system}: who guesses what"),
            table(seen, examined.table, f"{verdict.system}: who sees what"),
        ]
    return tables
