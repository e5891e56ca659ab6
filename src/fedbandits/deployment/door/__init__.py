"""A party's door: HTTP for the applications of one organisation."""

from __future__ import annotations

from fedbandits.errors import MissingExtraError

try:
    from fedbandits.deployment.door.server import Door, new_loop
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("httptools", "prometheus_client"):
        raise
    raise MissingExtraError(
        "a door for applications needs more libraries: install fedbandits[federation]"
    ) from error
from fedbandits.deployment.door.served import Served
from fedbandits.deployment.door.settings import DoorSettings
from fedbandits.deployment.door.tokens import make_token, read_tokens, revoke_token

__all__ = [
    "Door",
    "DoorSettings",
    "Served",
    "make_token",
    "new_loop",
    "read_tokens",
    "revoke_token",
]
