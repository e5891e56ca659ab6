"""Rows of a table whose numbers are counted in spreads: how long they are, and what is refused."""

from __future__ import annotations

import hashlib
import math
import re
import tomllib
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

import fedbandits as fb
from fedbandits.environments import Table
from fedbandits.environments.tables.features import Categorical, Numeric, contexts_of
from fedbandits.environments.tables.sources import table_in_memory
from fedbandits.errors import ConfigError, DataError
from fedbandits.random import replicate_key
from fedbandits.rows import MOST_SPREADS, Rows, limits_of, scaled

KEY = replicate_key(4, 1)
ROWS = 400
DRAWS = np.random.default_rng(5).normal(size=(ROWS, 3))
FRAME = pd.DataFrame(
    {
        "age": 60.0 + 15.0 * DRAWS[:, 0],
        "dose": 0.002 + 0.0004 * DRAWS[:, 1],
        "höhe": -3e6 + 2e5 * DRAWS[:, 2],
        "ward": [["A", "B", "C"][i % 3] for i in range(ROWS)],
        "ill": [["no", "yes"][i % 2] for i in range(ROWS)],
    }
)
NUMBERS = ("age", "dose", "höhe")
CENTRE = {name: float(FRAME[name].mean()) for name in NUMBERS}
SPREAD = {name: float(FRAME[name].std(ddof=0)) for name in NUMBERS}
RANGES = {name: (min(FRAME[name]), max(FRAME[name])) for name in NUMBERS}


def made(frame=FRAME, **settings) -> Table:
    usual = {"agents": 2, "target": "ill", "classes": ["no", "yes"], "features": NUMBERS}
    return fb.environments.table(frame, **(usual | settings))


def spread_out(frame=FRAME, **settings) -> Table:
    return made(frame, **({"centre": CENTRE, "spread": SPREAD} | settings))


def rows_of(table: Table) -> np.ndarray:
    return table.world(KEY).rows.astype(np.float64)


def standardised(frame=FRAME) -> np.ndarray:
    values = frame[[*NUMBERS]].to_numpy()
    return (values - [*CENTRE.values()]) / [*SPREAD.values()]


