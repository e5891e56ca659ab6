"""Nothing that leaves an agent shows what is behind its masks."""

from __future__ import annotations

import numpy as np
from scipy import stats

from fedbandits.federation.totals.messages import Increment, Opened, pack_words, unpack_words
from tests.federation.totals.world import World

PRESENT = ([0, 1, 2, 3], [0, 2, 3], [1, 2], [0, 3], [0, 1, 2, 3], [1, 3])


def played():
    world, seen = World(agents=4, helpers=2, size=4), []
    world.values //= 2**20
    for k, present in enumerate(PRESENT, 1):
        world.play(k, present, seen)
    return world, seen


def masks_of(world, message):
    """The masks of an increment, one a helper."""
    place = int(message.sender.split("-")[1])
    helpers = range(world.plan.helpers)
    return [world.mask(place, helper, message.release, message.salt) for helper in helpers]


def test_no_message_shows_an_increment_or_a_release_with_a_mask_missing():
    """Nor does any other field, nor a sum of masks of fewer than are in a sum."""
    world, seen = played()
    encoded = [world.roles.codec.encode(message) for message in seen]
    increments = [message for message in seen if isinstance(message, Increment)]
    assert len(increments) == sum(map(len, PRESENT))
    for message in increments:
        masked, masks = unpack_words(message.statistic, world.plan.size), masks_of(world, message)
        place = int(message.sender.split("-")[1])
        release = world.values[place, message.release].view(np.uint64)
        base = world.values[place, message.base].view(np.uint64)
        np.testing.assert_array_equal(masked - masks[0] - masks[1], release - base)
        hidden = [release, release - base, masked - masks[0], masked - masks[1], *masks]
        for number in np.concatenate(hidden):
            assert not any(pack_words(np.array([number])) in data for data in encoded)


def test_helpers_see_no_numbers_of_agents():
    _, seen = played()
    fields = {
        (type(each).__name__, field) for each in seen if each.receiver.startswith("helper")
        for field in each.__struct_fields__
    }  # fmt: skip
    assert fields == {
        (request, field) for request in ("Check", "Opening")
        for field in ("sender", "receiver", "number", "version", "terms", "release", "members",
                      "statements")
    }  # fmt: skip


def test_no_two_messages_share_a_mask():
    world, seen = played()
    increments = [message for message in seen if isinstance(message, Increment)]
    made = [mask.tobytes() for message in increments for mask in masks_of(world, message)]
    assert len(set(made)) == len(made)
    assert len({(message.sender, message.salt) for message in increments}) == len(increments)


def test_what_is_masked_looks_uniform():
    """Even where all records are nothing."""
    world = World(agents=20, size=50, releases=3)
    world.values[:] = 0
    seen = []
    for k in (1, 2, 3):
        world.play(k, range(20), seen)
    words = np.concatenate([
        unpack_words(message.statistic, 50) for message in seen if isinstance(message, Increment)
    ])  # fmt: skip
    assert stats.kstest(words / 2.0**64, "uniform").pvalue > 1e-3
    masks = [unpack_words(each.masks, 50) for each in seen if isinstance(each, Opened)]
    assert stats.kstest(np.concatenate(masks) / 2.0**64, "uniform").pvalue > 1e-3
