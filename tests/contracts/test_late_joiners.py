"""Agents that join late: what every preset promises holds with them too."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedbandits as fb
from fedbandits.environments import Linear
from fedbandits.settings.experiment import system
from fedbandits.systems import registry
from fedbandits.systems.agents import batches
from fedbandits.testing import systems as suite
from fedbandits.testing.replicates import federate, simulate
from tests.contracts import test_async_drivers, test_drivers, test_peer_drivers
from tests.own_things import SharedRidge

LATE = Linear(agents=3, dim=3, arms=4, first_round=(1, 23, 40))
PRESETS = (
    "feducb", "feducb-published", "linucb-alone", "feducb-p2p", "feducb-p2p-published",
    "fedlinucb-async", "shared-ridge", "feducb-hybrid", "feducb-p2p-hybrid", "feducb-secure",
    "feducb-secure-hybrid",
)  # fmt: skip


@pytest.fixture(autouse=True)
def late(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    fb.register(SharedRidge)
    monkeypatch.setattr(suite, "small_world", lambda system: LATE)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    "check",
    [
        suite.reports_what_is_cumulative,
        suite.spends_within_its_claim,
        suite.survives_save_and_load,
        suite.is_played_alike_by_parties,
        suite.goes_on_from_any_event,
        suite.releases_as_soon_as_a_round_is_over,
    ],
    ids=lambda check: check.__name__,
)
def test_a_preset_keeps_its_promises(preset, check):
    check(preset)


#: Variants of every system of linear agents.
VARIANTS = st.one_of(
    test_drivers.variants,
    test_peer_drivers.variants,
    test_async_drivers.variants.map(lambda parts: ("fedlinucb-async", parts)),
)


@settings(max_examples=40)
@given(VARIANTS, st.lists(st.integers(1, 30), min_size=4, max_size=4), st.integers(0, 2**63 - 1))
def test_both_drivers_agree_round_by_round(variant, first, seed):
    name, parts = variant
    config, rounds = system(name, **parts).config, 30
    environment = Linear(agents=4, dim=2, arms=3, first_round=first)
    compiled = simulate(config, environment, rounds, seed, 0)
    parties = federate(config, environment, rounds, seed, 0)
    for stop in range(1, rounds + 1):
        before = compiled.regret.copy()
        compiled.advance(stop)
        parties.advance(stop)
        np.testing.assert_array_equal(compiled.regret, parties.regret)
        np.testing.assert_array_equal(compiled.reward, parties.reward)
        counted = ("syncs", "messages", "bytes", "epsilon")
        assert [getattr(compiled, n) for n in counted] == [getattr(parties, n) for n in counted]
        waits = np.array(first) > stop
        assert (compiled.reward[waits] == 0.0).all()
        assert (compiled.regret[waits] == 0.0).all()
        assert ((compiled.regret > before) <= ~waits).all()


#: Threads with hybrids, and threads with late joiners, are each played without the other.
HYBRIDS = [pytest.param(name, marks=pytest.mark.slow) for name in PRESETS if "hybrid" in name]


@pytest.mark.parametrize("name", ["feducb", "feducb-p2p", *HYBRIDS])
def test_neither_chunks_nor_threads_change_a_bit(name, monkeypatch):
    monkeypatch.setattr(batches, "_WORTH_SHARING", 1)
    config = system(name).config
    whole, pieces = (simulate(config, LATE, 60, 0, 0, threads) for threads in (1, 2))
    whole.advance(60)
    for stop in (1, 22, 23, 24, 39, 45, 60):
        pieces.advance(stop)
    np.testing.assert_array_equal(whole.regret, pieces.regret)
    np.testing.assert_array_equal(whole.state.statistic, pieces.state.statistic)


@pytest.mark.parametrize("preset", ["feducb", "feducb-p2p", "feducb-secure"])
def test_whoever_has_not_joined_releases_noise_when_the_others_release(preset):
    """Nobody falls silent, and what an agent sends is as long as what the others send."""
    run = federate(system(preset).config, LATE, 39, 1, 0)
    run.advance(39)
    never = run.of("agent")[2]
    assert never.state.decisions == 0
    assert not never.state.statistic.any()
    sent = [m for _, m in run.network.transcript.deliveries if hasattr(m, "statistic")]
    by_sender = {
        name: sorted(len(m.statistic) for m in sent if m.sender == name)
        for name in ("agent-0", "agent-2")
    }
    assert by_sender["agent-0"] == by_sender["agent-2"]
    assert by_sender["agent-0"]


def test_rewards_may_come_late_too():
    environment = msgspec.structs.replace(LATE, delay="fixed(5)")
    run = simulate(system("feducb").config, environment, 60, 1, 0)
    run.advance(39)
    assert run.reward[2] == 0.0
    run.advance(60)
    assert run.reward[2] > 0.0
    decisions = [agent.state.decisions for agent in run.run.of("agent")]
    records = [agent.state.records for agent in run.run.of("agent")]
    assert decisions == [60, 38, 21]
    assert records == [55, 33, 16]
