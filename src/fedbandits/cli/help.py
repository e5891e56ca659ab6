"""Pages of help: paragraphs that flow, examples for every command, and the exit codes.

Each kind of error that a supervisor treats differently has an exit code.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup

from fedbandits import errors
from fedbandits.errors import FedbanditsError

#: Purposes of commands, in the order in which ``fedbandits --help`` shows them.
PLAY, FIND, DEPLOY = "Play and measure", "Find out", "Between machines"

#: Example lines of every command, each with its effect.
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "run": (
        ("fedbandits run quickstart", "a bundled example"),
        ("fedbandits run mine.toml --set rounds=1000", "with one key changed"),
        ("fedbandits run mine.toml --set systems.*.epsilon=2", "for all systems"),
        ("fedbandits run mine.toml --resume", "go on after a stop"),
    ),
    "privacy": (
        ("fedbandits privacy shops", "the claims of an example"),
        ("fedbandits privacy mine.toml", "those of your own file"),
        ("fedbandits privacy --all", "what every preset claims"),
        ("fedbandits privacy --ledger north.db", "what a party has really spent"),
    ),
    "audit": (
        ("fedbandits audit mine.toml", "attack all that is claimed"),
        ("fedbandits audit mine.toml --runs 10000", "faster, and less sharp"),
        ("fedbandits audit mine.toml --strict", "exit 1 unless all claims hold"),
    ),
    "report": (
        ("fedbandits report runs/quickstart", "report and plots again"),
        ("fedbandits report runs/mine --plot-size 4x3", "plots for a paper"),
    ),
    "runs": (
        ("fedbandits runs", "all that was written to runs/"),
        ("fedbandits runs studies/june", "another folder"),
    ),
    "compare": (("fedbandits compare runs/mine runs/other", "what differs, and by how much"),),
    "studio": (
        ("fedbandits studio", "runs/ in the browser"),
        ("fedbandits studio clinics", "the parties in a folder"),
        ("fedbandits studio --no-browser --port 0", "only print the address"),
    ),
    "reproduce": (
        ("fedbandits reproduce feducb-2", "quick: minutes"),
        ("fedbandits reproduce pfcb-3 --full --jobs 8", "at the paper's scale"),
        ("fedbandits list feducb-2", "what it shows, what it takes"),
    ),
    "list": (
        ("fedbandits list", "all that there is, in short"),
        ("fedbandits list feducb-published", "a preset: its keys, its claim"),
        ("fedbandits list linear", "an environment: its keys"),
        ("fedbandits list growing", "a part of variants"),
    ),
    "explain": (
        ("fedbandits explain epsilon", "all that is called so"),
        ("fedbandits explain environment.agents", "a key, with its path"),
        ("fedbandits explain schedule.factor", "a key of a part"),
        ("fedbandits explain epsilon_accounted", "a column of summary.csv"),
        ("fedbandits explain tightness", "a term of an audit"),
        ("fedbandits explain 14", "an exit code"),
    ),
    "init": (
        ("fedbandits init", "writes experiment.toml"),
        ("fedbandits init --from pfcb buyers.toml", "with another preset"),
        ("fedbandits init --from feducb --from linucb-alone", "with two, to compare"),
        ("fedbandits init --from quickstart mine.toml", "a copy of an example"),
    ),
    "schema": (("fedbandits schema > experiment.schema.json", "for an editor that knows TOML"),),
}
#: Example lines below the help of all commands.
BEGIN = (
    ("fedbandits run quickstart", "see it work: results, plots, a report"),
    ("fedbandits init mine.toml", "a file of your own, every key explained"),
    ("fedbandits list", "what can be played, and where"),
    ("fedbandits explain epsilon", "what a word means"),
    ("fedbandits COMMAND --help", "more about a command"),
)


def examples(lines: tuple[tuple[str, str], ...]) -> str:
    """Write commands and their effects as two columns, for the end of a page of help."""
    wide = max(len(command) for command, _ in lines)
    shown = [f"  {command.ljust(wide)}  {what}" for command, what in lines]
    return "\n".join(["Examples:", "", *shown])


class Commands(TyperGroup):
    """A group of commands, which formats the help of a command on request."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Find the command ``cmd_name``."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            _make_readable(command)
        return command


def add(app: typer.Typer, command: Any, name: str, panel: str) -> None:
    """Add a command with its examples."""
    app.command(name, epilog=examples(EXAMPLES[name]), rich_help_panel=panel)(command)


def _make_readable(command: Any) -> None:
    """Join the lines of each paragraph, and escape brackets, which would count as markup.

    The same is done for all commands of a group. A second call changes nothing.
    """
    if command.help:
        paragraphs = command.help.split("\n\n")
        command.help = "\n\n".join(_shown(" ".join(p.split())) for p in paragraphs)
    for option in command.params:
        if getattr(option, "help", None):
            option.help = _shown(option.help)
    for inner in getattr(command, "commands", {}).values():
        _make_readable(inner)


def _shown(text: str) -> str:
    return text.replace("\\[", "[").replace("[", "\\[")


class Ending(NamedTuple):
    """An exit code, with its error and its meaning."""

    code: int
    error: type[FedbanditsError]
    means: str


#: Exit codes by error: the first match counts. All other errors of this package exit with 2.
ENDINGS = (
    Ending(10, errors.IdentityError, "keys, certificate or admission missing, expired or revoked"),
    Ending(11, errors.StoreBusyError, "another process runs this party"),
    Ending(12, errors.StoreMismatchError, "the store is another party's, or of other terms"),
    Ending(12, errors.LedgerMismatchError, "the store is another federation's"),
    Ending(13, errors.StoreVersionError, "the store was written by another version"),
    Ending(13, errors.LedgerVersionError, "the store was written by another version"),
    Ending(14, errors.StaleStoreError, "an old backup was put back: this party must not go on"),
    Ending(15, errors.LedgerFileError, "the store is a copy; see party run --moved"),
    Ending(16, errors.SnapshotError, "the saved state is damaged, or another party's"),
    Ending(17, errors.StoreFullError, "the disk is full"),
    Ending(18, errors.StoreError, "the store cannot be used"),
    Ending(19, errors.TransportError, "the broker cannot be reached, or does not start"),
    Ending(20, errors.DeploymentError, "the party cannot run like this: its port is in use, …"),
)
#: Exit code of ``party status`` and ``federation status`` if no party runs, as for systemd.
NOT_RUNNING = 3
#: Exit codes after which a restart is of no use: an operator must act first.
FINAL = frozenset({2, 10, 12, 13, 14, 15, 16})


def code_of(error: FedbanditsError) -> int:
    """Return the exit code of an error."""
    return next((ending.code for ending in ENDINGS if isinstance(error, ending.error)), 2)


def meanings() -> dict[int, str]:
    """Return the meaning of every exit code."""
    codes = {
        0: "ended as told",
        1: "the machine refuses: a full disk, a folder gone",
        2: "a wrong configuration or argument",
        NOT_RUNNING: "of party status and federation status: no party runs",
    }
    for ending in ENDINGS:
        codes.setdefault(ending.code, ending.means)
    return codes


def exit_code_lines() -> str:
    """List the exit codes, for help."""
    lines = [f"{code}: {text}" for code, text in meanings().items()]
    lines.append("130, 143: ended at once, by a second signal")
    return "Exit codes:\n\n\b\n" + "\n".join(lines)
