"""What every release mechanism promises."""

from __future__ import annotations

import math
import typing

import numpy as np
import pytest

from fedbandits.errors import ReleaseRefusedError
from fedbandits.privacy import accounting
from fedbandits.privacy.accounting import ContinualSum
from fedbandits.privacy.continual import Mechanism, calibrated
from fedbandits.privacy.running_sum import ContinualState, init, release
from fedbandits.random import Purpose, normals, replicate_key

MECHANISMS = typing.get_args(Mechanism)
KEY, SIZE, RELEASES = replicate_key(1, 2), 6, 9


def noise(k):
    return normals(SIZE, KEY, 0, k, Purpose.PRIVACY_NOISE)


@pytest.mark.parametrize("mechanism", MECHANISMS)
class TestPrivatizer:
    def play(self, mechanism, restart_at=None):
        plan = calibrated(mechanism, RELEASES, 0.5, 2.0)
        state, out = init(plan, SIZE), []
        for k in range(1, RELEASES + 1):
            state, released = release(plan, state, np.arange(SIZE) * float(k), np.ones(SIZE), noise)
            out.append(released)
            if k == restart_at:  # saved to bytes and loaded again
                kept = [np.frombuffer(a.tobytes()).reshape(a.shape).copy() for a in state[1:]]
                state = ContinualState(int(state.made), *kept)
        return np.array(out)

    def test_releases_have_the_shape_of_the_sum_and_are_reproducible(self, mechanism):
        one = self.play(mechanism)
        assert one.shape == (RELEASES, SIZE)
        np.testing.assert_array_equal(one, self.play(mechanism))

    @pytest.mark.parametrize("restart_at", [1, 4, 8])
    def test_saved_state_goes_on_to_the_same_releases(self, mechanism, restart_at):
        np.testing.assert_array_equal(self.play(mechanism), self.play(mechanism, restart_at))

    def test_noise_is_added_to_the_running_sum(self, mechanism):
        plan = calibrated(mechanism, RELEASES, 0.5, 2.0)
        errors = self.play(mechanism) - np.outer(np.arange(1, RELEASES + 1), np.arange(SIZE))
        assert (np.abs(errors) <= 6 * plan.largest_deviation()).all()
        assert errors.any() == (mechanism != "none")

    def test_it_stops_at_its_plan(self, mechanism):
        plan = calibrated(mechanism, 1, 0.5, 2.0)
        state, _ = release(plan, init(plan, SIZE), np.zeros(SIZE), np.ones(SIZE), noise)
        with pytest.raises(ReleaseRefusedError):
            release(plan, state, np.zeros(SIZE), np.ones(SIZE), noise)

    def test_an_accountant_can_price_it(self, mechanism):
        mu = accounting.mu(ContinualSum(calibrated(mechanism, RELEASES, 0.5, 2.0), 2.0))
        assert mu == math.inf if mechanism == "none" else mu <= 0.5
