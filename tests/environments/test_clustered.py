"""Clustered users: who arrives, what is shown, what it pays, and which inputs are refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import fedbandits as fb
from fedbandits.environments import Clustered
from fedbandits.environments.kernels.arrivals import (
    draw_arrival,
    draw_item_reward,
    draw_items,
    fill_expected,
)
from fedbandits.environments.preferences import cluster_labels, largest_gap
from fedbandits.errors import ConfigError, DataError
from fedbandits.random import replicate_key

KEY = replicate_key(5, 1)


def items_of(environment, round_, key=KEY):
    items = np.zeros((environment.dimension, environment.items), np.float32)
    draw_items(environment.world(key), key, round_, items)
    return items


def arrivals(environment, rounds):
    world = environment.world(KEY)
    return np.array([draw_arrival(world, KEY, t) for t in range(1, rounds + 1)])


def saved(tmp_path, array, name="vectors.npy"):
    path = tmp_path / name
    np.save(path, array, allow_pickle=True)
    return str(path)


def unit(users, dim=4, seed=0):
    rows = np.random.default_rng(seed).normal(size=(users, dim))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class TestItems:
    def test_they_are_as_long_as_they_should_be(self):
        environment = Clustered(dim=7, items=13)
        for t in range(1, 50):
            x = items_of(environment, t).astype(np.float64)
            np.testing.assert_allclose(x[-1], math.sqrt(0.5), rtol=2e-6)
            np.testing.assert_allclose(np.linalg.norm(x[:-1], axis=0), math.sqrt(0.5), rtol=2e-6)
            assert np.linalg.norm(x, axis=0).max() <= 1.0

    def test_directions_are_uniform(self):
        """One coordinate of a uniform direction in ℝ⁹ squared is Beta(1/2, 4)."""
        environment = Clustered(items=100)
        x = np.concatenate([items_of(environment, t) for t in range(1, 101)], axis=1)
        for row in (0, 4, 8):
            share = 2.0 * x[row].astype(np.float64) ** 2
            assert stats.kstest(share, stats.beta(0.5, 4).cdf).statistic < 0.02
        assert np.abs(np.cov(x[:-1]) - np.eye(9) / 18).max() < 0.003

    def test_they_depend_on_the_round_and_the_replicate_alone(self):
        environment = Clustered()
        np.testing.assert_array_equal(items_of(environment, 3), items_of(environment, 3))
        other = Clustered(users=7, servers=2, arrivals="zipf", placement="spread")
        np.testing.assert_array_equal(items_of(environment, 3), items_of(other, 3))
        assert not np.array_equal(items_of(environment, 3), items_of(environment, 4))
        assert not np.array_equal(
            items_of(environment, 3), items_of(environment, 3, replicate_key(5, 2))
        )

    def test_expected_rewards_are_inner_products_cut_off_at_0_and_1(self, tmp_path):
        vectors = unit(6, 10)
        environment = Clustered(preferences=saved(tmp_path, vectors), servers=2)
        world, expected, outside = environment.world(KEY), np.zeros(10), 0
        for t in range(1, 40):
            items = items_of(environment, t)
            for user in range(6):
                best = fill_expected(world, user, t, items, expected)
                means = vectors[user] @ items
                outside += ((means < 0) | (means > 1)).sum()
                np.testing.assert_allclose(expected, np.clip(means, 0, 1), atol=1e-6)
                assert expected[best] == expected.max()
        assert outside > 0

    def test_drawn_vectors_need_no_cutting_off(self):
        environment = Clustered(users=12, clusters=12, servers=3)
        theta = environment.world(KEY).theta
        means = np.concatenate([theta @ items_of(environment, t) for t in range(1, 60)])
        assert -1e-6 < means.min() < 0.3 < 0.7 < means.max() < 1 + 1e-6

    def test_rewards_follow_their_probability(self):
        rewards = [draw_item_reward(0.3, KEY, t) for t in range(20_000)]
        assert set(rewards) == {0.0, 1.0}
        assert np.mean(rewards) == pytest.approx(0.3, abs=0.01)

    def test_a_better_item_never_pays_less_in_the_same_round(self):
        for t in range(200):
            assert draw_item_reward(0.8, KEY, t) >= draw_item_reward(0.2, KEY, t)
            assert (draw_item_reward(0.0, KEY, t), draw_item_reward(1.0, KEY, t)) == (0.0, 1.0)


class TestArrivals:
    def test_all_users_come_equally_often(self):
        counts = np.bincount(arrivals(Clustered(users=8, servers=2), 8000), minlength=8)
        assert stats.chisquare(counts).pvalue > 1e-4

    def test_zipf(self):
        counts = np.bincount(arrivals(Clustered(users=8, servers=2, arrivals="zipf"), 8000))
        rates = 1 / np.arange(1, 9)
        assert stats.chisquare(counts, 8000 * rates / rates.sum()).pvalue > 1e-4

    def test_given_rates(self):
        rates = (0.5, 0.0, 0.25, 0.25, 0.0)
        environment = Clustered(users=5, servers=2, clusters=2, arrivals=rates)
        counts = np.bincount(arrivals(environment, 8000), minlength=5)
        assert counts[1] == counts[4] == 0
        assert stats.chisquare(counts[[0, 2, 3]], [4000, 2000, 2000]).pvalue > 1e-4

    @pytest.mark.parametrize(
        ("rates", "message"),
        [
            ((0.5, 0.4), "sum to 1"), ((1.0, 0.1), "sum to 1"), ((0.2, 0.3, 0.5), "3 prob"),
            ((1.5, -0.5), None), ((float("nan"), 1.0), None), ("often", None),
        ],
    )  # fmt: skip
    def test_impossible_rates_are_refused(self, rates, message):
        with pytest.raises((ConfigError, ValueError), match=message):
            configured(users=2, servers=1, clusters=1, arrivals=rates)


def configured(**keys):
    """An environment by way of an experiment, so that types are checked as in a file."""
    return fb.Experiment(
        rounds=5, environment=Clustered(**keys), systems=(fb.system("linucb-per-user"),)
    ).environment


class TestWorld:
    @pytest.mark.parametrize(("users", "servers", "sizes"), [(40, 5, [8] * 5), (11, 3, [4, 4, 3])])
    def test_servers_are_equal_contiguous_blocks(self, users, servers, sizes):
        server = Clustered(users=users, servers=servers).world(KEY).server
        assert np.bincount(server).tolist() == sizes
        assert (np.diff(server) >= 0).all()

    def test_spread_users_lie_on_all_servers(self):
        world = Clustered(users=40, clusters=5, servers=5, placement="spread").world(KEY)
        for cluster in range(5):
            assert set(world.server[world.cluster == cluster]) == set(range(5))
        assert np.bincount(world.server).tolist() == [8] * 5

    def test_drawn_clusters_keep_their_distance(self):
        environment = Clustered(users=23, clusters=6, servers=2, dim=4, gap=0.5)
        world = environment.world(KEY)
        assert np.bincount(world.cluster).tolist() == [4, 4, 4, 4, 4, 3]
        different = world.cluster[:, None] != world.cluster[None, :]
        distances = np.linalg.norm(world.theta[:, None] - world.theta[None], axis=2)
        assert distances[different].min() > 0.5
        assert distances[~different].max() == 0.0
        np.testing.assert_allclose(np.linalg.norm(world.theta, axis=1), 1.0)
        assert not np.array_equal(world.theta, environment.world(replicate_key(5, 2)).theta)

    @pytest.mark.parametrize(("dim", "gap", "within"), [(3, 0.3, 0.2), (10, 0.5, 0.3), (4, 0, 0.7)])
    def test_users_of_a_cluster_are_alike_within_eta(self, dim, gap, within):
        parts = {"users": 40, "clusters": 4, "servers": 2, "dim": dim, "gap": gap}
        environment = Clustered(**parts, within=within)
        world = environment.world(KEY)
        same = world.cluster[:, None] == world.cluster[None, :]
        distances = np.linalg.norm(world.theta[:, None] - world.theta[None], axis=2)
        assert 0.3 * within < distances[same].max() <= within * (1 + 1e-12)
        assert distances[~same].min() > gap
        assert np.unique(world.theta, axis=0).shape[0] == 40  # nobody is like another
        np.testing.assert_allclose(np.linalg.norm(world.theta, axis=1), 1.0)
        assert environment.cluster_count == environment.facts.clusters == 4
        before = Clustered(**parts).world(KEY)
        np.testing.assert_array_equal(before.cluster, world.cluster)

    def test_a_file_gives_its_first_users(self, tmp_path):
        vectors = np.repeat(unit(4), 3, axis=0)
        environment = Clustered(preferences=saved(tmp_path, vectors), users=7, servers=2)
        world = environment.world(KEY)
        np.testing.assert_array_equal(world.theta, vectors[:7])
        assert world.cluster.tolist() == [0, 0, 0, 1, 1, 1, 2]
        assert (environment.parties, environment.cluster_count, environment.dimension) == (7, 3, 4)
        assert environment.acting == 1

    def test_float32_is_read_too(self, tmp_path):
        path = saved(tmp_path, (0.9 * unit(4)).astype(np.float32))
        assert Clustered(preferences=path, servers=2).world(KEY).theta.dtype == np.float64

    def test_labels_tell_rows_apart(self):
        rows = np.array([[2.0, 0], [1, 0], [2, 0], [0, 0], [1, 0]])
        assert cluster_labels(rows).tolist() == [0, 1, 0, 2, 1]

    def test_it_stays_as_it_is_when_a_world_is_written_to(self, tmp_path):
        environment = Clustered(preferences=saved(tmp_path, unit(4)), servers=2)
        before = environment.world(KEY).theta.copy()
        environment.world(KEY).theta[:] = 0.0
        np.testing.assert_array_equal(environment.world(KEY).theta, before)


class TestBadInput:
    @pytest.mark.parametrize(
        ("keys", "message"),
        [
            ({"users": 4, "servers": 5}, "servers: 5 servers for 4 users"),
            ({"users": 4, "servers": 2, "clusters": 5}, "clusters: 5 clusters of 4 users"),
            ({"gap": 1.2, "clusters": 5}, "gap: 5 vectors cannot keep a distance"),
            ({"gap": -0.1}, "gap"), ({"items": 1}, "items"), ({"dim": 1}, "dim"),
            ({"users": 0}, "users"), ({"placement": "apart"}, "placement"),
            ({"preferences": "a.npy", "ratings": "u.data"}, "not both"),
            ({"preferences": "a.npy", "clusters": 3}, "leave them out"),
            ({"ratings": "u.data", "gap": 0.3}, "gap is for vectors that are drawn"),
            ({"ratings": "u.data", "within": 0.3}, "within is for vectors that are drawn"),
            ({"within": 0.3, "dim": 2}, "use a larger dim"),
            ({"within": 0.5, "gap": 1.0}, "within: given 0.5, allowed: at most 0.118"),
        ],
    )  # fmt: skip
    def test_impossible_settings_are_refused(self, keys, message):
        with pytest.raises((ConfigError, ValueError), match=message):
            configured(**keys)

    def test_no_vectors_can_keep_more_than_rankins_distance(self):
        for m in range(2, 7):  # a simplex reaches it
            simplex = np.eye(m) - 1 / m
            simplex /= np.linalg.norm(simplex, axis=1, keepdims=True) * math.sqrt(2)
            assert np.linalg.norm(simplex[0] - simplex[1]) == pytest.approx(largest_gap(m))

    def test_vectors_that_cannot_be_found_are_refused(self):
        for keys in ({"dim": 2, "clusters": 3}, {"dim": 3, "clusters": 7, "gap": 0.7}):
            with pytest.raises(ConfigError, match="found no"):
                Clustered(**keys).world(KEY)

    @pytest.mark.parametrize(
        ("array", "message"),
        [
            (np.full((4, 3), np.nan), "row 0: expected finite"),
            (np.array([[0.1, 0.2], [0.3, np.inf]]), "row 1: expected finite"),
            (np.array([[0.1, 0.2], [0.9, 0.9]]), "row 1: expected a vector of length at most 1"),
            (np.zeros(5), "expected an array of floats"), (np.zeros((2, 2, 2)), "array of floats"),
            (np.zeros((3, 3), int), "array of floats"), (np.zeros((3, 3), complex), "of floats"),
            (np.zeros((0, 3)), "at least 1 user"), (np.zeros((4, 1)), "d ≥ 2"),
            (np.array([[{}, 1]], dtype=object), "cannot be read"),
        ],
    )  # fmt: skip
    def test_files_that_hold_no_vectors_are_refused(self, tmp_path, array, message):
        environment = Clustered(preferences=saved(tmp_path, array), servers=1)
        with pytest.raises(DataError, match=message):
            environment.prepare()

    @pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"hello, world", b"PK\x03\x04 broken"])
    def test_files_that_are_no_npy_are_refused(self, tmp_path, content):
        path = tmp_path / "broken.npy"
        path.write_bytes(content)
        with pytest.raises(DataError, match="cannot be read"):
            Clustered(preferences=str(path)).prepare()

    def test_archives_folders_and_nothing_are_refused(self, tmp_path):
        np.savez(tmp_path / "many.npz", a=np.zeros((3, 3)))
        with pytest.raises(DataError, match="an archive is not"):
            Clustered(preferences=str(tmp_path / "many.npz")).prepare()
        with pytest.raises(DataError, match="cannot be read"):
            Clustered(preferences=str(tmp_path)).prepare()
        with pytest.raises(DataError, match="no such file"):
            Clustered(preferences=str(tmp_path / "none.npy")).prepare()

    def test_more_than_a_file_holds_is_refused(self, tmp_path):
        path = saved(tmp_path, unit(6))
        with pytest.raises(DataError, match=r"environment\.users: 7 users"):
            Clustered(preferences=path, users=7, servers=2).prepare()
        with pytest.raises(DataError, match=r"environment\.dim: 5"):
            Clustered(preferences=path, dim=5, servers=2).prepare()
        with pytest.raises(ConfigError, match=r"environment\.servers: 7 servers for 6"):
            Clustered(preferences=path, servers=7).prepare()
        with pytest.raises(ConfigError, match=r"environment\.arrivals: 2 probabilities for 6"):
            Clustered(preferences=path, servers=2, arrivals=(0.5, 0.5)).prepare()

    def test_nothing_is_written_when_the_data_is_bad(self, tmp_path):
        experiment = fb.Experiment(
            rounds=5, environment=Clustered(preferences=saved(tmp_path, np.full((5, 3), np.nan))),
            systems=(fb.system("club"),),
        )  # fmt: skip
        with pytest.raises(DataError):
            fb.run(experiment, out=tmp_path / "out")
        assert sorted(p.name for p in tmp_path.iterdir()) == ["vectors.npy"]


class TestRatings:
    def file(self, tmp_path, lines=None):
        """Two kinds of users: each rates the items of its own half."""
        path = tmp_path / "pairs.tsv"
        rng = np.random.default_rng(0)
        pairs = [
            (u, i)
            for u in range(24)
            for i in range(40)
            if rng.random() < (0.8 if i % 2 == u % 2 else 0.05)
        ]
        text = lines or [f"{u}\t{i}\t{1 + (u + i) % 5}" for u, i in pairs]
        path.write_text("\n".join(text), encoding="utf-8")
        return str(path)

    def test_users_who_rate_the_same_items_are_a_cluster(self, tmp_path):
        environment = Clustered(ratings=self.file(tmp_path), users=20, clusters=2, dim=4, servers=4)
        world = environment.world(KEY)
        assert world.theta.shape == (20, 4)
        assert environment.cluster_count == 2
        np.testing.assert_allclose(world.theta[:, -1], math.sqrt(0.5))
        lengths = np.linalg.norm(world.theta[:, :-1], axis=1)
        assert lengths.max() == pytest.approx(math.sqrt(0.5))
        assert 8 <= world.cluster.sum() <= 12
        assert "ratings" in " ".join(environment.facts.public)

    def test_too_little_of_anything_is_refused(self, tmp_path):
        path = self.file(tmp_path)
        for keys, message in (
            ({"users": 25}, "environment.users: 25 users, but"),
            ({"users": 20, "dim": 30}, "environment.dim: 30 coordinates"),
        ):
            with pytest.raises(DataError, match=message):
                Clustered(ratings=path, servers=2, clusters=2, **keys).prepare()
        same = self.file(tmp_path, [f"{u}\t{i}\t3" for u in range(6) for i in range(8)])
        with pytest.raises(DataError, match="fewer than 5 different users"):
            Clustered(ratings=same, users=6, servers=2, dim=3, clusters=5).prepare()

    def test_faults_of_the_file_are_named(self, tmp_path):
        with pytest.raises(DataError, match="no such file"):
            Clustered(ratings=str(tmp_path / "u.data")).prepare()
        with pytest.raises(DataError, match="line 1"):
            Clustered(ratings=self.file(tmp_path, ["1\t2"]), users=5, clusters=2).prepare()
