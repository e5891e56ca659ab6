"""Clipping makes a legal record of any; without it, what is none is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbandits.environments import Linear
from fedbandits.errors import BoundExceededError, LocalProtocolError
from fedbandits.privacy.kernels import NO_FAULT, NOT_A_NUMBER, hold_contexts, record_fault
from fedbandits.systems.agents.config import Every, NoNoise
from fedbandits.systems.feducb.config import FedUCB
from fedbandits.testing.replicates import federate, simulate

INF, NAN = np.inf, np.nan
anything = st.floats(allow_nan=True, allow_infinity=True)
CASES = {  # at L = 2, B = 5
    "NaN counts as 0": ([NAN, 1.5], 1.0, [0.0, 1.5], 1.0),
    "nothing is left": ([NAN, NAN], NAN, [0.0, 0.0], 0.0),
    "infinity is the bound in its direction": ([-INF, 1e300], 1.0, [-2.0, 0.0], 1.0),
    "several share it": ([INF, -INF], INF, [2**0.5, -(2**0.5)], 5.0),
    "too long to be measured": ([3e300, 4e300], -INF, [1.2, 1.6], -5.0),
    "too long": ([3.0, 4.0], 5.0, [1.2, 1.6], 2.0),
}


@pytest.mark.parametrize("case", CASES)
def test_a_record_becomes_a_legal_one(case):
    context, reward, expected, expected_reward = CASES[case]
    held = np.array(context)
    fault, recorded = record_fault(held, reward, 2.0, -5.0, 5.0, True)
    assert fault == NO_FAULT
    np.testing.assert_allclose(held, expected, rtol=1e-11)
    assert recorded == pytest.approx(expected_reward)
    if not np.isfinite([*context, reward]).all():
        assert record_fault(np.array(context), reward, 2.0, -5.0, 5.0, False)[0] == NOT_A_NUMBER


@given(st.lists(anything, min_size=1, max_size=4), anything, st.floats(1e-3, 1e3))
def test_every_record_that_is_clipped_is_legal(context, reward, bound):
    held = np.array(context)
    fault, recorded = record_fault(held, reward, bound, -bound, bound, True)
    assert fault == NO_FAULT
    assert held @ held <= bound * bound
    assert -bound <= recorded <= bound


@given(st.lists(st.floats(width=32), min_size=2, max_size=6), st.floats(1e-3, 1e3))
def test_every_decision_set_that_is_held_is_legal(values, bound):
    contexts = np.array(values[: len(values) // 2 * 2], np.float32).reshape(2, -1)
    hold_contexts(contexts, bound)
    assert ((contexts.astype(np.float64) ** 2).sum(axis=0) <= bound * bound).all()


def spoilt(opened, what: float) -> None:
    """From now on the world shows contexts without a number, or of infinite length."""
    opened.arrays.reflection[:] = 0.5
    opened.arrays.reflection[0, 0] = what


@pytest.mark.parametrize("what", [NAN, INF])
def test_loops_and_parties_clip_to_the_same_bits(what):
    config = FedUCB(schedule=Every(5), privatizer=NoNoise(), out_of_bounds="clip")
    loop, parties = (make(config, WORLD, 40, 3, 0) for make in (simulate, federate))
    for stop in (12, 40):
        for run in (loop, parties):
            run.advance(stop)
        np.testing.assert_array_equal(loop.regret, parties.regret)
        np.testing.assert_array_equal(loop.reward, parties.reward)
        spoilt(loop._worlds[0], what)
        spoilt(parties.run.stage.world, what)
    assert np.isfinite(loop.state.statistic).all()
    packed = loop.state.statistic[:, 0]
    assert (packed[:, [0, 3, 5]].sum(axis=1) <= 40.0).all()


WORLD = Linear(agents=3, dim=3, arms=4)


@pytest.mark.parametrize("what", [NAN, INF])
def test_without_clipping_they_are_refused(what):
    config = FedUCB(schedule=Every(5), privatizer=NoNoise())
    loop, parties = (make(config, WORLD, 40, 3, 0) for make in (simulate, federate))
    spoilt(loop._worlds[0], what)
    spoilt(parties.run.stage.world, what)
    with pytest.raises(BoundExceededError, match=r"finite number; mend the data or set out_of"):
        loop.advance(40)
    with pytest.raises(LocalProtocolError, match="finite numbers"):
        parties.advance(40)
