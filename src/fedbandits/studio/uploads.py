"""Tables of the user's own that are dropped on the page: kept beside the runs, never replaced."""

from __future__ import annotations

import pathlib
import re
from typing import Any

from fedbandits.errors import ConfigError, FedbanditsError
from fedbandits.experiments.files import write_whole
from fedbandits.studio.folders import UPLOADS
from fedbandits.studio.processes import Answerer

_SAFE_NAME = re.compile(r"[\w][\w.+-]{0,99}\Z")


async def keep_table(
    folder: pathlib.Path, name: str, data: bytes, answerer: Answerer, **given: Any
) -> object:
    """Keep a file in the folder, and say what is in it.

    A file of another content stays: runs may read it. The new one then gets a number. ``given`` are
    ``roles`` of columns, and ``missing``: texts that stand for missing values.

    Raises
    ------
    ConfigError
        If the name is not allowed.
    RefusedError
        If it is no table; it is not kept.
    """
    if not _SAFE_NAME.match(name):
        raise ConfigError(f"name: given {name!r}, allowed: letters, digits and _ . + -")
    place, is_new = _free(folder / UPLOADS, name, data)
    place.parent.mkdir(exist_ok=True)
    if is_new:
        write_whole(place, data, replaces=False)
    try:
        kept = f"{UPLOADS}/{place.name}"
        return await answerer.ask("table_file", folder=str(folder), name=kept, **given)
    except FedbanditsError:
        if is_new:
            place.unlink(missing_ok=True)
        raise


def _free(folder: pathlib.Path, name: str, data: bytes) -> tuple[pathlib.Path, bool]:
    """Return the place for a file, and whether nothing is there."""
    stem, dot, endings = name.partition(".")
    place, number = folder / name, 1
    while place.exists() or place.is_symlink():
        if place.is_file() and not place.is_symlink() and place.read_bytes() == data:
            return place, False
        number += 1
        place = folder / f"{stem}-{number}{dot}{endings}"
    return place, True
