"""Feeds tell each browser what is new to it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from fedbandits.studio.library import Feed


def told(feed: Feed, since: int = 0) -> dict[str, Any]:
    """Return the first event that a browser gets."""

    async def first() -> str:
        stream = feed.stream(since, "items")
        event = await anext(stream)
        await stream.aclose()
        return event

    head, data = asyncio.run(first()).strip().split("\n")
    table: dict[str, Any] = json.loads(data.removeprefix("data: "))
    assert head == f"id: {table['version']}"
    return table


def test_only_items_that_have_changed_are_sent() -> None:
    feed = Feed(status="running")
    feed.put("a", 1)
    seen = told(feed)["version"]
    feed.put("b", 2)
    feed.put("a", 3)
    assert told(feed, seen)["items"] == [3, 2]
    assert told(feed)["items"] == [3, 2]
    assert told(feed, feed.version)["items"] == []


def test_who_was_with_an_earlier_server_gets_everything() -> None:
    feed = Feed(status="running")
    feed.put("a", 1)
    assert told(feed, since=10**6)["items"] == [1]


def test_a_closed_feed_ends_with_its_last_state() -> None:
    feed = Feed(status="running")
    feed.close(status="complete")

    async def everything() -> list[str]:
        return [event async for event in feed.stream(0, "items")]

    (event,) = asyncio.run(everything())
    assert '"status": "complete"' in event


def test_a_browser_that_waits_hears_of_the_end() -> None:
    feed = Feed(status="running")

    async def both() -> list[str]:
        stream = feed.stream(0, "items")
        heard = [await anext(stream)]
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        feed.close(status="interrupted")
        heard.append(await waiting)
        heard += [event async for event in stream]
        return heard

    heard = asyncio.run(both())
    assert len(heard) == 2
    assert '"status": "interrupted"' in heard[1]
