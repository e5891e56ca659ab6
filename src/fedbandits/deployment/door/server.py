"""Open a door, inside an event loop that runs already."""

from __future__ import annotations

import asyncio
import datetime
import pathlib
import socket
from typing import Any

from fedbandits.deployment.door.served import Served
from fedbandits.deployment.door.settings import DoorSettings
from fedbandits.errors import DeploymentError, MissingExtraError

try:
    from fedbandits.deployment.door.app import App
    from fedbandits.deployment.door.connections import LOG, Connections
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("httptools", "prometheus_client", "uvicorn"):
        raise
    raise MissingExtraError(
        "a door for applications needs more libraries: "
        "install the extra 'federation' as docs/install.md says"
    ) from error

#: Connections that wait to be taken.
_BACKLOG = 2048
#: Seconds that a client has to agree on keys.
_HANDSHAKE = 10.0


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
        self._settings, self._tls = settings, settings.tls(folder)
        self._app = App(served, folder, settings)
        self._connections = Connections(self._app, settings)
        self._expires = settings.expiry(folder)
        self._server: asyncio.Server | None = None
        #: Port at which it listens, once it is open.
        self.port = settings.port

    @property
    def url(self) -> str:
        """Address at which applications find it."""
        host = self._settings.host
        scheme = "http" if self._tls is None else "https"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"

    async def start(self) -> None:
        """Open: from then on requests are answered.

        Raises DeploymentError if it is open, or the address is in use, or is none of this
        machine's.
        """
        if self._tls is None and not self._settings.loopback:
            LOG.warning('{"warning":"tokens and contexts travel in clear: set door.certificate"}')
        if self._expires is not None and self._expires <= datetime.datetime.now(datetime.UTC):
            LOG.warning(
                '{"warning":"door.certificate expired on %s: applications refuse this door"}',
                f"{self._expires:%Y-%m-%d}",
            )
        if self._server is not None:
            raise DeploymentError("door: it is open")
        listening = bound(self._settings.host, self._settings.port)
        self.port = listening.getsockname()[1]
        handshake = min(_HANDSHAKE, self._settings.request_time) if self._tls else None
        self._server = await asyncio.get_running_loop().create_server(
            self._connections.connect, sock=listening, ssl=self._tls, backlog=_BACKLOG,
            ssl_handshake_timeout=handshake,
        )  # fmt: skip
        self._app.endpoints.closing.clear()

    async def stop(self) -> None:
        """Close: open requests are answered, no new ones are taken. It may be called twice."""
        self._app.endpoints.closing.set()
        if self._server is not None:
            server, self._server = self._server, None
            server.close()
            await self._connections.close()

    async def __aenter__(self) -> Door:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()


def new_loop() -> asyncio.AbstractEventLoop:
    """Make an event loop for a process with a door: uvloop's where it is installed."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.new_event_loop()
    loop: Any = uvloop.new_event_loop()
    return loop  # type: ignore[no-any-return]


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address; raises DeploymentError if there is none such."""
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
