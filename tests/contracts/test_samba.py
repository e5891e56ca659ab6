"""Theorem 2: secure, distributed and plain runs are one and the same, in either driver."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbandits.environments import Bernoulli
from fedbandits.systems.samba.ciphers import BITS, SCORES
from fedbandits.systems.samba.loop import Replicate
from fedbandits.systems.samba.messages import Drawn, Score
from fedbandits.testing.replicates import plan_of, simulate
from tests.systems.samba_worlds import ALGORITHMS, federated, variant

EXECUTIONS = (
    ("plain", {}), ("distributed", {}), ("samba", {"cipher": "stream"}),
    ("samba", {"cipher": "aes-gcm"}),
)  # fmt: skip

SHORTCUTS = ("empty", "none", "published", "published-each")


def pulls_by_round(run, rounds):
    """Which arm each round pulls, and the rewards."""
    pulled = []
    for stop in range(1, rounds + 1):
        before = run.state.owners.pulls.copy()
        run.advance(stop)
        pulled.append(int(np.flatnonzero(run.state.owners.pulls - before)[0]))
    return pulled, run.reward.copy()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("ties", ["random", "first"])
@pytest.mark.parametrize(("arms", "budget", "seed"), [(2, 2, 0), (2, 60, 1), (7, 90, 2)])
def test_theorem_2(algorithm, ties, arms, budget, seed):
    same_in_every_way(algorithm, arms, budget, seed, tie_breaking=ties)


@pytest.mark.parametrize("algorithm", ["egreedy", "egreedy-decreasing"])
@pytest.mark.parametrize("shortcut", ["published", "published-each"])
@pytest.mark.parametrize(("arms", "budget", "seed"), [(2, 40, 1), (6, 90, 2)])
def test_theorem_2_where_the_controller_draws_scores(algorithm, shortcut, arms, budget, seed):
    same_in_every_way(algorithm, arms, budget, seed, exploration_shortcut=shortcut)


def same_in_every_way(algorithm, arms, budget, seed, **config_parts):
    """Plain, distributed, either cipher, and the parties: the same arms, rewards and total."""
    found = []
    for execution, parts in EXECUTIONS:
        config = variant(algorithm, execution, **config_parts, **parts)
        run = simulate(config, Bernoulli(arms=arms), budget, seed, 0)
        assert math.isnan(run.cumulative_reward)
        found.append((*pulls_by_round(run, budget), run.cumulative_reward))
    parties = federated(variant(algorithm, **config_parts), arms, budget, seed)
    parties.advance(budget)
    pulled = [arm for _, arm, _ in sorted(parties.stage.pulled)]
    found.append((pulled, parties.reward, parties.one("customer").state.cumulative_reward))
    for pulled, rewards, total in found:
        assert pulled == found[0][0]
        np.testing.assert_array_equal(rewards, found[0][1])
        assert total == rewards.sum() == found[0][2]


#: Few distinct statistics make for many ties; equal means make for close decisions.
means = st.sampled_from(["uniform", (0.5,) * 6, (1.0, 1.0, 0.0, 0.0, 0.5, 0.5), (0.0,) * 6])


@settings(max_examples=40)
@given(
    st.sampled_from(ALGORITHMS), means, st.integers(2, 6), st.integers(0, 60),
    st.integers(0, 2**63 - 1), st.integers(0, 9), st.sampled_from(SHORTCUTS),
    st.sampled_from(["random", "first"]),
)  # fmt: skip
def test_theorem_2_on_random_runs(
    algorithm, given_means, arms, more, seed, replicate, shortcut, ties
):
    environment = Bernoulli(means=given_means, arms=arms)
    parts = {"exploration_shortcut": shortcut, "tie_breaking": ties}
    runs = [
        simulate(
            variant(algorithm, execution, **(parts | own)), environment, arms + more, seed,
            replicate,
        )
        for execution, own in EXECUTIONS
    ]  # fmt: skip
    for run in runs:
        run.advance(arms + more)
    for run in runs[1:]:
        np.testing.assert_array_equal(run.state.owners.pulls, runs[0].state.owners.pulls)
        np.testing.assert_array_equal(run.reward, runs[0].reward)
        assert run.cumulative_reward == runs[0].cumulative_reward


#: Algorithms with a shortcut each; where no step explores a shortcut shortens nothing.
SHORTENED = [
    (algorithm, shortcut)
    for algorithm in ALGORITHMS
    for shortcut in (SHORTCUTS if "egreedy" in algorithm else SHORTCUTS[2:3])
]


@pytest.mark.parametrize(("algorithm", "shortcut"), SHORTENED)
@pytest.mark.parametrize("cipher", ["aes-gcm", "stream"])
def test_drivers_agree_on_every_packet_and_count(algorithm, cipher, shortcut):
    config = variant(algorithm, cipher=cipher, exploration_shortcut=shortcut)
    packets = []

    def observe(step, iteration, scores, bits):
        packets.append((step, iteration, scores, bits))

    world = Bernoulli(arms=5)
    watched = Replicate(plan_of(config, world, 45), world, 3, 0, observer=observe)
    packets.clear()
    parties = federated(config, 5, 45, 3)
    for stop in range(5, 46):
        watched.advance(stop)
        parties.advance(stop)
        assert watched.done == parties.done == stop
        np.testing.assert_array_equal(watched.reward, parties.reward)
        np.testing.assert_array_equal(watched.regret, parties.regret)
        for count in ("syncs", "messages", "bytes"):
            assert getattr(watched, count) == getattr(parties, count), (stop, count)
    assert watched.cumulative_reward == parties.one("customer").state.cumulative_reward
    seen = {(m.step, m.iteration, type(m).__name__): m.sealed for m in lists(parties)}
    silent = 0
    reopen = parties.one("comp").reopen
    for step, iteration, *both in packets:
        turn = step, iteration
        if (*turn, "ScoreList") not in seen:
            silent += 1
            assert both[0] == [b""] * 5
            del both[0]
        for direction, kind in ((SCORES, "ScoreList"), (BITS, "BitList"))[-len(both) :]:
            mine, theirs = both.pop(0), seen[(*turn, kind)]
            assert reopen(direction, *turn, mine) == reopen(direction, *turn, theirs)
            assert not set(mine) & set(theirs)  # under nonces of their own
    assert (silent > 0) == (shortcut != "none" and "egreedy" in algorithm)


def half_exploring(shortcut):
    return variant("egreedy", algorithm="epsilon-greedy(0.5)", exploration_shortcut=shortcut)


def test_the_controller_draws_the_scores_of_steps_that_explore():
    """Section 5.4 as printed: K messages fewer, K numbers in clear; the first of equals wins."""
    run = federated(half_exploring("published"), 6, 206, 4)
    run.advance(206)
    drawn = {m.step: m.scores for _, m in run.network.transcript.deliveries if isinstance(m, Drawn)}
    sent = [m.step for _, m in run.network.transcript.deliveries if isinstance(m, Score)]
    controller = run.one("controller")
    exploring = [step for step in range(7, 207) if controller.draws.explores(step)]
    assert sorted(drawn) == exploring
    assert len(exploring) > 70
    assert not set(sent) & set(exploring)
    assert run.messages == 8 + 200 * 14 - 6 * len(exploring) + 7
    pulled = {step: arm for step, arm, _ in run.stage.pulled}
    for step, scores in drawn.items():
        assert len(set(scores)) == 1
        assert controller.draws.places(step, 1)[pulled[step]] == 0
    counts = [[pulled[step] for step in exploring].count(arm) for arm in range(6)]
    assert max(abs(count - len(exploring) / 6) for count in counts) < 20  # 4.7 deviations


def test_a_score_of_its_own_for_every_arm():
    run = federated(half_exploring("published-each"), 5, 105, 4)
    run.advance(105)
    pulled = {step: arm for step, arm, _ in run.stage.pulled}
    found = 0
    for _, m in run.network.transcript.deliveries:
        if isinstance(m, Drawn):
            assert len(set(m.scores)) == 5
            place = run.one("controller").draws.places(m.step, 1)[pulled[m.step]]
            assert m.scores[place] == max(m.scores)
            found += 1
    assert found > 30


def lists(run):
    return [m for _, m in run.network.transcript.deliveries if hasattr(m, "sealed")
            and isinstance(m.sealed, tuple)]  # fmt: skip


@pytest.mark.parametrize("stops", [(1, 9, 10, 60), (60,), (30, 31, 32, 60)])
def test_results_do_not_depend_on_how_far_one_plays_at_a_time(stops):
    run = simulate(variant("thompson", "plain"), Bernoulli(arms=10), 60, 0, 0)
    whole = simulate(variant("thompson", "plain"), Bernoulli(arms=10), 60, 0, 0)
    for stop in stops:
        run.advance(stop)
    whole.advance(60)
    np.testing.assert_array_equal(run.reward, whole.reward)


def test_counts_are_those_of_theorem_4():
    """2 K + 2 messages an iteration, K of them scores of 36 bytes twice and bits of 29 twice."""
    run = simulate(variant("ucb"), Bernoulli(arms=10), 60, 0, 0)
    run.advance(59)
    assert run.syncs == 49
    assert run.messages == 12 + 49 * 22
    assert run.bytes == 49 * 10 * 2 * (36 + 29)
    run.advance(60)
    assert run.messages == 12 + 50 * 22 + 11
    assert run.bytes == 50 * 10 * 2 * (36 + 29) + 11 * 512
