"""A party that sends nonsense in the middle of a run: the others go on as if it had not.

Every party in turn sends each of its peers, under its own name and numbers, what it must not:
absurd statistics, numbers beyond all bounds, what it has sent before, bytes with a flipped bit.
Nothing of it is taken, and the run is the one that nobody has disturbed, bit for bit.
"""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from fedbandits.settings.experiment import system
from fedbandits.systems import find_preset, preset_names
from fedbandits.systems.base import PartiesReplicate
from fedbandits.testing.worlds import small_world
from tests.deployment.misbehaving import COUNTED, impossible_fields

ROUNDS = 40


def begin(preset):
    """Begin a federation; None if its plan has no parties."""
    found = find_preset(preset)
    world = small_world(found)
    plan = system(preset).plan(world, ROUNDS)
    if found.roles(plan) is None:
        return None
    return PartiesReplicate(found, plan, world, 1, 0, lenient=True)


def flipped(data):
    """Bits of the type's name: no such message exists then."""
    at = data.index(b"type") + 6
    yield from (data[: at + i] + bytes([data[at + i] ^ 1]) + data[at + i + 1 :] for i in range(3))


def attack(run):
    """Every party attacks every peer; returns how many messages that took."""
    network, latest = run.network, {}
    codec = network._codec
    for _, message in network.transcript.deliveries:
        latest[message.sender, message.receiver, type(message)] = message
    sent = 0
    for (sender, receiver, _), message in latest.items():
        links = network.parties[sender]._links
        for fields in impossible_fields(message):
            network.send([links.numbered(msgspec.structs.replace(message, **fields))])
            sent += 1
        if COUNTED & set(message.__struct_fields__):
            network.send([links.numbered(message)])  # again, under a new number
            sent += 1
        for data in flipped(codec.encode(links.numbered(message))):
            network.send_bytes(sender, receiver, data)
        network.send([message])  # again, as it was: a replay
        sent += 4
    return sent


@pytest.mark.parametrize("preset", sorted(preset_names()))
def test_the_others_go_on_as_if_nothing_had_been_sent(preset):
    quiet, attacked = begin(preset), begin(preset)
    if quiet is None:
        return
    for run in (quiet, attacked):
        run.advance(ROUNDS // 2)
    before = len(attacked.network.refusals)
    sent = attack(attacked)
    attacked.network.settle()
    refused = attacked.network.refusals[before:]
    for run in (quiet, attacked):
        run.advance(ROUNDS)
    assert attacked.done == ROUNDS
    assert len(refused) >= 0.8 * sent  # the others are taken without effect, being out of date
    np.testing.assert_array_equal(attacked.regret, quiet.regret)
    np.testing.assert_array_equal(attacked.reward, quiet.reward)
    # An upload that is out of date is taken without effect: it counts as a message, no more.
    assert attacked.syncs >= quiet.syncs
