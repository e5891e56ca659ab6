"""A federation whose processes and broker are killed while applications use it.

Every member is a process of its own, with its folder, its store, its door and TLS to the broker.
Applications ask at the doors, and ask again until they are answered.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Self

import numpy as np

from fedbandits.client import AsyncClient, DoorError
from fedbandits.client.calls import DuplicateError, LateError
from fedbandits.deployment.door import make_token
from fedbandits.deployment.hosting.host import Host
from fedbandits.deployment.process.folder import load_party
from fedbandits.deployment.process.local_doors import LocalDoor
from fedbandits.deployment.process.looking import read_running
from fedbandits.deployment.process.party_process import serve
from fedbandits.deployment.process.running import RunningParty, seat_in
from fedbandits.environments.base import Environment
from fedbandits.errors import DeploymentError
from fedbandits.random import Key, replicate_key, uniform
from fedbandits.testing.applications import asked_of, told_of
from tests.deployment.brokered import Brokered

_SEED, _AGAIN, _PATIENCE = 0, 0.02, 120.0
#: Forked from a process that has imported everything: a member is back in no time.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload([__name__, "tests.deployment.warmed"])


def _run(folder: str) -> None:
    """Run a member until it is told to end."""
    logging.getLogger().setLevel(logging.CRITICAL)
    asyncio.run(serve(RunningParty(load_party(folder), catches_up=True)))


class Killed:
    """Members as processes, and applications that use them.

    ``here`` has their folders and their broker, which runs. Applications see the environment for so
    many rounds, where rounds end by themselves.
    """

    def __init__(self, here: Brokered, environment: Environment, rounds: int) -> None:
        self.here, self.federation, self._rounds = here, here.federation, rounds
        self._environment = environment
        acting = self.federation.roles.acting.name
        self.players = self.federation.members[acting]
        self._processes: dict[str, Any] = {}
        self._tokens = {m: make_token(here.folder / m, "app", member=m) for m in self.players}
        self._doors: dict[tuple[str, str], AsyncClient] = {}
        #: Held while a decision is asked for: see :meth:`kill`.
        self.deciding = {member: asyncio.Lock() for member in self.federation.everybody}
        #: (member, name of the decision, reward) of every reward that was acknowledged.
        self.rewarded: list[tuple[str, str, Any]] = []
        #: What every pull gave, acknowledged or not: one that was not is due again, or was taken.
        self.told: dict[tuple[str, str], int] = {}
        #: How many requests were not answered.
        self.unanswered = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():  # those that a failure has left
            with suppress(ValueError):  # it was closed
                process.kill()

    def start(self, *members: str) -> None:
        """Start some members, or all."""
        for member in members or self.federation.everybody:
            process = _FORKS.Process(target=_run, args=(str(self.here.folder / member),))
            process.start()
            self._processes[member] = process

    def pause(self, member: str, paused: bool) -> None:
        """Let a member's process stand still, as if it were cut off; or go on."""
        signal_process(self.pid(member), signal.SIGSTOP if paused else signal.SIGCONT)

    def pid(self, member: str) -> int:
        """Return the number of a member's process."""
        return int(self._processes[member].pid)

    async def told_again(self) -> int:
        """Tell all rewards that were acknowledged again: each is refused, so none was lost."""
        for member, name, reward in self.rewarded:
            try:
                await self._door(member).reward(name, reward)
            except (DuplicateError, LateError):
                continue
            raise AssertionError(f"{member} did not know of the reward of {name} any more")
        return len(self.rewarded)

    async def kill(self, member: str, spares: bool) -> None:
        """Kill a member, or ``"broker"``, and start it again.

        A decision that was made but not answered stays open, and takes a place in a release: what
        is compared would differ. So whoever is to be spared that is not killed while it decides.
        """
        if member == "broker":
            broker = self.here.broker
            signal_process(broker.pid or 0, signal.SIGKILL)
            await asyncio.to_thread(broker.stop)
            await asyncio.to_thread(broker.start)
            return
        if spares:
            async with self.deciding[member]:
                self._kill(member)
        else:
            self._kill(member)
        self.start(member)

    def _kill(self, member: str) -> None:
        process = self._processes[member]
        assert process.is_alive(), f"{member} has ended by itself"
        process.kill()
        process.join()

    async def stop(self) -> None:
        """Let all members end in order."""
        for client in self._doors.values():
            await client.close()
        for process in self._processes.values():
            process.terminate()
        for member, process in self._processes.items():
            await asyncio.to_thread(process.join, 60)
            assert process.exitcode == 0, f"{member} ends with {process.exitcode}"
            process.close()

    async def run(self) -> None:
        """Run all rounds, every player at its own pace."""
        if "customer" in self.federation.members:
            await self._order()
        pace = self._pull if self.federation.roles.messages_set_pace else self._decide_and_learn
        await asyncio.gather(*(pace(place, member) for place, member in enumerate(self.players)))

    async def _decide_and_learn(self, place: int, member: str) -> None:
        stage = self._environment.stage(replicate_key(_SEED, 0))
        application = self.federation.system.application(self.federation.plan)
        assert application is not None
        stage.tells_persons = self.federation.plan.counts_persons
        for round_ in range(1, self._rounds + 1):
            if place not in stage.acting(round_):
                continue
            asked = asked_of(stage.situation(round_, place), application)
            asked = {name: np.array(value) if name not in ("user", "person") else value
                     for name, value in asked.items()}  # fmt: skip
            async with self.deciding[member]:
                decision = await self._until(member, partial(_decide, asked))
            outcome = stage.outcome(round_, place, np.asarray(decision.action)[()])
            told = told_of(outcome, application)
            await self._until(member, partial(_reward, decision, told))
            self.rewarded.append((member, decision.id, told["reward"]))

    async def _pull(self, place: int, member: str) -> None:
        stage = self._environment.stage(replicate_key(_SEED, 0))
        while (await self._until(member, lambda door: door.status()))["stage"] != "done":
            pull = await self._until(member, lambda door: door.next_pull(0.2))
            if pull is None:
                continue
            reward = int(stage.outcome(int(pull.rpartition("-")[2]), place, True))
            self.told[member, pull] = reward
            try:
                await self._door(member).pull(pull, reward)
            except DoorError:  # it may have been taken: then it is due no more
                self.unanswered += 1
            else:
                self.rewarded.append((member, pull, reward))

    async def _order(self) -> None:
        """Have the customer order: nothing begins before."""
        (customer,) = self.federation.members["customer"]
        door = LocalDoor(load_party(self.here.folder / customer))
        async with asyncio.timeout(_PATIENCE):
            while True:
                with suppress(DeploymentError):
                    if (await asyncio.to_thread(door.order))["stage"]:
                        return
                await asyncio.sleep(_AGAIN)

    def _door(self, member: str) -> AsyncClient:
        """Return a client of where its door was opened last."""
        running = read_running(self.here.folder / member)
        url = "http://127.0.0.1:1" if running is None else running.url
        if (member, url) not in self._doors:
            # What had no answer is asked for again below, at the address of the moment.
            client = AsyncClient(
                url, self._tokens[member], timeout=_PATIENCE, verify=False, retries=0
            )
            self._doors[member, url] = client
        return self._doors[member, url]

    async def _until(self, member: str, ask: Callable[[AsyncClient], Any]) -> Any:
        """Ask until there is an answer; that it was answered before is one, the second time."""
        first = True
        async with asyncio.timeout(_PATIENCE):
            while True:
                try:
                    return await ask(self._door(member))
                except (DuplicateError, LateError):
                    if first:
                        raise
                    return None
                except DoorError:
                    self.unanswered += 1
                    first = False
                    await asyncio.sleep(_AGAIN)


