from __future__ import annotations

import numpy as np
import pytest
from sklearn import datasets

from fedbandits.environments import Classification
from fedbandits.environments import classification as module
from fedbandits.errors import DataError
from fedbandits.random import replicate_key
from tests.worlds import decision_sets

KEY = replicate_key(5, 0)


@pytest.mark.parametrize(
    ("dataset", "arms", "columns"), [("breast_cancer", 2, 30), ("wine", 3, 13), ("digits", 10, 61)]
)
def test_bundled_data_becomes_a_bandit(dataset, arms, columns):
    environment = Classification(agents=3, dataset=dataset)
    environment.prepare()
    assert environment.arm_count == environment.models == arms
    assert (
        environment.dimension == columns + 1
    )  # the constant; digits has 3 columns that never vary


def test_rewards_go_to_the_right_class():
    environment = Classification(agents=4, components=3)
    world = environment.world(KEY)
    assert set(world.labels) == {0, 1}
    for features, expected, best in decision_sets(environment, world, KEY, rounds=100):
        row = np.flatnonzero((world.rows == features[:, 0]).all(axis=1))
        assert best in set(world.labels[row])
        assert expected[best] == 1.0
        assert expected.sum() == 1.0


def test_disjoint_shards_share_out_every_row_once():
    world = Classification(agents=7, components=2).world(KEY)
    assert sorted(world.shards) == list(range(len(world.labels)))
    sizes = np.diff(world.starts)
    assert sizes.max() - sizes.min() <= 1


def test_an_agent_draws_from_its_own_shard_with_replacement():
    environment = Classification(agents=57, components=2)
    world = environment.world(KEY)
    own = {tuple(world.rows[i]) for i in world.shards[world.starts[3] : world.starts[4]]}
    from tests.worlds import decision_set

    seen = [tuple(decision_set(environment, world, KEY, 3, t)[0][:, 0]) for t in range(1, 200)]
    assert set(seen) == own


def test_shared_shards_give_every_agent_all_rows():
    world = Classification(agents=3, components=2, shards="shared").world(KEY)
    count = len(world.labels)
    for agent in range(3):
        mine = world.shards[world.starts[agent] : world.starts[agent + 1]]
        assert sorted(mine) == list(range(count))


def test_splits_are_new_each_replicate():
    environment = Classification(agents=5, components=2)
    one, two = (environment.world(replicate_key(0, r)).shards for r in (0, 1))
    assert not np.array_equal(one, two)


@pytest.mark.parametrize("intercept", [0.0, 0.25])
@pytest.mark.parametrize("clip_quantile", [0.1, 1.0])
def test_rows_fill_the_unit_ball_but_do_not_leave_it(intercept, clip_quantile):
    environment = Classification(intercept=intercept, clip_quantile=clip_quantile)
    norms = np.linalg.norm(environment.world(KEY).rows.astype(np.float64), axis=1)
    assert norms.max() <= 1.0
    assert norms.max() > 0.999


def test_principal_components_keep_the_variance_they_should():
    table = datasets.load_wine().data
    scaled = (table - table.mean(axis=0)) / table.std(axis=0)
    values = np.linalg.eigvalsh(np.cov(scaled.T))[::-1]
    rows = module._principal_components("wine", scaled, 4)
    np.testing.assert_allclose(rows.var(axis=0, ddof=1), values[:4], rtol=1e-8)


def test_too_many_agents_for_disjoint_shards():
    with pytest.raises(DataError, match="agents"):
        Classification(agents=1000).prepare()
    Classification(agents=1000, shards="shared").prepare()


def test_too_many_components():
    with pytest.raises(DataError, match="components"):
        Classification(components=31).prepare()


def test_cells_that_are_no_numbers_are_named():
    table = np.ones((4, 2))
    table[2, 1] = np.nan
    with pytest.raises(DataError, match="row 2, column 1"):
        module._refuse_unusable("odd", table)


def test_an_unknown_data_set_is_refused(monkeypatch):
    def nothing(**_):
        raise ValueError("no such data set")

    monkeypatch.setattr(datasets, "fetch_openml", nothing)
    with pytest.raises(DataError, match=r"environment\.dataset: 'nonesuch'"):
        Classification(dataset="nonesuch").prepare()


def test_a_single_class_is_refused(monkeypatch):
    class Bunch:
        data, target = np.ones((3, 2)), np.zeros(3)

    monkeypatch.setattr(datasets, "fetch_openml", lambda **_: Bunch)
    with pytest.raises(DataError, match="only one class"):
        Classification(dataset="flat").prepare()


def test_the_claim_is_told_how_often_a_person_comes_back():
    facts = Classification(agents=10).facts
    assert facts.visits_per_person(5690) == pytest.approx(100.0)
    (fact,) = facts.public
    assert "computed here from the whole data set" in fact


@pytest.mark.parametrize(
    "name",
    ["mine.csv", "data/mine", "C:\\data", "mine.CSV.gz", "./mine", "~mine", "visits.parquet"],
)
def test_what_looks_like_a_path_is_never_looked_up(name, monkeypatch):
    monkeypatch.setattr(datasets, "fetch_openml", lambda **_: pytest.fail("was looked up"))
    with pytest.raises(DataError, match=r'looks like a path.*kind = "table" and path = "'):
        Classification(dataset=name).prepare()
