"""The file by which a running party is found, by whoever can read its folder."""

from __future__ import annotations

import contextlib
import logging
import os
import pathlib
import time
from collections.abc import Iterator

import msgspec

from fedbandits.deployment.identity.private_files import write_private
from fedbandits.deployment.process.own_settings import RUNNING, STARTING
from fedbandits.errors import IdentityError

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
