from __future__ import annotations

import pathlib

import numpy as np
import pytest

from fedbandits._compile import compiled
from fedbandits.environments import Bernoulli
from fedbandits.environments.kernels.arrivals import pull_arm
from fedbandits.errors import DataError
from fedbandits.random import replicate_key

KEY = replicate_key(4, 0)
SHARED = pathlib.Path(__file__).parents[3] / "shared" / "data"


@compiled
def rewards(world, key, arm, rounds):
    out = np.empty(rounds)
    for t in range(rounds):
        out[t] = pull_arm(world, key, arm, t + 1)
    return out


def test_rewards_have_the_given_means():
    world = Bernoulli(means=(0.2, 0.9, 0.5, 0.0, 1.0), arms=5).world(KEY)
    np.testing.assert_array_equal(world.means, [1.0, 0.9, 0.5, 0.2, 0.0])
    for arm, mean in enumerate(world.means):
        drawn = rewards(world, KEY, arm, 20_000)
        assert set(drawn) <= {0.0, 1.0}
        assert drawn.mean() == pytest.approx(mean, abs=4 * np.sqrt(mean * (1 - mean) / 20_000))


def test_arms_rounds_and_replicates_draw_independently():
    world = Bernoulli(means=(0.5, 0.5), arms=2).world(KEY)
    one, two = rewards(world, KEY, 0, 4000), rewards(world, KEY, 1, 4000)
    other = rewards(world, replicate_key(4, 1), 0, 4000)
    for a, b in ((one, two), (one, other), (one[1:], one[:-1])):
        assert abs(np.corrcoef(a, b)[0, 1]) < 0.07


def test_drawn_means_are_new_each_replicate():
    worlds = [Bernoulli(arms=3).world(replicate_key(0, r)).means for r in range(2)]
    assert not np.array_equal(*worlds)


def test_the_best_of_given_means_are_kept(tmp_path):
    file = tmp_path / "means.txt"
    file.write_text("4\n0.1\n0.7\n0.3\n0.9\n", encoding="utf-8")
    np.testing.assert_array_equal(Bernoulli(means=str(file), arms=2).world(KEY).means, [0.9, 0.7])


@pytest.mark.parametrize("share_of", ["ratings", "users"])
def test_means_from_ratings(tmp_path, share_of):
    file = tmp_path / "opinions.csv"
    rows = ["user,item,rating", "a,x,5", "b,x,3", "c,y,4", "d,z,1"]
    file.write_text("\n".join(rows), encoding="utf-8")
    environment = Bernoulli(ratings=str(file), threshold=3.0, share_of=share_of, arms=2)
    expected = {"ratings": [1.0, 0.5], "users": [0.25, 0.25]}[share_of]
    np.testing.assert_array_equal(environment.world(KEY).means, expected)


def test_the_published_means_are_shares_of_all_users():
    """The paper says shares of an item's ratings; its file has shares of the 943 users."""
    ratings, means = SHARED / "movielens-100k" / "u.data", SHARED / "arm-means" / "movielens.txt"
    if not ratings.exists():
        pytest.skip("MovieLens is not at hand")
    given = Bernoulli(means=str(means), arms=100).world(KEY).means
    counted = Bernoulli(ratings=str(ratings), share_of="users", arms=1600).world(KEY).means
    for mean in given[:20]:
        assert np.abs(counted - mean).min() < 1e-12


BAD_FILES = {
    "count": ("3\n0.1\n0.2\n", "line 1: expected the number of means that follow"),
    "no count": ("0.1\n0.2\n", "line 1: expected the number"),
    "word": ("2\n0.1\nx\n", "line 3: expected a number between 0 and 1"),
    "too large": ("2\n0.1\n1.5\n", "line 3"),
    "nan": ("2\nnan\n0.1\n", "line 2"),
    "empty": ("", "line 1"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_malformed_files_are_refused_with_their_line(tmp_path, case):
    file = tmp_path / "means.txt"
    text, message = BAD_FILES[case]
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        Bernoulli(means=str(file), arms=2).prepare()


def test_missing_and_short_files_are_refused(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        Bernoulli(means=str(tmp_path / "none.txt"), arms=2).prepare()
    file = tmp_path / "means.txt"
    file.write_text("1\n0.5\n", encoding="utf-8")
    with pytest.raises(DataError, match="2 arms"):
        Bernoulli(means=str(file), arms=2).prepare()


def test_contradictions_are_refused():
    with pytest.raises(ValueError, match="not both"):
        Bernoulli(means=(0.5, 0.5), ratings="u.data", arms=2)
    with pytest.raises(ValueError, match="entries"):
        Bernoulli(means=(0.5,), arms=2)
