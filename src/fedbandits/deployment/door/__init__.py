"""A party's door: HTTP for the applications of one organisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbandits._lazy import lazily

__all__ = [
    "Door",
    "DoorSettings",
    "Served",
    "make_token",
    "new_loop",
    "read_tokens",
    "revoke_token",
]

if TYPE_CHECKING:
    from fedbandits.deployment.door.served import Served
    from fedbandits.deployment.door.server import Door, new_loop
    from fedbandits.deployment.door.settings import DoorSettings
    from fedbandits.deployment.door.tokens import make_token, read_tokens, revoke_token
else:
    __getattr__, __dir__ = lazily(__name__, __all__)
