"""Kernels keep none of the arrays that they make: what is held does not grow with rounds played.

Allocation-free kernels count nobody who holds an array. An array that one of them was lent by
mistake would stay for good, or go too early; in a run of 10⁹ agent-steps either is the end.
"""

from __future__ import annotations

import gc

import numpy as np
import pytest
from numba.core.registry import cpu_target
from numba.core.runtime import _nrt_python, rtsys

from fedbandits import system
from fedbandits._compile import allocation_free, compiled
from fedbandits.environments import Bernoulli, Clustered, Linear, Procurement
from fedbandits.testing.replicates import simulate

LINEAR = Linear(agents=4, dim=3, arms=5)
PLAYED = {
    "feducb": (LINEAR, 300),
    "feducb-hybrid": (LINEAR, 300),
    "feducb-p2p": (LINEAR, 300),
    "feducb-p2p-hybrid": (LINEAR, 300),
    "fedlinucb-async": (LINEAR, 300),
    "fclub": (Clustered(users=10), 3000),
    "fclub-published": (Clustered(users=10), 3000),
    "pfcb": (Procurement(), 300),
    "samba-ucb": (Bernoulli(arms=5), 300),
    "samba-silent-ucb": (Bernoulli(arms=5), 300),
}


@pytest.fixture
def held():
    """How many arrays that kernels made are alive."""
    rtsys.initialize(cpu_target.target_context)
    counted = _nrt_python.memsys_stats_enabled()
    _nrt_python.memsys_enable_stats()
    gc.collect()
    gc.freeze()  # what other tests hold; to look through it takes seconds each time

    def count() -> int:
        gc.collect()
        stats = rtsys.get_allocation_stats()
        return stats.mi_alloc - stats.mi_free

    yield count
    if not counted:
        _nrt_python.memsys_disable_stats()


@compiled
def made() -> np.ndarray:
    return np.zeros(7)


def test_an_array_that_is_alive_counts(held):
    before = held()
    kept = made()
    assert held() == before + 1
    del kept
    assert held() == before


@pytest.mark.parametrize("name", PLAYED)
def test_rounds_leave_no_array_behind(held, name):
    world, rounds = PLAYED[name]
    run = simulate(system(name).config, world, rounds, 0, 0)
    run.advance(rounds // 3)
    before = held()
    run.advance(rounds)
    assert held() == before


def test_who_counts_no_arrays_is_given_none():
    """Nobody would ever give them back."""

    @allocation_free
    def first_of_the_rest(values):
        return rest(values)[0]

    with pytest.raises(TypeError, match=r"cannot call .*rest.* let it be inlined"):
        first_of_the_rest(np.zeros(3))


@compiled
def rest(values):
    return values[1:]
