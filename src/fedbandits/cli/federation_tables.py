"""Tables of federations and parties, as commands print them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from fedbandits.cli.console import folding, table, whole
from fedbandits.cli.help import NOT_RUNNING

if TYPE_CHECKING:
    from fedbandits.deployment.process.inspecting import StoredMessages
    from fedbandits.deployment.process.local_doors import PartyReport
    from fedbandits.deployment.storage.rows import Header
    from fedbandits.settings.federation import Federation
    from fedbandits.settings.federation_file import FederationFile

#: Most numbers of a statistic that are shown.
_MOST_NUMBERS = 4


def status_of(
    federation: Federation | FederationFile, reports: list[PartyReport]
) -> list[RenderableType]:
    """Make a table of parties, and a line for report problem."""
    shown: list[RenderableType] = []
    if federation.noise == "simulated":
        shown.append(
            Text("NOTHING IS PROTECTED: by the terms noise is simulated, it comes from a seed.",
                 style="bold red")
        )  # fmt: skip
    columns = whole("party", "role", "state", justify="left")
    columns += whole(
        "decisions", "open", "rounds", "sent", "taken", "releases", "ε spent", "ε left"
    )
    rows = ((report.party, report.role, _state(report), *_numbers(report)) for report in reports)
    shown.append(table(columns, rows, f"{federation.name}: {federation.preset}"))
    for report in reports:
        problems: dict[str, str] = dict(report.status.get("problems", {}))
        if report.problem:
            problems["door"] = report.problem
        shown += [Text(f"{report.party}: {who}: {what}") for who, what in problems.items()]
        if waits := report.status.get("waits_for"):
            said = "nothing leaves before most peers have said what they saw; missing: "
            shown.append(Text(f"{report.party}: {said}{', '.join(waits)}"))
        shown += [Text(f"{report.party}: {line}") for line in _about_sums(report.status)]
        if (count := report.status.get("others_count_as")) is not None:
            number = _number(count, ",.0f" if count >= 9.95 else ".2g")
            said = f"the records of others tell it as much as {number} of its own"
            shown.append(Text(f"{report.party}: {said}"))
        if report.status.get("exhausted"):
            shown.append(
                Text(f"{report.party}: its budget is spent: it decides, and releases nothing")
            )
    return shown


def _about_sums(status: dict[str, Any]) -> list[str]:
    """Describe the state of a party's secure sums, a line each; none without secure sums."""
    sums: dict[str, Any] = status.get("sums", {})
    lines = []
    if "members_of_last_sum" in sums and sums["sums"]:
        line = f"sum {sums['sums']:,} has {sums['members_of_last_sum']:,} members"
        out = sums.get("left_out")
        lines.append(f"{line}; not in it: {', '.join(out)}" if out else line)
    for helper, agents in sums.get("unbelieved", {}).items():
        lines.append(f"{helper} did not believe {', '.join(agents)}: left out of the last sum")
    lines += _about_totals(sums)
    if late := sums.get("helpers_awaited"):
        lines.append(f"sum {sums['sums'] + 1:,} waits for {', '.join(late)}; all else goes on")
    if gone := sums.get("retired_agents"):
        lines.append(f"{', '.join(gone)}: sends nothing more, and is not waited for")
    if sums.get("retired"):
        lines.append(
            "has retired: what helpers confirm does not fit what it has sent. It decides, and "
            "sends nothing more under these terms"
        )
    return lines


def _about_totals(sums: dict[str, Any]) -> list[str]:
    """Describe different totals that agents received, a line each."""
    lines = [
        f"{helper} left out {', '.join(agents)}: another total than most"
        for helper, agents in sums.get("differing", {}).items()
    ]
    if refusing := sums.get("refused_by"):
        lines.append(
            f"{', '.join(refusing)} opened nothing: more agents differ in totals than may lie"
        )
    by, other = ", ".join(sums.get("told_otherwise_by", [])), sums.get("other_total")
    if by and other:
        lines.append(f"the controller, {by}, gave it another total {other:,} than most others got")
    if by and (disputed := sums.get("disputed_total")):
        lines.append(f"the controller, {by}, gave agents different totals {disputed:,}")
    if missed := sums.get("missed_sums"):
        lines.append(f"was not told of {missed:,} sums that others were in")
    if not sums.get("acts_on_totals", True):
        lines.append("acts on no total until most others confirm a later one")
    return lines


def end_unless_running(reports: Sequence[PartyReport]) -> None:
    """End with the exit code :data:`.NOT_RUNNING` if no party runs."""
    if any(report.running for report in reports):
        return
    if len(reports) == 1:
        verb = "starts, and cannot be asked yet" if reports[0].starting else "does not run"
        typer.echo(f"fedbandits: {reports[0].party} {verb}", err=True)
    else:
        typer.echo("fedbandits: none of these parties runs", err=True)
    raise typer.Exit(NOT_RUNNING)


def _state(report: PartyReport) -> str:
    if not report.running:
        return "starting" if report.starting else "not running"
    if not report.status.get("connected"):
        return "not connected"
    return "ready" if report.status.get("ready") else "waits"


def _numbers(report: PartyReport) -> list[str]:
    status, privacy = report.status, report.privacy
    if not status:
        return [""] * 8
    messages = status.get("messages", {})
    return [
        f"{status.get('decisions', 0):,}",
        f"{status.get('open_decisions', 0):,}",
        f"{status.get('ticks', 0):,}",
        f"{messages.get('sent', 0):,}",
        f"{messages.get('taken', 0):,}",
        _number(privacy.get("releases"), ","),
        _number(privacy.get("epsilon_spent"), ".4g"),
        _number(privacy.get("epsilon_left"), ".4g"),
    ]


def _number(value: Any, how: str) -> str:
    return "–" if value is None else format(value, how)


def headers_of(party: str, headers: list[Header]) -> Table:
    """Make a table of messages."""
    titles = ("at (UTC)", "", "peer", "type", "number", "bytes", "outcome")
    rows = (
        (
            f"{datetime.datetime.fromtimestamp(h.at, datetime.UTC):%Y-%m-%d %H:%M:%S}", h.way,
            h.peer, h.type, str(h.number), f"{h.size:,}", h.outcome,
        )
        for h in headers
    )  # fmt: skip
    return table(whole(*titles, justify="left"), rows, f"{party}: messages, the newest last")


def contents_of(stored: StoredMessages) -> list[Table]:
    """Make a table of the fields of each whole message in the store."""
    tables = []
    for seen in stored.contents:
        kind = "no message" if seen.message is None else type(seen.message).__name__
        columns = [*whole("field", justify="left"), *folding("content")]
        rows = ((name, _shown(value)) for name, value in seen.fields().items())
        title = f"{seen.way}: {kind}, {seen.peer}"
        tables.append(table(columns, rows, title, title_justify="left"))
    return tables


def _shown(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], float):
        numbers = ", ".join(f"{number:.4g}" for number in value[:_MOST_NUMBERS])
        more = ", …" if len(value) > _MOST_NUMBERS else ""
        return f"{len(value)} numbers: {numbers}{more}"
    return str(value)
