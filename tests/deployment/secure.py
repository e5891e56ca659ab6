"""Federations of secure sums, in one process, whose members release when they are told to."""

from __future__ import annotations

import asyncio

import numpy as np

from fedbandits.testing.deployed import DeployedFederation, until
from tests.deployment.federations import with_helpers

SETTINGS = """schedule = "every(1)"
epsilon = 1.0
delta = 1e-5
[system.aggregation]
kind = "secure-sum"
least_parties = 2"""
ACTIONS = [[0.1, 0.2, 0.3, 0.4]] * 5
AGENTS = "clinic-0", "clinic-1", "clinic-2"
HELPERS = "lab", "office"


def three_clinics(**table):
    """Three agents, a controller and two helpers; each release is one round."""
    return with_helpers(settings=SETTINGS, rounds=8, noise="secure", **table)


def played(folder, work, federation=None):
    """Start all members, do something with them, and stop those that are left."""
    deployed = DeployedFederation(federation or three_clinics(), folder)

    async def play():
        await deployed.start()
        await deployed.greeted()
        try:
            return await work(deployed)
        finally:
            await deployed.stop()

    return asyncio.run(play())


async def learn(deployed, *agents):
    """Let some agents decide, and tell them what came of it."""
    for place, agent in enumerate(agents or AGENTS):
        node = deployed.nodes[agent]
        decided = await node.decide(node.application.ASKED(actions=ACTIONS))
        await node.reward(decided.number, node.application.TOLD(reward=0.5 + 0.1 * place))


async def release(deployed, *agents):
    """End a round for some agents, or for all."""
    for agent in agents or AGENTS:
        node = deployed.nodes[agent]
        await node.end_round(node.host.view.next_end)


def report(deployed, member):
    """What a member says of secure sums."""
    return deployed.nodes[member].status()["sums"]


async def summed(deployed, number, *agents):
    """Wait until some agents, or all, have heard of a sum."""
    some = agents or AGENTS
    await until(lambda: all(report(deployed, agent)["sums"] >= number for agent in some))


async def no_longer_waited_for(deployed):
    """Let the controller go on without those whose messages have not come."""
    await until(lambda: deployed.nodes["hub"].host.view.awaited is not None)
    await deployed.nodes["hub"].deadline(deployed.nodes["hub"].host.view.awaited)


def hurry(deployed):
    """Let everybody say again at once what was lost."""
    for node in deployed.nodes.values():
        node.delivery.resend_all()


def is_sum(deployed):
    """Hold the total against all agents' newest releases in it, bit for bit."""
    parts = [deployed.state(agent).sending.base_values.view(np.uint64) for agent in AGENTS]
    total = deployed.state("hub").total
    assert any(part.any() for part in parts)
    np.testing.assert_array_equal(total, np.sum(parts, axis=0, dtype=np.uint64))
