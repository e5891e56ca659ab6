"""P-FCB's simulation and parties are one system: same purchases, regret and reports."""

from __future__ import annotations

import collections

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fedbandits.environments import Procurement
from fedbandits.environments.kernels.procurement import draw_good_units
from fedbandits.settings.experiment import system
from fedbandits.systems.pfcb import PRESETS
from fedbandits.testing.replicates import federate, simulate

environments = st.builds(
    Procurement, case=st.sampled_from(["uniform", "normal"]), agents=st.integers(2, 4),
    producers=st.integers(1, 6), max_capacity=st.sampled_from([1, 7, 50]),
    quality_threshold=st.sampled_from([0.3, 0.5, 0.7]), revenue=st.sampled_from([1.0, 3.0]),
    homogeneous=st.booleans(),
)  # fmt: skip
parts = st.fixed_dictionaries(
    {
        "zeta": st.sampled_from([0.3, 1.0]),
        "epsilon": st.sampled_from([1.0, 30.0]),
        "delta": st.sampled_from([0.01, 1e-5]),
    },
    optional={
        "schedule": st.sampled_from(["literal", "powers", "growing(1.4)", "every"]),
        "privatizer": st.sampled_from(
            ["correlated", "independent", "published", "continual", "optimal", "none"]
        ),
        "local_view": st.sampled_from(["raw", "released"]),
        "acceptance": st.sampled_from(
            ["within-radius(0.5)", "within-radius(0.5, own, own)", "within-deviations(2)", "always"]
        ),
        "radius": st.sampled_from(["own", "shared", "printed"]),
        "weighting": st.sampled_from(["constant(0.5)", "inverse-variance"]),
        "purchases": st.sampled_from(["cautious", "optimistic"]),
        "oracle": st.sampled_from(["greedy", "exact"]),
        "window": st.sampled_from([(1, 30), (7, 25)]),
        "quality_margin": st.just(0.05),
        "outcomes": st.sampled_from(["immediate", "late"]),
    },
)


def compare(config, environment, rounds, seed, replicate, route=None):
    compiled = simulate(config, environment, rounds, seed, replicate)
    parties = federate(config, environment, rounds, seed, replicate, route)
    before, violations = np.zeros_like(parties.stage.purchases), 0
    for stop in range(1, rounds + 1):
        compiled.advance(stop)
        parties.advance(stop)
        own = compiled.state.books.own[:, 0]
        np.testing.assert_array_equal(own - before, parties.stage.purchases)
        before = own.copy()
        for name in ("combined", "own", "fresh"):
            mine = np.array([getattr(buyer.state.books, name) for buyer in parties.of("buyer")])
            np.testing.assert_array_equal(getattr(compiled.state.books, name), mine)
        np.testing.assert_array_equal(compiled.regret, parties.regret)
        np.testing.assert_array_equal(compiled.reward, parties.reward)
        judged = np.array([buyer.state.judged for buyer in parties.of("buyer")])
        np.testing.assert_array_equal(compiled.state.tally.judged, judged)
        violations += parties.stage.missed * (stop > parties.plan.constants.exploration)
        np.testing.assert_array_equal(compiled.state.tally.violations, violations)
        for count in ("syncs", "messages", "bytes", "epsilon"):
            assert getattr(compiled, count) == getattr(parties, count), (stop, count)
    if compiled.syncs and compiled.plan.secure is None:
        sent = [m for _, m in parties.network.transcript.deliveries if m.release == compiled.syncs]
        for message in sent:
            sender = int(message.sender.split("-")[1])
            report = np.frombuffer(message.sums).reshape(2, -1)
            np.testing.assert_array_equal(report, compiled.state.reports[sender])


@settings(max_examples=60)
@given(
    environments, st.sampled_from(sorted(set(PRESETS) - {"cucb-alone"})), parts,
    st.integers(30, 40), st.integers(0, 2**63 - 1), st.integers(0, 9),
)  # fmt: skip
def test_both_drivers_agree_round_by_round(environment, name, own, rounds, seed, replicate):
    released = own.get("local_view", "released" if name == "pfcb-interactive" else "raw")
    assume(released == "raw" or "own" not in own.get("acceptance", ""))  # that is refused
    compare(system(name, **own).config, environment, rounds, seed, replicate)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_agrees(name):
    config = system(name, epsilon=8.0, zeta=0.4).config
    compare(config, Procurement(agents=3, producers=8), 140, 2, 0)


def test_reports_that_overtake_one_another_change_nothing():
    """Buyers take reports in their own order, whichever comes first."""
    delays = iter(range(10**6))

    def route(_):
        return (7 * next(delays)) % 5

    config = system("pfcb", epsilon=20.0, zeta=0.5).config
    compare(config, Procurement(agents=4, producers=5), 90, 1, 0, route)


@pytest.mark.parametrize("preset", ["fcb", "pfcb", "pfcb-interactive"])
@pytest.mark.parametrize("seed", range(3))
def test_buyers_that_play_as_soon_as_they_can_end_up_the_same(preset, seed):
    """No common clock: links deliver in order, but each at its own pace."""
    environment, rounds = Procurement(agents=4, producers=3), 25
    config = system(preset, schedule="every", epsilon=20.0).config
    run = federate(config, environment, rounds, 3, 0)
    buyers, stage = run.of("buyer"), run.stage
    rng, links, ahead = np.random.default_rng(seed), collections.defaultdict(list), 0
    played = [0] * len(buyers)

    def due(index):
        """Whether the round that a buyer has played ends with an exchange that it is to begin."""
        return played[index] == buyers[index].next_end

    while any(links.values()) or any(n < rounds or due(i) for i, n in enumerate(played)):
        index = int(rng.integers(len(buyers)))
        buyer = buyers[index]
        told = {b.name for b in buyers} == set(buyer.state.inbox.get(buyer.state.releases, {}))
        if (buyer.stage == "ready" or told) and not due(index) and played[index] < rounds:
            good, decision = np.zeros(3, np.int64), buyer.decide(None)
            played[index] += 1
            draw_good_units(stage.world, stage.key, index, played[index], decision.action, good)
            assert buyer.observe(decision, good) == []
        if due(index) and rng.random() < 0.5:  # others may have reported before
            for message in buyer.end_round(played[index]):
                links[message.sender, message.receiver].append(message)
        if waiting := [link for link in links.values() if link]:
            message = waiting[int(rng.integers(len(waiting)))].pop(0)
            receiver = buyers[int(message.receiver.split("-")[1])]
            ahead += receiver.stage == "exchanging" and message.release > receiver.state.releases
            assert receiver.receive(message).outcome == "taken"
    assert ahead > 0
    compiled = simulate(config, environment, rounds, 3, 0)
    compiled.advance(rounds)
    for name in ("combined", "own", "fresh"):
        mine = np.array([getattr(buyer.state.books, name) for buyer in buyers])
        np.testing.assert_array_equal(getattr(compiled.state.books, name), mine)
