"""What may be shown and deleted in the folder of runs, and what may not."""

from __future__ import annotations

import pathlib
import sqlite3

import pytest

from fedbandits.errors import ConfigError, OutputBusyError
from fedbandits.experiments.files import locked
from fedbandits.studio.folders import FILE, kept_folder
from fedbandits.studio.library import Library
from fedbandits.studio.processes import Answerer
from fedbandits.studio.server import serve

RUN = 'name = "a"\n[[systems]]\nlabel = "x"\n'


def library(folder: pathlib.Path) -> Library:
    return Library(folder, False, Answerer(folder))


def run_in(folder: pathlib.Path) -> pathlib.Path:
    """Make what looks like the folder of a run."""
    (folder / "plots").mkdir(parents=True)
    (folder / "config.toml").write_text(RUN)
    return folder


@pytest.mark.parametrize(
    "run", ["./a", "a/", "a/../a", "b/../a", "a\0", "x" * 300, "x/" * 3000, "..", ".", "", "/etc"]
)
def test_a_run_has_one_name(run: str, tmp_path: pathlib.Path) -> None:
    run_in(tmp_path / "a")
    with pytest.raises(LookupError):
        library(tmp_path).place(run)


def test_a_run_that_is_played_cannot_be_deleted_by_another_name(tmp_path: pathlib.Path) -> None:
    found = library(tmp_path)
    run = found.add(RUN, "a", alone=False)
    run_in(tmp_path / run)
    for name in (run, f"./{run}", f"{run}/"):
        with pytest.raises((ConfigError, LookupError)):
            found.remove(name)
    assert (tmp_path / run / "config.toml").is_file()


def test_a_folder_that_is_no_run_is_neither_shown_nor_deleted(tmp_path: pathlib.Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.toml").write_text("a = 1\n")
    run_in(tmp_path / "run")
    (tmp_path / "link").symlink_to("run")
    for name in ("mine", "link"):
        with pytest.raises(LookupError):
            library(tmp_path).remove(name)
    assert (tmp_path / "mine" / "config.toml").is_file()
    assert (tmp_path / "run" / "config.toml").is_file()


@pytest.mark.parametrize("other", ["thesis.txt", "inner/config.toml"])
def test_what_a_run_has_not_made_is_not_deleted(other: str, tmp_path: pathlib.Path) -> None:
    place = run_in(tmp_path / "a")
    (place / other).parent.mkdir(exist_ok=True)
    (place / other).write_text(RUN)
    with pytest.raises(ConfigError, match="has more in it than a run"):
        library(tmp_path).remove("a")
    (place / other).unlink()
    if other.startswith("inner"):
        (place / "inner").rmdir()
    library(tmp_path).remove("a")
    assert not place.exists()


def test_a_run_that_another_process_writes_is_not_deleted(tmp_path: pathlib.Path) -> None:
    place = run_in(tmp_path / "a")
    with locked(place), pytest.raises(OutputBusyError):
        library(tmp_path).remove("a")
    assert place.exists()


def test_a_run_does_not_take_the_folder_of_data(tmp_path: pathlib.Path) -> None:
    assert library(tmp_path).add(RUN, "uploads", alone=False) == "uploads-2"


def test_a_folder_has_one_studio(tmp_path: pathlib.Path) -> None:
    with kept_folder(tmp_path), pytest.raises(ConfigError, match="another studio has it"):
        serve(tmp_path, 0, False, print)
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="nothing can be written there"):
        serve(tmp_path / "file", 0, False, print)


@pytest.mark.parametrize("kept", ["no JSON", "{}", "7"])
def test_a_file_of_another_version_is_refused_in_words(kept: str, tmp_path: pathlib.Path) -> None:
    library(tmp_path).close()
    with sqlite3.connect(tmp_path / FILE) as database:
        database.execute("INSERT INTO runs VALUES ('a', ?)", (kept,))
    with pytest.raises(ConfigError, match=r"studio\.sqlite: is damaged.*move it away"):
        library(tmp_path)


def test_a_damaged_file_is_refused_in_words(tmp_path: pathlib.Path) -> None:
    (tmp_path / FILE).write_bytes(b"no database at all" * 100)
    with pytest.raises(ConfigError, match=r"studio\.sqlite: is damaged"):
        library(tmp_path)


def test_a_full_disk_does_not_end_what_is_played(tmp_path: pathlib.Path) -> None:
    found = library(tmp_path)
    found._database.execute("PRAGMA query_only = 1")
    with pytest.warns(UserWarning, match="cannot be written"):
        run = found.add(RUN, "a", alone=False)
    assert found.feeds[run].parts["run"]["status"] == "queued"
