"""Whether two versions of this project give the same results, to the last bit.

    python benchmarks/same_results.py OLD NEW [--only NAME …] [--results DIR] [--data DIR]

OLD and NEW are checkouts, or revisions of this repository. Both play, through the command line
alone, every file of their ``examples/``, every quick figure of ``fedbandits reproduce``, a small
world of every kind with all presets of the new version, audits of those (in which whole parties
play), and say what every preset claims. A line a case; ends with 1 if anything differs.

Times are not compared. What is kept by ``--results`` is filed under a digest of all that a version
runs (src/ and examples/), for one machine with one set of packages.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import NamedTuple

import tomli_w

from same_files import FILES, differences
from small_worlds import SMALL

ROOT = pathlib.Path(__file__).resolve().parents[1]
FAILED = "FAILED"
#: Printed of what differs in a case.
LINES = 8
#: Runs of an audit, and the rounds for which it plans, by kind of world.
AUDIT_RUNS = 200
AUDITED = {"linear": 600, "procurement": 3000, "clustered": 5000}
#: Settings with which an audit ends early: rewards as they are leave its world's bounds.
UNAUDITED = {"center_rewards"}
#: 10⁹ agent-steps as it stands; a hundredth of its rounds unless --whole.
SHORTENED = {"paper-scale": ("--set", "rounds=100000")}
#: Files of data, below --data, that examples and figures are made from.
EXAMPLE_DATA = {"movielens": "movielens-100k/u.data"}
FIGURE_DATA = {
    "samba": "arm-means/movielens.txt",
    "fclub-2b": "clustered/movielens-1000users-d10.npy",
}


class Case(NamedTuple):
    """What both versions do.

    ``command`` follows ``python -m fedbandits``; ``{tree}`` and ``{toml}`` in it stand for the
    version's folder and for a file with the text of ``toml``.
    """

    name: str
    command: tuple[str, ...]
    toml: str = ""
    note: str = ""
    skipped: str = ""

    @property
    def key(self) -> str:
        """The folder of its results: another command gets another one."""
        text = "\0".join((*self.command, self.toml))
        return f"{self.name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


class Tree:
    """A version: where it lies, and where its results are kept."""

    def __init__(self, folder: pathlib.Path, results: pathlib.Path, jobs: int) -> None:
        self.folder, self._jobs = folder, jobs
        self._environment = os.environ | {"PYTHONPATH": str(folder / "src")}
        self.results = results / _digest(folder)
        self.results.mkdir(parents=True, exist_ok=True)
        found = self._python("-c", "import fedbandits; print(fedbandits.__file__)").stdout
        if not found.startswith(f"{folder}{os.sep}"):
            raise SystemExit(f"{folder}: another fedbandits was imported: {found or 'none'}")

    def listed(self) -> dict[str, list[str]]:
        """Return the names that ``fedbandits list`` prints, by the first word of their heading."""
        names: dict[str, list[str]] = {}
        heading = ""
        for line in self._python("-m", "fedbandits", "list").stdout.splitlines():
            if found := re.match(r"(system|environments|examples|figures)\b", line):
                heading = found[1]
            elif found := re.match(r"  (\S+)(?:$|  +\S)", line):
                names.setdefault(heading, []).append(found[1])
        return names

    def play(self, case: Case) -> tuple[pathlib.Path, str]:
        """The folder with a case's results, and how they came there or why they did not."""
        folder = self.results / case.key
        done = folder / "complete"
        if done.exists():
            return folder, "kept"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "case.toml").write_text(case.toml, encoding="utf-8")
        names = {"tree": self.folder, "toml": folder / "case.toml"}
        command = [part.format_map(names) for part in case.command]
        if command[0] != "privacy":
            command += ["--out", str(folder / "out")]
        if command[0] in ("run", "reproduce"):
            command += ["--jobs", str(self._jobs)]
        began = time.perf_counter()
        ended = self._python("-m", "fedbandits", *command, cwd=folder)
        printed = "claims.md" if command[0] == "privacy" else "stdout.txt"
        (folder / printed).write_text(ended.stdout, encoding="utf-8")
        (folder / "stderr.txt").write_text(ended.stderr, encoding="utf-8")
        if ended.returncode:
            return folder, f"{FAILED}: {(ended.stderr.strip().splitlines() or ['no word'])[-1]}"
        done.touch()
        return folder, f"{time.perf_counter() - began:.0f} s"

    def _python(
        self, *arguments: str, cwd: pathlib.Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603
            [sys.executable, *arguments],
            cwd=cwd or self.results,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )


def _digest(folder: pathlib.Path) -> str:
    digest = hashlib.sha256()
    for path in sorted([*folder.glob("src/**/*"), *folder.glob("examples/*.toml")]):
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc":
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def checkout(name: str, stack: ExitStack) -> pathlib.Path:
    """The folder ``name``, or a checkout of the revision ``name`` for as long as this runs."""
    if (folder := pathlib.Path(name)).is_dir():
        return folder.resolve()
    folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory())).resolve() / "tree"
    _git("worktree", "add", "--detach", str(folder), name)
    stack.callback(_git, "worktree", "remove", "--force", str(folder))
    return folder