def signal_process(pid: int, number: signal.Signals) -> None:
    """Send a process of ours a signal."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


async def killing(
    killed: Killed, victims: list[str], kills: int, spares: bool, seed: int, steps: int
) -> int:
    """Run, and kill in turns, at random instants over the run; returns how many were killed.

    ``victims`` are killed one after the other, so many ``kills`` over so many rewards (``steps``).
    ``spares`` is as for :meth:`Killed.kill`; the ``seed`` names the instants.
    """
    key = Key(seed, 0)
    instants = sorted(uniform(key, 0, i, 0, 0) * steps for i in range(kills))
    running = asyncio.create_task(killed.run())
    made = 0
    for i, instant in enumerate(instants):
        while len(killed.rewarded) < instant and not running.done():
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.05 * uniform(key, 0, i, 1, 0))
        if running.done():
            break
        await killed.kill(victims[i % len(victims)], spares)
        made += 1
    await running
    return made


async def settled(killed: Killed) -> int:
    """Wait until nothing is on its way; returns how many events all parties have taken."""
    doors = [LocalDoor(load_party(killed.here.folder / m)) for m in killed.federation.everybody]

    def events() -> int:
        found = 0
        for door in doors:
            status = door.report().status
            waits = status and (
                status["outbox"]
                or status["stage"] in ("waiting", "exchanging", "opening")
                or status["sums"].get("release_on_its_way")
            )
            if not status or waits:
                return 0
            found += status["events"]
        return found

    async with asyncio.timeout(_PATIENCE):
        while not (found := await asyncio.to_thread(events)):
            await asyncio.sleep(0.05)
    return found


async def states(killed: Killed) -> dict[str, Any]:
    """Read where everybody is, from the stores; nobody must run."""
    found = {}
    for member in killed.federation.everybody:
        party = load_party(killed.here.folder / member)
        seat = seat_in(party)
        store = seat.open_store(party.store)
        with store.begin() as connection:
            store.ledger.verify(connection)
        host = Host(seat, store)
        await host.open()
        await host.begin()
        assert host._hosted is not None
        found[member] = host._hosted.party.state
        await host.stop()
    return found


async def _decide(asked: dict[str, Any], door: AsyncClient) -> Any:
    return await door.decide(**asked)


async def _reward(decision: Any, told: dict[str, Any], door: AsyncClient) -> None:
    await door.reward(decision, **told)
