"""Every table and picture of the pages again, by the commands of ``pages.toml``.

    python benchmarks/figures.py [PAGE …] [--out figures] [--data NAME=FILE] [--long]
                               [--list | --compare]

What a command printed lies in ``figures/COMMAND.txt``, beneath a digest of the sources that it was
played with; a file of numbers or a picture lies in a folder beside it. What was played with the
same sources is not played again: an interrupted call goes on where it was, and pages share. Sources
must be committed first. A command that fails is named at the end, and the others are played.
``--compare`` plays nothing: it shows which numbers of what was played are not on their page. Times
and speeds differ from day to day, and a page rounds or leaves out; all else must be there.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[1]
TABLE = ROOT / "benchmarks" / "pages.toml"
#: What a figure depends on.
SOURCES = ("src", "benchmarks", "examples", "pyproject.toml", "constraints.txt")


@dataclass(frozen=True)
class Figure:
    """One command of a page."""

    page: str
    command: str
    minutes: float
    long: bool = False
    data: str | None = None
    pictures: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What its files are called: the command's words, and a digest that keeps them apart."""
        words = re.sub(r"^(python benchmarks/|fedbandits )", "", self.command)
        spelled = re.sub(r"[^\w.=-]+", "-", words.replace("--out {out}", "")).strip("-")
        return f"{spelled[:60]}-{hashlib.sha256(self.command.encode()).hexdigest()[:6]}"


def figures_of(table: pathlib.Path = TABLE) -> list[Figure]:
    """All commands of a table, in its order."""
    pages = tomllib.loads(table.read_text(encoding="utf-8"))
    return [Figure(page, **run) for page, rest in pages.items() for run in rest["runs"]]


def revision(root: pathlib.Path = ROOT) -> str:
    """The digest of the committed sources; ends with a message where some are not committed."""
    status = ["git", "status", "--porcelain", "--", *SOURCES]
    if subprocess.check_output(status, cwd=root, text=True).strip():  # noqa: S603 - our own
        sys.exit("some sources are not committed; a figure would be of no revision: commit first")
    listing = ["git", "ls-tree", "HEAD", *SOURCES]
    trees = subprocess.check_output(listing, cwd=root)  # noqa: S603
    return hashlib.sha256(trees).hexdigest()[:16]


def is_done(figure: Figure, out: pathlib.Path, sources: str) -> bool:
    """Whether it was played with these sources, to its end."""
    file = out / f"{figure.name}.txt"
    return file.is_file() and file.read_text(encoding="utf-8").startswith(f"# sources {sources}\n")


def play(
    figure: Figure, out: pathlib.Path, sources: str, data: Mapping[str, str], root: pathlib.Path
) -> int:
    """Play a command; what it printed is kept if it ended well. Gives its exit code."""
    files = out / figure.name
    shutil.rmtree(files, ignore_errors=True)
    files.mkdir(parents=True)
    part = out / f"{figure.name}.part"
    began = time.monotonic()
    with part.open("w", encoding="utf-8") as printed:
        printed.write(f"# sources {sources}\n# {figure.command}\n\n")
        printed.flush()
        ended = subprocess.run(  # noqa: S603 - a command of the table
            _words(figure, files, data),
            cwd=root,
            stdout=printed,
            stderr=subprocess.STDOUT,
            env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1"},
            check=False,
        )
        printed.write(f"\n# {(time.monotonic() - began) / 60:.1f} minutes\n")
    if ended.returncode:
        return ended.returncode
    for made, picture in figure.pictures.items():
        shutil.copyfile(files / made, root / picture)
    part.replace(part.with_suffix(".txt"))
    return 0


def not_on_its_page(figure: Figure, out: pathlib.Path, root: pathlib.Path = ROOT) -> list[str]:
    """Return the lines of a played figure with numbers that its page does not have.

    A line stands behind the numbers that are missing. Those of fewer than three digits do not
    count: they stand on any page.
    """
    page = set(_numbers((root / figure.page).read_text(encoding="utf-8")))
    printed = (out / f"{figure.name}.txt").read_text(encoding="utf-8").splitlines()
    lines = (line for line in printed if not line.startswith("# "))
    missing = ((line, [n for n in _numbers(line) if n not in page]) for line in lines)
    return [f"{', '.join(numbers)}  in  {line.strip()}" for line, numbers in missing if numbers]


def _numbers(text: str) -> list[str]:
    """Return the numbers of a text that have three digits or more, without their separators."""
    found = re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?", text)
    return [n.replace(",", "") for n in found if len(re.sub(r"\D", "", n).lstrip("0")) >= 3]


def _words(figure: Figure, files: pathlib.Path, data: Mapping[str, str]) -> list[str]:
    """The command line, with this Python and the command that was installed beside it."""
    given = {"out": str(files), **data}
    first, *rest = (word.format_map(given) for word in shlex.split(figure.command))
    return [sys.executable, *(() if first == "python" else ("-m", first)), *rest]


def _wanted(figures: Sequence[Figure], pages: Sequence[str], long: bool) -> list[Figure]:
    known = {figure.page for figure in figures}
    named = {page if page in known else f"docs/{page.removesuffix('.md')}.md" for page in pages}
    if unknown := sorted(named - known):
        sys.exit(f"no such page: {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    return [f for f in figures if (not named or f.page in named) and (long or not f.long)]


def _lacking(figures: Sequence[Figure], data: Mapping[str, str]) -> Iterator[Figure]:
    return (figure for figure in figures if figure.data is not None and figure.data not in data)


def _pair(text: str) -> tuple[str, str]:
    name, equals, file = text.partition("=")
    if not equals or not pathlib.Path(file).is_file():
        raise argparse.ArgumentTypeError(f"NAME=FILE with a file that is there, not {text}")
    return name, str(pathlib.Path(file).resolve())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="feducb, or docs/feducb.md; all")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "figures")
    parser.add_argument("--data", type=_pair, action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--long", action="store_true", help="also what takes half an hour or more")
    parser.add_argument("--list", action="store_true", help="what there is, and what is done")
    parser.add_argument("--compare", action="store_true", help="what is not on its page")
    given = parser.parse_args(arguments)
    sources, data = revision(), dict(given.data)
    wanted = _wanted(figures_of(), given.pages, given.long)
    left_out = list(_lacking(wanted, data))
    todo = [f for f in wanted if f not in left_out and not is_done(f, given.out, sources)]
    open_ones = list({figure.command: figure for figure in todo}.values())
    if given.list:
        for figure in wanted:
            state = "no data" if figure in left_out else "open" if figure in todo else "done"
            print(f"{state:8s} {figure.minutes:4.0f} min  {figure.page:24s} {figure.command}")
        return 0
    if given.compare:
        for figure in (f for f in wanted if f not in left_out and f not in todo):
            lines = not_on_its_page(figure, given.out)
            print(f"\n{figure.page}: {figure.command}", *(lines or ["all is there"]), sep="\n  ")
        return 0
    failed = []
    for number, figure in enumerate(open_ones, start=1):
        minutes = sum(later.minutes for later in open_ones[number - 1 :])
        print(f"{number} of {len(open_ones)}, about {minutes:.0f} minutes left: {figure.command}")
        if code := play(figure, given.out, sources, data, ROOT):
            failed.append(figure)
            print(f"  ended with {code}: see {given.out / figure.name}.part")
    for figure in left_out:
        print(f"left out, --data {figure.data}=FILE is not given: {figure.command}")
    for figure in failed:
        print(f"failed: {figure.command}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
