"""Rewards that change in the course of a run: what is shown stays, what is expected is mixed."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

import fedbandits as fb
from fedbandits.environments import (
    Bernoulli,
    Change,
    Classification,
    Clustered,
    Linear,
    Procurement,
    PythonEnvironment,
    RatingData,
    Walk,
)
from fedbandits.environments.drift import STEPS
from fedbandits.environments.kernels.arrivals import draw_items, fill_expected, pull_regret
from fedbandits.environments.kernels.drift import share_of_other
from fedbandits.environments.kernels.procurement import keep_up, truth_of
from fedbandits.errors import ConfigError
from fedbandits.random import replicate_key
from fedbandits.settings.experiment import Experiment
from fedbandits.systems.simulated import bounds_in
from fedbandits.testing import environments as suite
from fedbandits.testing.replicates import federate, plan_of, simulate, system_of
from tests.worlds import decision_set

KEY = replicate_key(5, 1)
WINE = Classification(agents=3, dataset="wine", components=4)
LINEAR = Linear(agents=3, dim=4, arms=5)
BALL = Linear(agents=2, dim=3, arms=4, parameter="ball", gap=0.2)
ARMS = Bernoulli(arms=5)
USERS = Clustered(users=9, clusters=3, servers=3, items=4)
BUYERS = Procurement(agents=3, producers=4, max_capacity=5)


TABLE = fb.environments.table(
    {"age": [float(i % 7) for i in range(30)], "ill": ["yes", "no", "never"] * 10},
    agents=2, features=["age"], ranges={"age": [0, 9]}, target="ill",
    classes=["yes", "no", "never"],
)  # fmt: skip


@pytest.fixture
def ratings(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text(
        "\n".join(f"{u}\t{i}\t{(u * u + 3 * i) % 7}" for u in range(20) for i in range(15)),
        encoding="utf-8",
    )
    return RatingData(agents=3, path=str(path), dim=4, arms=5)


def with_drift(environment, drift):
    return msgspec.structs.replace(environment, drift=drift)


def shares(drift, rounds, key=KEY):
    found = drift.shares(key)
    return np.array([share_of_other(found, round_) for round_ in rounds])


# -------------------------------------------------------------------------------------- the share


def test_two_worlds_change_places_in_the_rounds_that_were_named():
    rounds = range(1, 12)
    assert shares(Change(4), rounds).tolist() == [0] * 3 + [1] * 8
    assert shares(Change((4, 7, 8)), rounds).tolist() == [0] * 3 + [1] * 3 + [0] + [1] * 4
    assert shares(Change(1), [1]).tolist() == [1]


def test_a_walk_begins_at_0_moves_when_it_is_due_and_stays_between_the_worlds():
    walk = shares(Walk(step=0.3, every=4), range(1, 4001))
    assert (walk[:4] == 0.0).all()
    steps = walk.reshape(-1, 4)
    assert (steps == steps[:, :1]).all()
    assert walk.min() >= 0.0
    assert walk.max() <= 1.0
    assert len(np.unique(steps[:, 0])) == len(steps)


def test_steps_of_a_walk_have_their_deviation_and_cover_the_whole_way():
    walk = Walk(step=0.01, every=1).shares(KEY).walk
    inside = (walk[:-1] > 0.05) & (walk[:-1] < 0.95)  # where nothing is reflected
    assert np.diff(walk)[inside].std() == pytest.approx(0.01, rel=0.02)
    # A reflected walk is anywhere equally often.
    assert np.quantile(walk, [0.25, 0.5, 0.75]) == pytest.approx([0.25, 0.5, 0.75], abs=0.1)


def test_a_walk_that_is_over_goes_the_same_way_back():
    walk = Walk(step=0.3, every=1)
    there = shares(walk, [STEPS - 1, STEPS])
    back = shares(walk, [STEPS + 1, STEPS + 2])
    assert there.tolist() == back[::-1].tolist()
    assert shares(walk, [2 * STEPS + 3]).tolist() == shares(walk, [3]).tolist()


def test_each_replicate_has_its_own_walk():
    rounds, walk = range(1, 200), Walk(step=0.2)
    assert shares(walk, rounds).tolist() == shares(walk, rounds).tolist()
    assert shares(walk, rounds).tolist() != shares(walk, rounds, replicate_key(5, 2)).tolist()


# --------------------------------------------------------------------- what is shown and expected


def second_world(environment, features, expected):
    """What arms are expected to pay in the second world, by its definition."""
    if isinstance(environment, Linear):
        drifting = with_drift(environment, Change(1)).world(KEY)
        return drifting.other.theta[0] @ features
    return 1.0 - expected if isinstance(environment, RatingData) else np.roll(expected, 1)


@pytest.mark.parametrize("name", ["linear", "ball", "wine", "table", "ratings"])
def test_contexts_stay_and_expected_rewards_are_mixed(name, ratings):
    worlds = {"linear": LINEAR, "ball": BALL, "wine": WINE, "table": TABLE, "ratings": ratings}
    environment = worlds[name]
    still, rounds = environment.world(KEY), range(1, 41)
    walk, change = Walk(step=0.3, every=3), Change((20, 30))
    for drift in (walk, change):
        drifting = with_drift(environment, drift)
        world = drifting.world(KEY)
        for round_, share in zip(rounds, shares(drift, rounds), strict=True):
            seen = decision_set(environment, still, KEY, round_ % 2, round_)
            features, expected, best = decision_set(drifting, world, KEY, round_ % 2, round_)
            np.testing.assert_array_equal(features, seen[0])
            if share == 0.0:  # bit for bit
                np.testing.assert_array_equal(expected, seen[1])
                assert best == seen[2]
            other = second_world(environment, features, seen[1])
            mixed = (1.0 - share) * seen[1] + share * other
            np.testing.assert_allclose(expected, mixed, atol=1e-6)
            assert expected[best] == expected.max()


@pytest.mark.parametrize("environment", [LINEAR, BALL], ids=["sphere", "ball"])
def test_the_second_parameter_is_as_long_and_turned_by_30_degrees(environment):
    world = with_drift(environment, Change(9)).world(KEY)
    first, second = world.before.theta[0], world.other.theta[0]
    assert np.linalg.norm(second) == pytest.approx(np.linalg.norm(first))
    cosine = first @ second / (first @ first)
    assert np.degrees(np.arccos(cosine)) == pytest.approx(30.0)
    other = with_drift(environment, Change(9)).world(replicate_key(5, 2))
    assert not np.allclose(other.other.theta[0], second)


def test_a_parameter_that_was_given_is_turned_too():
    given = Linear(agents=1, dim=2, arms=3, theta=(1.0, 0.0), drift="change(2)")
    theta = given.world(KEY).other.theta[0]
    np.testing.assert_allclose(np.abs(theta), [np.sqrt(0.75), 0.5])


def test_the_best_arm_is_another_one_after_a_change():
    """Otherwise there would be nothing to learn anew."""
    before, after = LINEAR.world(KEY), with_drift(LINEAR, Change(1)).world(KEY)
    best = [
        decision_set(LINEAR, world, KEY, 0, round_)[2]
        for world in (before, after)
        for round_ in range(1, 201)
    ]
    assert np.mean(np.array(best[:200]) != np.array(best[200:])) > 0.2


@pytest.mark.parametrize("check", suite.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "environment",
    [
        with_drift(LINEAR, Change((9, 25))),
        with_drift(ARMS, Walk(step=0.3, every=2)),
        with_drift(USERS, Change((9, 25))),
        with_drift(BUYERS, Walk(step=0.3, every=7)),
    ],
    ids=lambda environment: type(environment).__name__,
)
def test_an_environment_that_drifts_promises_what_all_do(environment, check):
    """That parties and compiled loops agree bit for bit is one of the checks."""
    check(environment)


# ------------------------------------------------------------------------ worlds without contexts


def test_arms_users_and_producers_change_places():
    arms = with_drift(ARMS, Change(3)).world(KEY)
    assert arms.other.tolist() == np.roll(arms.means, 1).tolist()
    users = with_drift(USERS, Change(3)).world(KEY)
    for user in range(9):
        of_next = (users.cluster == (users.cluster[user] + 1) % 3).argmax()
        np.testing.assert_array_equal(users.other[user], users.theta[of_next])
    buyers = with_drift(BUYERS, Change(3)).world(KEY)
    assert buyers.other.tolist() == np.roll(buyers.quality, 1).tolist()


def test_items_are_worth_what_the_mixture_says():
    drift = Walk(step=0.3, every=2)
    still, world = USERS.world(KEY), with_drift(USERS, drift).world(KEY)
    items, one, two = np.zeros((10, 4), np.float32), np.zeros(4), np.zeros(4)
    for round_, share in zip(range(1, 30), shares(drift, range(1, 30)), strict=True):
        draw_items(world, KEY, round_, items)
        user = round_ % 9
        fill_expected(still, user, round_, items, one)
        best = fill_expected(world, user, round_, items, two)
        other = np.clip(world.other[user] @ items, 0.0, 1.0)
        np.testing.assert_allclose(two, (1.0 - share) * one + share * other, atol=1e-12)
        assert two[best] == two.max()


def test_regret_of_an_arm_is_to_the_best_of_the_moment():
    drift = Walk(step=0.3, every=2)
    world = with_drift(ARMS, drift).world(KEY)
    for round_, share in zip(range(1, 30), shares(drift, range(1, 30)), strict=True):
        means = (1.0 - share) * world.means + share * world.other
        found = [pull_regret(world, arm, round_) for arm in range(5)]
        np.testing.assert_allclose(found, means.max() - means, atol=1e-12)
        assert min(found) == 0.0


def test_a_purchase_is_judged_by_the_qualities_of_the_moment():
    """The benchmark after a change is that of a world that has always been so."""
    changed = with_drift(BUYERS, Change(4))
    world = changed.world(KEY)
    truth = truth_of(world, 1)
    keep_up(world, 1, 3, truth)
    assert truth.ends.tolist() == [world.best[1], world.worst[1]]
    keep_up(world, 1, 4, truth)
    np.testing.assert_array_equal(truth.surplus, world.other - world.threshold)
    np.testing.assert_array_equal(truth.unit_revenue, world.revenue * world.other - world.cost[1])
    # r* of the second world buys what is worth buying, and is not that of the first.
    assert truth.ends[0] != world.best[1]
    assert truth.ends[1] >= truth.ends[0]


# ---------------------------------------------------------------------------------- whole systems

PRESETS = [
    ("linucb-alone", LINEAR, {}),
    ("samba-ucb", ARMS, {"cipher": "stream"}),
    ("fclub", USERS, {"epsilon": 1.0, "delta": 0.1}),
    ("pfcb", BUYERS, {"epsilon": 1.0, "delta": 0.1, "window": (4, 40)}),
]


@pytest.mark.parametrize(("preset", "environment", "settings"), PRESETS)
def test_before_the_change_all_is_as_it_was(preset, environment, settings):
    config = fb.system(preset, **settings).config
    still = simulate(config, environment, 40, 2, 0)
    drifting = simulate(config, with_drift(environment, Change(21)), 40, 2, 0)
    for stop in (1, 10, 20):
        for run in (still, drifting):
            run.advance(stop)
        np.testing.assert_allclose(drifting.regret, still.regret, rtol=1e-12)
        np.testing.assert_array_equal(drifting.reward, still.reward)
    for run in (still, drifting):
        run.advance(40)
    assert drifting.regret.tolist() != still.regret.tolist()


def test_a_change_after_the_last_round_changes_nothing_bit_for_bit():
    config = fb.system("linucb-alone").config
    runs = [
        simulate(config, environment, 40, 2, 0)
        for environment in (LINEAR, with_drift(LINEAR, Change(41)))
    ]
    for run in runs:
        run.advance(40)
    assert runs[0].regret.tolist() == runs[1].regret.tolist()


def test_regret_is_to_the_best_arm_of_the_moment():
    """Each decision of a party is held against what it was shown in that round."""
    environment = with_drift(LINEAR, Walk(step=0.3, every=2))
    run = federate(fb.system("linucb-alone").config, environment, 30, 2, 0)
    world, key, regret = environment.world(run.run.stage.key), run.run.stage.key, np.zeros(3)
    for round_ in range(1, 31):
        run.advance(round_)
        for agent, arm in enumerate(run.run.decisions):
            _, expected, _ = decision_set(environment, world, key, agent, round_)
            regret[agent] += expected.max() - expected[arm]
    np.testing.assert_allclose(run.regret, regret, rtol=1e-6)


def test_facts_are_the_same_and_theorems_say_that_they_are_about_something_else():
    drifting = with_drift(LINEAR, Change(3))
    assert drifting.facts == LINEAR.facts
    assert drifting.true_parameters(drifting.world(KEY)) is None
    config = fb.system("feducb", epsilon=1.0, delta=0.1).config
    plan = plan_of(config, drifting, 100)
    for bound in bounds_in(system_of(config), plan, drifting):
        assert any("environment.drift" in sentence for sentence in bound.departs)


# --------------------------------------------------------------------------------------- settings


class Coins(PythonEnvironment, frozen=True, kw_only=True, tag="drifting-coins"):
    """Coins to toss."""


@pytest.mark.parametrize(
    ("kind", "settings", "says"),
    [
        (Coins, {"drift": "walk"}, "decision_set gets the round"),
        (Linear, {"drift": "change(7)", "dim": 1}, "dim is at least 2"),
        (Linear, {"drift": {"kind": "change", "at": []}}, "at least one round"),
        (Linear, {"drift": {"kind": "change", "at": [5, 5]}}, "each later than the one before"),
        (Linear, {"drift": "walk(0)"}, "Linear.drift.step"),
        (Linear, {"drift": "wander"}, "change, walk"),
    ],
)
def test_what_cannot_drift_is_refused(kind, settings, says):
    with pytest.raises(ConfigError, match=says):
        kind(**settings)


@pytest.mark.parametrize("setting", [{"drift": "walk"}, {"delay": "fixed(3)"}])
def test_a_log_is_played_back_as_it_was_written(setting):
    log = {"age": [1.0, 2.0], "did": ["a", "b"], "paid": [1.0, 0.0]}
    with pytest.raises(ConfigError, match="a log is played back"):
        fb.environments.table(
            log, agents=1, features=["age"], ranges={"age": [0, 9]}, action="did", reward="paid",
            reward_range=(0.0, 1.0), classes=("a", "b"), propensity=0.5, visits="once",
            **setting,
        )  # fmt: skip


def test_one_cluster_has_no_other_to_change_places_with():
    with pytest.raises(ConfigError, match="at least two clusters"):
        Clustered(users=4, clusters=1, servers=2, drift="change(3)").world(KEY)


def test_a_file_and_an_assignment_set_it_and_it_is_written_as_it_was():
    raw = {
        "rounds": 10,
        "environment": {"kind": "linear", "drift": {"kind": "change", "at": [3, 7]}},
        "systems": [{"preset": "linucb-alone"}],
    }
    made = Experiment.from_table(raw)
    assert made.environment.drift == Change((3, 7))
    assert made.to_table()["environment"]["drift"] == {"kind": "change", "at": [3, 7]}
    assert Experiment.from_table(made.to_table()).environment == made.environment
    without = Experiment.from_table(raw | {"environment": {"kind": "linear"}})
    assert not {"drift", "delay"} & set(without.to_table()["environment"])
