"""Runs of parties to secure sums, as the tests of several systems look at them."""

from __future__ import annotations

import numpy as np

from fedbandits.privacy.secure_noise import SecureNoise
from fedbandits.random import replicate_key
from fedbandits.testing.replicates import plan_of, system_of

SEED = 3


class KnownNoise(SecureNoise):
    """Whole noise of a seed, under the name of a secure source."""

    __slots__ = ("seed",)

    def cover_whole(self, step, values, deviations):
        drawn = np.random.default_rng([self.seed, step]).normal(size=values.size)
        return values + np.rint(drawn * deviations)

    def draw_whole_ahead(self, deviations):
        pass


def noisy_supplies(config, world, rounds, role, seed):
    """Simulated supplies, but the first member's noise is another with every seed."""
    plan = plan_of(config, world, rounds)
    played = world.stage(replicate_key(SEED, 0)).world
    simulated = system_of(config).simulated_supplies(plan, played, SEED, 0)

    def supply(party, place):
        brought = simulated(party, place)
        if party != role:
            return brought
        noise = KnownNoise()
        noise.seed = seed if place == 0 else 100 + place
        return brought._replace(noise=noise)

    return supply


def require_total(run):
    """The controller's total is that of every member's newest opened share, bit for bit.

    The shares are those that members keep themselves.
    """
    state, found = run.one("controller").state, []
    for member, opened in zip(run.players, state.opened, strict=True):
        sending = member.state.sending
        kept = {sending.base: sending.base_values, sending.pending: sending.pending_values}
        found.append(kept[int(opened)])
    summed = np.array(found).view(np.uint64).sum(0, dtype=np.uint64)
    np.testing.assert_array_equal(state.total, summed)


def losing(seed, share):
    """A route on which a share of all messages is lost."""
    draws = np.random.default_rng(seed)
    return lambda message: None if draws.random() < share else 0


def play_with_losses(run, rounds):
    """Play all rounds while messages are lost; every total is right, and nobody retires."""
    some_came_late = False
    for round_ in range(1, rounds + 1):
        run.advance(round_)
        require_total(run)
        some_came_late |= len(set(run.one("controller").state.opened.tolist())) > 1
    controller = run.one("controller").state
    assert run.network.refusals == []
    assert not any(member.state.sending.retired for member in run.players)
    assert controller.releases >= 2
    assert some_came_late
