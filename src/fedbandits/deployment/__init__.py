"""Parties between machines: durable hosts, delivery, identities, and a door for applications."""

from __future__ import annotations

import importlib.util

from fedbandits.errors import MissingExtraError

if importlib.util.find_spec("sqlalchemy") is None:
    raise MissingExtraError(
        "a party between machines needs more libraries: "
        "install the extra 'federation' as docs/install.md says"
    )