def _git(*arguments: str) -> None:
    subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True)  # noqa: S603, S607


def cases(old: Tree, new: Tree, data: pathlib.Path, whole: bool) -> Iterator[Case]:
    """Everything there is to compare, what is quick first."""
    yield Case("claims", ("privacy", "--all", "--markdown"))
    for kind, small in SMALL.items():
        toml = tomli_w.dumps(small.table(kind))
        yield Case(f"small-{kind}", ("run", "{toml}"), toml)
    for kind, rounds in AUDITED.items():
        systems = tuple(entry for entry in SMALL[kind].systems if not UNAUDITED & entry.keys())
        small = SMALL[kind]._replace(rounds=rounds, systems=systems)
        toml = tomli_w.dumps(small.table(kind))
        yield Case(f"audit-{kind}", ("audit", "{toml}", "--runs", str(AUDIT_RUNS)), toml)
    for name in sorted({p.stem for t in (old, new) for p in t.folder.glob("examples/*.toml")}):
        yield _example(name, data, whole)
    for name in dict.fromkeys([*old.listed()["figures"], *new.listed()["figures"]]):
        file = next((f for stem, f in FIGURE_DATA.items() if name.startswith(stem)), None)
        extra = ("--data", str(data / file)) if file else ()
        yield _needing(Case(f"figure-{name}", ("reproduce", name, *extra)), data, file)


def _example(name: str, data: pathlib.Path, whole: bool) -> Case:
    file = EXAMPLE_DATA.get(name)
    extra: tuple[str, ...] = ("--set", f"environment.path={data / file}") if file else ()
    short = () if whole else SHORTENED.get(name, ())
    note = f"shortened, {short[-1]}; --whole for all" if short else ""
    command = ("run", f"{{tree}}/examples/{name}.toml", *extra, *short)
    return _needing(Case(f"example-{name}", command, note=note), data, file)


def _needing(case: Case, data: pathlib.Path, file: str | None) -> Case:
    if file is None or (data / file).exists():
        return case
    return case._replace(skipped=f"{data / file} is not there")


def chosen(found: Sequence[Case], only: Sequence[str]) -> list[Case]:
    """Those whose names begin with one of ``only``."""
    for name in only:
        if not any(case.name.startswith(name) for case in found):
            names = ", ".join(case.name for case in found)
            raise SystemExit(f"--only {name}: no such case; there are {names}")
    return [case for case in found if not only or case.name.startswith(tuple(only))]


def without_case(new: Tree) -> list[str]:
    """Presets that play in no small world, and so would go unnoticed."""
    played = {system["preset"] for small in SMALL.values() for system in small.systems}
    return [name for name in new.listed()["system"] if name not in played]


def compare(case: Case, old: Tree, new: Tree) -> bool:
    """Play a case in both, and say in a line whether they agree; whether they do."""
    if case.skipped:
        print(f"skipped: {case.skipped}")
        return True
    before, how_before = old.play(case)
    if FAILED in how_before:
        print(f"DIFFERENT: did not run (old {how_before})")
        return False
    after, how_after = new.play(case)
    took = f"(old {how_before}, new {how_after}{', ' * bool(case.note)}{case.note})"
    if FAILED in how_after:
        print(f"DIFFERENT: did not run {took}")
        return False
    compared, found = differences(before, after)
    print(f"{'DIFFERENT' if found else 'equal'}: {compared} {took}")
    for line in found[:LINES]:
        print(f"      {line}")
    if len(found) > LINES:
        print(f"      … and {len(found) - LINES} more")
    return not found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0], epilog=f"Compares {FILES}."
    )
    parser.add_argument("old", help="a checkout or a revision")
    parser.add_argument("new", help="another")
    parser.add_argument("--only", nargs="+", default=[], help="cases whose names begin so")
    parser.add_argument("--results", type=pathlib.Path, help="keep results here, and use kept ones")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--jobs", type=int, default=2, help="replicates side by side (2)")
    parser.add_argument("--whole", action="store_true", help="paper-scale.toml in full")
    options = parser.parse_args()
    with ExitStack() as stack:
        results = options.results or stack.enter_context(tempfile.TemporaryDirectory())
        results = pathlib.Path(results).resolve()
        old, new = (
            Tree(checkout(name, stack), results, options.jobs)
            for name in (options.old, options.new)
        )
        data = options.data.resolve()
        todo = chosen(list(cases(old, new, data, options.whole)), options.only)
        different = [f"preset {name}, for which there is no case" for name in without_case(new)]
        for number, case in enumerate(todo, 1):
            print(f"[{number}/{len(todo)}] {case.name}", end=" … ", flush=True)
            if not compare(case, old, new):
                different.append(case.name)
    skipped = sum(bool(case.skipped) for case in todo)
    print(f"{len(todo) - skipped} compared, {skipped} skipped, {len(different)} different")
    if different:
        print("Different: " + ", ".join(different))
        raise SystemExit(1)


if __name__ == "__main__":
    main()
