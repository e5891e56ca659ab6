"""``fedbandits init``."""

from __future__ import annotations

import pathlib
from typing import Annotated, Any

import typer

from fedbandits.cli.options import sources


def _column(option: str, what: str) -> Any:
    """Make an option that names a column of the user's data."""
    return typer.Option(option, metavar="COLUMN", help=f"The column of --data {what}.")


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
    encoding: Annotated[
        str, typer.Option("--encoding", help="Encoding of --data, such as latin-1 or cp1252.")
    ] = "utf-8",
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write a configuration with comments: every key, what it means, and its default.

    It is ready to be run, and done in seconds. The first run of a system takes up to a minute
    longer, since its code is compiled then.
    """
    from fedbandits.errors import ConfigError, OutputExistsError
    from fedbandits.settings.reference.templates import in_shell

    if data is not None:
        from fedbandits.settings.reference.own_data import own_data_template

        text = own_data_template(str(data), path, site, target, person, presets or (), encoding)
    elif site or target or person:
        raise ConfigError("init: --site, --target and --person name columns of --data; give it")
    else:
        from fedbandits.settings.reference.templates import template

        text = template(presets or ["feducb"], str(path))
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise OutputExistsError(
            f"{path}: is there already; choose another PATH, or overwrite it with --force"
        ) from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None
    typer.echo(f"Written: {path}")
    typer.echo(f"Run it:  fedbandits run {in_shell(path)}")
