"""Figures after Ciucanu et al. (2022) at a tiny scale, and their verdicts on made-up numbers."""

from __future__ import annotations

import itertools

import pytest

from fedbandits.crypto import paillier
from fedbandits.experiments import output
from fedbandits.random import Key
from fedbandits.reproduce import FIGURES, Context, write_outcome
from fedbandits.reproduce import samba as samba_runs
from fedbandits.reproduce.engine import verdict_of
from fedbandits.reproduce.samba import (
    ALGORITHMS,
    PARTIES,
    SILENT,
    STAND_IN,
    STREAM,
    WAYS,
    Sizes,
    Source,
    drawn_means,
)
from fedbandits.reproduce.samba import rewards as samba_rewards
from fedbandits.reproduce.samba import shares as samba_shares
from fedbandits.reproduce.samba import sight as samba_sight
from fedbandits.reproduce.samba import times as samba_times
from fedbandits.systems.samba.audit.adversary import Exposure
from fedbandits.systems.samba.audit.examination import FIGURE_7, PARTICIPANTS, REWARD
from fedbandits.systems.samba.theory import Costs
from tests.systems.samba_worlds import customer_key


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    times = {"budget N": (Sizes([20, 40], [3], 2),), "arms K": (Sizes([30], [3, 4], 2),)}
    monkeypatch.setattr(samba_times, "SIZES", times)
    monkeypatch.setattr(samba_shares, "SIZES", (Sizes([40], [3, 5], 2),))
    monkeypatch.setattr(samba_rewards, "BUDGET", 60)
    monkeypatch.setattr(samba_rewards, "ARMS", (3, 4))
    monkeypatch.setattr(samba_rewards, "PARTY_STEPS", 20)
    monkeypatch.setattr(samba_rewards, "REPLICATES", (3,))
    monkeypatch.setattr(samba_sight, "SIZES", (Sizes([60], [3], 2),))
    monkeypatch.setattr(samba_sight, "ALGORITHMS", ("ucb", "egreedy"))
    monkeypatch.setattr(samba_runs, "_AES_REPEATS", 20)
    key = customer_key()
    monkeypatch.setattr(samba_runs, "customer_key", lambda: key)
    monkeypatch.setattr(paillier, "generate", lambda bits: key)
    monkeypatch.setattr(output, "draw_plots", lambda *_: {})  # of every point, dear; not the figure


