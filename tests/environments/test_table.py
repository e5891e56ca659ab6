"""Own data as a world: contexts, forms, sites and persons; what it claims, and what it refuses."""

from __future__ import annotations

import math
import re
import tomllib
import warnings

import msgspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbandits as fb
from fedbandits.environments import Classification, Table
from fedbandits.environments.base import plural
from fedbandits.environments.tables import sources
from fedbandits.environments.tables.features import Categorical, Numeric, contexts_of
from fedbandits.environments.tables.sources import table_in_memory
from fedbandits.errors import ConfigError, ConfigWarning, DataError
from fedbandits.facts import ContextualFacts, largest_of_many
from fedbandits.random import replicate_key
from fedbandits.settings.experiment import environment_of
from tests.worlds import decision_set, draw_rewards

KEY = replicate_key(4, 1)
SITES, PERSONS, ROWS = ["Köln", "Bonn", "Münster"], 10, 60
FRAME = pd.DataFrame(
    {
        "hospital": [SITES[i % 3] for i in range(ROWS)],
        "person": [f"p{i * i % PERSONS}" for i in range(ROWS)],
        "age": [20.0 + i for i in range(ROWS)],
        "ward": [["A", "B, left", "C"][i * 7 % 3] for i in range(ROWS)],
        "diagnosis": [["krank", "gesund"][i * i % 5 % 2] for i in range(ROWS)],
        "low": [0.1 * (i % 3) for i in range(ROWS)],
        "high": [0.2 * (i % 4) for i in range(ROWS)],
    }
)
STATED = {
    "features": ["age", "ward"],
    "ranges": {"age": [0, 120]},
    "categories": {"ward": ["A", "B, left", "*"]},
}
TARGET = {"target": "diagnosis", "classes": ["krank", "gesund"]}


def made(frame=FRAME, **settings) -> Table:
    usual = {"site": "hospital"} if "agents" not in settings else {}
    formed = {} if {"rewards", "target"} & settings.keys() else TARGET
    return fb.environments.table(frame, **(usual | STATED | formed | settings))


def changed(column: str, row: int, value: object) -> pd.DataFrame:
    frame = FRAME.astype({column: object})
    frame.loc[row, column] = value
    return frame


def experiment(world: Table, rounds: int = 20, **settings) -> fb.Experiment:
    return fb.Experiment(
        rounds=rounds, environment=world, systems=[fb.system("linucb-alone")], **settings
    )


def refused(message: str, kind: type[Exception] = DataError):
    return pytest.raises(kind, match=re.escape(message))


class TestContexts:
    def test_numbers_and_categories_are_scaled_as_stated(self):
        world = made(intercept=0.0).world(KEY)
        expected = (FRAME.age / 60.0 - 1.0) / math.sqrt(2.0)
        np.testing.assert_allclose(world.rows[:, 0], expected, atol=1e-6)
        np.testing.assert_allclose(
            world.rows[:, 1:] * math.sqrt(2.0),
            np.column_stack([FRAME.ward == "A", FRAME.ward == "B, left", FRAME.ward == "C"]),
            atol=1e-6,
        )

    @given(
        st.lists(
            st.tuples(st.floats(-1e12, 1e12), st.sampled_from(["A", "B", "Z", ""])),
            min_size=1,
            max_size=9,
        ),
        st.booleans(),
        st.none() | st.floats(1e-3, 9.0),
        st.floats(0.0, 0.99),
    )
    def test_no_context_is_longer_than_1(self, rows, indicators, norm, intercept):
        raw = table_in_memory({"n": [n for n, _ in rows], "c": [c for _, c in rows]})
        features = [Numeric("n", -5.0, 7.0), Categorical("c", ("A", "B", "*"))]
        found = contexts_of(raw, features, indicators, norm, intercept)
        assert found.dtype == np.float32
        assert found.shape == (len(rows), 4 + 2 * indicators + (intercept > 0.0))
        assert np.linalg.norm(found.astype(np.float64), axis=1).max() <= 1.0

    def test_a_stated_norm_shortens_longer_rows(self):
        world = made(norm=1.0, intercept=0.0).world(KEY)
        norms = np.linalg.norm(world.rows.astype(np.float64), axis=1)
        np.testing.assert_allclose(norms, 1.0, atol=2e-6)

    def test_one_row_is_scaled_whatever_the_others_are(self):
        """Nothing that is stated depends on the data: only then does a claim cover the context."""
        alone = made(FRAME.iloc[:3], agents=1).world(KEY).rows
        np.testing.assert_array_equal(alone, made(agents=1).world(KEY).rows[:3])

    def test_values_that_are_missing_are_marked(self):
        world = made(changed("age", 4, None), missing="indicator", intercept=0.0).world(KEY)
        assert world.rows.shape[1] == 6
        np.testing.assert_allclose(world.rows[4, :2], [0.0, 1.0 / math.sqrt(2.0)], atol=1e-6)
        assert not world.rows[5, 1]


