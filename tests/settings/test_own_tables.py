"""Whatever a table holds: what `init` writes can be run, or it says why not."""

from __future__ import annotations

import gzip
import tomllib
import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import fedbandits as fb
from fedbandits.cli.main import app
from fedbandits.environments.tables.formats import AS_FOUND, Reading
from fedbandits.errors import ConfigError, ConfigWarning, FedbanditsError
from fedbandits.settings.reference.own_data import own_data_template


def write(tmp_path, text, name="v.csv"):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return str(path)


def template(data, reading=AS_FOUND, **given_):
    made = own_data_template(data, "mine.toml", reading=reading, **given_)
    return made, tomllib.loads(made.text)["environment"]


LOG = "\n".join(
    [
        "timestamp,item_id,position,click,propensity_score,age,site",
        *(f"2019-11-24 00:00:{i % 60:02},{i % 3},{i % 4},{i % 5 % 2},0.33,{20 + i},{'ab'[i % 2]}"
          for i in range(90)),
    ]
)  # fmt: skip
RATINGS = "\n".join(
    ["userId,movieId,rating,timestamp", *(f"{u},{i},{(u * i) % 5 + 1},{u + i}"
     for u in range(1, 8) for i in range(1, 9))]
)  # fmt: skip


class TestTasks:
    def test_propensities_lead_to_a_log(self, tmp_path):
        made, world = template(write(tmp_path, LOG))
        roles = {key: world[key] for key in ("action", "reward", "propensity", "visits")}
        assert roles == {
            "action": "item_id", "reward": "click", "propensity": "propensity_score",
            "visits": "once",
        }  # fmt: skip
        assert world["features"] == ["position", "age"]
        assert "  click: its reward (guessed by its name)" in made.notes
        assert "#smallest_propensity = 0.33" in made.text

    def test_without_them_a_number_may_be_given(self, tmp_path):
        text = LOG.replace("propensity_score", "x")
        _, world = template(write(tmp_path, text), action="item_id", propensity="0.3333")
        assert world["propensity"] == 0.3333
        with pytest.raises(ConfigError, match="Give it with --propensity"):
            template(write(tmp_path, text), action="item_id")

    def test_a_target_makes_it_a_table_all_the_same(self, tmp_path):
        assert template(write(tmp_path, LOG), target="item_id")[1]["target"] == "item_id"

    def test_a_class_beside_probabilities_is_a_table(self, tmp_path):
        text = "probability,age,class\n" + "\n".join(f"0.{i},{i},{'yn'[i % 2]}" for i in range(50))
        _, world = template(write(tmp_path, text))
        assert (world["target"], world["features"]) == ("class", ["probability", "age"])

    @pytest.mark.parametrize("name", ["v.csv", "ratings.csv", "ratings.csv.gz"])
    def test_names_of_ratings_lead_to_ratings(self, tmp_path, name):
        made, world = template(write(tmp_path, RATINGS, name))
        assert (world["kind"], world["arms"]) == ("ratings", 8)
        assert made.notes[0].startswith("It holds ratings: a user comes, some items are offered")
        assert template(write(tmp_path, RATINGS), target="rating")[1]["kind"] == "table"

    def test_too_few_ratings_are_told(self, tmp_path):
        with pytest.raises(ConfigError, match="has too few ratings: 4 users with two ratings"):
            template(write(tmp_path, "\n".join(RATINGS.split("\n")[:9])))


def test_who_a_person_is_is_no_feature(tmp_path):
    names = "Unnamed: 0,ssn,phone,home_phone,e-mail,Nachname,birth_date,age,class"
    rows = [f"{i},{i % 3},{i % 4},{i % 2},{i % 7},{i % 6},{i % 5},{i},{'yn'[i % 2]}"
            for i in range(40)]  # fmt: skip
    made, world = template(write(tmp_path, "\n".join([names, *rows])))
    assert world["features"] == ["age"]
    assert "  ssn: left out: tells who a person is, by its name" in made.notes
    assert "  Unnamed: 0: left out: the index of a data frame" in made.notes


def test_the_terminal_tells_what_is_left_out_and_how_to_change_that(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{1000 + i:,}\t{i if i % 5 else -999}\t{'yn'[i % 2]}" for i in range(40)]
    write(tmp_path, "\n".join(["spend\tage\tclass", *rows]))
    runner = CliRunner()
    bare = runner.invoke(app, ["init", "m.toml", "--data", "v.csv"])
    said = str(bare.exception)
    assert "spend: line 2 can be read in two ways" in said
    assert "age: -999 may stand for a missing value; if so, give --missing -999" in said
    told = runner.invoke(
        app, ["init", "m.toml", "--data", "v.csv", "--thousands", ",", "--missing", "-999",
              "--separator", "tab"],
    )  # fmt: skip
    assert told.exit_code == 0, told.output
    world = fb.load("m.toml").environment
    assert world.features == ("spend", "age")
    assert (world.thousands, world.missing_marks, world.separator) == (",", ("-999",), "\t")
    assert "2 of 3 columns are features" in told.output


def test_times_since_1970_are_left_out_and_told(tmp_path):
    rows = [f"{1_704_067_200_000 + 60_000 * i},{i},{'yn'[i % 2]}" for i in range(40)]
    made, world = template(write(tmp_path, "\n".join(["at,age,class", *rows])))
    assert world["features"] == ["age"]
    assert "  at: left out: looks like times in milliseconds since 1970" in "".join(made.notes)


def test_stated_marks_stand_beside_those_that_are_there(tmp_path):
    rows = [f"{('NA', -9, i)[min(i, 2)]},{'yn'[i % 2]}" for i in range(40)]
    _, world = template(write(tmp_path, "\n".join(["a,class", *rows])), Reading(marks=("-9",)))
    assert world["missing_marks"] == ["-9", "NA"]


CELLS = st.one_of(
    st.integers(-3000, 3000).map(str),
    st.floats(-1e3, 1e3).map("{:.3f}".format),
    st.integers(1000, 99999).map("{:,}".format),
    st.floats(0, 1e5).map(lambda x: f"{x:.2f}".replace(".", ",")),
    st.sampled_from(["", "NA", "?", "-", "-999", "a", "b", "x y", "37 %", "08:17", "2024-01-02"]),
)
COLUMNS = st.lists(
    st.tuples(
        st.sampled_from(["age", "spend", "site", "phone", "ward", "person", "click", "prob"]),
        st.lists(CELLS, min_size=1, max_size=4),
    ),
    min_size=1, max_size=5, unique_by=lambda column: column[0],
)  # fmt: skip


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(COLUMNS, st.sampled_from(";\t|,"), st.integers(1, 30))
def test_what_is_written_runs_or_it_says_why_not(tmp_path, columns, separator, rows):
    columns = [*columns, ("class", ["y", "n", "n"])]
    cells = [[name for name, _ in columns]]
    cells += [[held[i % len(held)] for _, held in columns] for i in range(rows)]
    quoted = [[f'"{c}"' if separator in c else c for c in row] for row in cells]
    data = write(tmp_path, "\n".join(separator.join(row) for row in quoted) + "\n")
    try:
        made, _ = template(data)
    except FedbanditsError as error:
        assert str(error)  # noqa: PT017
        return
    experiment = fb.Experiment.from_table(tomllib.loads(made.text))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfigWarning)
        experiment.check()
    assert experiment.environment.dimension >= 1
