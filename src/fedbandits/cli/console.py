"""Tables that the command prints."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:  # tables need none of what makes them
    from fedbandits.experiments.answers.answer import Answer
    from fedbandits.experiments.audits.verdict import Audit
    from fedbandits.privacy.claims import PrivacyClaim


def output() -> Console:
    """Standard output, wide enough for the tables where no terminal sets a width."""
    console = Console()
    return console if console.is_terminal else Console(width=120)


def print_answer(answer: Answer) -> None:
    """Print an answer, its first line bold; wrapped at the width of a terminal, where one is."""
    print_lines(answer.lines[:1], "bold")
    print_lines(answer.lines[1:])


def print_lines(lines: Iterable[str], style: str = "") -> None:
    """Print sentences, wrapped at the width of a terminal; elsewhere each stays on one line."""
    console = output()
    for line in lines:
        console.print(Text(line, style=style), soft_wrap=not console.is_terminal, highlight=False)


def claim_table(label: str, claim: PrivacyClaim) -> Table:
    """A claim with its conditions and limits."""
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


def audit_table(audit: Audit) -> Table:
    """A row a game: what was attacked, and how much ε it showed."""
    table = Table(title="What attackers found")
    for title in ("system", "what they saw", "neighbours", "ε ≥", "best attack"):
        table.add_column(title, overflow="fold")
    for verdict in audit.verdicts:
        for finding in verdict.findings:
            table.add_row(
                escape(verdict.system),
                escape(finding.looks_at),
                finding.neighbours,
                _epsilon(finding.epsilon_low),
                escape(finding.attack),
            )
    return table


def examined_tables(audit: Audit) -> list[Table]:
    """Who guessed what, and who sees what, for every system whose participants were examined."""
    tables = []
    for verdict in audit.verdicts:
        if verdict.examined is None:
            continue
        guesses = Table(title=f"{escape(verdict.system)}: who guesses what")
        for title in ("who", "guesses", "right", "by chance", "the claim says so"):
            guesses.add_column(title, overflow="fold")
        for guess in verdict.examined.guesses:
            stated = "yes" if guess.stated else "no"
            guesses.add_row(guess.who, guess.what, guess.share, f"{guess.chance:.1%}", stated)
        seen = Table(title=f"{escape(verdict.system)}: who sees what")
        for title in ("", *verdict.examined.participants):
            seen.add_column(title, overflow="fold")
        for row in verdict.examined.table:
            seen.add_row(*row)
        tables += [guesses, seen]
    return tables
