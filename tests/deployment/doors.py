"""Parties behind doors for tests: real agents in memory, without a store or peers."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
from collections.abc import AsyncIterator
from typing import Any

from fedbandits.client import AsyncClient
from fedbandits.deployment.door import Door, DoorSettings, make_token
from fedbandits.deployment.hosting.events import Decided
from fedbandits.deployment.hosting.node import Node
from fedbandits.errors import (
    DuplicateRewardError,
    LocalProtocolError,
    UnknownDecisionError,
)
from fedbandits.random import replicate_key
from fedbandits.settings.federation import Federation, read_federation
from fedbandits.systems.agents.system import AgentSupply
from fedbandits.systems.application import Asked, Told
from fedbandits.systems.simulated import simulated_noise
from fedbandits.testing.applications import Setting
from fedbandits.testing.deployed import DeployedFederation, federation_from

AGENTS = """
name = "clinics"
rounds = 1000
noise = "{noise}"
system = {{ preset = "feducb" }}
facts = {{ parties = 2, dimension = 2, arms = 3, models = {models} }}
clock = {{ kind = "rounds" }}
[members]
controller = ["hub"]
agent = ["north", "south"]
"""
SAMBA = """
name = "auction"
rounds = 1000
noise = "simulated"
system = { preset = "samba-ucb" }
facts = { parties = 2 }
clock = { kind = "rounds" }
[members]
customer = ["buyer"]
controller = ["desk"]
comp = ["scale"]
owner = ["left", "right"]
"""
ACTIONS = [[0.5, 0.0], [0.0, 0.5], [0.3, 0.3]]


def agents(models: int = 1, noise: str = "simulated") -> Federation:
    return read_federation(AGENTS.format(models=models, noise=noise))


class InMemory:
    """A party of linear agents that keeps everything in memory; owners of arms only say so."""

    def __init__(self, federation: Federation, member: str) -> None:
        self.federation, self.member, self.ready = federation, member, True
        self.connected = True
        seat = federation.seat_of(member)
        self.application, self._party = None, None
        if seat.role.acts and not federation.roles.messages_set_pace:
            self.application = federation.system.application(federation.plan)
            self._party = federation.roles.make(
                seat.role, seat.place, federation.terms, self._supply(seat.place)
            )
        self._closed: set[int] = set()
        #: What the next calls raise, to see what becomes of it at the door.
        self.raises: Exception | None = None
        #: Until it is set nothing is answered.
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        #: Pulls that are due, and for how many seconds they are waited for at most.
        self.patience = 60.0
        self.pulls: asyncio.Queue[int] = asyncio.Queue()
        self.told: list[tuple[int, Any]] = []
        self.keys: list[str] = []

    def _supply(self, place: int) -> AgentSupply:
        plan, key = self.federation.plan, replicate_key(0, 0)
        size = plan.constants.release_size
        return AgentSupply(lambda step: simulated_noise(size, key, place, step), key)

    async def decide(self, asked: Asked, key: str = "") -> Decided:
        await self._may()
        self.keys.append(key)
        decision = self._party.decide(self.application.situation(self._party, asked))
        return Decided(decision.number, self.application.action(decision, asked))

    async def reward(self, number: int, told: Told) -> None:
        await self._may()
        if number in self._closed:
            raise DuplicateRewardError(f"{self.member}: decision {number} has its reward")
        if number > self._party.state.decisions:
            raise UnknownDecisionError(f"{self.member}: there is no decision {number}")
        self._party.observe(*self.application.observation(self._party, number, told))
        self._closed.add(number)
        self.told.append((number, told))

    async def next_pull(self, timeout: float) -> int | None:
        await self._may()
        try:
            return await asyncio.wait_for(self.pulls.get(), min(timeout, self.patience))
        except TimeoutError:
            return None

    async def pull(self, number: int, reward: int) -> None:
        await self._may()
        self.told.append((number, reward))

    async def privacy(self) -> dict[str, Any]:
        if self.raises is not None:
            raise self.raises
        return {"claim": "ε = 1", "epsilon_spent": 0.25, "epsilon_left": 0.75}

    def status(self) -> dict[str, Any]:
        return {
            "stage": "ready", "ticks": 3, "outbox": 1, "connected": True, "exhausted": False,
            "messages": {"taken": 5, "refused": 1}, "refusals": {"ImplausibleError": 1},
        }  # fmt: skip

    async def _may(self) -> None:
        if self.raises is not None:
            raise self.raises
        await self.may_answer.wait()


class Buyer(InMemory):
    """A customer that orders when it is told to, once."""

    async def order(self) -> None:
        await self._may()
        if self.told:
            raise LocalProtocolError(f"{self.member}: the run is ordered")
        self.told.append((0, "order"))


@contextlib.asynccontextmanager
async def durable(preset: str, folder: pathlib.Path) -> AsyncIterator[Node]:
    """One of those that decide, among all members of a federation, each with a store."""
    setting = Setting(preset)
    supplies = setting.system.simulated_supplies(setting.plan, setting.stated, 1, 0)
    federation = federation_from(setting)
    deployed = DeployedFederation(federation, folder, supplies=supplies)
    await deployed.start()
    try:
        await deployed.greeted()
        yield deployed.nodes[federation.members[federation.roles.acting.name][0]]
    finally:
        await deployed.stop()


@contextlib.asynccontextmanager
async def opened(
    served: Any, folder: pathlib.Path, **settings: Any
) -> AsyncIterator[tuple[Door, AsyncClient]]:
    """A door on a free port, and a client with a token for everything."""
    token = make_token(folder, "tests", member=served.member)
    async with (
        Door(served, folder, DoorSettings(port=0, **settings)) as door,
        AsyncClient(door.url, token) as client,
    ):
        yield door, client