class TestRows:
    def test_a_number_counts_in_spreads_from_its_centre(self):
        expected = standardised() / math.sqrt(3.0)
        expected /= np.maximum(np.linalg.norm(expected, axis=1), 1.0)[:, None]
        np.testing.assert_allclose(rows_of(spread_out(intercept=0.0)), expected, atol=2e-6)

    def test_ranges_of_three_deviations_and_their_norm_make_the_same_rows(self):
        """But for values beyond three deviations, which a range cuts off."""
        ranges = {
            name: (CENTRE[name] - 3.0 * SPREAD[name], CENTRE[name] + 3.0 * SPREAD[name])
            for name in NUMBERS
        }
        inside = (np.abs(standardised()) < 3.0).all(axis=1)
        by_range = rows_of(made(ranges=ranges, norm=math.sqrt(3.0) / 3.0))
        np.testing.assert_allclose(rows_of(spread_out())[inside], by_range[inside], atol=2e-6)
        assert inside.mean() > 0.95

    @pytest.mark.parametrize("missing", ["refuse", "indicator"])
    @pytest.mark.parametrize("features", [NUMBERS, (*NUMBERS, "ward")])
    def test_a_typical_row_has_a_length_near_1(self, features, missing):
        frame = FRAME.copy()
        if missing == "indicator":
            frame.loc[::7, "age"] = np.nan
        table = spread_out(
            frame, features=features, missing=missing, intercept=0.0,
            categories={"ward": ["A", "B", "*"]} if "ward" in features else {},
        )  # fmt: skip
        norms = np.linalg.norm(rows_of(table), axis=1)
        assert 0.8 < np.median(norms) <= 1.0

    def test_ranges_make_rows_of_the_same_table_short(self):
        assert np.median(np.linalg.norm(rows_of(made(ranges=RANGES, intercept=0.0)), axis=1)) < 0.4

    def test_one_absurd_value_hides_no_other_one(self):
        frame = FRAME.copy()
        frame.loc[0, "age"] = 1e300
        first = rows_of(spread_out(frame, intercept=0.0))[0]
        others = standardised()[0, 1:]
        expected = np.append(MOST_SPREADS, others)
        np.testing.assert_allclose(first, expected / np.linalg.norm(expected), atol=2e-6)

    def test_one_row_is_scaled_whatever_the_others_are(self):
        """Nothing that is stated depends on the data: only then does a claim cover the context."""
        alone = rows_of(spread_out(FRAME.iloc[:3], agents=1))
        np.testing.assert_array_equal(alone, rows_of(spread_out(agents=1))[:3])

    @given(st.integers(1, 40), st.integers(0, 2**32 - 1), st.floats(0.0, 0.9))
    def test_a_row_alone_is_the_same_to_the_last_bit(self, width, seed, intercept):
        """A door prepares one row at a time, a table all of them."""
        rng = np.random.default_rng(seed)
        centre, spread = rng.normal(size=width), rng.uniform(0.1, 9.0, width)
        rows = Rows(centre=centre, spread=spread, intercept=intercept)
        values = rng.normal(size=(7, width)) * 20.0
        together = rows.contexts(values)
        assert together.shape == (7, rows.dimension)
        for i in range(7):
            np.testing.assert_array_equal(rows.contexts(values[i : i + 1]), together[i : i + 1])

    def test_a_missing_value_is_marked_and_counts_as_its_centre(self):
        frame = FRAME.copy()
        frame.loc[4, "dose"] = np.nan
        row = rows_of(spread_out(frame, missing="indicator", intercept=0.0))[4]
        assert row[2] == 0.0
        assert row[3] > 0.0
        with pytest.raises(DataError, match=r"row 4, column 'dose': is missing"):
            spread_out(frame).prepare()

    def test_a_range_beside_a_spread_keeps_its_meaning(self):
        centre, spread = dict(CENTRE), dict(SPREAD)
        del centre["age"], spread["age"]
        table = made(spread=spread, centre=centre, ranges={"age": (0, 120)}, norm=100.0)
        np.testing.assert_allclose(
            rows_of(table)[:, 0] * 100.0 / math.sqrt(0.75), FRAME["age"] / 60.0 - 1.0, atol=2e-5
        )

    @given(
        st.lists(
            st.tuples(st.floats(-1e308, 1e308), st.sampled_from(["A", "B", "Z", ""])),
            min_size=1,
            max_size=9,
        ),
        st.floats(-1e300, 1e300),
        st.floats(1e-9, 1e9),
        st.booleans(),
        st.floats(0.0, 0.99),
    )
    def test_no_context_is_longer_than_1(self, rows, centre, relative, indicators, intercept):
        spread = min(max(abs(centre), 1.0) * relative, 1e300)
        raw = table_in_memory({"n": [n for n, _ in rows], "c": [c for _, c in rows]})
        features = [Numeric.spread_out("n", centre, spread), Categorical("c", ("A", "B", "*"))]
        found = contexts_of(raw, features, indicators, None, intercept)
        assert np.isfinite(found).all()
        assert np.linalg.norm(found.astype(np.float64), axis=1).max() <= 1.0

    @given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9), st.floats(-1e12, 1e12))
    def test_values_are_cut_off_where_it_is_said(self, centre, spread, value):
        found = float(scaled(np.array([value]), *limits_of(centre, spread), MOST_SPREADS)[0])
        expected = min(max((value - centre) / spread, -10.0), 10.0)
        assert found == pytest.approx(expected, abs=1e-6 + 1e-14 * abs(centre) / spread)


