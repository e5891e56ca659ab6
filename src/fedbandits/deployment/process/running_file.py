"""The file by which a running party is found, by whoever can read its folder."""

from __future__ import annotations

import pathlib

import msgspec

from fedbandits.deployment.process.own_settings import RUNNING


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