class TestForms:
    def test_a_bundled_data_set_as_a_table_is_the_same_world(self):
        """Bit for bit: the same rows, dealt to the same agents, with the same right classes."""
        bundled = Classification(agents=3, dataset="wine", components=4)
        world = bundled.world(KEY)
        names = [f"x{i}" for i in range(world.rows.shape[1])]
        columns = {name: world.rows[:, i].astype(float) for i, name in enumerate(names)}
        table = fb.environments.table(
            columns | {"class": world.labels}, agents=3, features=names, target="class",
            classes=[0, 1, 2], ranges=dict.fromkeys(names, (-1.0, 1.0)), norm=1.0,
            intercept=0.0,
        )  # fmt: skip
        for mine, theirs in zip(table.world(KEY), world, strict=True):
            np.testing.assert_array_equal(mine, theirs)
        assert table.facts.persons == bundled.facts.persons
        assert table.facts.most_share == bundled.facts.most_share
        assert table.words.loss == bundled.words.loss

    def test_the_right_class_pays_1(self):
        environment = made(agents=3)
        for visits in ("drawn", "once"):
            dealt = msgspec.structs.replace(environment, visits=visits)
            world = dealt.world(KEY)
            for round_ in range(1, 15):
                features, expected, best = decision_set(dealt, world, KEY, 1, round_)
                row = np.flatnonzero((world.rows == features[:, 0]).all(axis=1))
                right = environment.arm_names.index(FRAME.diagnosis[row[0]])
                assert best == right
                assert expected.tolist() == [float(arm == right) for arm in range(2)]
                assert draw_rewards(dealt, 1.0, KEY, 3) == [1.0] * 3

    def test_columns_of_rewards_are_arms(self):
        environment = made(rewards=["low", "high"], reward_range=(-0.2, 0.8))
        assert environment.arm_names == ("low", "high")
        assert environment.facts.reward_range == (0.0, 1.0)
        world = environment.world(KEY)
        np.testing.assert_allclose(
            world.rewards, FRAME[["low", "high"]].to_numpy() + 0.2, atol=1e-6
        )
        _, expected, best = decision_set(environment, world, KEY, 0, 1)
        assert expected[best] == expected.max()
        assert draw_rewards(environment, 0.25, KEY, 3) == [0.25] * 3

    def test_they_can_be_learned(self):
        """The one test that compiles a loop for this kind of world."""
        result = fb.run(experiment(made(rewards=["low", "high"], reward_range=(0, 1)), 30))
        assert result.party.values.tolist() == sorted(SITES)
        assert 0.0 <= float(result.regret.isel(round=-1).sel(party="Köln").mean()) < 30 * 0.6

    def test_what_a_thing_is_called(self):
        words = made().words
        assert words == ("hospital", "hospitals", "mistakes", "visit")
        assert made(agents=2, rewards=["low", "high"], reward_range=(0, 1)).words == (
            "agent", "agents", "regret", "visit",
        )  # fmt: skip

    @pytest.mark.parametrize(
        ("one", "several"),
        [("ward", "wards"), ("branch", "branches"), ("facility", "facilities"), ("bay", "bays"),
         ("hospital_ids", "hospital_ids"), ("y", "ys")],
    )  # fmt: skip
    def test_several_of_them(self, one, several):
        assert plural(one) == several


