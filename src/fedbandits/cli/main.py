"""The ``fedbandits`` command."""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import re
import signal
import sys
import warnings
from typing import Annotated, TextIO

import typer

from fedbandits._version import __version__
from fedbandits.cli import federation, party
from fedbandits.cli.audit import audit
from fedbandits.cli.explain import explain, list_everything
from fedbandits.cli.help import BEGIN, DEPLOY, FIND, PLAY, Commands, add, code_of, examples
from fedbandits.cli.init import init, schema
from fedbandits.cli.privacy import privacy
from fedbandits.cli.reproduce import reproduce
from fedbandits.cli.run import run
from fedbandits.cli.runs import compare, report, runs, studio
from fedbandits.errors import CacheWarning, ConfigWarning, FedbanditsError

#: Groups of commands for operators, by name.
_DEPLOYED = {"federation": federation.app, "party": party.app, "samba": party.customer}


def _bare() -> typer.Typer:
    """Make an application without commands."""
    return typer.Typer(
        cls=Commands,
        help="Private federated bandits: simulate it, deploy it, prove it, with the same code.",
        epilog=examples(BEGIN),
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )


app = _bare()


def _version(wanted: bool) -> None:
    if wanted:
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


add(app, run, "run", PLAY)
add(app, privacy, "privacy", PLAY)
add(app, audit, "audit", PLAY)
add(app, report, "report", PLAY)
add(app, runs, "runs", PLAY)
add(app, compare, "compare", PLAY)
add(app, studio, "studio", PLAY)
add(app, reproduce, "reproduce", PLAY)
add(app, list_everything, "list", FIND)
add(app, explain, "explain", FIND)
add(app, init, "init", FIND)
add(app, schema, "schema", FIND)
for name, commands in _DEPLOYED.items():
    app.add_typer(commands, name=name, rich_help_panel=DEPLOY)


def _needed(arguments: list[str]) -> typer.Typer:
    """Return the application; with one group alone if the first argument names the group.

    Typer reads the signatures of all commands, which takes longer than to run a command.
    """
    name = arguments[0] if arguments else ""
    if name not in _DEPLOYED:
        return app
    part = _bare()
    part.callback()(options)
    part.add_typer(_DEPLOYED[name], name=name)
    return part


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print warnings of this package in one line, without the line of code, which helps no user."""
    if issubclass(category, ConfigWarning | CacheWarning):
        typer.echo(f"fedbandits: warning: {message}", err=True)
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line)
        print(text, end="", file=file or sys.stderr)


#: A home folder that a shell does not expand: behind ``=``, or in quotes.
_HOME = re.compile(r"((?:-{0,2}[\w.*-]+=)?)(~(?:/.*)?)", re.DOTALL)


def with_home(argument: str) -> str:
    """Replace ``~`` at the beginning of an argument's value by the home folder."""
    home = _HOME.fullmatch(argument)
    return argument if home is None else home[1] + os.path.expanduser(home[2])


def _run() -> None:
    """Run the command, and flush its output."""
    try:
        arguments = [with_home(argument) for argument in sys.argv[1:]]
        _needed(arguments)(args=arguments)
    finally:
        if sys.stdout is not None:
            sys.stdout.flush()


def _fails(error: OSError | UnicodeEncodeError) -> str:
    """Describe the refusal of the machine."""
    if isinstance(error, UnicodeEncodeError):
        return "a name is not UTF-8: rename it"
    reason = error.strerror or type(error).__name__
    if error.filename is not None:
        named = os.fsdecode(error.filename)
        return f"{named}: {reason}{_owned_by(named) if isinstance(error, PermissionError) else ''}"
    if isinstance(error, FileNotFoundError):
        return "the folder that this was called in is gone: change to another one"
    return f"what is printed cannot be written: {reason}"


def _owned_by(file: str) -> str:
    """Name the owner of the folder of a file, as far as the owner can be seen."""
    for folder in pathlib.Path(file).absolute().parents:
        try:
            owner = folder.owner()
        except PermissionError:
            continue
        except (OSError, KeyError, NotImplementedError):  # a user without a name; no POSIX
            return ""
        return f"; {folder} belongs to {owner}: run this as that user, such as with sudo -u {owner}"
    return ""


def _end_as_others_do() -> None:
    """Let SIGTERM and SIGHUP end the first process of a container, which has no default for them.

    A party sets its own handlers as soon as it starts.
    """
    if os.getpid() != 1:
        return
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda got, _: os._exit(128 + got))


def _forget_output() -> None:
    """Drop the rest of standard output: the interpreter would try to write again at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    """Run the command. An error of this package ends with one line and its exit code, mostly 2.

    A refusal of the machine, such as a full disk under standard output, ends with one line and 1.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ε must not end a run
    warnings.showwarning = _show_warning
    _end_as_others_do()
    try:
        _run()
    except FedbanditsError as error:
        notes: list[str] = getattr(error, "__notes__", [])
        typer.echo("\n".join([f"fedbandits: {error}", *notes]), err=True)
        sys.exit(code_of(error))
    except (OSError, UnicodeEncodeError) as error:
        if not isinstance(error, BrokenPipeError):  # the reader has enough
            typer.echo(f"fedbandits: {_fails(error)}", err=True)
        _forget_output()
        sys.exit(1)
