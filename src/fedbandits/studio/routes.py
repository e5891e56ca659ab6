"""Routes of the server: each question of the page, with its answer.

Tables that the user drops on the page are kept beside the runs, and never replaced.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import pathlib
import re
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from fedbandits._schema import refuse_odd_values
from fedbandits.errors import ConfigError, FedbanditsError
from fedbandits.experiments.files import write_whole
from fedbandits.settings.reference.columns import MEANINGS
from fedbandits.settings.toml_files import NAME, parse_toml
from fedbandits.studio.folders import UPLOADS
from fedbandits.studio.guard import refusal
from fedbandits.studio.library import Feed, Library, largest_epsilon
from fedbandits.studio.processes import Answerer, EndingError, RefusedError, Worker, error_of

_SAFE_NAME = re.compile(r"[\w][\w.+-]{0,99}\Z")


async def keep_table(
    folder: pathlib.Path, name: str, data: bytes, answerer: Answerer, **given: Any
) -> object:
    """Keep a file in the folder, and describe its content.

    An older file with other content stays, because runs may read the older file. The new file then
    gets a number. ``given`` are ``roles`` of columns, and ``missing``: texts that stand for missing
    values.

    Raises
    ------
    ConfigError
        If the name is not allowed.
    RefusedError
        If the file is no table; the file is not kept.
    """
    if not _SAFE_NAME.match(name):
        raise ConfigError(f"name: given {name!r}, allowed: letters, digits and _ . + -")
    place, is_new = _free(folder / UPLOADS, name, data)
    place.parent.mkdir(mode=0o700, exist_ok=True)  # records of the user's own
    if is_new:
        write_whole(place, data, replaces=False)
    try:
        kept = f"{UPLOADS}/{place.name}"
        return await answerer.ask("table_file", folder=str(folder), name=kept, **given)
    except FedbanditsError:
        if is_new:
            place.unlink(missing_ok=True)
        raise


def _free(folder: pathlib.Path, name: str, data: bytes) -> tuple[pathlib.Path, bool]:
    """Return the place for a file, and whether the place is empty."""
    stem, dot, endings = name.partition(".")
    place, number = folder / name, 1
    while place.exists() or place.is_symlink():
        if place.is_file() and not place.is_symlink() and place.read_bytes() == data:
            return place, False
        number += 1
        place = folder / f"{stem}-{number}{dot}{endings}"
    return place, True


#: Most attacks at once: a further attack ends the oldest. Most ended attacks that are kept.
_MOST_ATTACKS, _MOST_ENDED = 2, 20
#: Most bytes of a question, and of a file.
_MOST_ASKED, _MOST_UPLOADED = 1 << 20, 64 << 20
#: Files of a run that the page offers to save.
_FILES = {
    "picture.svg": ("plots/regret.svg", "plots/reward.svg"),
    **{name: (name,) for name in ("summary.csv", "config.toml", "report.html", "results.nc")},
}
Handler = Callable[[Request], Awaitable[Response]]


def guarded(handler: Handler) -> Handler:
    """Turn errors of this package into answers that the page shows."""

    async def handle(request: Request) -> Response:
        try:
            return await handler(request)
        except RefusedError as error:
            return JSONResponse({"error": error.error}, 422)
        except EndingError as error:
            return refusal(503, str(error))
        except LookupError:
            return refusal(404, "there is no such run")
        except FedbanditsError as error:
            return JSONResponse({"error": error_of(error)}, 422)
        except OSError as error:  # a full disk, or a folder that is gone
            return refusal(422, f"this cannot be done now ({error.strerror or error})")

    return handle


async def read_body(request: Request, most: int) -> bytes:
    """Read the body of a request; raises ConfigError if the body is too long."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise ConfigError(f"the file is larger than {most >> 20} MiB")
        parts.append(part)
    return b"".join(parts)


async def read_table(request: Request) -> dict[str, Any]:
    """Read the JSON table of a request; raises ConfigError for other bodies, and odd values."""
    body = await read_body(request, _MOST_ASKED)
    try:
        table = json.loads(body)
        refuse_odd_values(table, "")
    except ConfigError:
        raise
    except (ValueError, RecursionError):
        raise ConfigError("the request is no JSON") from None
    if not isinstance(table, dict):
        raise ConfigError("the request is no table")
    return table


def text_of(table: dict[str, Any], key: str) -> str:
    """Return the text of a key of a request; raises ConfigError for other values."""
    if not isinstance(table.get(key), str):
        raise ConfigError(f"{key}: missing, allowed: a string")
    return str(table[key])


