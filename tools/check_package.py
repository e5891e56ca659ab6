"""Whether the sdist and the wheel are complete, and whether the wheel works by itself.

``make package`` builds both into ``dist`` and runs this. The sdist must have exactly the files that
git keeps. The wheel must have the package, with all that lies in it, and nothing else. Then the
wheel is installed by name in a new environment, and plays the quickstart there.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence

ROOT = pathlib.Path(__file__).resolve().parents[1]
NAME = "fedbandits"
#: What a builder adds to an sdist.
_ADDED = {"PKG-INFO"}
#: Examples that come along in a wheel; they lie beside the package in a checkout.
_EXAMPLES = "fedbandits/examples/"
_ABOUT = re.compile(rf"{NAME}-[^/]+\.dist-info/(?P<name>.+)\Z")
#: What a wheel must say of itself.
_SAID = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}


def kept(root: pathlib.Path) -> set[str]:
    """All files that git keeps in a checkout."""
    command = ["git", "-C", str(root), "ls-files", "-z"]
    listed = subprocess.run(command, check=True, capture_output=True).stdout  # noqa: S603
    return set(listed.decode().split("\0")) - {""}


def in_sdist(file: pathlib.Path) -> set[str]:
    """Files in an sdist, as they are called in a checkout."""
    with tarfile.open(file) as packed:
        return {each.name.partition("/")[2] for each in packed if each.isfile()}


def in_wheel(file: pathlib.Path) -> set[str]:
    """Files in a wheel."""
    with zipfile.ZipFile(file) as packed:
        return set(packed.namelist())


def wrong_in_sdist(found: Iterable[str], tracked: Iterable[str]) -> Iterator[str]:
    """What an sdist lacks of what git keeps, and what it has beside that."""
    found, tracked = set(found) - _ADDED, set(tracked)
    yield from (f"the sdist lacks {name}" for name in sorted(tracked - found))
    for name in sorted(found - tracked):
        yield f"the sdist has {name}, which git does not keep"


def wrong_in_wheel(
    found: Iterable[str], tracked: Iterable[str], examples: Sequence[str]
) -> Iterator[str]:
    """What a wheel lacks of the package, its examples and its papers, and what it has beside."""
    about = {match["name"] for name in found if (match := _ABOUT.match(name))}
    files = {name for name in found if not _ABOUT.match(name)}
    package = {name.removeprefix("src/") for name in tracked if name.startswith(f"src/{NAME}/")}
    expected = package | {f"{_EXAMPLES}{name}.toml" for name in examples}
    if f"{NAME}/py.typed" not in package:
        yield "git keeps no py.typed: type checkers would not read the package's types"
    yield from (f"the wheel lacks {name}" for name in sorted(expected - files))
    for name in sorted(files - expected):
        yield f"the wheel has {name}, which is no part of it"
    yield from (f"the wheel's dist-info lacks {name}" for name in sorted(_SAID - about))


def play_quickstart(wheel: pathlib.Path, version: str) -> None:
    """Install the wheel by name in a new environment, and play the quickstart with it there.

    Its requirements are collected first. Then nothing but what was collected can be installed: no
    other package of that name.

    Raises
    ------
    subprocess.CalledProcessError
        If a command fails.
    SystemExit
        If it is another version, or the run leaves no report.
    """
    with tempfile.TemporaryDirectory(prefix="fedbandits-") as made:
        folder = pathlib.Path(made)
        packages, python = str(folder / "packages"), str(folder / "env" / "bin" / "python")
        surroundings = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
        for name in ("PYTHONPATH", "NUMBA_CACHE_DIR", "VIRTUAL_ENV"):
            surroundings.pop(name, None)

        def run(*command: str) -> str:
            print("$", *command, flush=True)
            done = subprocess.run(  # noqa: S603
                command, env=surroundings, cwd=folder, check=True, stdout=subprocess.PIPE, text=True
            )
            return done.stdout

        pins = str(ROOT / "constraints.txt")
        run(sys.executable, "-m", "venv", str(folder / "env"))
        pip = (python, "-m", "pip", "--quiet", "--disable-pip-version-check")
        run(*pip, "download", "-c", pins, "--dest", packages, str(wheel.resolve()))
        run(*pip, "install", "--no-index", "--find-links", packages, NAME)
        command = str(folder / "env" / "bin" / NAME)
        told = run(command, "--version").strip()
        if told != f"{NAME} {version}":
            raise SystemExit(f"the wheel says that it is {told}, not {NAME} {version}")
        print(run(command, "run", "quickstart", "--out", "played"))
        if not (folder / "played" / "report.html").is_file():
            raise SystemExit("the quickstart of the wheel left no report")


def main() -> int:
    """Check what lies in a folder; 1 if something is wrong."""
    parser = argparse.ArgumentParser(description="Check an sdist and a wheel.")
    parser.add_argument("dist", type=pathlib.Path, help="the folder that has one of each")
    parser.add_argument("--lists-only", action="store_true", help="do not play the quickstart")
    given = parser.parse_args()
    sys.path.insert(0, str(ROOT / "src"))  # the checkout, whatever is installed
    from fedbandits import __version__
    from fedbandits.settings.toml_files import BUNDLED

    wheel = given.dist / f"{NAME}-{__version__}-py3-none-any.whl"
    sdist = given.dist / f"{NAME}-{__version__}.tar.gz"
    if not (ROOT / ".git").exists():
        raise SystemExit("this is no checkout, so nothing says what belongs to an sdist")
    tracked = kept(ROOT)
    wrong = [
        *wrong_in_sdist(in_sdist(sdist), tracked),
        *wrong_in_wheel(in_wheel(wheel), tracked, BUNDLED),
    ]
    for line in wrong:
        print(line, file=sys.stderr)
    if not wrong:
        print(f"{sdist.name} and {wheel.name} are complete.")
        if not given.lists_only:
            play_quickstart(wheel, __version__)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
