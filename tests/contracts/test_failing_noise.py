"""Noise that fails: a ledger that refuses, or is busy, or a source that gives what is no noise.

A party that is asked again must not have counted anything twice: a record in two batches moves
releases by twice what is charged for it.
"""

from __future__ import annotations

import numpy as np
import pytest

from fedbandits.errors import NoiseError
from tests.contracts.test_deployed_noise import VARIANTS, Covering, contents, sent


class Failing(Covering):
    """Fails twice whenever it is asked for a step: by raising, and by giving what is no noise."""

    def __init__(self, noise):
        super().__init__(noise)
        self.failed = {}

    def cover(self, step, values):
        count = self.failed[step] = self.failed.get(step, 0) + 1
        if count == 1:
            raise OSError("the disk is full")
        return np.full(values.shape, np.nan) if count == 2 else super().cover(step, values)


#: A published trigger's releases answer messages, which a driver does not deliver again by itself.
FIXED = [name for name in VARIANTS if name not in ("agents, as published", "peers, as published")]


def patient(method):
    """Asks again until it does not fail."""

    def call(*args):
        for _ in range(2):
            try:
                return method(*args)
            except (OSError, NoiseError):
                continue
        return method(*args)

    return call


@pytest.mark.parametrize("name", FIXED)
def test_whoever_asks_again_gets_what_there_would_have_been(name):
    variant = VARIANTS[name]
    smooth, rough = variant.begin(0, Covering), variant.begin(0, Failing)
    for party in rough.players:
        party.end_round = patient(party.end_round)
    for run in (smooth, rough):
        run.advance(run.rounds)
    assert any(party._noise.failed for party in rough.players)
    np.testing.assert_array_equal(smooth.reward, rough.reward)
    for one, other in zip(sent(smooth), sent(rough), strict=True):
        np.testing.assert_array_equal(contents(one), contents(other))


@pytest.mark.parametrize("name", ["agents, as published"])
def test_a_call_that_fails_can_be_delivered_again(name):
    variant = VARIANTS[name]
    smooth, rough = variant.begin(0, Covering), variant.begin(0, Failing)
    for party in rough.players:
        party.receive_bytes = patient(party.receive_bytes)
    for run in (smooth, rough):
        run.advance(run.rounds)
    assert any(party._noise.failed for party in rough.players)
    for one, other in zip(sent(smooth), sent(rough), strict=True):
        np.testing.assert_array_equal(contents(one), contents(other))


@pytest.mark.parametrize("name", VARIANTS)
def test_what_is_raised_tells_no_number(name):
    """Errors travel to logs: they name who and what, but nothing of a record or a sum."""
    variant = VARIANTS[name]

    class Broken(Covering):
        def cover(self, step, values):
            self.values = values
            return np.full(values.shape, np.nan)

    run = variant.begin(0, Broken)
    with pytest.raises(NoiseError) as raised:
        run.advance(run.rounds)
    (values,) = [party._noise.values for party in run.players if hasattr(party._noise, "values")]
    telling = [f"{value:.6g}" for value in values if value != round(value)]
    assert telling
    assert not any(number in str(raised.value) for number in telling)
