"""The party's clock: it ends rounds at their times, and ends waiting at deadlines.

When something is released follows from the terms and from the time, never from data. A tick is
numbered: the k-th is due at ``start + k × every``. What a party missed depends on whether rounds
are shared, see :class:`.Roles`:

* Where each numbers its own releases, all ticks that are overdue are carried out as one. So one
  release covers all that was learned meanwhile. The party makes the first releases of its plan, and
  makes them later: an observer sees a beginning of what the plan charges for, which costs no more.
  Where releases are summed in secret, all are made for numbered sums. So a party makes none while
  it does not know what became of its last one, and makes up for those that it has missed.
* Where rounds are shared, others count on their numbers. Then they are ended one after the other,
  up to :data:`MOST_OWED`. For more the party must be told, as they would be noise alone.

Whether there is a new record never matters: silence would tell whether anybody was served. What was
due before a party was there at all it owes only where rounds are shared.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, Protocol

from fedbandits.deployment.delivery.delivery import Delivery
from fedbandits.deployment.delivery.exchange import uptime
from fedbandits.deployment.hosting.batch import Batch
from fedbandits.deployment.hosting.host import Host
from fedbandits.errors import BudgetExceededError, FedbanditsError, NotReadyError
from fedbandits.settings.federation_file import Live

#: How many rounds a tick ends, of how many sums of all a party has missed.
Ends = Callable[[int], int]
_LOG = logging.getLogger("fedbandits.deployment")
#: Under which name the number of the newest tick is kept.
TICKS = "ticks"
#: So many rounds are ended, one after the other, when a party is back; for more it must be told.
MOST_OWED = 3
#: Seconds between two looks at the clock, at least and at most.
_LEAST_PAUSE, _LONGEST_PAUSE = 0.02, 5.0
#: Seconds until a tick that could not be carried out is tried again.
_AGAIN = 0.2


def in_time(missed: int) -> int:
    """Return how many rounds a tick ends, of how many sums of all a party has missed.

    It makes its releases for these, which nobody opens, as their noise is part of later ones. Then
    it takes part in the next sum.
    """
    return missed + 1


def late(missed: int) -> int:
    """Return how many rounds a late tick ends: others have gone on without whoever missed sums."""
    return missed or 1


def met(missed: int) -> int:
    """Return how many rounds a tick ends whose sum was the last one, which the party waited for."""
    return missed


class Clocked(Protocol):
    """A member that a clock ends rounds and waiting for; see :class:`.node.Node`."""

    exhausted: bool

    async def tick(self, number: int, ends: Ends) -> None: ...

    async def deadline(self, number: int) -> None: ...

    async def expire(self, before: float) -> int: ...


class Clock:
    """The clock of one member.

    Unless it ``catches_up``, a party that was away for many rounds does not end them by itself:
    they would release noise alone, and cost as much as others.
    """

    def __init__(
        self, clocked: Clocked, host: Host, delivery: Delivery, catches_up: bool = True
    ) -> None:
        self._catches_up, self._owed = catches_up, ""
        #: Whether it was away: not there, asleep, or without its peers; and when it looked last.
        self._was_away, self._looked = True, 0.0
        #: When it was last without most of its peers, by a clock that nobody sets.
        self._apart = time.monotonic()
        #: The newest tick that was due while the party waited for a sum.
        self._waited = 0
        self._clocked, self._host, self._delivery = clocked, host, delivery
        self._seat, self._federation = host.seat, host.seat.federation
        self._tasks: list[asyncio.Task[None]] = []
        #: The newest tick that was carried out.
        self.done = 0
        #: Why no rounds end just now; empty while they do.
        self.problem = ""
        self._jump = 0.0
        self._drift = time.time() - uptime()

    def start(self) -> None:
        """Begin."""
        self._tasks = [asyncio.create_task(self._end_waiting())]
        if isinstance(self._federation.clock, Live):
            self._tasks.append(asyncio.create_task(self._tick()))
        if self._federation.reward_default is not None and self._seat.application is not None:
            self._tasks.append(asyncio.create_task(self._expire()))

    async def stop(self) -> None:
        """End."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def next_tick(self) -> float | None:
        """Time of the next round's end, in seconds since 1970; None where no clock ends rounds."""
        clock = self._federation.clock
        return self._time_of(self.done + 1) if isinstance(clock, Live) else None

    def _time_of(self, tick: int) -> float:
        clock: Any = self._federation.clock
        seconds: float = clock.start.timestamp() + tick * self._federation.every
        return seconds

    async def _tick(self) -> None:
        """Carry out ticks as they are due."""
        self.done = await self._first()
        while True:
            due = self.next_tick
            wait = 0.0 if due is None else due - time.time()
            if wait > 0:
                await asyncio.sleep(min(wait, _LONGEST_PAUSE))
                self._look()
                continue
            self._look()
            if self._must_begin():  # it waits for secrets, and owes this round then
                await asyncio.sleep(_AGAIN)
            elif self._host.view.next_end is None:  # there is nothing to end, nor to keep
                self.done = max(self.done + 1, self._elapsed())
            elif self._must_wait(self._due()) or not await self._carry_out(self._due()):
                await asyncio.sleep(_AGAIN)

    def _due(self) -> int:
        """Find the tick that is to be carried out: the newest where those before go with it."""
        if self._federation.roles.rounds_are_shared:
            return self.done + 1
        return max(self.done + 1, self._elapsed())

    def _must_wait(self, tick: int) -> bool:
        """Tell whether nothing may be released now.

        Whoever was away hears first what peers have kept for it: which sums it has missed.
        """
        missed = tick > self.done + 1 or self._is_late(tick)
        apart = time.monotonic() - self._apart < self._federation.message_time
        hears = missed and apart and not self._federation.roles.rounds_are_shared
        if self._host.view.waits_for_sum:
            self._waited = tick
        waits = hears or self._host.view.waits_for_sum
        return waits or bool(self.problem) or self._clocked.exhausted

    def _must_begin(self) -> bool:
        """Tell whether there is no party yet, and rounds are numbered for all."""
        shared = self._federation.roles.rounds_are_shared and not self._seat.is_chatty
        return shared and not self._host.view.stage

    def _owes(self) -> str:
        """Say how many rounds are owed, if somebody must decide whether they are to be ended."""
        now, owed = time.time(), self._elapsed() - self.done
        slept = now - self._looked > MOST_OWED * self._federation.every + _LONGEST_PAUSE
        missed = slept or bool(self._delivery.awaited)  # nothing leaves while peers are missing
        self._was_away, self._looked = self._was_away or missed, now
        charged = self._seat.budget is not None and not self._seat.is_chatty
        ends = charged and owed > MOST_OWED and self._host.view.next_end is not None
        self._was_away = self._was_away and ends
        told = self._catches_up or not self._federation.roles.rounds_are_shared
        if told or not self._was_away:
            return ""
        return (
            f"{owed:,} rounds were to end while this party, or most of its peers, were away. To "
            "end them now would release noise without records, and cost as much. Start it with "
            "--catch-up to do so, or agree on a later clock.start"
        )

    def _elapsed(self) -> int:
        """Count the ticks that are over by now."""
        clock = self._federation.clock
        if not isinstance(clock, Live):
            return 0
        return max(0, int((time.time() - clock.start.timestamp()) // self._federation.every))

    async def _first(self) -> int:
        """Find the newest tick that nobody waits for, as soon as the store can tell.

        Beats are not owed. Nor does a new party owe what was due before it was there, unless rounds
        are shared: it would release what it has not got, and pay for it.
        """
        chatty, elapsed = self._seat.is_chatty, self._elapsed()

        def find(batch: Batch) -> int:
            kept = batch.store.number(batch.connection, TICKS)
            is_new = kept == 0 and batch.event <= 1
            if chatty or (is_new and not self._federation.roles.rounds_are_shared):
                kept = max(kept, elapsed)
                batch.store.set_number(batch.connection, TICKS, kept)
            return kept

        while True:
            try:
                return int(await self._host.call(find))
            except FedbanditsError as failed:  # tried again
                _LOG.warning("%s: its ticks: %s", self._seat.member, failed)
            await asyncio.sleep(_AGAIN)

    async def _carry_out(self, tick: int) -> bool:
        """End the round whose end comes next; return whether that could be done."""
        try:
            await self._clocked.tick(tick, self._ends(tick))
        except (BudgetExceededError, NotReadyError):  # it has been said, or peers are missing
            return False
        except FedbanditsError as failed:  # tried again
            _LOG.warning("%s: the end of a round: %s", self._seat.member, failed)
            return False
        self.done = tick
        return True

    def _ends(self, tick: int) -> Ends:
        """Choose what a tick ends, by when it is carried out."""
        waited_once = self._waited == tick == self.done + 1  # however late that sum has come
        if waited_once or (self._waited == tick and not self._is_late(tick)):
            return met
        return late if self._is_late(tick) else in_time

    def _is_late(self, tick: int) -> bool:
        """Tell whether peers that were there wait no more for what was due at a tick."""
        return time.time() - self._time_of(tick) > self._patience

    @property
    def _patience(self) -> float:
        """Seconds after which a message that has not come is late."""
        return 2.0 * self._federation.message_time

    def _look(self) -> None:
        """Hold the clock against the machine's other one, and against those of peers."""
        drift = time.time() - uptime()
        if abs(drift - self._drift) > self._patience:
            self._jump += drift - self._drift
        self._drift = drift
        if self._delivery.awaited or not self._delivery.transport.connected:
            self._apart = time.monotonic()
        offsets = self._delivery.offsets()
        wrong = [peer for peer, offset in offsets.items() if abs(offset) > self._patience]
        for peer in wrong:  # it may have been set right since, or its greeting was kept back
            self._delivery.exchanges[peer].ask()
        problem = self._owed = self._owes()
        if abs(self._jump) > self._patience:
            problem = (
                f"the clock has jumped by {self._jump:+.1f} s: nothing is released until it is "
                "back, or this party starts again"
            )
        elif 2 * len(wrong) > len(offsets):
            problem = (
                f"the clocks of most peers differ by more than {self._patience:g} s: nothing is "
                "released until they agree; set the time by a time server"
            )
        if problem and problem != self.problem:
            _LOG.error("%s: %s", self._seat.member, problem)
        self.problem = problem

    async def _end_waiting(self) -> None:
        """Set a deadline for everything that is awaited for too long."""
        patience = self._patience * self._seat.role.patience
        awaited, since = None, time.monotonic()
        while True:
            await asyncio.sleep(min(_LONGEST_PAUSE, max(_LEAST_PAUSE, patience / 10)))
            now = self._host.view.awaited
            if now != awaited or now is None:
                awaited, since = now, time.monotonic()
                continue
            if time.monotonic() - since > patience:
                try:
                    await self._clocked.deadline(now)
                except FedbanditsError as failed:  # tried again
                    _LOG.warning("%s: a deadline: %s", self._seat.member, failed)
                since = time.monotonic()

    async def _expire(self) -> None:
        """Put the default in the place of every reward that has not come in time."""
        after = self._federation.reward_after
        while True:
            await asyncio.sleep(min(_LONGEST_PAUSE, max(_LEAST_PAUSE, after / 10)))
            self._look()
            if (
                self.problem != self._owed
            ):  # a clock that has jumped ahead would end the time of all rewards
                continue
            try:
                await self._clocked.expire(time.time() - after)
            except FedbanditsError as failed:  # tried again
                _LOG.warning("%s: rewards that are late: %s", self._seat.member, failed)