class TestVisits:
    @pytest.mark.parametrize("parties", [{"site": "hospital"}, {"agents": 3}])
    @pytest.mark.parametrize("visits", ["once", "in order"])
    def test_every_row_of_a_site_comes_once(self, visits, parties):
        environment = made(visits=visits, **parties)
        world = environment.world(KEY)
        seen = []
        for agent in range(3):
            own = world.shards[world.starts[agent] : world.starts[agent + 1]].tolist()
            shown = [
                decision_set(environment, world, KEY, agent, round_)[0][:, 0]
                for round_ in range(1, len(own) + 1)
            ]
            np.testing.assert_array_equal(shown, world.rows[own])
            assert (own == sorted(own)) == (visits == "in order")
            if "site" in parties:
                assert {FRAME.hospital[row] for row in own} == {environment.party_names[agent]}
            seen += own
        assert sorted(seen) == list(range(ROWS))

    def test_rounds_end_with_the_rows(self):
        with refused(
            'rounds: 21 rounds, but the smallest hospital has 20 rows, and visits = "once'
        ):
            experiment(made(visits="once"), 21).check()
        experiment(made(visits="once"), 20).check()
        experiment(made(visits="drawn"), 21).check()

    def test_rows_that_are_drawn_are_of_the_own_site(self):
        environment = made()
        world = environment.world(KEY)
        for agent, name in enumerate(environment.party_names):
            for round_ in range(1, 20):
                context = decision_set(environment, world, KEY, agent, round_)[0][:, 0]
                rows = np.flatnonzero((world.rows == context).all(axis=1))
                assert FRAME.hospital[rows[0]] == name


class TestPersons:
    def test_the_one_who_comes_most_often_is_told(self):
        facts = made(person="person", visits="once").facts
        most = FRAME.person.value_counts().max()
        assert facts.persons == FRAME.person.nunique()
        assert facts.most_visits(20) == most
        assert facts.most_visits(1) == 3.0  # no more than visits at all

    def test_without_a_column_each_row_is_a_person(self):
        assert made().facts.persons == ROWS
        assert made().facts.visits_per_person(40) == 2.0
        assert made(visits="once").facts.persons is None  # each visit is of another one

    def test_whoever_comes_to_a_small_site_comes_more_often(self):
        sites = ["A"] * 50 + ["B"] * 10
        facts = made(FRAME.assign(hospital=sites)).facts
        assert facts.most_share == pytest.approx(0.1)
        both = FRAME.assign(hospital=sites, person=["p"] * 60)
        assert made(both, person="person").facts.most_share == pytest.approx(2.0)

    def test_nobody_comes_more_often_than_is_told(self):
        """60 persons in 300 rounds at 3 sites, 60 times; it may happen in one of a hundred."""
        environment, rng = made(), np.random.default_rng(0)
        told = environment.facts.most_visits(300)
        assert 300 / 20 < told < 40
        visits = rng.multinomial(300, [1 / 20] * 20, size=(60, 3))
        assert (visits.max(axis=(1, 2)) > told).mean() <= 0.02

    @given(st.floats(1e-3, 1e5), st.integers(1, 10**6))
    def test_the_bound_is_chernoff_s(self, mean, persons):
        count = largest_of_many(mean, persons) + 1
        assert count > mean

        def exponent(k: int) -> float:
            return k - mean - k * math.log(k / mean)

        assert persons * math.exp(exponent(count)) <= 0.01 * (1.0 + 1e-9)
        if count - 1 > mean:
            assert persons * math.exp(exponent(count - 1)) > 0.01 * (1.0 - 1e-9)

    def test_facts_that_do_not_tell_say_so(self):
        facts = ContextualFacts(parties=2, dimension=2, arms=2)
        assert facts.most_visits(10) is None
        assert msgspec.structs.replace(facts, persons=5).most_visits(10) is None


