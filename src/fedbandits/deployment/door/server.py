"""Open a door, inside an event loop that runs already."""

from __future__ import annotations

import asyncio
import datetime
import pathlib
import socket
import ssl
from typing import Any

from fedbandits.deployment.door.served import Served
from fedbandits.deployment.door.settings import DoorSettings
from fedbandits.errors import DeploymentError, MissingExtraError

try:
    from fedbandits.deployment.door.app import LOG, App
    from fedbandits.deployment.door.connections import Connections, Limits
    from fedbandits.deployment.door.protocol import Connection
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("httptools", "prometheus_client"):
        raise
    raise MissingExtraError(
        "a door for applications needs more libraries: install fedbandits[federation]"
    ) from error

#: Connections that wait to be taken.
_BACKLOG = 2048


class Door:
    """The HTTP door of a party.

    The ``folder`` has the party's tokens and certificate. Raises IdentityError or DeploymentError
    if these cannot be read.
    """

    def __init__(
        self,
        served: Served,
        folder: str | pathlib.Path,
        settings: DoorSettings = DoorSettings(),  # noqa: B008 - frozen
    ) -> None:
        folder = pathlib.Path(folder)
        tls = settings.tls(folder)
        self._app = App(served, folder, settings)
        self._listener = Listener(self._app, settings, tls)
        self._host, self._scheme = settings.host, "http" if tls is None else "https"
        self._warns = tls is None and not settings.loopback
        self._expires = settings.expiry(folder)

    @property
    def port(self) -> int:
        """Port at which it listens, once it is open."""
        return self._listener.port

    @property
    def url(self) -> str:
        """Address at which applications find it."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{self._scheme}://{host}:{self.port}"

    async def start(self) -> None:
        """Open: from then on requests are answered; raises as :meth:`Listener.start`."""
        if self._warns:
            LOG.warning('{"warning":"tokens and contexts travel in clear: set door.certificate"}')
        if self._expires is not None and self._expires <= datetime.datetime.now(datetime.UTC):
            LOG.warning(
                '{"warning":"door.certificate expired on %s: applications refuse this door"}',
                f"{self._expires:%Y-%m-%d}",
            )
        await self._listener.start()
        self._app.endpoints.closing.clear()

    async def stop(self) -> None:
        """Close: open requests are answered, no new ones are taken. It may be called twice."""
        self._app.endpoints.closing.set()
        await self._listener.stop()

    async def __aenter__(self) -> Door:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()


class Listener:
    """Listens at an address; ``tls`` is the certificate, None for none."""

    def __init__(self, app: App, settings: DoorSettings, tls: ssl.SSLContext | None = None) -> None:
        self._settings, self._tls = settings, tls
        most, why_not_more = _connections(settings.most_connections)
        self.connections = Connections(
            app,
            Limits(
                settings.most_body, settings.most_head, most, why_not_more,
                settings.request_time, settings.keep_alive,
            ),
        )  # fmt: skip
        self._server: asyncio.Server | None = None
        #: Where it listens, once it does.
        self.port = settings.port

    async def start(self) -> None:
        """Begin to listen.

        Raises DeploymentError if it does, or the address is in use, or is none of this machine's.
        """
        if self._server is not None:
            raise DeploymentError("door: it is open")
        listening = _bind(self._settings.host, self._settings.port)
        self.port = listening.getsockname()[1]
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Connection(self.connections), sock=listening, ssl=self._tls, backlog=_BACKLOG
        )

    async def stop(self) -> None:
        """Answer what is open, and listen no more."""
        if self._server is None:
            return
        server, self._server = self._server, None
        server.close()
        self.connections.close()
        try:
            async with asyncio.timeout(self._settings.drain):
                await self.connections.none.wait()
        except TimeoutError:
            LOG.warning('{"warning":"the door closes, and some requests are not answered"}')
            self.connections.abort()


def _connections(most: int) -> tuple[int, str]:
    """Return how many connections may be open, and what to do if more are wanted.

    Half of all files that may be open are left to the store, the broker and compiled code.
    """
    try:
        import resource
    except ModuleNotFoundError:  # no POSIX
        return most, "raise door.most_connections"
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY or most <= files // 2:
        return most, "raise door.most_connections"
    return max(1, files // 2), f"this process may open {files} files: raise ulimit -n"


def new_loop() -> asyncio.AbstractEventLoop:
    """Make an event loop for a process with a door: uvloop's where it is installed."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.new_event_loop()
    loop: Any = uvloop.new_event_loop()
    return loop  # type: ignore[no-any-return]


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.setblocking(False)
    except (OSError, TypeError, ValueError) as error:  # not OSError: no host has such a name
        listening.close()
        why = getattr(error, "strerror", None) or "no such host"
        raise DeploymentError(
            f"door.host {host!r}, door.port {port}: cannot listen there ({why}); "
            "choose another, or 0 for any free port"
        ) from None
    return listening