class TestRefused:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"spread": SPREAD | {"age": 0}}, "spread: 'age' given 0, allowed: a number > 0"),
            ({"spread": SPREAD | {"age": -2}}, "spread: 'age' given -2, allowed: a number > 0"),
            ({"spread": SPREAD | {"age": math.inf}}, "spread: 'age' given inf, allowed: a numb"),
            ({"spread": SPREAD | {"age": math.nan}}, "spread: 'age' given nan, allowed: a numb"),
            ({"centre": CENTRE | {"age": math.nan}}, "centre: 'age' given nan, allowed: a finite"),
            ({"centre": CENTRE | {"age": -math.inf}}, "centre: 'age' given -inf, allowed: a fin"),
            ({"spread": SPREAD | {"höhe": 1e-12}}, "spread: 'höhe' given 1e-12, which is nothing "),
            ({"spread": {"age": 1}}, "spread: 'dose' has a centre only; give it a number in both"),
            ({"centre": {"dose": 1, "höhe": 1}}, "centre: 'age' has a spread only; give it a num"),
            ({"spread": SPREAD | {"size": 1}}, "spread: 'size' is not among the features; add it"),
            ({"centre": CENTRE | {"size": 1}}, "centre: 'size' is not among the features; add it"),
            ({"ranges": {"age": (0, 9)}}, "spread: 'age' has a range already; remove one of them"),
            ({"categories": {"age": ["1", "2"]}}, "categories: 'age' has a spread already; remove"),
        ],
    )
    def test_settings_that_do_not_fit(self, settings, message):
        with pytest.raises(ConfigError, match=re.escape(f"Table.{message}")):
            spread_out(**settings)

    def test_a_column_of_texts(self):
        frame = FRAME.assign(age="old")
        with pytest.raises(DataError, match=r"column 'age': is not a number; .* and a spread"):
            spread_out(frame).prepare()

    def test_what_must_be_stated_is_shown_beside_what_is(self):
        with pytest.raises(DataError) as caught:
            made(centre={"age": 60}, spread={"age": 15}).prepare()
        lines = [line[2:] for line in str(caught.value).splitlines() if line.startswith("  ")]
        assert lines == [
            'centre = { age = 60, dose = TYPICAL, "höhe" = TYPICAL }',
            'spread = { age = 15, dose = DEVIATION, "höhe" = DEVIATION }',
        ]
        text = "\n".join(lines).replace("TYPICAL", "0").replace("DEVIATION", "1")
        made(**tomllib.loads(text)).prepare()

    def test_a_table_with_ranges_is_asked_for_ranges(self):
        with pytest.raises(DataError, match=r"ranges = \{ age = \[0, 120\], dose = \[LOW, HIGH\]"):
            made(ranges={"age": (0, 120)}).prepare()


class TestPublicFacts:
    def test_they_count_as_public_and_nothing_is_taken_from_the_data(self):
        said = spread_out().facts.public
        assert any(
            "centres and spreads of columns that the configuration states" in s for s in said
        )
        assert not any("computed here" in s for s in said)
        assert not any("centres" in s for s in made(scaling="data").facts.public)

    def test_what_is_not_stated_still_comes_from_the_data_as_a_range(self):
        table = made(centre={"age": 60}, spread={"age": 15}, scaling="data")
        assert any("the ranges of dose and höhe" in s for s in table.facts.public)

    def test_a_column_that_never_varies_is_used_because_nobody_may_know_that(self):
        rows = rows_of(spread_out(FRAME.assign(age=75.0), intercept=0.0))
        assert (rows[:, 0] > 0.0).all()

    def test_a_spread_that_cuts_off_many_values_is_told(self):
        told = list(spread_out(spread=SPREAD | {"age": 0.5}).cautions())
        assert any(
            re.match(r"spread: \d+ of 400 values of age lie outside \[.*correct the spread", t)
            for t in told
        )
        assert not list(spread_out().cautions())