@pytest.fixture
def means(tmp_path):
    file = tmp_path / "movielens.txt"
    file.write_text("5\n0.2\n0.5\n0.1\n0.4\n0.3\n", encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("name", [name for name in FIGURES if name.startswith("samba")])
def test_every_figure_is_made_without_data(tmp_path, name):
    context = Context(tmp_path / "out", jobs=1)
    outcome = FIGURES[name].make(context)
    for row in outcome.rows:
        assert row.keys() == outcome.rows[0].keys()
    write_outcome(context, FIGURES[name], outcome)
    assert (tmp_path / "out" / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert outcome.verdict.line.split(":")[0] in ("Agrees", "Differs")
    assert any(character.isdigit() for character in outcome.verdict.why)
    if FIGURES[name].data:
        assert {row["data"] for row in outcome.rows} == {STAND_IN}
        assert "STAND IN" in outcome.remarks[0]
        assert any(STAND_IN in axes.get_title() for axes in outcome.plot.axes)


@pytest.mark.parametrize("name", ["samba-8a", "samba-8c", "samba-8d"])
def test_figures_are_made_from_given_means(tmp_path, means, name):
    outcome = FIGURES[name].make(Context(tmp_path / "out", data=[means], jobs=1))
    assert {row["data"] for row in outcome.rows} == {"movielens"}
    assert "STAND IN" not in " ".join(outcome.remarks)


def test_the_stand_in_is_the_same_every_time():
    assert drawn_means() == drawn_means()
    assert len(drawn_means()) == 100
    assert 0.3 < max(drawn_means()) < 0.8


def test_times_are_measured_for_every_algorithm_and_way(tmp_path):
    outcome = FIGURES["samba-8a"].make(Context(tmp_path, jobs=1))
    ways = {f"{a}, {w}" for a, w in itertools.product(ALGORITHMS, WAYS.values())}
    assert {row["system"] for row in outcome.rows} == ways | {
        f"ucb, {way}" for way in (STREAM, PARTIES, SILENT)
    }
    parties = [row for row in outcome.rows if "by parties" in row["system"]]
    assert {row["bare operations"] for row in parties} == {"–"}
    assert sum("the dealer's work included" in remark for remark in outcome.remarks) == 1
    ways = next(a for a in outcome.plot.axes if "every way" in a.get_title())
    assert {SILENT, PARTIES} <= {text.get_text() for text in ways.get_legend().get_texts()}
    assert all(row["seconds"] > 0 for row in outcome.rows)
    secure = [row for row in outcome.rows if row["system"].endswith(", secure")]
    assert all(row["bare operations"] != "–" or "egreedy" in row["system"] for row in secure)
    (pursuit, ucb) = (
        next(r for r in secure if r["system"].startswith(name) and r["budget N"] == 40)
        for name in ("pursuit", "ucb")
    )
    assert pursuit["bare operations"] > ucb["bare operations"]


def test_few_steps_of_parties_stand_for_all(monkeypatch):
    """Of 3 arms and 100 pulls 96 steps lie between the first pulls and the last; 9 are played."""
    monkeypatch.setattr(samba_runs, "PARTY_STEPS", 10)
    monkeypatch.setattr(samba_runs, "_of", lambda action: action() or 9.0)
    world = Source(STAND_IN).world(3)
    assert samba_runs.party_seconds("samba-silent-ucb", world, 100, 0) == 9.0 + 96.0 + 9.0
    assert samba_runs.party_seconds("samba-silent-ucb", world, 13, 0) == 27.0


COSTS = Costs(5e-7, 5e-7, 0.5, 0.1)


def test_an_encryption_of_its_own_is_no_part_of_pursuits_double_slope():
    """Over K: 1.5 s an arm with Pursuit, 1 s with others, 0.5 s of each is its Paillier part."""
    rows = [row | {"arms K": row["budget N"] // 1000} for row in made_up(plain=0.2, pursuit=1.5)]
    law = samba_times.work_out(rows, "arms K", COSTS)["double"]
    assert law.holds
    assert "2.00 times" in law.text
    assert not samba_times.work_out(rows, "budget N", COSTS)["double"].holds


def made_up(plain=1e-3, pursuit=2.0, bend=0.0, thompson=1.1):
    """Rows of times as the paper has them: a line over N, Pursuit double, order kept."""
    rows = []
    for n, algorithm in itertools.product((1, 2, 3, 4), ALGORITHMS):
        factor = {"egreedy": 0.9, "thompson": thompson, "pursuit": pursuit}.get(algorithm, 1.0)
        secure = factor * (n + bend * (n % 2))
        times = {"secure": secure, "distributed in clear": secure / 5, "plain": plain * n * factor}
        for way, seconds in times.items():
            rows.append({
                "data": "made up", "budget N": 1000 * n, "arms K": 10,
                "system": f"{algorithm}, {way}",
                "seconds": seconds, "deviation": 0.0, "runs": 3,
            })  # fmt: skip
    return rows


@pytest.mark.parametrize(
    ("parts", "broken"),
    [({"plain": 0.2}, set()), ({}, {"overhead"}), ({"plain": 0.2, "pursuit": 1.0}, {"double"}),
     ({"plain": 0.2, "bend": 9.0}, {"linear"}), ({"plain": 0.2, "thompson": 0.95}, {"order"})],
)  # fmt: skip
def test_the_verdict_on_times(parts, broken):
    laws = samba_times.work_out(made_up(**parts), "budget N", COSTS)
    found = verdict_of(laws)
    missing = {name for name, law in laws.items() if not law.holds}
    assert broken <= missing
    if not broken:
        assert missing == set()
    assert found.agrees == (not missing)
    assert found.line.startswith("Agrees" if found.agrees else "Differs")
    if "overhead" in broken:
        assert "1000 ×" in found.why.split("As in the paper")[0]


def test_the_order_is_compared_where_there_are_two_data_sets():
    one = made_up(plain=0.2)
    assert "hierarchy" not in samba_times.work_out(one, "budget N", COSTS)
    for parts, holds in (({}, True), ({"thompson": 0.8}, False)):
        other = [row | {"data": "other"} for row in made_up(plain=0.2, **parts)]
        law = samba_times.work_out([*one, *other], "budget N", COSTS)["hierarchy"]
        assert law.holds == holds
        assert ("thompson" in law.text) is not holds


def test_secure_equals_plain_and_authors_stand_beside_their_own_schedule(
    tmp_path, means, monkeypatch
):
    monkeypatch.setattr(samba_rewards, "_is_published", lambda source: True)
    theirs = dict.fromkeys(samba_rewards.THEIRS, 20)
    monkeypatch.setattr(samba_rewards, "PUBLISHED", {3: theirs, 4: theirs})
    outcome = FIGURES["samba-8c"].make(Context(tmp_path / "out", data=[means], jobs=1))
    assert len(outcome.rows) == 2 * 7
    assert {row["secure equals plain"] for row in outcome.rows} == {"yes"}
    assert {row["silent equals its plain run"] for row in outcome.rows} == {"yes"}
    beside = {row["algorithm"]: row["authors"] for row in outcome.rows}
    assert beside["egreedy-decreasing"] == "–"
    assert beside[samba_rewards.LOGARITHMIC] == 20


def test_jester_is_counted_and_tuned_as_the_authors_do(tmp_path):
    path = tmp_path / "jester-data.csv"
    ratings = [(4.49, 4.5, 99), (4.5, 9.0, -3.0), (4.4, 8.75, 4.6), (5.0, -9.9, 4.5)]
    missing = ["99"] * 97
    rows = [",".join(["3", *map(str, row), *missing]) for row in ratings]
    path.write_text("\n".join(rows) + "\n")
    source = Source(path.stem, str(path))
    assert source.is_jester
    means = source.world(3).world(Key(0, 0)).means
    assert sorted(means.tolist()) == [0.5, 0.5, 0.75]  # of four users, from 4.5 on
    tuned = {each.label: each.config.algorithm for each in samba_rewards._variants("plain", source)}
    assert tuned["softmax"].temperature == 0.02
    assert tuned["pursuit"].rate == 0.2
    films = samba_rewards._variants("plain", Source("movielens", "u.data"))
    assert {each.label: each.config.algorithm for each in films}["softmax"].temperature == 0.06


def rewards(**changed):
    row = {"data": "d", "arms K": 10, "deviation": 10.0, "secure equals plain": "yes"}
    row["silent equals its plain run"] = "yes"
    means = dict.fromkeys(samba_rewards.THEIRS, 100.0) | {"thompson": 120.0}
    rows = [row | {"algorithm": a, "mean": m, "authors": m + 5} for a, m in means.items()]
    return [each | changed.get(each["algorithm"], {}) for each in rows]


def test_the_verdict_on_rewards():
    assert samba_rewards.verdict(rewards()).agrees
    assert "within 0.5 deviations" in samba_rewards.verdict(rewards()).why
    far = samba_rewards.verdict(rewards(ucb={"authors": 200}))
    assert not far.agrees
    assert "further than 3: ucb at K = 10" in far.why
    other = samba_rewards.verdict(rewards(ucb={"mean": 130.0}))
    assert not other.agrees
    assert "ucb earns most" in other.why
    unequal = samba_rewards.verdict(rewards(ucb={"secure equals plain": "NO"}))
    assert not unequal.agrees
    assert "1 of 6" in unequal.why
    silent = samba_rewards.verdict(rewards(ucb={"silent equals its plain run": "NO"}))
    assert not silent.agrees
    assert "silent and plain runs differ in 1 of 6" in silent.why


def test_a_silent_run_is_held_against_silent_scores(tmp_path, means, monkeypatch):
    """Held against the published plain run, whose draws are others, it must be found unequal."""
    real = samba_rewards._variants
    other = {"comparison": "published"}
    monkeypatch.setattr(
        samba_rewards, "_variants",
        lambda kind, source, **parts: real(
            kind, source, **(parts | other if "comparison" in parts else parts)
        ),
    )  # fmt: skip
    outcome = FIGURES["samba-8c"].make(Context(tmp_path / "out", data=[means], jobs=1))
    assert {row["secure equals plain"] for row in outcome.rows} == {"yes"}
    assert "NO" in {row["silent equals its plain run"] for row in outcome.rows}
    assert not outcome.verdict.agrees


def shares(**changed):
    row = {
        "data owners": 0.5, "controller": 0.03, "comp": 0.46, "customer": 0.01,
        "one data owner": 0.05, "data": "d", "algorithm": "ucb", "variant": "published",
    }  # fmt: skip
    # Nothing that the paper says of shares is true of this row, which must not count.
    silent = {"variant": "silent", "comp": 0.01, "controller": 0.9, "customer": 0.5}
    return [row, row | changed, row | silent]


@pytest.mark.parametrize(
    ("changed", "missing"),
    [({}, ""), ({"comp": 0.04}, "Comp works most"), ({"comp": 0.3}, "does not depend on K"),
     ({"controller": 0.3}, "Controller's share"), ({"customer": 0.2}, "negligible")],
)  # fmt: skip
def test_the_verdict_on_shares(changed, missing):
    found, remarks = samba_shares.verdict(shares(**changed))
    assert found.agrees == (missing == "")
    assert len(remarks) == 4
    if missing:
        assert missing in found.why.split("As in the paper")[0]


def test_the_dealer_works_in_silent_runs_only(tmp_path):
    rows = FIGURES["samba-8d"].make(Context(tmp_path, jobs=1)).rows
    workers = ("data owners", "controller", "comp", "customer", "dealer")
    assert [row["variant"] for row in rows].count("silent") == len(rows) // 2
    for row in rows:
        assert (row["dealer"] > 0) == (row["variant"] == "silent")
        assert sum(row[role] for role in workers) == pytest.approx(1, abs=1e-3)


def test_a_dealer_without_time_is_an_error():
    seconds = dict.fromkeys(samba_shares.WORKERS["published"], 1.0)
    assert samba_shares._row("d", "published", "ucb", 3, [seconds])["dealer"] == 0
    with pytest.raises(KeyError, match="dealer"):
        samba_shares._row("d", "silent", "ucb", 3, [seconds])


def test_figure_7_names_comps_rate(tmp_path):
    outcome = FIGURES["samba-7"].make(Context(tmp_path, jobs=1))
    cells = [row for row in outcome.rows if "worked out" not in row["what"]]
    assert len(cells) == 25
    differ = [row for row in cells if row["paper"] != row["here"]]
    assert [(row["who"], row["paper"], row["here"]) for row in differ] == [
        ("Comp", "masked", "masked, permuted")
    ] * 2
    rates = [row for row in outcome.rows if "cumulative reward, worked out: ucb" in row["what"]]
    assert [row["paper"] for row in rates] == ["not seen"]
    assert not outcome.verdict.agrees
    assert "23 of 25 cells are the paper's; 2 more print Comp's mask" in outcome.verdict.why


def test_the_verdict_on_sight():
    printed = {
        datum: {name: FIGURE_7[datum].get(name, Exposure.NOT_SEEN) for name in PARTICIPANTS}
        for datum in FIGURE_7
    }
    nothing = [samba_sight._Rate("ucb", 5, 0.0, 0.001, 0.0)]
    everything = [samba_sight._Rate("ucb", 5, 0.999, 0.999, 0.99)]
    assert samba_sight.verdict(printed, nothing).agrees
    found = samba_sight.verdict(printed, everything)
    assert not found.agrees
    assert "99.90% at K = 5" in found.why
    leak = printed | {REWARD: printed[REWARD] | {"comp": Exposure.CLEAR}}
    found = samba_sight.verdict(leak, nothing)
    assert not found.agrees
    assert "Comp: cumulative reward: clear" in found.why
