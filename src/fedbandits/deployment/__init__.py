"""Parties between machines: durable hosts, delivery, identities, and a door for applications."""

from __future__ import annotations

from fedbandits.errors import MissingExtraError

try:
    import sqlalchemy as _  # noqa: F401
except ModuleNotFoundError as error:
    raise MissingExtraError(
        "a party between machines needs more libraries: install fedbandits[federation]"
    ) from error
