"""``fedbandits privacy``: claims before anything runs, and statements of ledgers after it."""

from __future__ import annotations

import datetime
import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.markup import escape
from rich.table import Column, Table

from fedbandits.cli.console import output
from fedbandits.cli.options import AllowModules, Assignments, configurations
from fedbandits.errors import ConfigError

if TYPE_CHECKING:  # the ledger is an extra
    from fedbandits.deployment.storage.rows import Left
    from fedbandits.privacy.claims import PrivacyClaim
    from fedbandits.privacy.ledger import Statement, Total


def privacy(
    files: Annotated[
        list[pathlib.Path] | None,
        typer.Argument(
            metavar="CONFIG.toml",
            help="A configuration, or an example that comes along. After --ledger also further "
            "ledgers.",
            autocompletion=configurations,
        ),
    ] = None,
    assignments: Assignments = None,
    every: Annotated[
        bool, typer.Option("--all", help="All presets instead, in worlds of reference.")
    ] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="As a page of Markdown.")] = False,
    ledger: Annotated[
        list[pathlib.Path] | None,
        typer.Option(
            metavar="FILE...",
            help="A privacy ledger: what was spent, and what is left. Of several, also what they "
            "have cost the same records together.",
        ),
    ] = None,
    allow_modules: AllowModules = False,
) -> None:
    """Show the claim and the budget of every system, before anything runs.

    With --ledger: check a deployment's ledger, and show the spent budget of its parties. With
    several, as --ledger A.db B.db, also the joint cost of federations that had the same records.
    """
    from fedbandits.settings.experiment import load

    configs, further = list(files or []), list[pathlib.Path]()
    if ledger:
        further = [file for file in configs if file.suffix != ".toml"]
        configs = [file for file in configs if file.suffix == ".toml"]
        _show_ledgers([*ledger, *further])
        if not configs and not every:
            return
    if len(configs) > 1:
        raise ConfigError("privacy: name one CONFIG.toml")
    config = configs[0] if configs else None
    from fedbandits.experiments import claims_page

    if every == (config is not None) or (every and assignments):
        raise ConfigError("privacy: name a CONFIG.toml, or give --all and nothing else to change")
    if config is None:
        claims, page = claims_page.reference_claims(), claims_page.reference_page
    else:
        experiment = load(config, assignments or [], allow_modules=allow_modules)
        experiment.check()
        claims, page = experiment.claims(), claims_page.claims_markdown
    if markdown:
        typer.echo(page(claims), nl=False)
        return
    shown = output()
    for label, claim in claims.items():
        shown.print(_claim_table(label, claim))


def _claim_table(label: str, claim: PrivacyClaim) -> Table:
    """Make a table of a claim with its conditions and limits."""
    table = _pairs(f"{escape(label)}: {claim.headline}", show_header=False)
    for title, lines in claim.rows():
        for line in lines:
            table.add_row(title, escape(line))
    return table


def _pairs(title: str, **look: Any) -> Table:
    """Begin a table with a column of names and a column of texts."""
    return Table(
        Column(style="bold", no_wrap=True), Column(), title=title, title_justify="left", **look
    )


class _Account(NamedTuple):
    """An account in a ledger; ``left`` are messages that left later, if their file has more."""

    ledger: pathlib.Path
    federation: str
    statement: Statement
    left: Left | None
    #: Path of the file of messages that left, if the file is missing.
    unknown: pathlib.Path | None

    @property
    def whole(self) -> Statement:
        """The statement with all known spending."""
        from fedbandits.deployment.hosting.known import with_left

        return with_left(self.statement, self.left)


def _show_ledgers(paths: Sequence[pathlib.Path]) -> None:
    """Verify every row of some ledgers, then print their parties' statements, and their total.

    Raises StaleStoreError, at the end, if more has left a party than its ledger knows.
    """
    from fedbandits.deployment.hosting.known import Beside, with_noise
    from fedbandits.privacy.ledger import Ledger

    shown, accounts, old = output(), list[_Account](), dict[str, None]()
    for path in paths:
        beside = Beside.of(path)
        with Ledger.existing(path) as ledger, ledger.read() as connection:
            ledger.verify(connection)
            parties = ledger.parties(connection)
            unknown = beside.path if beside.is_unknown(connection) else None
            new = [
                _Account(
                    path,
                    ledger.federation,
                    with_noise(connection, ledger.statement(connection, party)),
                    beside.knows_more(ledger, connection, party),
                    unknown,
                )
                for party in parties
            ]
            if any(account.left for account in new) or (
                not parties and beside.knows_more(ledger, connection, "")
            ):
                old[str(path)] = None
        _refuse_twice(accounts, new)
        accounts += new
        for account in new:
            shown.print(_statement_table(account), "")
        shown.print(
            f"{escape(str(path))}: ledger of federation {ledger.federation!r}, "
            f"{len(parties)} {'party' if len(parties) == 1 else 'parties'}, every row verified"
        )
        if len(paths) > 1:
            shown.print("")
    if len(paths) > 1 and accounts:
        shown.print(_totals_table(accounts))
    if old:
        from fedbandits.errors import StaleStoreError

        raise StaleStoreError(
            f"{', '.join(old)}: more has left than this ledger knows, so an old backup was put "
            "back: put the newest store back"
        )


