"""Addresses of the broker's servers, where members meet, checked when they are read."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from fedbandits._checked import Checked
from fedbandits._schema import shown
from fedbandits.errors import ConfigError

#: Where a server listens if its address does not say so.
USUAL_PORT = 4222
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?"
_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*\Z")


class Transport(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Addresses of the broker through which members exchange messages.

    They are not part of the terms, because a broker may move.

    Parameters
    ----------
    servers
        Addresses of the broker's servers, ``tls://host:port``; without a port it is 4222.
    """

    servers: tuple[str, ...] = ("tls://127.0.0.1:4222",)


class ServerAddress(NamedTuple):
    """The host of a broker's server, a name or an IP address, and its port."""

    host: str
    port: int

    @classmethod
    def of(cls, server: str) -> ServerAddress:
        """Read an address, ``tls://host:port``; raises ValueError if it is none."""
        parts = urlsplit(server)
        host, port = parts.hostname or "", parts.port
        more = parts.path not in ("", "/") or parts.query or parts.fragment or "@" in parts.netloc
        if len(server.split()) != 1 or server != server.strip():
            raise ValueError(server)  # urlsplit leaves blanks out
        if parts.scheme != "tls" or more or not is_host(host) or port == 0:
            raise ValueError(server)
        return cls(host, port or USUAL_PORT)

    @property
    def url(self) -> str:
        """Text of the address, with the port."""
        return f"tls://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def is_host(text: str) -> bool:
    """Tell whether there can be a host of this name or address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        numbers = text.replace(".", "").isdigit()  # an IP address that is wrong
        return _NAME.match(text) is not None and not numbers
    return True


def addresses_of(servers: Sequence[str]) -> tuple[ServerAddress, ...]:
    """Read the addresses of a broker's servers.

    Raises
    ------
    ConfigError
        If there are none, or one is wrong.
    """
    found = []
    for place, server in enumerate(servers):
        try:
            found.append(ServerAddress.of(server))
        except ValueError:
            raise ConfigError(
                f"transport.servers[{place}]: given {shown(server)}, allowed: tls://HOST:PORT, "
                "with a port from 1 to 65535 (4222 if none is given) and nothing behind it"
            ) from None
    if not found:
        raise ConfigError(
            "transport.servers: given an empty list, allowed: at least one address, tls://HOST:PORT"
        )
    return tuple(found)
