"""Members of a federation in one process, driven as a simulation drives its parties.

Hosts, stores and delivery are the real ones. Played in a world, a federation must do what the
parties of :class:`~fedbandits.systems.base.PartiesReplicate` do, bit for bit.
"""

from __future__ import annotations

import asyncio
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fedbandits.deployment.frames import Seals
from fedbandits.deployment.memory import MemoryHub
from fedbandits.deployment.node import Decided, Node
from fedbandits.deployment.seat import HostedSeat
from fedbandits.deployment.store import Store
from fedbandits.deployment.transport import Transport
from fedbandits.environments.base import Environment
from fedbandits.errors import FedbanditsError
from fedbandits.random import replicate_key
from fedbandits.settings.federation import Federation, read_federation
from fedbandits.systems.application import Application

_PAUSE = 0.0005


class OpenSeals:
    """Seals nothing: for tests of everything else."""

    def seal(self, receiver: str, plaintext: bytes) -> bytes:
        """The frame as it is."""
        del receiver
        return plaintext

    def open(self, sender: str, frame: bytes) -> bytes:
        """The frame as it is."""
        del sender
        return frame


class DeployedFederation:
    """All members of a federation in this process.

    Parameters
    ----------
    federation
        Whose members run.
    folder
        Where their stores are.
    transports
        Makes a member's transport; in memory by default.
    seals
        Makes a member's greeting seals and its others; nothing is sealed by default.
    simulated
        The world and seed that simulated supplies come from; members bring what their stores have
        by default.
    own
        What every member alone knows.
    stores
        Where stores are that are not in the folder, by member.
    moved
        Whether stores may be copies.
    """

    def __init__(
        self,
        federation: Federation,
        folder: pathlib.Path,
        transports: Callable[[str], Transport] | None = None,
        seals: Callable[[str], tuple[Seals, Seals]] | None = None,
        simulated: tuple[Environment, int] | None = None,
        own: Mapping[str, Mapping[str, Any]] | None = None,
        stores: Mapping[str, str] | None = None,
        moved: bool = False,
    ) -> None:
        self.federation, self.folder = federation, folder
        self.hub = MemoryHub()
        self._transports = transports
        self._seals = seals or (lambda _: (OpenSeals(), OpenSeals()))
        self._own, self._stores, self._moved = own or {}, stores or {}, moved
        self.nodes: dict[str, Node] = {}
        self._supplies: Callable[[str, int], Any] | None = None
        if simulated is not None:
            environment, seed = simulated
            stage = environment.stage(replicate_key(seed, 0))
            self._supplies = federation.system.simulated_supplies(
                federation.plan, stage.world, seed, 0
            )

    async def start(self, *members: str) -> None:
        """Start some members, or all."""
        for member in members or self.federation.everybody:
            self.nodes[member] = node = self.make(member)
            await node.start()

    def make(
        self, member: str, on_fatal: Callable[[FedbanditsError], None] = lambda _: None
    ) -> Node:
        """A member's node on its store."""
        role, place = self.federation.seat_of(member)
        supplies = self._supplies
        supply = None if supplies is None else (lambda _: supplies(role.name, place))
        seat = HostedSeat.of(self.federation, member, self._own.get(member), supply)
        where = self._stores.get(member, str(self.folder / f"{member}.db"))
        store = Store.open(
            where, self.federation.name, member, seat.terms.digest,
            synchronous="NORMAL" if seat.is_chatty else "FULL", moved=self._moved,
        )  # fmt: skip
        greets, seals = self._seals(member)
        return Node(seat, store, self._transport(member), greets, seals, on_fatal)

    def _transport(self, member: str) -> Transport:
        """In memory, unless another one was given."""
        return (self._transports or self.hub.transport)(member)

    async def stop(self, *members: str) -> None:
        """Stop some members, or all that run."""
        for member in members or tuple(self.nodes):
            await self.nodes.pop(member).stop()

    async def greeted(self) -> None:
        """Wait until all peers know of each other."""
        await until(
            lambda: all(
                set(node.delivery.greeted) >= set(node.delivery.exchanges)
                for node in self.nodes.values()
            )
        )

    async def settle(self) -> None:
        """Wait until nothing is on its way: all messages were taken, and what came of them."""
        await until(
            lambda: (
                not any(
                    exchange.unacknowledged
                    for node in self.nodes.values()
                    for exchange in node.delivery.exchanges.values()
                )
            )
        )

    def state(self, member: str) -> Any:
        """A party's state, as its own thread has it; nothing must be under way."""
        hands = self.nodes[member].host._hands
        assert hands is not None
        return hands.party.state


