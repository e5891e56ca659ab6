"""Waiting for a condition, and never for a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def until(condition: Callable[[], object], what: str = "the condition") -> None:
    """Wait until something holds; half a minute is long enough for anything here."""
    end = asyncio.get_running_loop().time() + 30
    while not condition():
        assert asyncio.get_running_loop().time() < end, f"{what} never came"
        await asyncio.sleep(0.01)
