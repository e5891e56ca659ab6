from __future__ import annotations

import gzip
import os

import numpy as np
import pytest

from fedbandits.environments import Procurement
from fedbandits.environments.kernels.procurement import draw_good_units, purchase_regret
from fedbandits.errors import DataError
from fedbandits.random import replicate_key

KEY = replicate_key(3, 0)
HEADER = "agent,producer,quality,cost,capacity\n"
ROWS = "a,x,0.5,0.2,3\na,y,0.9,1.5,10\nb,x,0.5,0.1,7\nb,y,0.9,2,1\n"


@pytest.fixture
def suppliers(tmp_path):
    def write(text):
        file = tmp_path / f"suppliers-{abs(hash(text))}.csv"
        file.write_text(text, encoding="utf-8")
        return str(file)

    return write


def test_the_uniform_case():
    world = Procurement(agents=40, producers=50).world(KEY)
    for values in (world.quality, world.cost):
        assert values.min() >= 0.0
        assert values.max() <= 1.0
    assert world.cost.mean() == pytest.approx(0.5, abs=0.03)
    assert world.capacity.min() == 1
    assert world.capacity.max() == 50
    assert world.capacity.mean() == pytest.approx(25.5, abs=1.5)


def test_the_normal_case():
    world = Procurement(case="normal", agents=40, producers=50, quality_threshold=0.5).world(KEY)
    assert world.cost.mean() == pytest.approx(0.5, abs=0.02)
    assert world.cost.std() == pytest.approx(0.2, abs=0.02)
    flat = Procurement(case="normal", deviation=0.0).world(KEY)
    assert set(flat.quality) == {0.4}


def test_homogeneous_buyers_are_all_alike():
    world = Procurement(agents=4, homogeneous=True).world(KEY)
    other = Procurement(agents=4).world(KEY)
    assert (world.cost == world.cost[0]).all()
    assert (world.capacity == world.capacity[0]).all()
    np.testing.assert_array_equal(world.cost[0], other.cost[0])


def test_a_buyer_does_not_depend_on_how_many_there_are():
    few, many = (Procurement(agents=n).world(KEY) for n in (2, 9))
    np.testing.assert_array_equal(few.quality, many.quality)
    np.testing.assert_array_equal(few.cost, many.cost[:2])
    np.testing.assert_array_equal(few.capacity, many.capacity[:2])


def test_an_instance_is_the_same_for_all_replicates():
    def quality(instance, replicate):
        return Procurement(instance=instance).world(replicate_key(0, replicate)).quality

    np.testing.assert_array_equal(quality(4, 0), quality(4, 1))
    assert not np.array_equal(quality(4, 0), quality(5, 0))
    assert not np.array_equal(quality(None, 0), quality(None, 1))


def good(world, key, agent, round_, purchase):
    found = np.full(len(purchase), -1)
    draw_good_units(world, key, agent, round_, np.asarray(purchase), found)
    return found


def test_units_are_good_with_their_producers_quality():
    world = Procurement(agents=2, producers=6, max_capacity=40).world(KEY)
    purchase = np.array([40, 1, 2, 3, 0, 40])
    drawn = np.array([good(world, KEY, 0, t, purchase) for t in range(1, 3001)])
    units = 3000 * purchase
    rate = drawn.sum(axis=0) / np.maximum(units, 1)
    error = 4 * np.sqrt(world.quality * (1 - world.quality) / np.maximum(units, 1))
    assert (np.abs(rate - world.quality)[purchase > 0] <= error[purchase > 0]).all()
    assert (drawn[:, 4] == 0).all()
    counts = drawn[:, 0]  # as spread as a binomial, not more
    assert counts.var() == pytest.approx(40 * world.quality[0] * (1 - world.quality[0]), rel=0.12)


def test_draws_are_named_by_agent_round_and_producer():
    world = Procurement(agents=2, producers=2).world(KEY)._replace(quality=np.full(2, 0.5))
    purchase = np.array([40, 40])
    base = [good(world, KEY, 0, t, purchase) for t in range(400)]
    for other in (
        [good(world, KEY, 1, t, purchase) for t in range(400)],
        [good(world, KEY, 0, t + 1, purchase) for t in range(400)],
        [good(world, replicate_key(3, 1), 0, t, purchase) for t in range(400)],
        [g[::-1] for g in base],
    ):
        assert abs(np.corrcoef(np.ravel(base), np.ravel(other))[0, 1]) < 0.15
    again = [good(world, KEY, 0, t, [40, 3]) for t in range(400)]
    assert [g[0] for g in base] == [g[0] for g in again]


