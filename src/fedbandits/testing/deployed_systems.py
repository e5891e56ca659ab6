"""The contract suite for deployments: between machines parties play as in a simulation.

A driver leads a federation's members through a world, as a simulation leads its parties.
"""

from __future__ import annotations

import asyncio
import pathlib
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from fedbandits.deployment.hosting.events import Decided
from fedbandits.deployment.hosting.node import Node
from fedbandits.environments.base import Environment
from fedbandits.federation import snapshots
from fedbandits.federation.roles import Supplies
from fedbandits.federation.terms import Terms
from fedbandits.random import replicate_key
from fedbandits.systems.application import Application
from fedbandits.testing.applications import ROUNDS, AskedParty, Setting, asked_of, told_of
from fedbandits.testing.deployed import DeployedFederation, federation_from


class WorldDriver:
    """Drives a federation's members through a world, as a simulation drives its parties.

    All members run. ``environment`` and ``seed`` determine the world and its draws.
    """

    def __init__(self, deployed: DeployedFederation, environment: Environment, seed: int) -> None:
        self.deployed, self.federation = deployed, deployed.federation
        self.stage = environment.stage(replicate_key(seed, 0))
        self.stage.tells_persons = self.federation.plan.counts_persons
        acting = self.federation.roles.acting
        self.players = list(self.federation.members[acting.name])
        self.done = 0
        #: (round, player, action) of every decision.
        self.actions: list[tuple[int, int, Any]] = []

    async def advance(self, rounds: int) -> None:
        """Drive until ``rounds`` rounds are done; to the end if messages set the pace."""
        if self.federation.roles.messages_set_pace:
            await self._to_the_end()
            self.done = rounds
        while self.done < rounds:
            round_ = self.done + 1
            for place in self.stage.acting(round_):
                await self.act(place, round_)
            await self.deployed.settle()
            await self.end_round(round_)
            self.done = round_

    async def _to_the_end(self) -> None:
        """Pull when a pull is due; rounds end for all members together, when no pull is due."""
        going = True
        while going:
            await self.deployed.settle()
            going = await self._pull_due() or await self._end_rounds() or await self._end_waiting()

    async def _pull_due(self) -> bool:
        rounds = [
            (place, self.deployed.nodes[member].host.view.round_to_act)
            for place, member in enumerate(self.players)
        ]
        due = [(place, round_) for place, round_ in rounds if round_ is not None]
        for place, round_ in due:
            self.stage.situation(round_, place)
            reward = int(self.stage.outcome(round_, place, True))
            await self.deployed.nodes[self.players[place]].pull(round_, reward)
        return bool(due)

    async def _end_rounds(self) -> bool:
        ends = [
            (node, node.host.view.next_end)
            for node in self.deployed.nodes.values()
            if node.host.view.next_end is not None
        ]
        for node, end in ends:
            await node.end_round(end)
        return bool(ends)

    async def act(self, place: int, round_: int) -> None:
        """Let a player decide and learn."""
        node = self.deployed.nodes[self.players[place]]
        assert node.application is not None
        asked = self._asked(node.application, round_, place)
        decided = await self.decided(node, asked)
        outcome = self.stage.outcome(round_, place, np.asarray(decided.action)[()])
        self.actions.append((round_, place, decided.action))
        await self.rewarded(node, decided.number, told(node.application, outcome))

    def _asked(self, application: Application[Any], round_: int, place: int) -> Any:
        return asked(application, self.stage.situation(round_, place))

    async def decided(self, node: Node, asked: Any) -> Decided:
        """Ask for a decision."""
        return await node.decide(asked)

    async def rewarded(self, node: Node, number: int, told: Any) -> None:
        """Report a reward."""
        await node.reward(number, told)

    async def end_round(self, round_: int) -> None:
        """End the round for members with a due end, and wait for the messages of the end."""
        for member in self.players:
            node = self.deployed.nodes[member]
            if node.host.view.next_end == round_:
                await node.end_round(round_)
        await self.deployed.settle()
        while await self._end_waiting():
            await self.deployed.settle()

    async def _end_waiting(self) -> bool:
        """Send deadlines to all members that wait; return whether any member waits.

        No message is on its way.
        """
        waiting = [
            (node, node.host.view.awaited)
            for node in self.deployed.nodes.values()
            if node.host.view.awaited is not None
        ]
        for node, number in waiting:
            await node.deadline(number)
        return bool(waiting)


def asked(application: Application[Any], situation: Any) -> Any:
    """Turn a world's situation into the request of an application."""
    return msgspec.convert(asked_of(situation, application), application.ASKED)


def told(application: Application[Any], outcome: Any) -> Any:
    """Turn a world's outcome into the report of an application."""
    return msgspec.convert(told_of(outcome, application), application.TOLD)


_SEED = 1


def does_as_simulated(
    preset: str, folder: pathlib.Path, restarts: bool = False,
    make: Callable[..., DeployedFederation] = DeployedFederation, **parts: Any,
) -> None:  # fmt: skip
    """Check that durable members play as parties in one process do, bit for bit.

    Parameters
    ----------
    preset
        Name of the preset.
    folder
        The folder of the stores.
    restarts
        Whether members are stopped and started during the run, one after the other.
    make
        A function of federation, folder and supplies that makes the members.
    **parts
        Settings that replace those of the preset.
    """
    setting = Setting(preset, **parts)
    if setting.roles is None:
        return
    supplies = setting.system.simulated_supplies(setting.plan, setting.stated, _SEED, 0)
    expected = _simulated(setting, supplies, federation_from(setting).terms)
    states = asyncio.run(_deployed(setting, supplies, folder, restarts, make))
    for party, state in expected.items():
        assert states[party] == state, f"{preset}: {party} is elsewhere than in a simulation"


def _simulated(setting: Setting, supplies: Supplies, terms: Terms) -> dict[str, bytes]:
    application = setting.application
    run = setting.begin(lambda party: AskedParty(party, application), supplies, terms)
    run.advance(ROUNDS)
    return {party.name: snapshots.plain(party.state) for party in run.parties}


async def _deployed(
    setting: Setting,
    supplies: Supplies,
    folder: pathlib.Path,
    restarts: bool,
    make: Callable[..., DeployedFederation],
) -> dict[str, bytes]:
    federation = federation_from(setting)
    deployed = make(federation, folder, supplies=supplies, held=True)
    await deployed.start()
    await deployed.greeted()
    driver = WorldDriver(deployed, setting.world, _SEED)
    everybody = federation.everybody
    for stop in range(10, ROUNDS + 1, 10):
        await driver.advance(stop)
        if restarts and not federation.roles.messages_set_pace:
            member = everybody[(stop // 10) % len(everybody)]
            await deployed.stop(member)
            await deployed.start(member)
            await deployed.greeted()
    states = {
        federation.party_of[member]: snapshots.plain(deployed.state(member)) for member in everybody
    }
    await deployed.stop()
    return states
