"""Read parties' folders without making a plan: to look at parties, and at those that run.

A running party is found by a file in its folder, by whoever can read that.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pathlib
import time
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from fedbandits.deployment.identity.admission import Request, read_request
from fedbandits.deployment.identity.private_files import FEDERATION, REQUEST, Path, write_private
from fedbandits.deployment.process.own_settings import (
    RUNNING,
    SETTINGS,
    STARTING,
    PartySettings,
    load_settings,
)
from fedbandits.errors import ConfigError, IdentityError
from fedbandits.settings.federation_file import FederationFile, load_file


class Member(Protocol):
    """A party in a folder, whoever has read it."""

    @property
    def member(self) -> str:
        """Name of the member whose folder it is."""


_Party = TypeVar("_Party", bound=Member)


class SeenParty(NamedTuple):
    """The content of a party's folder, for who looks at it; see :class:`.folder.PartyFolder`.

    Whether its terms are those that it was admitted under, :func:`.folder.load_party` alone tells.
    """

    path: pathlib.Path
    member: str
    federation: FederationFile
    settings: PartySettings

    @property
    def store(self) -> str:
        """The party's store, as a path or a URL."""
        return store_of(self.path, self.settings)


def store_of(folder: pathlib.Path, settings: PartySettings) -> str:
    """Return a party's store, as a path or a URL."""
    given = settings.store
    return given if "://" in given else str(folder / given)


def is_party(path: Path) -> bool:
    """Tell whether ``path`` is the folder of a party."""
    return (pathlib.Path(path) / REQUEST).is_file()


def request_in(path: Path) -> tuple[pathlib.Path, Request]:
    """Read the request in the folder of a party, and return the folder, too."""
    folder = pathlib.Path(path)
    if not is_party(folder):
        raise ConfigError(
            f"{folder}: is not the folder of a party: it has no {REQUEST}; make one with: "
            "fedbandits party create"
        )
    return folder, read_request(folder / REQUEST)


def look_at(path: Path) -> SeenParty:
    """Read the folder of a party.

    Raises
    ------
    ConfigError
        If ``path`` is not the folder of a party, its settings are wrong, or a key of the
        federation's file is.
    IdentityError
        If its request is damaged.
    """
    folder, request = request_in(path)
    federation = load_file(folder / FEDERATION)
    federation.role_of(request.name)
    return SeenParty(folder, request.name, federation, load_settings(folder / SETTINGS))


def look_at_parties(folder: Path) -> list[SeenParty]:
    """Read parties: that folder, or those in it, in the order of the federation's file.

    Raises ConfigError if there are none, or they are of several federations.
    """
    parties = parties_in(folder, look_at)
    refuse_several(folder, {read_request(party.path / REQUEST).digest for party in parties})
    return in_order(parties, parties[0].federation.everybody)


def parties_in(folder: Path, read: Callable[[pathlib.Path], _Party]) -> list[_Party]:
    """Read the party whose folder that is, or all in it; raises ConfigError if there are none."""
    place = pathlib.Path(folder)
    if is_party(place):
        return [read(place)]
    parties = [read(path) for path in filter(is_party, place.iterdir())] if place.is_dir() else []
    if not parties:
        raise ConfigError(
            f"{place}: no party's folder is here; make some with: fedbandits federation init "
            "CONFIG.toml --out DIR --local, or fedbandits party create"
        )
    return parties


def refuse_several(folder: Path, terms: Collection[str]) -> None:
    """Refuse parties of several federations, by the digests of their terms."""
    if len(terms) > 1:
        raise ConfigError(f"{pathlib.Path(folder)}: holds parties of {len(terms)} federations")


def in_order(parties: list[_Party], everybody: Collection[str]) -> list[_Party]:
    """Sort parties as the federation's file has them."""
    order = {member: place for place, member in enumerate(everybody)}
    return sorted(parties, key=lambda party: order.get(party.member, len(order)))


_LOG = logging.getLogger("fedbandits.deployment")
#: Seconds after which a party that has not come up was killed, or hangs.
_LONGEST_START = 900.0


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """The file that a running party leaves in its folder, for those who may read that.

    ``url`` is where its door is, from this machine, and ``token`` opens it. ``started`` is in
    seconds since 1970.
    """

    pid: int
    url: str
    token: str
    started: float


def read_running(path: pathlib.Path) -> Running | None:
    """Read what a party that runs has left in its folder; None if there is nothing.

    It stays behind where a process was killed: whether it runs is told by its door.
    """
    try:
        return msgspec.json.decode((path / RUNNING).read_bytes(), type=Running)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


class Starting(msgspec.Struct, frozen=True, kw_only=True):
    """The file that a party leaves in its folder from its start until its door is open.

    ``since`` is in seconds since 1970.
    """

    pid: int
    since: float


@contextlib.contextmanager
def says_it_starts(path: pathlib.Path) -> Iterator[None]:
    """Leave word in a party's folder that it starts: until it runs, it may compile for long."""
    file, starting = path / STARTING, Starting(pid=os.getpid(), since=time.time())
    try:
        write_private(file, msgspec.json.encode(starting), replace=True)
    except IdentityError as error:  # it is a hint: the party starts all the same
        _LOG.warning("%s", error)
    try:
        yield
    finally:
        found = _read_starting(path)
        if found is None or found.pid == starting.pid:  # else it is that of another start
            with contextlib.suppress(OSError):  # it is not believed for long
                file.unlink(missing_ok=True)


def is_starting(path: pathlib.Path) -> bool:
    """Tell whether a party starts, as far as its folder and this machine know.

    The file stays behind where a process was killed: so it must be there, and have begun lately.
    """
    found = _read_starting(path)
    if found is None or not 0.0 <= time.time() - found.since < _LONGEST_START:
        return False
    try:
        os.kill(found.pid, 0)  # no signal: it tells whether there is such a process
    except PermissionError:
        return True  # another user's
    except (OSError, OverflowError):
        return False
    return True


def _read_starting(path: pathlib.Path) -> Starting | None:
    try:
        return msgspec.json.decode((path / STARTING).read_bytes(), type=Starting)
    except (OSError, msgspec.DecodeError):
        return None