def test_regret_is_what_the_paper_defines():
    world = Procurement(agents=1, producers=3).world(KEY)._replace(
        quality=np.array([0.9, 0.5, 0.1]), cost=np.array([[0.2, 0.8, 0.05]]),
        capacity=np.array([[2, 10, 10]]),
    )  # fmt: skip
    from fedbandits.environments.kernels.procurement import fill_benchmark
    from fedbandits.environments.procurement import EXACT

    fill_benchmark(world, EXACT)
    # S1: 2 units, revenue 0.7, surplus 0.5; S2: producer 2, 0.05 for 0.3; S3: producer 1, -0.3.
    assert world.best[0] == pytest.approx(2 * 0.7 + 3 * 0.05)
    assert world.worst[0] == pytest.approx(world.best[0] + 10 * 0.3)
    truth, surplus = np.array([0.7, -0.3, 0.05]), np.array([0.5, 0.1, -0.3])
    args = (truth, surplus, world.best[0], world.worst[0])
    regret, missed = purchase_regret(*args, np.array([2, 0, 1]))
    assert regret == pytest.approx(0.1)
    assert not missed
    regret, missed = purchase_regret(*args, np.array([2, 0, 4]))
    assert regret == world.worst[0]
    assert missed


def test_the_exact_benchmark_is_not_below_the_greedy_one():
    greedy, exact = (
        Procurement(benchmark=b, quality_threshold=0.7, revenue=3.0, max_capacity=3).world(KEY)
        for b in ("greedy", "exact")
    )
    assert (exact.best >= greedy.best).all()
    assert (exact.best > greedy.best).any()


def test_producers_of_a_file(suppliers):
    path = suppliers(HEADER + ROWS)
    environment = Procurement(case=path)
    environment.prepare()
    world = environment.world(KEY)
    assert (environment.parties, environment.producer_count) == (2, 2)
    np.testing.assert_array_equal(world.quality, [0.5, 0.9])
    np.testing.assert_array_equal(world.cost, [[0.2, 1.5], [0.1, 2.0]])
    np.testing.assert_array_equal(world.capacity, [[3, 10], [7, 1]])
    first = Procurement(case=path, agents=1, producers=1).world(KEY)
    assert first.cost.shape == (1, 1)
    shuffled = suppliers("Producer, Capacity,agent,cost,QUALITY\ny,10,a,1.5,0.9\nx,3,a,0.2,0.5\n")
    np.testing.assert_array_equal(Procurement(case=shuffled).world(KEY).quality, [0.9, 0.5])


