"""Folders of runs: which may be shown, which may be deleted, and the one studio that has them."""

from __future__ import annotations

import pathlib
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from fedbandits.errors import ConfigError, FedbanditsError, OutputBusyError
from fedbandits.experiments.files import locked
from fedbandits.experiments.folder import CONFIG, stored_table

#: The file of what folders do not say, and the folder of the user's own data.
FILE, UPLOADS = "studio.sqlite", "uploads"
#: What a run or an audit writes into its folder.
_OWN = {
    CONFIG, "results.nc", "run.json", "answer.json", "summary.csv", "report.html", "plots",
    "audit.json", "audit.html", "advice.json",
}  # fmt: skip


@contextmanager
def kept_folder(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Make a folder of runs, and keep it for this studio.

    Raises
    ------
    ConfigError
        If another studio has it, or nothing can be written there.
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


def place_of(folder: pathlib.Path, run: str) -> pathlib.Path:
    """Return the folder of a run, which may not be there yet.

    There is one way to write it: what is known of a run is known by its name.

    Raises
    ------
    LookupError
        If it is outside of the folder of runs, reached over a link, or written in another way.
    """
    folder = folder.resolve()
    try:
        path = (folder / run).resolve()
        is_one = path != folder and path.relative_to(folder).as_posix() == run
    except (OSError, ValueError):  # too long, with a zero in it, or outside
        is_one = False
    if not is_one:
        raise LookupError(run)
    return path


def holds_run(place: pathlib.Path) -> bool:
    """Tell whether a folder has the configuration of a run, which may be damaged."""
    try:
        table = stored_table(place)
    except FedbanditsError:
        return True
    except OSError:  # such as a name that is too long
        return False
    return table is not None and "systems" in table


def delete_run(place: pathlib.Path) -> None:
    """Delete the folder of a run and its checkpoints; nothing that a run has not made.

    Raises
    ------
    ConfigError
        If the folder has something else in it, or cannot be deleted.
    OutputBusyError
        If a run is being written there.
    """
    with locked(place):
        others = sorted(each.name for each in place.iterdir()) if place.is_dir() else []
        others = [name for name in others if name not in _OWN]
        if others:
            raise ConfigError(
                f"{place}: has more in it than a run: {', '.join(others[:4])}; take it out, or "
                "delete the folder yourself"
            )
        for each in (place, place.parent / f".{place.name}.checkpoint"):
            if each.exists():
                _delete(each)


def _delete(folder: pathlib.Path) -> None:
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be deleted ({error.strerror or error})") from None
