"""What each route of the door does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, cast

import msgspec

from fedbandits.deployment.door.metrics import KIND, Metrics
from fedbandits.deployment.door.problems import INVALID, NOT_NOW, NOT_READY, Refused
from fedbandits.deployment.door.requests import Answer, Request
from fedbandits.deployment.door.served import Orders, Served
from fedbandits.deployment.door.shapes import Ids, PullAnswer, PullTold, Shapes
from fedbandits.errors import FedbanditsError, LocalProtocolError

Handler = Callable[[Request], Awaitable[Answer]]
#: Seconds that a pull may be waited for in one request.
LONGEST_WAIT = 60.0
_NOTHING = Answer(204)
_ALIVE = Answer(200, b'{"alive":true}')
_READY = Answer(200, b'{"ready":true}')


class Endpoints:
    """Handlers, each with all that it needs.

    Parameters
    ----------
    served
        The party behind the door.
    metrics
        Where what was done is counted.
    """

    def __init__(self, served: Served, metrics: Metrics) -> None:
        self._served, self._metrics = served, metrics
        self._ids = Ids(served)
        application = served.application
        self.shapes = None if application is None else Shapes(application, self._ids)
        self._read_pull = msgspec.json.Decoder(PullTold)
        #: Set when the door closes: nobody is kept waiting then.
        self.closing = asyncio.Event()

    def decisions(self) -> Handler:
        """Asks for a decision."""
        shapes, decide = self._shapes_there(), self._served.decide
        counted = self._metrics.done["decisions"]

        async def handle(request: Request) -> Answer:
            body = await request.decoded(shapes.read_asked)
            decided = await decide(shapes.as_asked(body))
            counted()
            return Answer(200, shapes.answer(decided))

        return handle

    def rewards(self) -> Handler:
        """Takes what a decision has earned."""
        shapes, reward = self._shapes_there(), self._served.reward
        counted = self._metrics.done["rewards"]

        async def handle(request: Request) -> Answer:
            number, told = shapes.as_told(await request.decoded(shapes.read_told))
            await reward(number, told)
            counted()
            return _NOTHING

        return handle

    async def next_pull(self, request: Request) -> Answer:
        """Waits for a pull that is due."""
        seconds = _wait(request.query)
        number = await self._unless_closing(self._served.next_pull(seconds))
        if number is None:
            return _NOTHING
        return Answer(200, msgspec.json.encode(PullAnswer(self._ids.name(number))))

    async def pull(self, request: Request) -> Answer:
        """Takes what a pull gave."""
        told = await request.decoded(self._read_pull)
        await self._served.pull(self._ids.number(request.path_values["pull_id"]), told.reward)
        self._metrics.done["pulls"]()
        return _NOTHING

    async def order(self, request: Request) -> Answer:
        """Orders a run."""
        del request
        try:
            await cast(Orders, self._served).order()
        except LocalProtocolError as error:
            raise Refused(NOT_NOW, str(error)) from None
        self._metrics.done["orders"]()
        return Answer(202, msgspec.json.encode(self._served.status()))

    async def privacy(self, request: Request) -> Answer:
        """What is claimed, spent, left."""
        del request
        return Answer(200, msgspec.json.encode(await self._served.privacy()))

    async def status(self, request: Request) -> Answer:
        """Where the party stands."""
        del request
        return Answer(200, msgspec.json.encode(self._served.status()))

    async def metrics(self, request: Request) -> Answer:
        """Numbers for Prometheus."""
        del request
        try:
            privacy = await self._served.privacy()
        except FedbanditsError:  # a store that fails is when the other numbers are needed most
            privacy = {}
        return Answer(200, self._metrics.page(self._served.status(), privacy), KIND)

    async def alive(self, request: Request) -> Answer:
        """Whether the process answers."""
        del request
        return _ALIVE

    async def ready(self, request: Request) -> Answer:
        """Whether the party takes requests and reaches its peers."""
        del request
        if not self._served.ready:
            retry = ((b"retry-after", b"1"),)
            raise Refused(NOT_READY, "it is not connected, or its store does not work", retry)
        return _READY

    def _shapes_there(self) -> Shapes:
        if self.shapes is None:
            raise ValueError("a party without an application makes no decisions")
        return self.shapes

    async def _unless_closing(self, work: Coroutine[Any, Any, int | None]) -> int | None:
        """What is waited for, or None once the door closes."""
        waited, closing = asyncio.ensure_future(work), asyncio.ensure_future(self.closing.wait())
        try:
            await asyncio.wait({waited, closing}, return_when=asyncio.FIRST_COMPLETED)
            return waited.result() if waited.done() else None
        finally:
            for task in (waited, closing):
                task.cancel()
            await asyncio.gather(waited, closing, return_exceptions=True)


def _wait(query: dict[str, str]) -> float:
    try:
        seconds = float(query.get("wait", "0"))
    except ValueError:
        seconds = -1.0
    if not 0.0 <= seconds <= LONGEST_WAIT or query.keys() - {"wait"}:
        raise Refused(INVALID, f"wait alone: a number of seconds from 0 to {LONGEST_WAIT:g}")
    return seconds
