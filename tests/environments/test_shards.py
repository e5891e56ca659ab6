"""Rows that are dealt by Dirichlet proportions: ``shards = "skewed(0.3)"``."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import fedbandits as fb
from fedbandits.environments import Classification, Skewed
from fedbandits.environments.shards import deal, largest_shard, proportions, smallest_shard
from fedbandits.errors import ConfigError, DataError
from fedbandits.random import Purpose, permutation, replicate_key
from tests.worlds import opened

KEY = replicate_key(5, 0)
ROWS = 300
#: Three classes of different size; persons have one to seven rows.
TABLE = {
    "x": np.linspace(0.0, 1.0, ROWS),
    "label": ["abbccc"[i * i % 6] for i in range(ROWS)],
    "person": [f"p{min(i % 97, i % 61)}" for i in range(ROWS)],
    "site": ["here" if i % 3 else "there" for i in range(ROWS)],
}
labels_and_agents = st.lists(st.integers(0, 4), min_size=1, max_size=60).flatmap(
    lambda found: st.tuples(st.just(np.array(found, np.int64)), st.integers(1, len(found)))
)


def made(**keys):
    usual = {"target": "label", "features": ["x"], "scaling": "data", "agents": 8}
    return fb.environments.table(TABLE, **(usual | keys))


def owners(world):
    """The agent that owns each row."""
    found = np.empty(len(world.shards), np.int64)
    found[world.shards] = np.repeat(np.arange(len(world.starts) - 1), np.diff(world.starts))
    return found


@pytest.mark.parametrize("concentration", [0.05, 0.3, 4.0])
def test_proportions_are_dirichlet(concentration):
    """Each agent's share is a beta, and the variance is that of a Dirichlet."""
    agents, draws = 6, 3000
    found = np.array([proportions(concentration, agents, KEY, label) for label in range(draws)])
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    variance = (agents - 1) / agents**2 / (agents * concentration + 1.0)
    np.testing.assert_allclose(found.var(axis=0), variance, rtol=0.12)
    off = np.cov(found.T)[np.triu_indices(agents, 1)]
    np.testing.assert_allclose(off.mean(), -variance / (agents - 1), rtol=0.05)
    share = stats.beta(concentration, (agents - 1) * concentration)
    for agent in (0, agents - 1):
        assert stats.kstest(found[:, agent], share.cdf).pvalue > 1e-3


@pytest.mark.parametrize("concentration", [1e-6, 1e-3, 1e6])
def test_no_concentration_is_too_extreme(concentration):
    found = proportions(concentration, 50, KEY, 0)
    assert np.isfinite(found).all()
    assert found.sum() == pytest.approx(1.0)
    assert (found.max() > 0.9) == (concentration < 1.0)


@given(
    labels_and_agents,
    st.just("disjoint") | st.floats(0.01, 100.0).map(Skewed),
    st.integers(0, 1000),
)
def test_each_row_has_one_owner_and_each_agent_a_row(given_, dealing, seed):
    labels, agents = given_
    dealt = deal(dealing, labels, agents, replicate_key(seed, 0))
    assert sorted(dealt.rows) == list(range(len(labels)))
    sizes = np.diff(dealt.starts)
    assert (dealt.starts[0], dealt.starts[-1]) == (0, len(labels))
    assert smallest_shard(dealing, len(labels), agents) <= sizes.min()
    assert sizes.min() >= 1
    assert sizes.max() <= largest_shard(dealing, len(labels), agents)
    if dealing == "disjoint":  # no bounds, but what they are
        assert smallest_shard(dealing, len(labels), agents) == sizes.min()
        assert sizes.max() == largest_shard(dealing, len(labels), agents)


def test_classes_are_divided_by_the_proportions_that_are_drawn():
    labels = np.repeat([0, 1, 2], [400, 90, 1000])
    dealt = deal(Skewed(0.6), labels, 5, KEY)
    agents = np.repeat(np.arange(5), np.diff(dealt.starts))
    for label, rows in enumerate((400, 90, 1000)):
        counts = np.bincount(agents[labels[dealt.rows] == label], minlength=5)
        shares = proportions(0.6, 5, KEY, label)
        assert np.abs(counts - rows * shares).max() <= 1.0


def test_rows_without_an_owner_come_from_those_who_have_most():
    labels = np.zeros(40, np.int64)
    shares = proportions(0.02, 30, KEY, 0)
    dealt = deal(Skewed(0.02), labels, 30, KEY)
    sizes = np.diff(dealt.starts)
    assert (np.rint(40 * shares) == 0).sum() > 20
    assert sizes.min() == 1
    assert sizes.argmax() == shares.argmax()


def test_a_large_concentration_is_nearly_even():
    labels = np.repeat([0, 1], [600, 900])
    dealt = deal(Skewed(1e6), labels, 10, KEY)
    for agent in range(10):
        mine = labels[dealt.rows[dealt.starts[agent] : dealt.starts[agent + 1]]]
        np.testing.assert_allclose(np.bincount(mine), (60, 90), atol=2)


def test_a_small_concentration_is_not():
    world = Classification(agents=10, components=2, shards="skewed(0.1)").world(KEY)
    of_rows, sizes = owners(world), np.diff(world.starts)
    first = np.bincount(of_rows, world.labels == 0, minlength=10) / sizes
    assert np.std(first) > 0.3
    even = Classification(agents=10, components=2).world(KEY)
    assert np.std(np.bincount(owners(even), even.labels == 0, minlength=10) / 57) < 0.1