BAD_FILES = {
    "a pair is missing": (ROWS[: ROWS.index("b,y")], "agent 'b' with producer 'y'"),
    "quality above 1": ("a,x,1.5,0.2,3\n", "line 2: quality must be a number between 0 and 1"),
    "negative quality": ("a,x,-0.1,0.2,3\n", "line 2: quality"),
    "negative cost": ("a,x,0.5,-0.2,3\n", "line 2: cost must be a number ≥ 0"),
    "infinite cost": ("a,x,0.5,inf,3\n", "line 2, column 'cost'"),
    "negative capacity": ("a,x,0.5,0.2,-3\n", "line 2: capacity must be a whole number from 0"),
    "half a unit": ("a,x,0.5,0.2,3.5\n", "line 2: capacity must be a whole number"),
    "not a number": ("a,x,good,0.2,3\n", "line 2, column 'quality'"),
    "a number of Python": ("a,x,0.5,0.2,1_0\n", "line 2, column 'capacity'"),
    "nan": ("a,x,nan,0.2,3\n", "line 2: quality"),
    "a cell is missing": ("a,x,0.5,0.2\n", "line 2: has 4 cells, but line 1 names 5"),
    "no name": (",x,0.5,0.2,3\n", "line 2: agent and producer"),
    "twice": (ROWS + "a,x,0.5,0.2,3\n", "line 6: agent 'a' and producer 'x' is there twice"),
    "two qualities": ("a,x,0.5,0.2,3\nb,x,0.6,0.2,3\n", "line 3: quality 0.6 of producer 'x'"),
    "no rows": ("", "has a line with names .line 1., but no rows"),
    "decimal commas": ("a,x,0,5,2,3\n", "line 2: has 6 cells, but line 1 names 5"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files_are_refused_with_their_place(suppliers, case):
    rows, message = BAD_FILES[case]
    with pytest.raises(DataError, match=message):
        Procurement(case=suppliers(HEADER + rows)).prepare()


def test_it_is_read_like_a_table(tmp_path):
    """Packed, with semicolons and decimal commas; what can be read in two ways is asked for."""
    text = (HEADER + ROWS).replace(",", ";").replace(".", ",")
    (tmp_path / "s.csv.gz").write_bytes(gzip.compress(text.encode()))
    world = Procurement(case=str(tmp_path / "s.csv.gz")).world(KEY)
    np.testing.assert_array_equal(world.cost, [[0.2, 1.5], [0.1, 2.0]])
    doubtful = HEADER.replace(",", ";") + "a;x;0;1,234;3\n"
    (tmp_path / "t.csv").write_text(doubtful, encoding="utf-8")
    with pytest.raises(DataError, match="line 2, column 'cost': can be read in two ways"):
        Procurement(case=str(tmp_path / "t.csv")).prepare()


def test_a_header_without_a_column_is_refused(suppliers):
    with pytest.raises(DataError, match=r"line 1: expected a header .* no capacity in it"):
        Procurement(case=suppliers("agent,producer,quality,cost\na,x,0.5,0.2\n")).prepare()


@pytest.mark.parametrize("column", ["quality", "agent", " Capacity"])
def test_a_header_that_names_a_column_twice_is_refused(suppliers, column):
    rows = f"{HEADER.strip()},{column}\na,x,0.5,0.2,3,0.9\n"
    with pytest.raises(DataError, match=r"line 1: .*(is there twice|are both called)"):
        Procurement(case=suppliers(rows)).prepare()


def test_a_byte_order_mark_is_no_part_of_the_header(suppliers):
    path = suppliers("\ufeff" + HEADER + ROWS)
    np.testing.assert_array_equal(Procurement(case=path).world(KEY).quality, [0.5, 0.9])


def test_a_file_that_has_changed_is_read_again(tmp_path):
    file = tmp_path / "suppliers.csv"
    for number, quality in enumerate((0.5, 0.9, 0.25)):
        file.write_text(f"{HEADER}a,x,{quality},0.2,3\n", encoding="utf-8")
        os.utime(file, ns=(0, 10**9 + number))  # two of them are of one size
        assert Procurement(case=str(file)).world(KEY).quality[0] == quality


def test_a_relative_path_is_of_the_folder_one_is_in(tmp_path, monkeypatch):
    for name, quality in (("one", 0.5), ("two", 0.9)):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        file = tmp_path / name / "suppliers.csv"
        file.write_text(f"{HEADER}a,x,{quality},0.2,3\n", encoding="utf-8")
        os.utime(file, ns=(0, 10**9))
        assert Procurement(case="suppliers.csv").world(KEY).quality[0] == quality


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000, "", "."])
def test_paths_that_no_file_can_have_are_bad_data(path):
    with pytest.raises(DataError):
        Procurement(case=path).prepare()


def test_files_larger_than_what_can_be_named_are_refused(suppliers):
    many = suppliers(HEADER + "".join(f"a{j},x,0.5,0.2,1\n" for j in range(10_001)))
    with pytest.raises(DataError, match=r"environment\.agents: .* has 10,001 agents, allowed are"):
        Procurement(case=many).prepare()
    Procurement(case=many, agents=10_000).prepare()
    wide = suppliers(HEADER + "".join(f"a,x{i},0.5,0.2,1\n" for i in range(65_536)))
    with pytest.raises(DataError, match=r"environment\.producers: .* has 65,536 producers"):
        Procurement(case=wide).prepare()
    Procurement(case=wide, producers=65_535).prepare()


def test_the_largest_capacity_is_that_of_who_takes_part(suppliers):
    path = suppliers(HEADER + ROWS)
    assert Procurement(case=path).largest_capacity == 10
    assert Procurement(case=path, producers=1).largest_capacity == 7
    assert Procurement(max_capacity=12).largest_capacity == 12


def test_missing_files_and_too_few_producers_are_named(suppliers):
    with pytest.raises(DataError, match=r"nowhere\.csv: no such file"):
        Procurement(case="nowhere.csv").prepare()
    path = suppliers(HEADER + ROWS)
    with pytest.raises(DataError, match=r"environment\.producers: 3 producers, but .* has 2"):
        Procurement(case=path, producers=3).prepare()
    with pytest.raises(DataError, match=r"environment\.agents: 5 agents"):
        Procurement(case=path, agents=5).prepare()
