"""Libraries of the page are as their authors released them, and named with their licences."""

from __future__ import annotations

import gzip
import hashlib
import pathlib
import re
from typing import NamedTuple

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGE = ROOT / "src" / "fedbandits" / "studio" / "page"
VENDOR = PAGE / "vendor"
#: Bytes that the page may have, compressed, as browsers get them.
MOST_BYTES = 150_000

_ROW = re.compile(
    r"\| `(?P<file>[^`]+)` \| (?P<package>\S+) \| (?P<version>[\d.]+) \| (?P<licence>[\w.-]+) "
    r"\| `[^`]+` \| `(?P<digest>[0-9a-f]{64})` \|"
)


class Library(NamedTuple):
    """A row of the table in ``vendor/README.md``."""

    file: str
    package: str
    version: str
    licence: str
    digest: str


README = (VENDOR / "README.md").read_text()
LIBRARIES = [Library(**row.groupdict()) for row in _ROW.finditer(README)]


def test_every_file_has_a_row_and_every_row_a_file() -> None:
    files = {path.name for path in VENDOR.iterdir() if path.suffix not in (".md", ".txt")}
    assert files == {library.file for library in LIBRARIES}


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.file)
def test_a_file_is_what_was_released(library: Library) -> None:
    assert hashlib.sha256((VENDOR / library.file).read_bytes()).hexdigest() == library.digest


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.file)
def test_a_library_is_named_in_the_notice(library: Library) -> None:
    assert f"{library.package.lower()} {library.version}" in (ROOT / "NOTICE").read_text().lower()


def test_every_licence_is_there() -> None:
    there = {path.name for path in VENDOR.glob("LICENSE-*.txt")}
    assert there == set(re.findall(r"LICENSE-[\w-]+\.txt", README))
    assert there == set(re.findall(r"LICENSE-[\w-]+\.txt", (ROOT / "NOTICE").read_text()))


def test_modules_are_named_by_the_import_map_alone() -> None:
    page = (PAGE / "index.html").read_text()
    for path in PAGE.glob("*.js"):
        for name in re.findall(r'^import .*? from "([^"]+)";', path.read_text(), re.MULTILINE):
            assert name.startswith("./") or f'"{name}":' in page, (path.name, name)
            assert not name.startswith("./") or (PAGE / name).is_file(), (path.name, name)


def test_the_page_is_small() -> None:
    files = [path for path in PAGE.rglob("*") if path.suffix in (".html", ".js", ".mjs", ".css")]
    assert sum(len(gzip.compress(path.read_bytes(), 9)) for path in files) <= MOST_BYTES


def test_every_module_is_short() -> None:
    for path in PAGE.glob("*.js"):
        assert len(path.read_text().splitlines()) < 300, path.name


def test_nothing_of_the_page_comes_from_elsewhere() -> None:
    for path in (*PAGE.glob("*.js"), *PAGE.glob("*.css"), PAGE / "index.html"):
        text = path.read_text()
        assert not re.search(r"https?://|innerHTML|\beval\b|new Function|\bstyle=", text), path.name