class TestShortRows:
    """A linear model with parameters of norm S must be able to reach the rewards."""

    def told(self, table, *presets, **settings):
        systems = [fb.system(preset, **settings) for preset in presets or ("linucb-alone",)]
        experiment = fb.Experiment(rounds=9, environment=table, systems=systems)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            experiment.check()
        return [str(w.message) for w in caught if "rows are short" in str(w.message)]

    def test_it_is_told_once_with_the_remedy(self):
        (told,) = self.told(made(ranges=RANGES), "linucb-alone", "feducb", "feducb-secure")
        assert told.startswith("environment.spread: rows are short: they differ from their mean by")
        assert re.search(
            "parameter_bound = 1, predictions differ by 0.2[0-9] then, and rewards by 0.5,", told
        )
        assert "State centre and spread of columns of numbers" in told

    def test_a_larger_bound_or_longer_rows_are_enough(self):
        assert not self.told(made(ranges=RANGES), parameter_bound=4.0)
        assert not self.told(made(ranges=RANGES, norm=0.5))
        assert not self.told(spread_out())
        assert self.told(spread_out(norm=9.0))

    def test_a_column_that_fills_its_range_evenly_is_long_enough(self):
        even = FRAME.assign(age=np.linspace(0.0, 1.0, ROWS))
        assert not self.told(made(even, features=["age"], ranges={"age": (0, 1)}))

    def test_a_common_part_of_all_rows_does_not_make_them_long(self):
        """Such as of ranges that begin at 0, and values that are all near the other end."""
        ranges = {name: (CENTRE[name] - 40 * SPREAD[name], CENTRE[name] + SPREAD[name])
                  for name in NUMBERS}  # fmt: skip
        table = made(ranges=ranges)
        assert np.linalg.norm(rows_of(table), axis=1).min() > 0.7
        assert self.told(table)

    def test_thirty_columns_of_breast_cancer_by_their_ranges(self):
        data = load_breast_cancer()
        names = [f"x{i}" for i in range(30)]
        columns = {name: data.data[:, i] for i, name in enumerate(names)} | {"class": data.target}
        common = {"agents": 4, "features": names, "target": "class", "classes": [0, 1]}
        ends = zip(data.data.min(0), data.data.max(0), strict=True)
        ranges = dict(zip(names, ends, strict=True))
        assert self.told(fb.environments.table(columns, ranges=ranges, **common))
        centre = dict(zip(names, data.data.mean(0), strict=True))
        spread = dict(zip(names, data.data.std(0), strict=True))
        assert not self.told(fb.environments.table(columns, centre=centre, spread=spread, **common))

    def test_what_cannot_be_changed_is_not_told(self):
        rare = FRAME.assign(ward=["A" if i % 40 else "B" for i in range(ROWS)])
        assert not self.told(made(rare, features=["ward"], categories={"ward": ["A", "B"]}))
        for world in (fb.environments.Classification(agents=2), fb.environments.Linear(agents=2)):
            assert not self.told(world)


class TestOldConfigurations:
    """What was written before there were spreads keeps its meaning, to the last bit."""

    TEXT = """
        rounds = 10
        [environment]
        kind = "table"
        path = "visits.csv"
        agents = 2
        features = ["age", "ward"]
        target = "ill"
        classes = ["no", "yes"]
        ranges = { age = [0, 120] }
        categories = { ward = ["A", "*"] }
        [[systems]]
        preset = "feducb"
    """

    def loaded(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        lines = ["age,ward,ill", *(f"{i % 90},{'ABC'[i % 3]},{'no' if i % 2 else 'yes'}"
                                   for i in range(60))]  # fmt: skip
        (tmp_path / "visits.csv").write_text("\n".join(lines), "utf-8")
        return fb.Experiment.from_table(tomllib.loads(self.TEXT))

    def test_it_is_recorded_as_before(self, tmp_path, monkeypatch):
        experiment = self.loaded(tmp_path, monkeypatch)
        text = experiment.to_toml()  # a sweep's points and what is kept of a run are named by it
        assert not {"spread", "centre"} & experiment.to_table()["environment"].keys()
        assert not {"spread", "centre"} & tomllib.loads(text)["environment"].keys()

    def test_its_rows_are_the_same(self, tmp_path, monkeypatch):
        rows = self.loaded(tmp_path, monkeypatch).environment.world(KEY).rows
        assert hashlib.sha256(rows.tobytes()).hexdigest()[:16] == "550fb593d43fa224"

    def test_a_recorded_one_with_spreads_is_read_again(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        FRAME.to_csv("frame.csv", index=False)
        environment = Table(
            path="frame.csv", agents=2, features=NUMBERS, target="ill", classes=("no", "yes"),
            centre=CENTRE, spread=SPREAD,
        )  # fmt: skip
        experiment = fb.Experiment(
            rounds=5, environment=environment, systems=[fb.system("linucb-alone")]
        )
        (tmp_path / "again.toml").write_text(experiment.to_toml(), encoding="utf-8")
        assert fb.load("again.toml").environment == experiment.environment