def stream(feed: Feed, request: Request, items: str) -> Response:
    """Answer with server-sent events of a feed."""
    since = request.query_params.get("since", "0")
    number = int(since) if since.isascii() and since.isdigit() and len(since) < 16 else 0
    return StreamingResponse(feed.stream(number, items), media_type="text/event-stream")


class Api:
    """Answers of a server.

    Parameters
    ----------
    folder
        The folder of runs, of data, and perhaps of a federation.
    allow_modules
        Whether a configuration may name modules, whose code is run.
    """

    def __init__(self, folder: pathlib.Path, allow_modules: bool) -> None:
        self._folder, self._allow_modules = folder, allow_modules
        self._quick, self._slow = Answerer(folder), Answerer(folder)
        self.library = Library(folder, allow_modules, self._slow)
        self._attacks: dict[str, tuple[Feed, Worker]] = {}
        self._numbers = itertools.count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        self._ending = False

    def routes(self) -> list[Route]:
        """Return all routes."""
        table: tuple[tuple[str, str, Handler], ...] = (
            ("GET", "/api/start", self.start),
            ("POST", "/api/setup", self.setup),
            ("GET", "/api/runs", self.runs),
            ("POST", "/api/runs", self.add),
            ("GET", "/api/compare", self.compare),
            ("POST", "/api/files", self.upload),
            ("POST", "/api/steps", self.steps),
            ("POST", "/api/attack", self.attack),
            ("GET", "/api/attack/{number}/events", self.attack_events),
            ("POST", "/api/attack/{number}/stop", self.attack_stop),
            ("GET", "/api/live", self.live),
            ("GET", "/api/runs/{run:path}/events", self.events),
            ("POST", "/api/runs/{run:path}/stop", self.stop),
            ("POST", "/api/runs/{run:path}/resume", self.resume),
            ("GET", "/api/runs/{run:path}/files/{name}", self.file),
            ("GET", "/api/runs/{run:path}", self.run),
            ("DELETE", "/api/runs/{run:path}", self.remove),
        )
        return [
            Route(path, guarded(self._until_end(handler)), methods=[way])
            for way, path, handler in table
        ]

    def _until_end(self, handler: Handler) -> Handler:
        """Refuse requests once the server is ending."""

        async def handle(request: Request) -> Response:
            if self._ending:
                raise EndingError
            return await handler(request)

        return handle

    async def begin(self) -> None:
        """Begin to play the runs that wait."""
        self._spawn(self.library.play())

    async def end(self) -> None:
        """End all processes, refuse all requests that wait, and close every feed."""
        self._ending = True
        await asyncio.gather(
            self.library.end(), self._quick.stop(), self._slow.stop(),
            *(worker.stop() for _, worker in self._attacks.values()),
        )  # fmt: skip
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.library.close()

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def start(self, _: Request) -> Response:
        """Answer with the facts of the first screen."""
        facts = await self._slow.ask("start", folder=str(self._folder))
        from fedbandits.studio.live import holds_parties  # only here: it imports the deployment

        federations = await asyncio.to_thread(holds_parties, self._folder)
        return JSONResponse(
            facts | {"allow_modules": self._allow_modules, "federations": federations}
        )

    async def setup(self, request: Request) -> Response:
        """Answer with all facts of an experiment that is being set up."""
        table = await read_table(request)
        known = {key: table[key] for key in ("toml", "table", "set") if key in table}
        facts = await self._quick.ask(
            "setup", folder=str(self._folder), allow_modules=self._allow_modules, **known
        )
        return JSONResponse(facts)

    async def runs(self, _: Request) -> Response:
        """List all runs."""
        return JSONResponse({"runs": await self.library.every()})

    async def add(self, request: Request) -> Response:
        """Play a new run after all runs that wait."""
        table = await read_table(request)
        text = text_of(table, "toml")
        facts = await self._quick.ask(  # refuses an experiment that cannot be run
            "setup", folder=str(self._folder), allow_modules=self._allow_modules, toml=text
        )
        name = parse_toml(text).get("name", "experiment")
        run = self.library.add(
            text, name if re.match(NAME, name) else "experiment", table.get("alone") is not False,
            largest_epsilon(facts["systems"]),
        )  # fmt: skip
        return JSONResponse({"id": run}, 201)

    async def run(self, request: Request) -> Response:
        """Answer with all facts of one run."""
        run = request.path_params["run"]
        place, details = self.library.place(run), await self.library.details(run)
        files = [name for name in _FILES if _kept(place, name) is not None]
        return JSONResponse(details | {"files": files})

    async def events(self, request: Request) -> Response:
        """Send the progress of a run."""
        run = request.path_params["run"]
        self.library.place(run)
        feed = self.library.feeds.get(run)
        if feed is None:  # a run from before the start of this server
            details = await self.library.details(run)
            feed = Feed(run=details, compiling="", log=details["log"])
            feed.close(**{key: details[key] for key in ("lines", "how", "unit")})
            for curve in details["curves"]:
                feed.put(curve["system"], curve)
        return stream(feed, request, "curves")

    async def stop(self, request: Request) -> Response:
        """Stop a run."""
        await self.library.stop(request.path_params["run"])
        return Response(status_code=204)

    async def resume(self, request: Request) -> Response:
        """Continue an interrupted run."""
        self.library.resume(request.path_params["run"])
        return Response(status_code=204)

    async def remove(self, request: Request) -> Response:
        """Delete a run."""
        self.library.remove(request.path_params["run"])
        return Response(status_code=204)

    async def file(self, request: Request) -> Response:
        """Hand over a file of a run."""
        place, name = self.library.place(request.path_params["run"]), request.path_params["name"]
        kept = _kept(place, name)
        if kept is None:
            raise LookupError(name)
        return FileResponse(kept, filename=name)

    async def compare(self, request: Request) -> Response:
        """Compare two runs."""
        given = [request.query_params.get(name, "") for name in ("first", "second")]
        first, second = (str(self.library.place(run)) for run in given)
        return JSONResponse(await self._slow.ask("compare", first=first, second=second))

    async def upload(self, request: Request) -> Response:
        """Keep a table of the user's own data; the file is read, and never run."""
        data = await read_body(request, _MOST_UPLOADED)
        asked = request.query_params
        described = await keep_table(
            self._folder, asked.get("name", ""), data, self._slow,
            roles={role: asked[role] for role in MEANINGS if asked.get(role)},
            missing=[mark for mark in asked.getlist("missing") if mark],
        )  # fmt: skip
        return JSONResponse(described, 201)

    async def steps(self, request: Request) -> Response:
        """Record a protocol step by step."""
        job = await read_table(request)
        return JSONResponse(await self._slow.ask("steps", **job))

    async def attack(self, request: Request) -> Response:
        """Begin an attack."""
        job, number = await read_table(request), str(next(self._numbers))
        feed, worker = Feed(status="running", verdict=None, why=""), Worker(self._folder)
        await self._make_room()
        self._attacks[number] = feed, worker
        self._spawn(_heard(feed, worker, job))
        return JSONResponse({"id": number}, 201)

    async def _make_room(self) -> None:
        """End the oldest attacks, and forget attacks that ended long ago."""
        alive = [worker for feed, worker in self._attacks.values() if not feed.closed]
        for worker in alive[: 1 - _MOST_ATTACKS]:
            await worker.stop()
        ended = [number for number, (feed, _) in self._attacks.items() if feed.closed]
        for number in ended[:-_MOST_ENDED]:
            del self._attacks[number]

    async def attack_events(self, request: Request) -> Response:
        """Send the progress of an attack."""
        return stream(self._attacks[request.path_params["number"]][0], request, "items")

    async def attack_stop(self, request: Request) -> Response:
        """Stop an attack."""
        await self._attacks[request.path_params["number"]][1].stop()
        return Response(status_code=204)

    async def live(self, _: Request) -> Response:
        """Answer with the state of the parties in the folder."""
        from fedbandits.studio.live import live

        return JSONResponse(await asyncio.to_thread(live, str(self._folder)))


def _kept(place: pathlib.Path, name: str) -> pathlib.Path | None:
    """Return the path of a file of a run; None without such a file."""
    return next((place / path for path in _FILES.get(name, ()) if (place / path).is_file()), None)


async def _heard(feed: Feed, worker: Worker, job: dict[str, Any]) -> None:
    """Put the lines of an attack into a feed."""
    try:
        async for line in worker.lines("attack", job):
            kind = line.pop("event")
            if kind == "ended":
                feed.close(**line)
            elif kind in ("guessed", "verdict"):
                feed.update(**line)
    finally:
        if not feed.closed:  # the server ends
            feed.close(status="interrupted")