def test_rows_of_a_class_are_anyones():
    """Which row an agent gets of a class does not follow the order of the data."""
    labels = np.zeros(200, np.int64)
    counted = np.zeros(200)
    for replicate in range(300):
        dealt = deal(Skewed(1.0), labels, 2, replicate_key(3, replicate))
        counted[dealt.rows[: dealt.starts[1]]] += 1.0 / dealt.starts[1]
    assert stats.pearsonr(counted, np.arange(200)).pvalue > 1e-3


@pytest.mark.parametrize("make", [Classification, made], ids=["classification", "table"])
def test_each_replicate_deals_anew(make):
    environment = make(shards="skewed(0.3)")
    one, again, two = (environment.world(replicate_key(2, r)) for r in (0, 0, 1))
    np.testing.assert_array_equal(one.shards, again.shards)
    np.testing.assert_array_equal(one.starts, again.starts)
    assert not np.array_equal(one.starts, two.starts)


def test_evenly_dealt_rows_are_those_of_0_3():
    for environment, rows in ((Classification(agents=7, dataset="wine"), 178), (made(), ROWS)):
        world, agents = environment.world(KEY), environment.parties
        np.testing.assert_array_equal(world.shards, permutation(rows, KEY, 0, 0, Purpose.WORLD))
        starts = np.linspace(0, rows, agents + 1).round()
        np.testing.assert_array_equal(world.starts, starts)


@pytest.mark.parametrize("concentration", [0.05, 0.5, 50.0])
@pytest.mark.parametrize("agents", [1, 3, 40])
@pytest.mark.parametrize("person", [None, "person"])
def test_nobody_comes_more_often_than_the_facts_say(concentration, agents, person):
    """Counted in twenty replicates: each row is drawn by its owner, with its share."""
    shards = Skewed(concentration)
    bundled = Classification(agents=agents, dataset="wine", components=2, shards=shards)
    for environment in (bundled, made(agents=agents, shards=shards, person=person)):
        facts = environment.facts
        for replicate in range(20):
            world = environment.world(replicate_key(9, replicate))
            of_rows = owners(world)
            shares = 1.0 / np.diff(world.starts)[of_rows]
            assert np.bincount(world.persons, shares).max() <= facts.most_share * (1 + 1e-12)
            assert world.persons.max() + 1 == facts.persons
            pairs = np.unique(np.stack([world.persons, of_rows]), axis=1)
            assert np.bincount(pairs[0]).max() <= facts.most_parties
        assert facts.most_visits(50) <= 50 * facts.most_parties
        if agents > 1:  # an agent may have a single row
            assert facts.most_visits(50) >= 50


def test_an_agent_sees_its_own_rows_alone():
    environment = Classification(agents=9, dataset="wine", components=3, shards="skewed(0.2)")
    world = environment.world(KEY)
    shown, of_rows = opened(environment, world, KEY), owners(world)
    for agent in range(9):
        for round_ in range(1, 30):
            best = shown.fill(agent, round_)
            assert of_rows[shown.person] == agent
            assert best == world.labels[shown.person]


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"site": "site", "agents": 0}, r"shards: given skewed\(0\.3\) beside site"),
        ({"target": None, "rewards": ["x", "y"]}, r"shards: given skewed\(0\.3\) without target"),
        ({"visits": "once"}, r'shards: given skewed\(0\.3\) beside visits = "once"'),
        (
            {"shards": "shared"},
            r"shards: given 'shared', allowed: disjoint, skewed, with ",
        ),
        ({"shards": "skewed(0)"}, r"shards\.concentration: given 0, allowed: a number ≥ 1e-06"),
        ({"shards": "skewed"}, r"shards\.concentration: missing"),
        ({"shards": 0.3}, r"shards: given 0\.3, allowed: 'disjoint' or 'skewed'"),
    ],
)
def test_what_does_not_fit_is_refused(keys, says):
    with pytest.raises(ConfigError, match=says):
        made(**({"shards": "skewed(0.3)"} | keys))


def test_more_agents_than_rows_are_refused():
    with pytest.raises(DataError, match="at most 178"):
        Classification(agents=179, dataset="wine", shards="skewed(0.3)").prepare()
    with pytest.raises(DataError, match=f"at most {ROWS}"):
        made(agents=ROWS + 1, shards="skewed(0.3)").prepare()
    world = Classification(agents=178, dataset="wine", shards="skewed(0.3)").world(KEY)
    np.testing.assert_array_equal(np.diff(world.starts), 1)


def test_it_is_written_in_short_and_read_again():
    def read(shards):
        table = {"kind": "classification", "dataset": "wine", "shards": shards}
        systems = [{"preset": "linucb-alone"}]
        return fb.Experiment.from_table({"rounds": 9, "environment": table, "systems": systems})

    skewed = read("skewed(0.5)")
    assert skewed.environment.shards == Skewed(0.5)
    assert fb.Experiment.from_table(skewed.to_table()) == skewed
    assert read({"kind": "skewed", "concentration": 0.5}) == skewed
    for word in ("disjoint", "shared"):
        assert read(word).to_table()["environment"]["shards"] == word
        assert msgspec.to_builtins(read(word).environment)["shards"] == word


def test_a_table_is_written_as_before_unless_it_is_skewed(tmp_path):
    (tmp_path / "a.csv").write_text("x,label\n" + "1,a\n2,b\n" * 9, encoding="utf-8")

    def table(**keys):
        world = fb.environments.table(
            tmp_path / "a.csv", target="label", features=["x"], agents=2, **keys
        )
        systems = [fb.system("linucb-alone")]
        return fb.Experiment(rounds=5, environment=world, systems=systems).to_table()["environment"]

    assert "shards" not in table()
    assert table(shards="disjoint") == table()
    skewed = {"shards": {"kind": "skewed", "concentration": 2.0}}
    assert table(shards="skewed(2)") == table() | skewed
