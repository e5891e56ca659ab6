"""The server of the page: its files, its answers, and its start."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import mimetypes
import pathlib
import secrets
import socket
from collections.abc import Callable
from typing import NamedTuple

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fedbandits.errors import ConfigError
from fedbandits.studio.folders import kept_folder, way_to
from fedbandits.studio.guard import Guard, policy_for, refusal
from fedbandits.studio.processes import EndingError
from fedbandits.studio.routes import Api

_PAGE = pathlib.Path(__file__).parent / "page"
_INDEX = "index.html"
#: Seconds between two looks for a second Ctrl-C, which ends the server at once.
_LOOKS_EVERY = 0.1
#: Endings of files that are not sent: notes about the libraries.
_UNSENT = (".md", ".txt")
_TYPES = {".js": "text/javascript", ".mjs": "text/javascript"}


class PageFile(NamedTuple):
    """A file of the page, plain and compressed."""

    content: bytes
    compressed: bytes
    media_type: str

    def answer(self, accepted: str) -> Response:
        """Make the answer with the file, compressed if the browser accepts compressed files."""
        if "gzip" not in accepted:
            return Response(self.content, media_type=self.media_type)
        headers = {"content-encoding": "gzip"}
        return Response(self.compressed, media_type=self.media_type, headers=headers)


def page_files() -> dict[str, PageFile]:
    """Read the files of the page, by path."""
    files = {}
    for path in sorted(_PAGE.rglob("*")):
        if path.is_file() and path.suffix not in _UNSENT:
            usual = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            kind = _TYPES.get(path.suffix, usual)
            content = path.read_bytes()
            name = path.relative_to(_PAGE).as_posix()
            files[name] = PageFile(content, gzip.compress(content, mtime=0), kind)
    return files


def application(api: Api, token: str, port: int) -> ASGIApp:
    """Make the application.

    Parameters
    ----------
    api
        The answers to questions.
    token
        The token that every question must show.
    port
        The port that browsers name.
    """
    files = page_files()

    async def page(request: Request) -> Response:
        name = request.path_params.get("path") or _INDEX
        if name not in files:
            return refusal(404, "there is no such page")
        return files[name].answer(request.headers.get("accept-encoding", ""))

    routes = [*api.routes(), Route("/", page), Route("/{path:path}", page)]
    refusing = {HTTPException: _refused}
    answering = Starlette(routes=routes, exception_handlers=refusing)
    return Guard(_cut_short(answering), token, port, policy_for(files[_INDEX].content.decode()))


async def _refused(request: Request, error: Exception) -> Response:
    """Refuse an unknown path or method in the form of all other refusals."""
    assert isinstance(error, HTTPException)  # noqa: S101 - the only registered error
    words = {405: f"{request.method} is not possible here", 404: "there is no such page"}
    answer = refusal(error.status_code, words.get(error.status_code, error.detail))
    answer.headers.update(error.headers or {})
    return answer


class _Server(uvicorn.Server):
    """A server that ends the processes behind its answers before it waits for the answers.

    A lifespan could end them too, but a second Ctrl-C would cancel it with a traceback.
    """

    def __init__(self, config: uvicorn.Config, api: Api) -> None:
        super().__init__(config)
        self._api = api

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to play the runs that wait, and to listen."""
        await self._api.begin()
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End all processes, and then the server."""
        ending = asyncio.create_task(self._api.end())
        while not ending.done() and not self.force_exit:  # set by a second Ctrl-C
            await asyncio.wait({ending}, timeout=_LOOKS_EVERY)
        ending.cancel()
        await asyncio.gather(ending, return_exceptions=self.force_exit)
        await super().shutdown(sockets)


def _cut_short(app: ASGIApp) -> ASGIApp:
    """End an answer that is cancelled with the server, without a traceback."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await app(scope, receive, noted)
        except asyncio.CancelledError:
            if scope["type"] != "http":
                raise
            if begun:
                await send({"type": "http.response.body", "body": b""})
            else:
                await refusal(503, str(EndingError()))(scope, receive, send)

    return answer


def serve(
    folder: pathlib.Path,
    port: int,
    allow_modules: bool,
    say: Callable[[str, pathlib.Path], None],
) -> None:
    """Serve the page on this machine until Ctrl-C.

    Parameters
    ----------
    folder
        The folder of runs.
    port
        The port; 0 takes a free one.
    allow_modules
        Whether a configuration may name modules, whose code is run.
    say
        A function that prints the address, and the file of a page that leads there. The token is in
        the fragment of the address, which no request and no log contains; other users can read a
        browser's command line, so a browser is given the page.

    Raises
    ------
    ConfigError
        If the port is taken, or the folder cannot be used.
    """
    with kept_folder(folder) as kept, _listener(port) as listener:
        token, port = secrets.token_urlsafe(32), listener.getsockname()[1]
        api = Api(kept, allow_modules)
        config = uvicorn.Config(
            application(api, token, port), log_level="warning", timeout_graceful_shutdown=1,
            server_header=False, lifespan="off",
        )  # fmt: skip
        address = f"http://127.0.0.1:{port}/#token={token}"
        with way_to(address, kept) as way:
            say(address, way)
            with contextlib.suppress(KeyboardInterrupt):  # the usual end
                _Server(config, api).run(sockets=[listener])


def _listener(port: int) -> socket.socket:
    """Listen on the port before the server starts: a browser may be quicker than the server."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise ConfigError(
            f"--port: given {port}, which cannot be used ({error.strerror}); choose another, or 0"
        ) from None
    return listener
