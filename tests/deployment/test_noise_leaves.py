"""Between machines the noise that was planned is really drawn, and really added."""

from __future__ import annotations

import asyncio

import msgspec
import numpy as np
import pytest
from scipy import stats

from fedbandits.federation.messages import unpack
from fedbandits.testing.applications import Setting
from fedbandits.testing.deployed import DeployedFederation, federation_from
from tests.deployment.federations import clinics

#: Of each of two sides. Secure noise has no seed: chance fails a test once in 10⁹ runs.
_CHANCE = 5e-10


class Replayed:
    """Gives what a ledger has kept, as a source of noise would have."""

    def __init__(self, draws):
        self._draws = draws

    def cover(self, step, values):
        assert values.size == self._draws[step - 1].size
        return self._draws[step - 1]


def kept(node):
    """Everything that a member's ledger has kept, by step."""
    ledger = node.host.store.ledger
    return node.host.call(lambda b: ledger.draws(b.connection, node.member, "releases"))


async def end_rounds(deployed, players):
    """End all rounds that matter, for everybody; nobody has any record."""
    while True:
        nodes = [deployed.nodes[member] for member in players]
        ends = {node.host.view.next_end for node in nodes}
        if ends == {None}:
            return
        end = min(each for each in ends if each is not None)
        for node in nodes:
            if node.host.view.next_end == end:
                await node.end_round(end)
        await deployed.settle()


def has_deviation_one(noise):
    """Hold the sum of squares against χ²: noise that is off, or half as large, is far outside."""
    squares = float(np.sum(noise**2))
    law = stats.chi2(noise.size)
    assert law.ppf(_CHANCE) < squares < law.isf(_CHANCE)
    assert abs(noise.sum()) < stats.norm.isf(_CHANCE) * np.sqrt(noise.size)


@pytest.mark.parametrize("preset", ["feducb", "feducb-p2p", "fclub", "pfcb"])
def test_covered_values_of_nobody_are_noise(preset, tmp_path):
    """Without records what is covered is zero, so what a ledger keeps is the noise alone."""
    setting = Setting(preset)
    federation = federation_from(setting, noise="secure")
    own = {
        federation.members[role][place]: values for (role, place), values in setting.own().items()
    }

    async def play():
        deployed = DeployedFederation(federation, tmp_path, own=own)
        await deployed.start()
        await deployed.greeted()
        players = federation.members[federation.roles.acting.name]
        await end_rounds(deployed, players)
        draws = [await kept(deployed.nodes[member]) for member in players]
        await deployed.stop()
        return draws

    draws = asyncio.run(play())
    assert all(len(own) >= 1 for own in draws)
    everything = np.concatenate([draw.reshape(-1) for own in draws for draw in own])
    assert everything.size >= 30
    has_deviation_one(everything)
    # Nobody's noise is anybody else's, nor that of another step.
    assert np.unique(everything).size == everything.size


def test_what_reaches_the_controller_has_that_noise_in_it(tmp_path):
    """Made again from what the ledger has kept, each release is the one that has left."""
    federation = clinics(noise="secure")
    plan, (role, *_) = federation.plan, federation.roles.roles
    terms = msgspec.structs.replace(federation.terms, noise="simulated")  # the source is a test's

    async def play():
        deployed = DeployedFederation(federation, tmp_path)
        await deployed.start()
        await deployed.greeted()
        await end_rounds(deployed, federation.members["agent"])
        draws = [await kept(deployed.nodes[m]) for m in federation.members["agent"]]
        values = np.stack(deployed.state("hub").kept)
        await deployed.stop()
        return draws, values

    draws, values = asyncio.run(play())
    for place, own in enumerate(draws):
        supply = federation.system.simulated_supplies(plan, None, 0, 0)("agent", place)
        supply = supply._replace(noise=Replayed(own))
        agent = federation.roles.make(role, place, terms, supply)
        while (end := agent.next_end) is not None:
            (upload,) = agent.end_round(end)
        newest = unpack(upload.statistic, values.shape[1])
        np.testing.assert_array_equal(newest, values[place])
        assert np.abs(newest).min() > 0.0
