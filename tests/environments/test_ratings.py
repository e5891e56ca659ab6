from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest

import fedbandits as fb
from fedbandits.environments import RatingData
from fedbandits.environments.rating_files import read_ratings
from fedbandits.errors import DataError
from fedbandits.random import replicate_key
from tests.worlds import decision_set, draw_rewards

KEY = replicate_key(3, 0)
MOVIELENS = pathlib.Path(__file__).parents[3] / "shared/data/movielens-100k/u.data"


def write(tmp_path, name, lines):
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def file(tmp_path):
    """30 users, 25 items, most pairs rated, with two hidden tastes."""
    rng = np.random.default_rng(0)
    taste = np.outer(rng.choice([-1, 1], 30), rng.choice([-1, 1], 25))
    lines = [
        f"{u + 1}\t{i + 1}\t{3 + 2 * taste[u, i] * (rng.random() < 0.9):d}\t0"
        for u in range(30)
        for i in range(25)
        if rng.random() < 0.9
    ]
    return write(tmp_path, "u.data", lines)


EXPECTED = [("7", "a", 4.0), ("7", "b", 1.0), ("9", "a", 5.0)]
FORMATS = {
    "u.data": ["7\t1\t4\t881250949", "7\t2\t1\t891717742", "9\t1\t5\t878887116"],
    "ratings.dat": ["7::1::4::978300760", "7::2::1::978302109", "9::1::5::978301968"],
    "ratings.csv": ["userId,movieId,rating,timestamp", "7,1,4.0,1", "7,2,1.0,2", "9,1,5.0,3"],
    "user_artists.dat": ["userID\tartistID\tweight", "7\ta\t4", "7\tb\t1", "9\ta\t5"],
    "generic.csv": ["Rating,User,Item,note", "4,7,a,x", '1,7,b,"y, z"', "5,9,a,"],
    "review.json": [
        json.dumps({"user_id": u, "business_id": i, "stars": v, "text": "…"})
        for u, i, v in EXPECTED
    ],
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_read(tmp_path, name):
    ratings = read_ratings(write(tmp_path, name, FORMATS[name]))
    np.testing.assert_array_equal(ratings.users, [0, 0, 1])
    np.testing.assert_array_equal(ratings.items, [0, 1, 0])
    np.testing.assert_array_equal(ratings.values, [4.0, 1.0, 5.0])


def test_jester_is_a_row_a_user(tmp_path):
    rows = [["2", "1.5", "-9.9"] + ["99"] * 98, ["1", "99", "3"] + ["99"] * 98]
    ratings = read_ratings(write(tmp_path, "jester.csv", [",".join(row) for row in rows]))
    np.testing.assert_array_equal(ratings.users, [0, 0, 1])
    np.testing.assert_array_equal(ratings.items, [0, 1, 1])
    np.testing.assert_array_equal(ratings.values, [1.5, -9.9, 3.0])


BAD = {
    ("u.data", "7 a 4"): "line 2: expected user, item and rating, separated by tabs",
    ("u.data", "7\ta"): "line 2: expected user, item",
    ("u.data", "7\ta\tfour"): "line 2: expected user, item",
    ("u.data", "7\ta\tnan"): "line 2: expected user, item",
    ("u.data", "7\t3\t0_5"): "line 2: expected user, item",
    ("u.data", "\ta\t4"): "line 2: expected user, item",
    ("u.data", "0\t1\t4"): "line 2: expected user and item as whole numbers from 1",
    ("u.data", "7\t-3\t4"): "line 2: expected user and item as whole numbers from 1",
    ("u.data", "7\t1\t6"): "line 2: expected a rating between 0.5 and 5",
    ("ratings.csv", "7,1,0,1"): "line 2: expected a rating between 0.5 and 5",
    ("ratings.dat", "7::a"): "line 2: expected user::item::rating::timestamp",
    ("ratings.csv", "7,a"): "line 2: has 2 cells, but line 1 names 4 columns",
    ("ratings.csv", "7,a,x,1"): "line 2, column 'rating': is not a number",
    ("review.json", '{"user_id": 7'): "line 2: expected an object with",
    ("review.json", '{"user_id": 7}'): "line 2: expected an object with",
}


@pytest.mark.parametrize("case", BAD)
def test_a_malformed_line_is_named(tmp_path, case):
    name, line = case
    with pytest.raises(DataError, match=f"{name}, {BAD[case]}"):
        read_ratings(write(tmp_path, name, [FORMATS[name][0], line]))


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("empty.csv", [""], "is empty"),
        ("ratings.csv", ["userId,movieId,rating"], "with names .line 1., but no rows"),
        (
            "odd.csv",
            ["when,where,what", "a,b,c"],
            'no user in it: say which column it is, as in user = "COL',
        ),
        ("jester.csv", [",".join(["1", "11"] + ["99"] * 99)], "line 1: expected how many jokes"),
    ],
)
def test_files_without_ratings_are_refused(tmp_path, name, lines, message):
    with pytest.raises(DataError, match=message):
        read_ratings(write(tmp_path, name, lines))