def _refuse_twice(before: Sequence[_Account], new: Sequence[_Account]) -> None:
    """Refuse an account in two files, which would count twice."""
    for one in new:
        for other in before:
            same = one.ledger.samefile(other.ledger) or (
                one.statement.first is not None
                and (one.federation, one.statement.party, one.statement.first)
                == (other.federation, other.statement.party, other.statement.first)
            )
            if same:
                raise ConfigError(
                    f"privacy: {one.ledger} and {other.ledger} have the same account of "
                    f"{one.statement.party!r}, which would count twice; name the newer one alone"
                )


def _statement_table(account: _Account) -> Table:
    """Make a table of a party's budget: spent, left, and the streams of releases."""
    statement, whole = account.statement, account.whole
    table = _pairs(f"{escape(statement.party)}: budget", box=None)
    delta = f"at δ = {statement.delta:g}"
    rows = [
        ("what it protects", statement.claim.unit),
        ("budget", f"ε = {statement.epsilon:.4g} {delta} (μ = {statement.mu:.4g})"),
        ("spent", f"{_cost(statement.spent_mu, statement.delta)}{_not_counted(account)}"),
        (
            "left",
            f"μ = {whole.left_mu:.4g}, which by itself would be "
            f"ε = {whole.left_epsilon:.4g}; squares of μ add up, ε does not",
        ),
        ("charges", f"{statement.charges:,}{_between(statement.first, statement.last)}"),
    ]
    rows += [
        ("by who looks", f"{view.who}: ε = {view.epsilon:.4g} {delta}, of the whole budget")
        for view in statement.claim.views
    ]
    rows += [
        (f"stream {s.name}", f"{s.steps:,} releases, μ = {s.mu:.4g}: {s.description}")
        for s in statement.streams
    ]
    for title, line in rows:
        table.add_row(escape(title), escape(line))
    return table


def _cost(mu: float, delta: float) -> str:
    from fedbandits.privacy import gaussian

    return f"ε = {gaussian.epsilon_of(mu, delta):.4g} at δ = {delta:g} (μ = {mu:.4g})"


def _not_counted(account: _Account) -> str:
    """Describe spending that the ledger does not know of; empty if the ledger is complete."""
    if account.unknown is not None:
        return f" in this file; what left since is not known, as there is no {account.unknown}"
    if (left := account.left) is None:
        return ""
    if left.spent <= account.statement.spent_mu:
        return " in this file; it is an old backup, as other messages have left than it knows of"
    return f" in this file, but {_cost(left.spent, account.statement.delta)} by what has left"


def _totals_table(accounts: Sequence[_Account]) -> Table:
    """Make a table of the totals of accounts: of accounts with the same name, and of all.

    Between machines a ledger belongs to one organisation. Several ledgers are about the same
    records if the organisation takes part in several federations, under any names.
    """
    from fedbandits.privacy.ledger import add_up

    table = _pairs("Together", box=None)
    names = dict.fromkeys(account.statement.party for account in accounts)
    for name in names:
        own = [account for account in accounts if account.statement.party == name]
        if 1 < len(own) < len(accounts):
            federations = ", ".join(repr(account.federation) for account in own)
            total = add_up([account.whole for account in own])
            table.add_row(escape(name), escape(f"in {federations}: {_line(total)}"))
    total = add_up([account.whole for account in accounts])
    table.add_row("in total", escape(f"{total.accounts:,} accounts: {_line(total)}"))
    for group in total.one_noise:
        members = ", ".join(map(repr, group))
        table.add_row("one noise", escape(f"covers {members}: μ of these adds up, not its square"))
    if unknown := sum(account.unknown is not None for account in accounts):
        table.add_row("at least", f"what left since is not known of {unknown:,} of them")
    table.add_row("holds for", "records that are behind all of these accounts; squares of μ add up")
    units = dict.fromkeys(account.statement.claim.unit for account in accounts)
    if len(units) > 1:
        table.add_row("units differ", escape("; ".join(units)))
    return table


def _line(total: Total) -> str:
    at = f"at δ = {total.delta:g}"
    return (
        f"spent ε = {total.spent_epsilon:.4g} {at} (μ = {total.spent_mu:.4g}), of budgets that "
        f"together are ε = {total.epsilon:.4g} (μ = {total.mu:.4g})"
    )


def _between(first: float | None, last: float | None) -> str:
    if first is None or last is None:
        return ""
    days = (datetime.datetime.fromtimestamp(t, datetime.UTC) for t in (first, last))
    return ", from {:%Y-%m-%d %H:%M} to {:%Y-%m-%d %H:%M} UTC".format(*days)
