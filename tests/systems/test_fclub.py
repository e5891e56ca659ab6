"""FCLUB as it should be: what servers do, what leaves them, and what it costs."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from fedbandits.environments import Clustered
from fedbandits.environments.kernels.arrivals import (
    draw_arrival,
    draw_item_reward,
    fill_expected,
    fill_items,
    items_workspace,
)
from fedbandits.errors import ConfigError
from fedbandits.learners.clustering import one_cluster
from fedbandits.learners.kernels.evidence import decompose, read_evidence
from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import total_mu
from fedbandits.random import Purpose, normals, replicate_key
from fedbandits.settings.experiment import system
from fedbandits.systems.fclub import PRESETS
from fedbandits.systems.fclub.audit import moves_games
from fedbandits.systems.fclub.loop import simulated_rows
from fedbandits.systems.fclub.plan import _check_count, claim, make_plan, phase_ends
from fedbandits.systems.fclub.state import find_clusters, learn_from, make_release
from fedbandits.testing.replicates import plan_of, simulate, system_of

WORLD = Clustered(users=12, servers=3, clusters=3, dim=4, items=5, placement="spread")
ROUNDS = 700
_NOISE = Purpose.PRIVACY_NOISE


def config(name="fclub", **more):
    return system(name, **({"schedule": "growing(1.5)"} | more)).config


def play(name="fclub", rounds=ROUNDS, world=WORLD, replicate=0, **more):
    run = simulate(config(name, **more), world, rounds, 0, replicate)
    run.advance(rounds)
    return run


def follow_densely(run, world, rounds):
    """Play on and look, by dense linear algebra over all records, whether every choice was right.

    Early choices are ties, up to rounding, so what was chosen is taken over and only its score
    compared.
    """
    settings, key, plan, drawn = run.plan.config, run.key, run.plan, run.world
    n, d, constants = world.parties, world.dimension, plan.constants
    mean, precision = np.zeros((n, d)), np.tile(np.eye(d) / plan.prior_variance, (n, 1, 1))
    variance, sums = np.full(n, 0.25), np.zeros((n, plan.size + 2))
    new = [[] for _ in range(n)]
    draws = np.zeros((n, plan.sums.slots, plan.size))
    starts = [one_cluster(d) for _ in range(world.servers)]
    workspace, items = items_workspace(drawn), np.zeros((d, world.items), np.float32)
    expected, regret, release, shortfall = np.zeros(world.items), np.zeros(n), 0, 0.0
    homes = [np.flatnonzero(drawn.server == s) for s in range(world.servers)]
    for t in range(1, rounds + 1):
        run.advance(t)
        user = draw_arrival(drawn, key, t)
        fill_items(drawn, workspace, key, t, items)
        x, p, h = items.astype(float), precision[user].copy(), precision[user] @ mean[user]
        for context, reward in new[user] if constants.raw_view else ():
            p += np.outer(context, context) / variance[user]
            h = h + context * reward / variance[user]
        covariance = np.linalg.inv(p)
        deviation = np.sqrt(np.einsum("dk,de,ek->k", x, covariance, x) * 0.25 / variance[user])
        score = x.T @ (covariance @ h) + settings.exploration_scale * deviation
        chosen = int(np.abs(x - run._scratch.context[:, None]).sum(axis=0).argmin())
        shortfall = max(shortfall, score.max() - score[chosen])
        best = fill_expected(drawn, user, t, items, expected)
        reward = draw_item_reward(expected[chosen], key, t)
        regret[user] += expected[best] - expected[chosen]
        new[user].append((x[:, chosen], reward - 0.5))
        gram, moment = np.outer(x[:, chosen], x[:, chosen]), x[:, chosen] * (reward - 0.5)
        sums[user] += np.concatenate([gram[np.triu_indices(d)], moment, [1.0, 0.25]])
        if t not in constants.phase_ends:
            continue
        release += 1
        rows = []
        for users in homes:
            mine = draws[users]
            fresh = np.stack([normals(plan.size, key, int(u), release, _NOISE) for u in users])
            release_rows = partial(simulated_rows, plan, release, mine, lambda f=fresh: f)
            one = np.zeros(len(users), np.int64)
            rows.append(make_release(plan, sums[users], sums[:0], one, release_rows))
            draws[users] = mine
        for s, users in enumerate(homes):
            others = np.concatenate([r for o, r in enumerate(rows) if o != s])
            ready = find_clusters(plan, release, sums[users], rows[s], starts[s])
            learned = learn_from(plan, release, ready, decompose(others))
            mean[users], variance[users] = learned.estimates.mean, ready.variance
            precision[users] = np.linalg.inv(learned.estimates.covariance)
            starts[s] = learned.mixture
            for u in users:
                new[u] = []
    return regret, shortfall


@pytest.mark.parametrize("name", ["fclub", "fclub-released"])
def test_the_compiled_loop_agrees_with_dense_linear_algebra(name):
    run = simulate(config(name, epsilon=30.0), WORLD, 600, 0, 0)
    regret, shortfall = follow_densely(run, WORLD, 600)
    np.testing.assert_allclose(run.regret, regret, atol=1e-9)
    assert shortfall < 1e-5  # scores are float32
    assert run.syncs >= 9


@pytest.mark.parametrize("name", PRESETS)
def test_results_do_not_depend_on_how_far_one_plays_at_a_time(name):
    whole, pieces = play(name, 300), simulate(config(name), WORLD, 300, 0, 0)
    for stop in (1, 59, 60, 61, 200, 300):
        pieces.advance(stop)
    np.testing.assert_array_equal(whole.regret, pieces.regret)
    np.testing.assert_array_equal(whole.state.models.inverse, pieces.state.models.inverse)


def test_phases_grow_and_are_fixed_in_advance():
    assert phase_ends(config().schedule, 12, 300) == [60, 90, 135, 202]
    assert phase_ends(config(schedule="growing(2, 7)").schedule, 12, 60) == [7, 14, 28, 56]
    assert phase_ends(config(schedule="growing(1.01, 1)").schedule, 1, 5) == [1, 2, 3, 4]
    seen = {
        tuple(play(replicate=r, rounds=n).syncs for n in (59, 60, 61, 90, 91)) for r in range(3)
    }
    assert seen == {(0, 0, 3, 3, 6)}  # nothing is released in the last round


class TestReleases:
    def rows(self, name, sums, count, **more):
        """The first release of many servers that saw the same, and its draws."""
        plan = make_plan(config(name, **more), WORLD.facts, ROUNDS)
        size, out, given = plan.size, [], []
        sums = np.concatenate([sums, np.full((len(sums), 2), 50.0)], axis=1)
        for r in range(count):
            fresh = normals(len(sums) * size, replicate_key(1, r), 0, 1, _NOISE).reshape(-1, size)
            given.append(fresh)
            slots = 0 if plan.sums is None else plan.sums.slots
            draws = np.zeros((len(sums), slots, size))
            release_rows = partial(simulated_rows, plan, 1, draws, lambda f=fresh: f)
            one = np.zeros(len(sums), np.int64)
            out.append(make_release(plan, sums, np.zeros_like(sums), one, release_rows))
        return plan, np.array(out), np.array(given)

    @pytest.mark.parametrize("name", ["fclub", "fclub-clusters", "fclub-released"])
    def test_noise_is_added_and_has_the_deviation_that_is_charged(self, name):
        sums = np.tile(np.concatenate([np.eye(4)[np.triu_indices(4)] * 5.0, np.ones(4)]), (2, 1))
        plan, rows, draws = self.rows(name, sums, 3)
        users = 2 if name != "fclub-clusters" else 1
        assert rows.shape[1] == users
        exact = sums if users == 2 else sums.sum(axis=0, keepdims=True)
        deviation = math.sqrt(plan.noise_variance(1))
        scaled = (rows - exact) / (deviation * plan.entry_scale)
        np.testing.assert_allclose(scaled, draws[:, :users], rtol=1e-9, atol=1e-9)

    def test_in_clear_sums_leave_as_they_are(self):
        sums = np.arange(28.0).reshape(2, 14)
        np.testing.assert_array_equal(self.rows("fclub-clear", sums, 1)[1][0], sums)

    @pytest.mark.parametrize("centred", [True, False])
    def test_no_replaced_record_moves_a_release_further_than_is_charged(self, centred):
        """Over random pairs in the measure of the noise; and some pair nearly does."""
        plan = make_plan(config(center_rewards=centred), WORLD.facts, ROUNDS)
        offset, d = plan.constants.offset, 4
        rng, furthest = np.random.default_rng(0), 0.0
        for _ in range(40_000):
            x, other = rng.normal(size=(2, d))
            x /= np.linalg.norm(x)
            mix = rng.uniform(-1.0, 1.0)
            other -= (other @ x) * x
            other = mix * x + math.sqrt(1.0 - mix * mix) * other / np.linalg.norm(other)
            moved = np.zeros(plan.size)
            for sign, context, reward in ((1, x, rng.integers(2)), (-1, other, rng.integers(2))):
                gram = np.outer(context, context)[np.triu_indices(d)]
                moved += sign * np.concatenate([gram, context * (reward - offset)])
            furthest = max(furthest, np.linalg.norm(moved / plan.entry_scale))
        assert furthest <= plan.record_norm * (1 + 1e-12)
        assert furthest >= 0.995 * plan.record_norm

    def test_a_draw_is_used_again_and_never_drawn_again(self):
        """Differences of consecutive releases would else be free of what earlier ones carried."""
        run = play(rounds=200)
        release = int(run.state.clock.phase[0])
        assert release >= 3
        draws = run.state.releases.draws
        for z in range(1, release + 1):
            expected = [normals(run.plan.size, run.key, u, z, _NOISE) for u in range(12)]
            np.testing.assert_array_equal(draws[:, z - 1], expected)

    def test_a_batch_of_clusters_is_released_once(self):
        run = simulate(config("fclub-clusters", noise="none"), WORLD, ROUNDS, 0, 0)
        run.advance(ROUNDS)
        told, total = run.state.releases, np.zeros(run.plan.size)
        for server in range(3):
            total += told.rows[server, : told.filled[server]].sum(axis=0)
        np.testing.assert_allclose(total, told.before[:, :-2].sum(axis=0), rtol=1e-9)


def with_other_rewards(name, **more):
    """Two runs that differ in how the records of the third phase turn out."""
    runs = []
    for flipped in (False, True):
        run = simulate(config(name, **more), WORLD, ROUNDS, 0, 0)
        run.advance(90)
        if flipped:
            run.world.theta[:] = -run.world.theta + 1.0
        before = run.state.sums.copy()
        run.advance(134)
        runs.append((run, run.state.sums - before))
    return runs


def test_a_released_view_does_not_react_within_a_phase():
    (one, first), (other, second) = with_other_rewards("fclub-released")
    np.testing.assert_array_equal(first[:, :10], second[:, :10])  # the same items
    assert not np.array_equal(first[:, 10:], second[:, 10:])
    np.testing.assert_array_equal(one.state.models.theta, other.state.models.theta)


def test_a_raw_view_does():
    (_, first), (_, second) = with_other_rewards("fclub")
    assert not np.array_equal(first[:, :10], second[:, :10])


class TestClaims:
    def of(self, name, rounds=20_000, **more):
        return claim(plan_of(config(name, **more), WORLD, rounds))

    def test_the_sound_variant_keeps_its_budget_for_a_fixed_log(self):
        stated = self.of("fclub", epsilon=1.0, delta=1e-5)
        assert stated.epsilon == pytest.approx(1.0, rel=5e-5)
        assert stated.holds_for == "fixed log"
        assert gaussian.epsilon_of(total_mu(stated.events), 1e-5) == stated.epsilon

    def test_acting_on_releases_alone_makes_it_interactive(self):
        stated = self.of("fclub-released", epsilon=2.0)
        assert stated.holds_for == "interactive"
        assert stated.epsilon == pytest.approx(2.0, rel=5e-5)

    def test_clusters_found_in_raw_data_are_not_covered(self):
        stated = self.of("fclub-clusters", epsilon=1.0)
        assert stated.holds_for == "nothing"
        assert stated.epsilon == math.inf
        assert stated.epsilon_contents == pytest.approx(1.0, rel=5e-5)
        assert any("clusters stay as they are" in line for line in stated.conditional_on)
        assert any("whose records are in which" in limit for limit in stated.limits)

    def test_silence_costs_nothing_and_clear_sums_promise_nothing(self):
        assert self.of("fclub-local").epsilon == 0.0
        assert self.of("fclub-local").holds_for == "interactive"
        assert self.of("fclub-clear").epsilon == math.inf
        alone = claim(plan_of(config(), Clustered(users=4, servers=1, clusters=2, dim=3), 900))
        assert alone.epsilon == 0.0

    def test_what_is_spent_grows_to_the_budget(self):
        run, spent = simulate(config(), WORLD, ROUNDS, 0, 0), []
        for stop in (1, 60, 90, 400, ROUNDS):
            run.advance(stop)
            spent.append(run.epsilon)
        assert spent[0] == 0.0
        assert spent == sorted(spent)
        assert spent[-1] == pytest.approx(1.0, rel=5e-5)


def late(name, world, rounds=12_000, **more):
    return np.mean([play(name, rounds, world, r, **more).regret.sum() for r in range(2)])


def test_learning_together_pays_where_users_are_alike_and_costs_little_where_none_are():
    together = Clustered(users=20, servers=2, clusters=2, dim=5, gap=0.8)
    alone = np.mean(
        [
            run.regret.sum()
            for run in (
                _alone(together, 12_000, 0),
                _alone(together, 12_000, 1),
            )
        ]
    )
    assert late("fclub", together, delta=0.1) < 0.6 * alone
    different = Clustered(users=10, servers=2, clusters=10, dim=5)
    lonely = np.mean([_alone(different, 12_000, r).regret.sum() for r in range(2)])
    assert late("fclub", different, delta=0.1) < 1.25 * lonely


def _alone(world, rounds, replicate):
    """Nobody learns from anybody: the prior is never replaced."""
    run = simulate(
        config("fclub-local", schedule=f"growing(2, {rounds})"), world, rounds, 0, replicate
    )
    run.advance(rounds)
    return run


def test_others_help_where_clusters_lie_on_all_servers():
    world = Clustered(users=40, servers=10, clusters=2, dim=5, placement="spread", gap=0.8)
    local, shared, clear = (
        late(name, world, 20_000, epsilon=4.0, delta=0.1)
        for name in ("fclub-local", "fclub", "fclub-clear")
    )
    assert clear < shared < local


def test_messages_and_bytes_are_counted():
    run = play(rounds=100)  # phases end after rounds 60 and 90
    assert run.messages == 2 * 2 * 3
    assert run.bytes == 2 * 8 * 14 * 12 * 3


def test_metrics_say_how_clusters_are_found():
    world = Clustered(users=24, servers=2, clusters=2, dim=3, gap=1.2, placement="spread")
    run = play("fclub-clear", 20_000, world)
    found, homes = run.state.cluster_of, run.world.server
    index = [
        adjusted_rand_score(run.world.cluster[homes == s], found[homes == s]) for s in range(2)
    ]
    assert run.metrics["adjusted_rand_index"][0] == pytest.approx(np.mean(index))
    assert np.mean(index) > 0.5
    together = found + 100 * homes
    np.testing.assert_array_equal(
        run.metrics["cluster_size"], [(together == label).sum() for label in together]
    )


def test_a_released_view_of_nothing_is_refused():
    with pytest.raises(ConfigError, match="released local_view"):
        config("fclub-local", local_view="released")
    for releases, numbers in ((2**12 + 1, 1), (10, 2**27)):
        with pytest.raises(ConfigError, match="schedule: the noise of"):
            _check_count(releases, numbers)


def test_weigh_reads_what_servers_release():
    """Columns are those of the packed statistic, whatever the dimension."""
    for d in (1, 2, 7):
        size = d * (d + 3) // 2
        assert read_evidence(decompose(np.zeros((1, size))), 0.25, 0.0, 0.0).score.shape == (1, d)


@pytest.mark.parametrize("first", [150, 10])
def test_an_audit_moves_records_of_all_servers_however_few_releases_there_are(first):
    variant = config("fclub", schedule=f"growing(1.3, {first})")
    plan = plan_of(variant, Clustered(users=8, servers=2, clusters=2, dim=2), 200)
    games = moves_games(system_of(variant), plan)
    assert plan.release_count == {150: 2, 10: 12}[first]
    assert [game.bounds[0] for game in games] == [4, 4]
    assert all(game.small.plan.release_count == plan.release_count for game in games)