async def until(holds: Callable[[], bool], timeout: float = 60.0) -> None:
    """Wait until something holds.

    Raises
    ------
    TimeoutError
        If it does not, for as long as something surely hangs.
    """
    async with asyncio.timeout(timeout):
        while not holds():
            await asyncio.sleep(_PAUSE)


class Play:
    """Plays a world through a federation's members, as a simulation plays its parties.

    Parameters
    ----------
    deployed
        The members; all run.
    environment, seed
        The world, and what names its draws.
    """

    def __init__(self, deployed: DeployedFederation, environment: Environment, seed: int) -> None:
        self.deployed, self.federation = deployed, deployed.federation
        self.stage = environment.stage(replicate_key(seed, 0))
        acting = self.federation.roles.acting
        self.players = list(self.federation.members[acting.name])
        self.done = 0
        #: (round, player, action) of every decision.
        self.actions: list[tuple[int, int, Any]] = []

    async def advance(self, rounds: int) -> None:
        """Play until so many rounds are done."""
        while self.done < rounds:
            round_ = self.done + 1
            for place in self.stage.acting(round_):
                await self.act(place, round_)
            await self.deployed.settle()
            await self.end_round(round_)
            self.done = round_

    async def act(self, place: int, round_: int) -> None:
        """Let one player decide and learn."""
        node = self.deployed.nodes[self.players[place]]
        assert node.application is not None
        asked = plain_situation(node.application, self.stage.situation(round_, place))
        decided = await self.decided(node, asked)
        outcome = self.stage.outcome(round_, place, np.asarray(decided.action)[()])
        self.actions.append((round_, place, decided.action))
        await self.rewarded(node, decided.number, plain_outcome(node.application, outcome))

    async def decided(self, node: Node, asked: Any) -> Decided:
        """Ask for a decision."""
        return await node.decide(asked)

    async def rewarded(self, node: Node, number: int, told: Any) -> None:
        """Tell a reward."""
        await node.reward(number, told)

    async def end_round(self, round_: int) -> None:
        """End the round for whom it matters, and wait for what comes of it."""
        for member in self.players:
            node = self.deployed.nodes[member]
            if node.host.view.next_end == round_:
                await node.end_round(round_)
        await self.deployed.settle()
        while await self._end_waiting():
            await self.deployed.settle()

    async def _end_waiting(self) -> bool:
        """A deadline for all who wait, since nothing is on its way; whether any did."""
        waiting = [
            (node, node.host.view.awaited)
            for node in self.deployed.nodes.values()
            if node.host.view.awaited is not None
        ]
        for node, number in waiting:
            await node.deadline(number)
        return bool(waiting)


def plain_situation(application: Application[Any], situation: Any) -> Any:
    """A world's situation as an application would ask."""
    fields = application.ASKED.__struct_fields__
    if "actions" in fields:
        return application.ASKED(actions=situation.T.tolist())
    if "context" in fields:
        return application.ASKED(context=situation[:, 0].tolist())
    if "items" in fields:
        return application.ASKED(user=int(situation.user), items=situation.items.T.tolist())
    return application.ASKED()


def plain_outcome(application: Application[Any], outcome: Any) -> Any:
    """A world's outcome as an application would tell it."""
    return application.TOLD(reward=np.asarray(outcome).tolist())


__all__ = ["DeployedFederation", "OpenSeals", "Play", "read_federation", "until"]
