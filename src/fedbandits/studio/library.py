"""Runs of the page: finished runs in the folder, waiting runs, and the run that is played.

The folder of a run has its files. A SQLite file beside the folders has the rest: the queue, the
text and the log of each run, and the reason of a failure. So a restarted server shows the same
runs. A :class:`Feed` sends changes to browsers.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import pathlib
import sqlite3
import time
import tomllib
import warnings
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from fedbandits.errors import ConfigError
from fedbandits.experiments.folder import CONFIG
from fedbandits.settings.toml_files import parse_toml
from fedbandits.studio.folders import FILE, UPLOADS, delete_run, holds_run, make_private, place_of
from fedbandits.studio.processes import Answerer, Worker

#: Seconds between two messages to one browser, at least.
_PACE = 0.1


class Feed:
    """A table of named parts, with a version that each change raises.

    Items of a list, such as curves, are kept one by one with :meth:`put`, each with the version of
    its last change.
    """

    def __init__(self, **parts: Any) -> None:
        self.parts: dict[str, Any] = parts
        self.version = 1
        self.closed = False
        self._items: dict[str, tuple[int, Any]] = {}
        self._changed = asyncio.Event()

    def update(self, **parts: Any) -> None:
        """Change some parts."""
        self.parts |= parts
        self._note()

    def put(self, name: str, item: Any) -> None:
        """Change one item of the list of items."""
        self._items[name] = (self.version + 1, item)
        self._note()

    def close(self, **parts: Any) -> None:
        """Change some parts for the last time."""
        self.closed = True
        self.update(**parts)

    def items(self, since: int = 0) -> list[Any]:
        """Return the items that have changed after the version ``since``."""
        return [item for version, item in self._items.values() if version > since]

    def _note(self) -> None:
        self.version += 1
        self._changed.set()
        self._changed = asyncio.Event()

    async def stream(self, since: int, items: str) -> AsyncIterator[str]:
        """Yield server-sent events, at most ten a second, until the feed is closed.

        Parameters
        ----------
        since
            The last version that the browser has; only items with newer changes are sent.
        items
            The name under which items are sent.
        """
        if since > self.version:  # a version of an earlier server
            since = 0
        while True:
            changed, version, closed = self._changed, self.version, self.closed
            table = {"version": version, **self.parts, items: self.items(since)}
            yield f"id: {version}\ndata: {json.dumps(table, allow_nan=False)}\n\n"
            if closed:
                return
            since = version
            await asyncio.gather(changed.wait(), asyncio.sleep(_PACE))


_TABLE = "CREATE TABLE IF NOT EXISTS runs (id TEXT PRIMARY KEY, kept TEXT NOT NULL)"
#: Facts that the SQLite file has of every run.
_PARTS = {
    "toml", "name", "alone", "status", "why", "began", "elapsed", "done", "total", "log", "size",
}  # fmt: skip
#: Most lines of a log.
_MOST_LINES = 500


class Library:
    """All runs in a folder.

    Parameters
    ----------
    folder
        The folder.
    allow_modules
        Whether a configuration may name modules, whose code is run.
    answerer
        The process that reads folders.
    """

    def __init__(self, folder: pathlib.Path, allow_modules: bool, answerer: Answerer) -> None:
        self._folder, self._allow_modules, self._answerer = folder, allow_modules, answerer
        with contextlib.suppress(OSError):  # where it cannot be opened either, that is told
            make_private(folder / FILE)
        self._database = sqlite3.connect(folder / FILE, isolation_level=None)
        #: Facts of each run that its folder does not have, by the name of the run.
        self._kept = self._stored()
        for run, kept in self._kept.items():
            if kept["status"] in ("queued", "running"):  # the server was killed
                self._note(run, status="interrupted")
        self.feeds: dict[str, Feed] = {}
        self._queue: asyncio.Queue[tuple[str, bool]] = asyncio.Queue()
        self._worker: tuple[str, Worker] | None = None

    def _stored(self) -> dict[str, dict[str, Any]]:
        """Read the SQLite file; raises ConfigError if no studio of this version wrote it."""
        try:
            self._database.execute(_TABLE)
            rows = self._database.execute("SELECT id, kept FROM runs")
            runs = {run: json.loads(kept) for run, kept in rows}
            whole = all(kept.keys() >= _PARTS for kept in runs.values())
        except (sqlite3.DatabaseError, ValueError, AttributeError):
            whole = False
        if not whole:
            self.close()
            raise ConfigError(
                f"{self._folder / FILE}: is damaged, or of another version; move it away: runs "
                "stay, and only logs and those that wait are forgotten"
            )
        return runs

    def close(self) -> None:
        """Close the SQLite file."""
        self._database.close()

    def _known(self, run: str) -> dict[str, Any]:
        return self._kept.get(run, {})

    def _note(self, run: str, **parts: Any) -> None:
        self._kept[run] = self._known(run) | parts
        row = run, json.dumps(self._kept[run])
        self._store("INSERT OR REPLACE INTO runs VALUES (?, ?)", row)

    def _store(self, change: str, row: tuple[str, ...]) -> None:
        """Write a change; on a full disk the studio goes on, and its end loses the change."""
        try:
            self._database.execute(change, row)
        except sqlite3.OperationalError as error:
            warnings.warn(f"{self._folder / FILE}: cannot be written ({error})", stacklevel=2)

    def _take(
        self, run: str, toml: str, name: str, alone: bool, epsilon: float | None = None
    ) -> None:
        """Keep a new run in the queue."""
        self._note(
            run, toml=toml, name=name, alone=alone, status="queued", why="", began=_now(),
            elapsed=None, done=0, total=0, log=[],
            size=_size(toml) | {"epsilon": epsilon},
        )  # fmt: skip

    def place(self, run: str) -> pathlib.Path:
        """Return the folder of a run.

        Raises
        ------
        LookupError
            If no run has the name.
        """
        path = place_of(self._folder, run)
        if not self._known(run) and not holds_run(path):
            raise LookupError(run)
        return path

    async def every(self) -> list[dict[str, Any]]:
        """List all runs, the newest first."""
        stored = await self._answerer.ask("runs", folder=str(self._folder))
        facts = {run["id"]: run for run in stored}
        for name in self._kept:
            facts.setdefault(name, {"id": name})
        runs = [self._summary(name, run) for name, run in facts.items()]
        return sorted(runs, key=lambda run: run["began"] or "", reverse=True)

    def _summary(self, run: str, stored: dict[str, Any]) -> dict[str, Any]:
        """Join the facts that a folder has ``stored`` of its run with those of the SQLite file."""
        usual = {
            "name": run, "status": "interrupted", "systems": [], "rounds": 0, "replicates": 0,
            "headline": "", "epsilon": None, "elapsed": None, "done": 0, "total": 0, "why": "",
            "began": None,
        }  # fmt: skip
        known = self._known(run)
        kept = {name: known[name] for name in ("began", "elapsed", "done", "total") if known}
        usual |= known["size"] if known else {}
        if known and (known["status"] in ("queued", "running", "failed") or "status" not in stored):
            kept |= {"status": known["status"], "why": known["why"], "name": known["name"]}
        stored, kept = (
            {name: value for name, value in facts.items() if value is not None}
            for facts in (stored, kept)
        )
        return usual | stored | kept

    async def details(self, run: str) -> dict[str, Any]:
        """Return all facts of one run."""
        place = self.place(run)
        (stored,) = [one for one in await self.every() if one["id"] == run] or [{"id": run}]
        details = await self._answerer.ask("details", folder=str(place))
        known, feed = self._known(run), self.feeds.get(run)
        details["toml"] = details["toml"] or known.get("toml", "")
        details["log"] = known.get("log", [])
        if feed is not None and not feed.closed:
            details["curves"] = feed.items()
        whole: dict[str, Any] = self._summary(run, stored) | details
        return whole

    def add(self, toml: str, name: str, alone: bool, epsilon: float | None = None) -> str:
        """Add a run to the queue; return its name.

        With ``alone``, parties that learn alone at their best are added. ``epsilon`` is the largest
        ε that its systems claim, which is shown before there is an answer.
        """
        run, number = name, 1
        while run == UPLOADS or (self._folder / run).exists() or self._known(run):
            number += 1
            run = f"{name}-{number}"
        self._take(run, toml, name, alone, epsilon)
        self._enqueue(run, resume=False)
        return run

    def resume(self, run: str) -> None:
        """Put an interrupted run into the queue again.

        Raises
        ------
        ConfigError
            If the run is in the queue, is played, or is a sweep.
        """
        place, known = self.place(run), self._known(run)
        if known.get("status") in ("queued", "running"):
            raise ConfigError(f"{run}: is {known['status']} already")
        if not known:
            text = (place / CONFIG).read_text(encoding="utf-8", errors="replace")
            if "sweep" in _table_of(text):
                raise ConfigError(f"{run}: is a sweep; fedbandits run goes on with it, by --resume")
            self._take(run, text, run, False)
        self._note(run, status="queued", why="", elapsed=None, done=0, total=0)
        self._enqueue(run, resume=True)

    def _enqueue(self, run: str, resume: bool) -> None:
        self.feeds[run] = Feed(
            run=self._summary(run, {}), log=self._known(run)["log"], compiling="", phase="",
            share=None, lines=[], how="", unit="",
        )  # fmt: skip
        self._queue.put_nowait((run, resume))

    async def stop(self, run: str) -> None:
        """Stop a run that waits or is played; its replicates are saved."""
        self.place(run)
        if self._worker is not None and self._worker[0] == run:
            await self._worker[1].stop()
        elif self._known(run).get("status") == "queued":
            self._end(run, "interrupted", "", 0.0)

    def remove(self, run: str) -> None:
        """Delete the folder of a run, and its checkpoints.

        Raises
        ------
        ConfigError
            If the run waits or is played, or its folder has other files too.
        """
        place = self.place(run)
        if self._known(run).get("status") in ("queued", "running"):
            raise ConfigError(f"{run}: stop it first")
        delete_run(place)
        self._store("DELETE FROM runs WHERE id = ?", (run,))
        self._kept.pop(run, None)
        self.feeds.pop(run, None)

    async def play(self) -> None:
        """Play the runs that wait, one after the other, without end."""
        while True:
            run, resume = await self._queue.get()
            if self._known(run).get("status") == "queued":
                await self._play(run, resume)

    async def _play(self, run: str, resume: bool) -> None:
        feed, began = self.feeds[run], time.monotonic()
        self._note(run, status="running")
        feed.update(run=self._summary(run, {}))
        job = {
            "toml": self._known(run)["toml"], "folder": str(self._folder / run),
            "resume": resume, "alone": self._known(run)["alone"],
            "allow_modules": self._allow_modules,
        }  # fmt: skip
        worker = Worker(self._folder)
        self._worker = run, worker
        try:
            async for line in worker.lines("run", job):
                if line["event"] == "ended":
                    self._end(run, line["status"], line["why"], time.monotonic() - began)
                else:
                    self._hear(run, feed, line)
        finally:
            self._worker = None
            if not feed.closed:  # the server ends
                self._end(run, "interrupted", "", time.monotonic() - began)
            await worker.stop()

    def _hear(self, run: str, feed: Feed, line: dict[str, Any]) -> None:
        kind = line.pop("event")
        match kind:
            case "started":
                self._note(run, total=line.pop("total"))
                feed.update(compiling="", phase="", share=None, run=self._summary(run, {}), **line)
            case "phase":
                feed.update(compiling="", phase=line["text"], share=line["share"])
            case "compiling":
                feed.update(compiling=line["kernel"])
            case "said":
                self._log(run, feed, line["text"])
            case "answer":
                feed.update(**line)
            case "advanced" | "curve":
                if line["done"] is not None:
                    feed.parts["run"]["done"] = line["done"]
                if kind == "curve":
                    feed.put(line["curve"]["system"], line["curve"])
                else:
                    feed.update(compiling="")

    def _log(self, run: str, feed: Feed, text: str) -> None:
        lines = [*feed.parts["log"], {"at": _now(), "text": text}][-_MOST_LINES:]
        self._note(run, log=lines)
        feed.update(log=lines)

    def _end(self, run: str, status: str, why: str, elapsed: float) -> None:
        feed = self.feeds[run]
        self._log(run, feed, why or status)
        done = feed.parts["run"]["done"]
        self._note(run, status=status, why=why, elapsed=elapsed, done=done)
        feed.close(run=self._summary(run, {}))

    async def end(self) -> None:
        """Stop the run that is played, and all runs that wait."""
        for run, kept in self._kept.items():
            if kept["status"] == "queued":
                self._end(run, "interrupted", "", 0.0)
        if self._worker is not None:
            await self._worker[1].stop()


def largest_epsilon(systems: Iterable[Mapping[str, Any]]) -> float | None:
    """Return the largest ε that private systems claim; None without private systems."""
    claims = [system["claim"] for system in systems]
    return max((claim["epsilon"] for claim in claims if claim["epsilon"]), default=None)


def _size(toml: str) -> dict[str, Any]:
    """Read the systems, rounds and replicates of a configuration."""
    table = _table_of(toml)
    entries = [entry for entry in table.get("systems", ()) if isinstance(entry, dict)]
    return {
        "systems": [str(entry.get("label", entry.get("preset", "?"))) for entry in entries],
        "rounds": table.get("rounds", 0), "replicates": table.get("replicates", 1),
    }  # fmt: skip


def _table_of(toml: str) -> dict[str, Any]:
    """Read a configuration; empty if the text is damaged, which an attempt to play will report."""
    try:
        return parse_toml(toml)
    except tomllib.TOMLDecodeError:
        return {}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