class TestPublicFacts:
    def test_what_must_be_stated_is_shown_as_lines_to_write(self):
        world = made(classes=[], target="diagnosis", ranges={}, categories={})
        with pytest.raises(DataError) as caught:
            world.prepare()
        lines = [line[2:] for line in str(caught.value).splitlines() if line.startswith("  ")]
        assert lines == [
            "centre = { age = TYPICAL }",
            "spread = { age = DEVIATION }",
            'categories = { ward = ["A", "B", "*"] }',
            'classes = ["A", "B"]',
        ]
        tomllib.loads("\n".join(lines).replace("TYPICAL", "0").replace("DEVIATION", "1"))

    def test_the_lines_hold_nothing_of_the_data(self):
        frame = FRAME.rename(columns={"age": "Größe in cm"}).assign(ward="secret ward")
        world = made(frame, features=["Größe in cm", "ward"], ranges={}, categories={})
        with pytest.raises(DataError) as caught:
            world.prepare()
        assert '"Größe in cm" = DEVIATION' in str(caught.value)
        assert "secret" not in str(caught.value)

    def test_a_range_of_rewards_must_be_stated(self):
        with refused("reward_range = [LOW, HIGH]"):
            made(rewards=["low", "high"]).prepare()

    def test_with_consent_they_come_from_the_data_and_every_claim_says_so(self):
        world = made(ranges={}, categories={}, classes=[], target="diagnosis", scaling="data")
        told = (
            "These are public as well: the ranges of age, the categories of ward, the classes of "
            "diagnosis. They are computed here from all rows."
        )
        assert told in world.facts.public
        assert told in fb.Experiment(
            rounds=9, environment=world, systems=[fb.system("feducb")]
        ).claims()["feducb"].conditional_on  # fmt: skip
        with pytest.warns(ConfigWarning, match=r'^environment.scaling: "data" computes the ranges'):
            experiment(world).check()
        assert world.arm_names == ("gesund", "krank")

    def test_what_is_stated_is_not_computed(self):
        assert not any("computed" in sentence for sentence in made(scaling="data").facts.public)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            experiment(made(scaling="data")).check()

    def test_constant_columns_are_left_out_with_a_warning(self):
        world = made(FRAME.assign(age=3.0), ranges={}, categories={}, scaling="data", intercept=0.0)
        assert world.dimension == 3
        with pytest.warns(ConfigWarning) as caught:
            experiment(world).check()
        assert "features: constant, and left out: age" in str(caught[-1].message)

    def test_numbers_are_classes_in_their_order(self):
        frame = FRAME.assign(diagnosis=[10 if i % 3 else 9 for i in range(ROWS)])
        assert made(frame, target="diagnosis", scaling="data").arm_names == ("9", "10")


