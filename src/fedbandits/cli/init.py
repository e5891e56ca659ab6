"""``fedbandits init`` and ``fedbandits schema``: files of experiments, and their JSON schema."""

from __future__ import annotations

import pathlib
from typing import Annotated, Any

import typer

from fedbandits.cli.options import sources


def _column(option: str, what: str) -> Any:
    """Make an option that names a column of the user's data."""
    return typer.Option(option, metavar="COLUMN", help=f"The column of --data {what}.")


def _sign(option: str, what: str) -> Any:
    """Make an option for a sign in the file of the user's data."""
    return typer.Option(option, metavar="SIGN", help=what)


def init(
    path: Annotated[pathlib.Path, typer.Argument(metavar="PATH", help="The file.")] = pathlib.Path(
        "experiment.toml"
    ),
    presets: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="PRESET",
            help="A preset, or a bundled example to copy; fedbandits list names them. May be "
            "repeated, for presets that play in one environment.  [default: feducb]",
            autocompletion=sources,
        ),
    ] = None,
    data: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--data",
            metavar="FILE",
            help="Your own data: a CSV or Parquet file, for which the configuration is written.",
        ),
    ] = None,
    site: Annotated[str | None, _column("--site", "that names the party of a row")] = None,
    target: Annotated[str | None, _column("--target", "to be predicted")] = None,
    person: Annotated[str | None, _column("--person", "that names the person")] = None,
    action: Annotated[str | None, _column("--action", "of a log with what was done")] = None,
    reward: Annotated[str | None, _column("--reward", "of a log with its reward")] = None,
    propensity: Annotated[
        str | None,
        _column("--propensity", "of a log with the probability of what was done, or a number"),
    ] = None,
    encoding: Annotated[
        str, typer.Option("--encoding", help="Encoding of --data, such as latin-1 or cp1252.")
    ] = "utf-8",
    separator: Annotated[
        str, _sign("--separator", "What separates cells of --data: , ; | or tab.")
    ] = "",
    decimal: Annotated[str, _sign("--decimal", "Decimal sign of --data: . or ,")] = "",
    thousands: Annotated[
        str, _sign("--thousands", "Sign between thousands in --data: , . ' or a blank.")
    ] = "",
    missing: Annotated[
        list[str] | None,
        typer.Option(
            "--missing",
            metavar="TEXT",
            help="What stands for a missing value in --data, such as -999. May be repeated.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write a configuration with comments: every key, its meaning, and its default.

    The configuration is ready to run, in seconds. The first run of a system takes up to a minute
    longer, since its code is compiled then.
    """
    from fedbandits._schema import is_text
    from fedbandits.errors import ConfigError, OutputExistsError
    from fedbandits.settings.reference.templates import in_shell

    for given in (path, data):
        if not is_text(str(given)):
            raise ConfigError(
                f"init: {given}: the name is not UTF-8; a configuration cannot hold it"
            )
    columns = {"site": site, "target": target, "person": person}
    columns |= {"action": action, "reward": reward, "propensity": propensity}
    remarks: tuple[str, ...] = ()
    if data is not None:
        from fedbandits.environments.tables.formats import Reading
        from fedbandits.settings.reference.own_data import own_data_template

        separator = {"tab": "\t", "\\t": "\t"}.get(separator, separator)
        reading = Reading(encoding, separator, decimal, thousands, tuple(missing or ()) or None)
        text, remarks, _ = own_data_template(str(data), path, presets or (), reading, **columns)
    elif any(columns.values()):
        named = ", ".join(f"--{role}" for role, name in columns.items() if name)
        raise ConfigError(f"init: {named} names a column of --data; give it")
    else:
        from fedbandits.settings.reference.templates import template

        text = template(presets or ["feducb"], str(path))
    from fedbandits.experiments.files import write_whole

    try:
        write_whole(path, text.encode(), force)
    except FileExistsError:
        raise OutputExistsError(
            f"{path}: is there already; choose another PATH, or overwrite it with --force"
        ) from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}; nothing changed") from None
    for line in remarks:
        typer.echo(line)
    typer.echo(f"Written: {path}")
    typer.echo(f"Run it:  fedbandits run {in_shell(path)}")


def schema() -> None:
    """Print the JSON schema of an experiment's file: editors then complete keys and mark errors.

    Save it beside your files, and name it in their first line: #:schema experiment.schema.json
    """
    import json

    from fedbandits.settings.reference.json_schema import json_schema

    typer.echo(json.dumps(json_schema(), indent=1, ensure_ascii=False))
