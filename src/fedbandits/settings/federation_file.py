"""The keys of a federation's file, each with its meaning and its type.

Addresses of the broker's servers are checked when they are read.
"""

from __future__ import annotations

import datetime
import ipaddress
import pathlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit

from msgspec import Meta

from fedbandits._checked import Checked
from fedbandits._schema import convert, shown
from fedbandits.errors import ConfigError
from fedbandits.federation.terms import NoiseOrigin
from fedbandits.settings.toml_files import read_toml

__all__ = [
    "FederationFile",
    "Live",
    "Rewards",
    "RoundsClock",
    "Transport",
    "file_of",
    "load_file",
    "no_member",
]

_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z"  # in words: _schema.PATTERNS
#: Port of a server whose address names none.
USUAL_PORT = 4222
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?"
_HOST = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*\Z")


class Live(
    Checked,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="kind",
    tag="live",
):
    """Rounds end by the clock, at fixed intervals that do not depend on data.

    Parameters
    ----------
    start
        Time at which the first round begins, with its time zone. It determines when all messages
        are sent.
    every
        Length of a round, in seconds or as ``"1 h"``.
    """

    start: datetime.datetime
    every: float | str


class RoundsClock(
    Checked,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="kind",
    tag="rounds",
):
    """Rounds end when enough decisions have been made; for tests only.

    The time of a release then reveals how many decisions a party has made.
    """


class Rewards(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules for rewards that do not arrive in time.

    Parameters
    ----------
    default
        Reward in place of a missing reward. By default the decision is left out.
    after
        Time after which a reward is missing, in seconds or as ``"7 days"``.
    """

    default: float | None = None
    after: float | str = "7 days"


class Transport(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Addresses of the broker through which members exchange messages.

    They are not part of the terms, because a broker may move.

    Parameters
    ----------
    servers
        Addresses of the broker's servers, ``tls://host:port``; the default port is 4222.
    """

    servers: tuple[str, ...] = ("tls://127.0.0.1:4222",)


class FederationFile(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a federation's file, one field for each key.

    ``rounds`` is the horizon T. ``system`` is the preset with its settings, and ``facts`` are the
    facts of the world. ``members`` has the names of the members by role. ``message_time`` is the
    longest time of a message, in seconds or as ``"30 s"``. ``noise`` is ``secure`` or
    ``simulated``. ``name``, ``clock``, ``rewards``, ``transport``: see their classes.
    """

    name: Annotated[str, Meta(pattern=_NAME)]
    rounds: Annotated[int, Meta(ge=1, le=4_000_000_000)]
    system: dict[str, Any]
    facts: dict[str, Any]
    members: dict[str, list[str]]
    clock: Live | RoundsClock
    message_time: float | str = "30 s"
    rewards: Rewards = Rewards()
    noise: NoiseOrigin = "secure"
    transport: Transport = Transport()

    @property
    def preset(self) -> str:
        """Name of the preset in the file."""
        return str(self.system.get("preset"))

    @property
    def everybody(self) -> tuple[str, ...]:
        """The names of all members, ordered by role."""
        return tuple(name for names in self.members.values() for name in names)

    def role_of(self, member: str) -> str:
        """Return the name of the role of ``member``.

        Raises
        ------
        ConfigError
            If the federation has no such member.
        """
        for role, names in self.members.items():
            if member in names:
                return role
        raise no_member(self.name, member, self.everybody)


def no_member(federation: str, member: str, everybody: Iterable[str]) -> ConfigError:
    """Make the error for a name ``member`` that is not in ``everybody``."""
    return ConfigError(
        f"no member of {federation!r} is called {shown(member)}; members: {', '.join(everybody)}"
    )


def _refuse_code(table: Mapping[str, Any], place: str) -> None:
    """Refuse code in terms: every member would run one member's code."""
    for key, value in table.items():
        where = f"{place}.{key}" if place else key
        if key in ("module", "code"):
            raise ConfigError(
                f"{where}: the terms of a federation cannot name code, because every member would "
                "run it; install it as a package"
            )
        if isinstance(value, Mapping):
            _refuse_code(value, where)


def file_of(table: Mapping[str, Any]) -> FederationFile:
    """Check the keys of a table one by one, for commands that run no party.

    :func:`.federation.federation_of` also checks them together, which needs the plan.

    Raises
    ------
    ConfigError
        With the key, the given and the allowed value.
    """
    _refuse_code(table, "")
    file: FederationFile = convert(table, FederationFile, "")
    return file


def load_file(path: pathlib.Path) -> FederationFile:
    """Read the keys of the file at ``path``; raises the errors of :func:`file_of`."""
    table = read_toml(path)
    try:
        return file_of(table)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


class ServerAddress(NamedTuple):
    """The host of a broker's server, a name or an IP address, and its port."""

    host: str
    port: int

    @classmethod
    def of(cls, server: str) -> ServerAddress:
        """Read an address, ``tls://host:port``; raises ValueError if it is not valid."""
        parts = urlsplit(server)
        host, port = parts.hostname or "", parts.port
        more = parts.path not in ("", "/") or parts.query or parts.fragment or "@" in parts.netloc
        if len(server.split()) != 1 or server != server.strip():
            raise ValueError(server)  # urlsplit ignores blanks
        if parts.scheme != "tls" or more or not is_host(host) or port == 0:
            raise ValueError(server)
        return cls(host, port or USUAL_PORT)

    @property
    def url(self) -> str:
        """Text of the address, with the port."""
        return f"tls://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def is_host(text: str) -> bool:
    """Tell whether a text is a valid name or address of a host."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        numbers = text.replace(".", "").isdigit()  # a wrong IP address
        return _HOST.match(text) is not None and not numbers
    return True


def addresses_of(servers: Sequence[str]) -> tuple[ServerAddress, ...]:
    """Read the addresses of a broker's servers.

    Raises
    ------
    ConfigError
        If there is no address, or an address is wrong.
    """
    addresses = []
    for place, server in enumerate(servers):
        try:
            addresses.append(ServerAddress.of(server))
        except ValueError:
            raise ConfigError(
                f"transport.servers[{place}]: given {shown(server)}, allowed: tls://HOST:PORT, "
                "with a port from 1 to 65535 (4222 if none is given) and nothing behind it"
            ) from None
    if not addresses:
        raise ConfigError(
            "transport.servers: given an empty list, allowed: at least one address, tls://HOST:PORT"
        )
    return tuple(addresses)