REFUSED = {
    "a gap": (changed("age", 7, None), {}, "row 7, column 'age': is missing (missing cells by col"),
    "a gap in a text": (changed("ward", 8, ""), {}, 'row 8, column \'ward\': is missing'),
    "a gap in a class": (
        changed("diagnosis", 9, None), {"missing": "indicator"}, "row 9, column 'diagnosis': is m",
    ),
    "gaps only": (FRAME.assign(age=np.nan), {"missing": "drop"}, "every row of the table has a"),
    "an unlisted text": (
        changed("ward", 3, "Q"), {"categories": {"ward": ["A", "B, left", "C"]}},
        "row 3, column 'ward': its text is not among the 3 categories (1 such rows); add it, or ad",
    ),
    "an unlisted class": (
        changed("diagnosis", 5, "secret"), {}, "row 5, column 'diagnosis': its text is not among t",
    ),
    "a text as a number": (changed("age", 6, "x"), {}, "row 6, column 'age': is not a number"),
    "a date": (
        changed("age", 6, "2024-01-01"), {}, "row 6, column 'age': is a date or a time; make a",
    ),
    "numbers among texts": (
        changed("ward", 6, 7), {"categories": {}, "scaling": "data"},
        "row 6, column 'ward': the column has numbers and texts; correct it, or list categories",
    ),
    "dates": (
        FRAME.assign(age=pd.Timestamp("2024-01-01")), {"ranges": {}}, "row 0, column 'age': is a d",
    ),
    "an empty column": (
        FRAME.assign(age=np.nan), {"ranges": {}, "missing": "indicator"}, "column 'age' of the tab",
    ),
    "names": (
        pd.concat([FRAME.assign(ward=[f"n{j}{i}" for i in range(ROWS)]) for j in "ab"]),
        {"categories": {}, "scaling": "data"}, "has 120 different texts, allowed without a list",
    ),
    "constants": (
        FRAME.assign(age=1.0), {"features": ["age"], "ranges": {}, "categories": {},
        "scaling": "data"}, "environment.features: all are constant",
    ),
    "one class": (
        FRAME.assign(diagnosis="x"), {"target": "diagnosis", "scaling": "data"}, "only one class",
    ),
    "one site": (
        FRAME.assign(hospital="A"), {},
        "has only one value, and a federation needs at least two parties; to learn alone, leave ou",
    ),
    "more agents than rows": (FRAME, {"agents": 61}, "61 agents cannot share 60 rows; use at most"),
    "a reward out of range": (
        FRAME, {"rewards": ["low", "high"], "reward_range": (0, 0.5)},
        "row 3, column 'high': the reward is outside reward_range = [0, 0.5] (15 such rows); widen",
    ),
    "a column that is not there": (
        FRAME, {"person": "persno"}, "environment.person: the table has no column 'persno'; did y",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_data_that_cannot_be_used_is_refused(name):
    frame, settings, message = REFUSED[name]
    with refused(message) as caught:
        made(frame, **settings).prepare()
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"agents": 3, "site": "hospital"}, "Table.site: both of site and agents given"),
        ({"site": None}, "Table.site: neither of site and agents given, allowed: one of them"),
        ({"target": None}, "Table.target: none given; a table has one of three forms: target ="),
        ({"rewards": ["low", "high"]} | TARGET, "Table.target: several given; a table has one of"),
        ({"target": None, "classes": [], "action": "ward"}, "Table.reward: missing; a log has bo"),
        ({"target": None, "rewards": ["low"], "classes": []}, "Table.rewards: one column given"),
        ({"propensity": "low"} | TARGET, "Table.propensity: belongs to a log"),
        ({"reward_range": (0, 1)}, "Table.reward_range: belongs to rewards or a log"),
        ({"features": []}, "Table.features: none given"),
        ({"features": ["age", "age", "ward"]}, "Table.features: 'age' is given twice"),
        ({"features": ["age", "ward", "diagnosis"]}, "Table.features: 'diagnosis' is the target: "),
        ({"ranges": {"size": (0, 1)}}, "Table.ranges: 'size' is not among the features"),
        ({"ranges": {"age": (5, 5)}}, "Table.ranges: 'age' given [5, 5], allowed: the smallest"),
        ({"ranges": {"age": (0, 9), "ward": (0, 1)}}, "Table.categories: 'ward' has a range alrea"),
        (
            {"categories": {"ward": ["A"]}},
            "Table.categories: 'ward' given 1, allowed: at least two",
        ),
        ({"categories": {"ward": ["A", "A"]}}, "Table.categories: 'ward' has the same one twice"),
        ({"classes": ["a", "*"], "target": "diagnosis"}, 'Table.classes: "*" is not a class'),
        (
            {"classes": ["a"], "target": "diagnosis"},
            "Table.classes: given 1, allowed: at least two",
        ),
        ({"digest": "sha256:00"}, "Table.digest: given sha256:00…, but this table is sha256:"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, message):
    with refused(message, ConfigError):
        made(**(TARGET | settings if "target" not in settings else settings))


def test_rewards_may_not_be_features():
    with refused("Table.features: 'low' is a reward: it would give the answer away", ConfigError):
        made(features=["age", "ward", "low"], rewards=["low", "high"])


def test_rows_with_gaps_may_be_left_out():
    frame = changed("age", 3, None)
    frame.loc[5, "diagnosis"] = ""
    world = made(frame, missing="drop", agents=2)
    assert world.facts.persons == ROWS - 2
    # If a row is left out, the others come at other times: that shows in all later releases.
    assert any("Which rows have missing values is public" in said for said in world.facts.public)
    assert any("how many rows each of them has" in said for said in made().facts.public)
    assert not any("missing values" in said for said in made().facts.public)
    with pytest.warns(ConfigWarning, match=r'"drop" leaves out 2 of 60 rows; .*age \(1\), diag'):
        experiment(world).check()


