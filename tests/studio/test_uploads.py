"""Files of the user's own are kept, and never lost to another of the same name."""

from __future__ import annotations

import asyncio
import pathlib

import pytest

from fedbandits.studio.processes import Answerer, RefusedError
from fedbandits.studio.routes import keep_table


class Answers(Answerer):
    """Takes every file but those with "bad" in them."""

    async def ask(self, question: str, /, **given: str) -> str:
        data = (self._folder / given["name"]).read_bytes()
        if b"bad" in data:
            raise RefusedError({"message": "no table"})
        return given["name"]


def keep(folder: pathlib.Path, name: str, data: bytes) -> object:
    return asyncio.run(keep_table(folder, name, data, Answers(folder)))


def test_a_file_that_runs_may_read_is_not_replaced(tmp_path: pathlib.Path) -> None:
    assert keep(tmp_path, "a.csv.gz", b"1") == "uploads/a.csv.gz"
    assert keep(tmp_path, "a.csv.gz", b"2") == "uploads/a-2.csv.gz"
    assert keep(tmp_path, "a.csv.gz", b"1") == "uploads/a.csv.gz"
    with pytest.raises(RefusedError):
        keep(tmp_path, "a.csv.gz", b"bad")
    assert (tmp_path / "uploads").stat().st_mode & 0o777 == 0o700
    kept = {each.name: each.read_bytes() for each in (tmp_path / "uploads").iterdir()}
    assert kept == {"a.csv.gz": b"1", "a-2.csv.gz": b"2"}


def test_a_link_is_not_written_through(tmp_path: pathlib.Path) -> None:
    (tmp_path / "uploads").mkdir()
    (tmp_path / "uploads" / "a.csv").symlink_to(tmp_path / "elsewhere.csv")
    keep(tmp_path, "a.csv", b"1")
    assert not (tmp_path / "elsewhere.csv").exists()
