"""Folders of runs: names that the page may ask for, deletion, and the lock of one studio.

Files of the studio in the folder are for its user alone.
"""

from __future__ import annotations

import html
import os
import pathlib
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from fedbandits.errors import ConfigError, FedbanditsError, OutputBusyError
from fedbandits.experiments.files import locked
from fedbandits.experiments.folder import CONFIG, stored_table

#: The file of facts that no folder holds, and the folder of the user's own data.
FILE, UPLOADS = "studio.sqlite", "uploads"
#: The page that leads a browser to the studio.
_WAY = "open-studio.html"
_WAY_TEXT = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>fedbandits studio</title>
<p><a href="{address}">Open the studio</a></p>
"""
#: Names of the files and folders that a run or an audit writes.
_WRITTEN = {
    CONFIG, "results.nc", "run.json", "answer.json", "summary.csv", "report.html", "plots",
    "audit.json", "audit.html", "advice.json",
}  # fmt: skip


@contextmanager
def kept_folder(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Make a folder of runs, and lock the folder for this studio.

    Raises
    ------
    ConfigError
        If another studio has the folder, or nothing can be written there.
    """
    with ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            folder = folder.resolve()
            held.enter_context(locked(folder / FILE))
        except OutputBusyError:
            raise ConfigError(
                f"{folder}: another studio has it; end that one, or open it"
            ) from None
        except (OSError, FedbanditsError):
            raise ConfigError(
                f"{folder}: cannot be the folder of runs: nothing can be written there; choose "
                "another folder"
            ) from None
        yield folder


@contextmanager
def way_to(address: str, folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Write a page that leads to an address, which this user alone can read; remove it at the end.

    The address has a token, and whoever is on this machine can read a browser's command line.

    Raises
    ------
    ConfigError
        If nothing can be written there.
    """
    way = folder / _WAY
    try:
        way.unlink(missing_ok=True)  # of a studio that was killed
        descriptor = os.open(way, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as stream:
            stream.write(_WAY_TEXT.format(address=html.escape(address)).encode())
    except OSError as error:
        raise ConfigError(f"{way}: cannot be written ({error.strerror or error})") from None
    try:
        yield way
    finally:
        with suppress(OSError):
            way.unlink()


def make_private(file: pathlib.Path) -> None:
    """Let this user alone read a file, which is made empty if there is none."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if os.fstat(descriptor).st_mode & 0o077:
            os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def place_of(folder: pathlib.Path, run: str) -> pathlib.Path:
    """Return the folder of a run, which may not exist yet.

    Each run has one name: the path from the folder of runs, in its shortest form.

    Raises
    ------
    LookupError
        If the folder is outside of the folder of runs, behind a link, or named in another form.
    """
    folder = folder.resolve()
    try:
        path = (folder / run).resolve()
        is_name = path != folder and path.relative_to(folder).as_posix() == run
    except (OSError, ValueError):  # too long, with a zero inside, or outside of the folder
        is_name = False
    if not is_name:
        raise LookupError(run)
    return path


def holds_run(place: pathlib.Path) -> bool:
    """Tell whether a folder has the configuration of a run, even a damaged configuration."""
    try:
        table = stored_table(place)
    except FedbanditsError:
        return True
    except OSError:  # such as a name that is too long
        return False
    return table is not None and "systems" in table


def delete_run(place: pathlib.Path) -> None:
    """Delete the folder of a run and its checkpoints, but no files of others.

    Raises
    ------
    ConfigError
        If the folder has other files too, or cannot be deleted.
    OutputBusyError
        If a run is writing there.
    """
    with locked(place):
        others = sorted(file.name for file in place.iterdir()) if place.is_dir() else []
        others = [name for name in others if name not in _WRITTEN]
        if others:
            raise ConfigError(
                f"{place}: has more in it than a run: {', '.join(others[:4])}; take it out, or "
                "delete the folder yourself"
            )
        for folder in (place, place.parent / f".{place.name}.checkpoint"):
            if folder.exists():
                _delete(folder)


def _delete(folder: pathlib.Path) -> None:
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be deleted ({error.strerror or error})") from None