def test_a_norm_that_divides_to_no_number_is_refused():
    with refused("Table.norm", ConfigError):
        made(norm=1e-320)


def test_what_is_listed_is_no_gap():
    frame = FRAME.assign(ward=["NA" if i % 2 else "B" for i in range(ROWS)])
    world = made(frame, categories={"ward": ["NA", "B"]}, intercept=0.0)
    assert (world.world(KEY).rows[1::2, 1] > 0.0).all()
    with refused("row 1, column 'ward': is missing"):
        made(frame, categories={"ward": ["A", "B"]}).prepare()


def test_classes_may_be_written_as_numbers():
    frame = FRAME.assign(diagnosis=[float(i % 2) for i in range(ROWS)])
    for classes in ([0, 1], ["0", "1"], ["0.0", "1.0"]):
        assert made(frame, target="diagnosis", classes=classes).arm_names == ("0", "1")
    with refused("Table.classes: has the same one twice", ConfigError):
        made(frame, target="diagnosis", classes=["1", "1.0"])


class TestIdentity:
    def file(self, tmp_path) -> Table:
        path = tmp_path / "visits.csv"
        FRAME.to_csv(path, index=False)
        return Table(path=str(path), site="hospital", **STATED, **TARGET)

    def test_a_file_and_its_frame_are_the_same_world(self, tmp_path):
        for mine, theirs in zip(self.file(tmp_path).world(KEY), made().world(KEY), strict=True):
            np.testing.assert_array_equal(mine, theirs)

    def test_a_run_is_not_resumed_with_other_data(self, tmp_path):
        world = self.file(tmp_path)
        fb.run(experiment(world), out=tmp_path / "run")
        fb.run(experiment(world), out=tmp_path / "run")
        recorded = (tmp_path / "run" / "config.toml").read_text(encoding="utf-8")
        assert tomllib.loads(recorded)["environment"]["digest"].startswith("sha256:")
        changed("age", 0, 21.5).to_csv(world.path, index=False)
        with pytest.raises(fb.OutputExistsError, match=r"differs in environment\.digest"):
            fb.run(experiment(world), out=tmp_path / "run", resume=True)
        with refused("environment.digest: ") as caught:
            fb.run(tmp_path / "run" / "config.toml")
        assert "has changed since this configuration was recorded" in str(caught.value)

    def test_no_data_lies_in_the_folder_of_a_run(self, tmp_path):
        frame = FRAME.assign(person=[f"Meier-{i}" for i in range(ROWS)])
        fb.run(experiment(made(frame, person="person")), out=tmp_path / "run")
        for path in (tmp_path / "run").rglob("*"):
            assert path.is_dir() or b"Meier-" not in path.read_bytes()

    def test_a_table_from_memory_is_known_by_its_digest(self, monkeypatch):
        written = experiment(made()).to_table()
        assert written["environment"]["path"] == ""
        read = environment_of(written["environment"])
        read.prepare()
        monkeypatch.setattr(sources, "_HELD", {})  # as in another process
        changed_settings = msgspec.structs.replace(read, intercept=0.125)
        with refused("environment.digest: the table sha256:") as caught:
            changed_settings.prepare()
        assert "give it again with fb.environments.table" in str(caught.value)
        again = made(intercept=0.125, digest=read.digest)
        assert again == changed_settings
        again.prepare()

    def test_a_table_from_memory_stays_here(self):
        with refused(
            "environment.path: a table from memory is not there on the machines", ConfigError
        ):
            fb.run(experiment(made()), backend="dask", scheduler="tcp://127.0.0.1:1")

    def test_a_file_that_changes_is_read_again(self, tmp_path):
        world = self.file(tmp_path)
        assert world.facts.persons == ROWS
        FRAME.iloc[:30].to_csv(world.path, index=False)
        assert world.facts.persons == 30
