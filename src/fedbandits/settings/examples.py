"""Experiments that come with this package, found by name: ``fedbandits run quickstart``."""

from __future__ import annotations

import functools
import itertools
import pathlib
import re
from typing import NamedTuple

from fedbandits._suggest import did_you_mean
from fedbandits.errors import ConfigError

_ROOM = pathlib.Path(__file__).parents[1]
#: In a wheel the files lie in the package. In a checkout they lie beside ``src``.
_FOLDERS = (_ROOM / "examples", _ROOM.parents[1] / "examples")
#: Those that need no data from elsewhere; pyproject.toml puts the same ones into the wheel.
BUNDLED = ("quickstart", "linear", "procurement", "samba", "shops", "paper-scale")
_BARE = re.compile(r"[\w-]+\Z")


class Example(NamedTuple):
    """An experiment that comes with this package."""

    name: str
    path: pathlib.Path
    shows: str  #: The first paragraph of comments in the file, a sentence or two.
    takes: str  #: Its duration: the paragraph that begins with "Takes".

    @property
    def text(self) -> str:
        """Content of the file."""
        return self.path.read_text(encoding="utf-8")


@functools.cache
def examples() -> dict[str, Example]:
    """Return every bundled example that is there, by name."""
    found = {}
    for name in BUNDLED:
        paths = [folder / f"{name}.toml" for folder in _FOLDERS]
        path = next((path for path in paths if path.is_file()), None)
        if path is not None:
            found[name] = _described(name, path)
    return found


def experiment_file(given: str | pathlib.Path) -> pathlib.Path:
    """Return the file of a path, else the file of the bundled example of that name.

    Raises ConfigError if it is a bare name, without a point or a slash, and there is neither.
    """
    path = pathlib.Path(given).expanduser()
    name = str(given)
    if not _BARE.match(name) or path.exists():
        return path
    if name in examples():
        return examples()[name].path
    from fedbandits.systems.registry import find_preset  # a shell that completes needs none of it

    if find_preset(name) is not None:
        raise ConfigError(
            f"{name}: no such file; it is a preset: `fedbandits init --from {name}` writes a file "
            "with it, ready to run"
        )
    raise ConfigError(
        f"{name}: no such file, and no bundled example of that name; "
        f"{did_you_mean(name, examples())}examples: {', '.join(examples()) or 'none'}"
    )


def _described(name: str, path: pathlib.Path) -> Example:
    """Read an example's description from the comments that its file begins with."""
    comments = itertools.takewhile(
        lambda line: line.startswith("#"), path.read_text(encoding="utf-8").splitlines()
    )
    text = "\n".join(line.removeprefix("#").strip() for line in comments)
    shows, *further = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
    takes = next((p.removeprefix("Takes ") for p in further if p.startswith("Takes ")), "")
    return Example(name, path, shows, takes.rstrip("."))
