"""The page of the command line: what ``--help`` says, of every command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
from markdown import code, fence, plain, table

from fedbandits.cli.main import app


def page() -> str:
    """Every command."""
    program = typer.main.get_command(app)
    # As if it were typed, so that a command reads its help as it does in a terminal.
    context = program.make_context("fedbandits", ["list"], resilient_parsing=True)
    return "\n\n".join(_commands(program, context))


def _commands(group: Any, context: Any) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        inner = type(context)(command, info_name=name, parent=context)
        yield f"{'#' * (2 + inner.command_path.count(' ') - 1)} {inner.command_path}"
        yield from (plain(text) for text in (command.help or "").split("\n\n"))
        yield fence("text", inner.get_usage().removeprefix("Usage: "))
        rows = [_row(option, inner) for option in command.params if not option.hidden]
        if rows:
            yield table(["", "what it does"], rows)
        if command.epilog:
            yield fence("text", command.epilog.removeprefix("Examples:\n\n"))
        if hasattr(command, "list_commands"):
            yield from _commands(command, inner)


def _row(option: Any, context: Any) -> list[str]:
    name, text = option.get_help_record(context)
    return [code(name), plain(text)]
