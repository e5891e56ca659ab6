"""Feeds: a state that changes, and browsers that are told what is new in it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

#: Seconds between two messages to one browser, at least.
_PACE = 0.1


class Feed:
    """A table of named parts, each with the version in which it has changed.

    Parts that are lists of their own, such as curves, are kept one by one with :meth:`put`.
    """

    def __init__(self, **parts: Any) -> None:
        self.parts: dict[str, Any] = parts
        self.version = 1
        self.closed = False
        self._items: dict[str, tuple[int, Any]] = {}
        self._changed = asyncio.Event()

    def update(self, **parts: Any) -> None:
        """Change some parts."""
        self.parts |= parts
        self._note()

    def put(self, name: str, item: Any) -> None:
        """Change one item of the list of items."""
        self._items[name] = (self.version + 1, item)
        self._note()

    def close(self, **parts: Any) -> None:
        """Change some parts for the last time."""
        self.closed = True
        self.update(**parts)

    def items(self, since: int = 0) -> list[Any]:
        """Return the items that have changed after the version ``since``."""
        return [item for version, item in self._items.values() if version > since]

    def _note(self) -> None:
        self.version += 1
        self._changed.set()
        self._changed = asyncio.Event()

    async def stream(self, since: int, items: str) -> AsyncIterator[str]:
        """Yield server-sent events, at most ten a second, until the feed is closed.

        Parameters
        ----------
        since
            The last version that the browser has: only newer items are sent.
        items
            The name under which items are sent.
        """
        if since > self.version:  # of a server that has ended
            since = 0
        while True:
            changed, version, closed = self._changed, self.version, self.closed
            told = {"version": version, **self.parts, items: self.items(since)}
            yield f"id: {version}\ndata: {json.dumps(told, allow_nan=False)}\n\n"
            if closed:
                return
            since = version
            await asyncio.gather(changed.wait(), asyncio.sleep(_PACE))