def test_a_missing_file_says_where_to_get_it(tmp_path):
    with pytest.raises(DataError, match="get MovieLens 100K"):
        read_ratings(str(tmp_path / "u.data"))


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "u.data").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(DataError, match="is UTF-16 text; set encoding"):
        read_ratings(str(tmp_path / "u.data"))


def test_a_decision_set_is_of_one_user_and_different_items(file):
    environment = RatingData(path=file, agents=3, dim=3, arms=8)
    world = environment.world(KEY)
    for t in range(1, 200):
        features, expected, best = decision_set(environment, world, KEY, t % 3, t)
        assert len({tuple(column) for column in features.T}) == 8
        assert set(expected) <= {0.0, 0.5, 1.0}
        assert expected[best] == expected.max()


def test_every_item_of_a_user_is_offered_equally_often(file):
    from scipy import stats

    environment = RatingData(path=file, agents=30, dim=2, arms=5)
    world = environment.world(KEY)
    seen: dict[bytes, int] = {}
    for t in range(1, 3000):
        for column in decision_set(environment, world, KEY, 4, t)[0].T:
            seen[column.tobytes()] = seen.get(column.tobytes(), 0) + 1
    user = world.order[world.shares[4]]
    assert len(seen) == world.starts[user + 1] - world.starts[user]
    assert stats.chisquare(list(seen.values())).pvalue > 1e-3


def test_rewards_are_ratings_or_a_threshold(file):
    environment = RatingData(path=file, agents=2, dim=2, arms=3)
    assert draw_rewards(environment, 0.5, KEY, 3) == [0.5] * 3
    high = RatingData(path=file, agents=2, dim=2, arms=3, threshold=4.0).world(KEY)
    assert set(high.rewards) == {0.0, 1.0}
    assert (environment.world(KEY).rewards[high.rewards == 1.0] == 1.0).all()


def test_factors_tell_good_items_from_bad(file):
    """The entrywise product sums to the reconstructed rating."""
    environment = RatingData(path=file, agents=1, dim=5, arms=10)
    world = environment.world(KEY)
    sums, rewards = [], []
    for t in range(1, 100):
        features, expected, _ = decision_set(environment, world, KEY, 0, t)
        sums.extend(features.sum(axis=0))
        rewards.extend(expected)
    assert np.corrcoef(sums, rewards)[0, 1] > 0.8


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"agents": 31}, r"environment\.agents"), ({"arms": 26}, "no user has rated 26"),
        ({"dim": 25}, r"environment\.dim"),
    ],
)  # fmt: skip
def test_impossible_settings_are_refused(file, changes, message):
    settings = {"path": file, "agents": 3, "dim": 3, "arms": 5} | changes
    with pytest.raises(DataError, match=message):
        RatingData(**settings).prepare()


def test_equal_ratings_teach_nothing(tmp_path):
    path = write(tmp_path, "pairs.tsv", [f"{u}\t{i}\t3" for u in range(5) for i in range(5)])
    with pytest.raises(DataError, match="all ratings are equal"):
        RatingData(path=path, agents=1, dim=2, arms=2).prepare()


def test_the_last_rating_of_a_pair_counts(tmp_path):
    lines = [f"{u}\t{i}\t{(u * i) % 5}" for u in range(6) for i in range(6)]
    path = write(tmp_path, "pairs.tsv", [*lines, "3\t3\t0"])
    world = RatingData(path=path, agents=1, dim=2, arms=2).world(KEY)
    assert world.starts[-1] == 36
    rated = world.items[world.starts[3] : world.starts[4]]
    assert world.rewards[world.starts[3] + list(rated).index(3)] == 0.0


@pytest.mark.skipif(not MOVIELENS.exists(), reason="MovieLens may not be passed on with the tests")
def test_movielens_runs_end_to_end(tmp_path):
    experiment = fb.Experiment(
        rounds=300,
        environment=RatingData(path=str(MOVIELENS)),
        systems=(fb.system("feducb"), fb.system("linucb-alone")),
    )
    result = fb.run(experiment, out=tmp_path / "movielens")
    assert result.sizes["party"] == 10
    assert (result.regret.isel(round=-1) > 0).all()
