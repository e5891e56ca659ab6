"""A configuration that is written for a file of the user's own data."""

from __future__ import annotations

import re
import tomllib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import fedbandits as fb
from fedbandits.cli.main import app
from fedbandits.environments.tables.formats import AS_FOUND, Reading
from fedbandits.errors import ConfigError, ConfigWarning, DataError
from fedbandits.random import replicate_key
from fedbandits.rows import centre_and_spread
from fedbandits.settings.reference.own_data import own_data_template

HEADER = "Klinik;Patient;Alter;Größe;Station;notes;seen;row_id;Befund"
ROWS = [
    f"{['Köln', 'Münster'][i % 2]};P{i % 9};{30 + i % 7};{i % 5},5;"
    f"{['Ost, links', 'West'][i % 2]};note {i};2024-01-{1 + i % 28:02};{i};"
    f"{['krank', 'gesund'][i % 3 % 2]}"
    for i in range(120)
]


def written(tmp_path, rows=ROWS, encoding="utf-8", **options):
    data = tmp_path / "Besuche 2024.csv"
    data.write_text("\n".join([HEADER, *rows]), encoding=encoding)
    reading = Reading(encoding)
    text = own_data_template(str(data), tmp_path / "mine.toml", reading=reading, **options).text
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    return text, fb.load(tmp_path / "mine.toml")


def test_it_runs_at_once(tmp_path):
    text, experiment = written(tmp_path)
    world = experiment.environment
    assert (world.site, world.person, world.target) == ("Klinik", "Patient", "Befund")
    assert world.features == ("Alter", "Größe", "Station")
    labels = [entry.label for entry in experiment.systems]
    assert labels == ["alone", "pooled in clear", "feducb", "feducb-hybrid"]
    assert experiment.name == "mine"
    assert experiment.rounds == 60  # rows of the smaller clinic
    with pytest.warns(ConfigWarning, match='scaling: "data"'):
        experiment.check()
    assert world.party_names == ("Köln", "Münster")
    assert max(map(len, text.splitlines())) <= 100


def test_every_column_is_told_with_what_it_holds(tmp_path):
    text, _ = written(tmp_path)
    for line in (
        "Klinik   texts, 2 different: the party of each row (guessed by its name)",
        "Alter    numbers, 7 different: a feature",
        "notes    texts, 120 different: left out: too many different texts for categories",
        "seen     dates, 28 different: left out: make a number of dates and times",
        "row_id   numbers, 120 different: left out: looks like the number of a row",
    ):
        assert f"#   {line}" in text
    about = " ".join(text.replace("\n#", "").split())
    assert "120 rows, cells separated by a semicolon. Its columns:" in about
    assert "Take them out before you pass this file on." in about


def test_its_comments_become_stated_facts(tmp_path):
    """With the line of scaling removed and the # of the next ones, nothing comes from the data."""
    text, before = written(tmp_path)
    stated = re.sub(r"^#(?=\w+ = )", "", text.replace('scaling = "data"\n', ""), flags=re.MULTILINE)
    experiment = fb.Experiment.from_table(tomllib.loads(stated))
    world = experiment.environment
    assert world.scaling == "stated"
    assert (world.ranges, world.centre) == ({}, {"Alter": 32.98, "Größe": 2.5})
    assert world.spread == {"Alter": 2.01, "Größe": 1.41}
    assert world.categories == {"Station": ("Ost, links", "West", "*")}
    experiment.check()
    assert world.arm_names == before.environment.arm_names


def test_its_rows_are_long_enough(tmp_path):
    """Numbers count in spreads that are written, so that a run has nothing to say of short rows."""
    text, experiment = written(tmp_path)
    world = experiment.environment
    assert {*world.spread} == {*world.centre} == {"Alter", "Größe"}
    assert "count as public, and no privacy claim covers them" in " ".join(text.split("\n# "))
    assert world.row_deviation is None
    lengths = np.linalg.norm(world.world(replicate_key(0, 0)).rows[:, :-1], axis=1)
    assert 0.6 < np.median(lengths) <= 1.0


@given(
    st.lists(st.floats(-1e12, 1e12), min_size=2, max_size=30),
    st.floats(1e-6, 1e6),
)
def test_spreads_are_rounded_but_not_by_much(values, unit):
    values = np.array([*values, np.nan]) * unit
    found = centre_and_spread(values)
    mean, deviation = np.nanmean(values), np.nanstd(values)
    if found is None:
        assert deviation <= 1e-15 * abs(mean) or deviation == 0.0
        return
    assert abs(found[0] - mean) <= 0.01 * deviation
    assert abs(found[1] - deviation) <= 0.01 * deviation
    assert len(f"{found[1]:.12g}".partition("e")[0].replace(".", "").strip("0")) <= 3


def test_numbers_too_large_for_a_spread_are_scaled_by_their_range(tmp_path):
    data = tmp_path / "plain.csv"
    rows = [f"{i},{(-1) ** i * 1e306 * (i + 1)},{i % 2}" for i in range(90)]
    data.write_text("\n".join(["size,huge,label", *rows]), "utf-8")
    text = own_data_template(str(data), "plain.toml").text
    world = fb.Experiment.from_table(tomllib.loads(text)).environment
    assert {*world.spread} == {"size"}
    assert "#ranges = { huge = [" in text


def test_options_name_columns(tmp_path):
    _, experiment = written(tmp_path, site="Station", target="Klinik", person="row_id")
    world = experiment.environment
    assert (world.site, world.target, world.person) == ("Station", "Klinik", "row_id")


def test_presets_may_be_others(tmp_path):
    _, experiment = written(tmp_path, presets=("feducb-p2p",))
    assert [entry.preset for entry in experiment.systems] == ["feducb-p2p"]


def test_without_a_site_rows_are_dealt(tmp_path):
    data = tmp_path / "plain.csv"
    data.write_text("size,label\n" + "\n".join(f"{i},{i % 2}" for i in range(400)), "utf-8")
    text = own_data_template(str(data), "plain.toml").text
    world = fb.Experiment.from_table(tomllib.loads(text)).environment
    assert (world.site, world.agents) == (None, 4)
    assert "--site COLUMN would" in text
    assert "rounds = 100" in text


@pytest.mark.parametrize(("cell", "policy"), [(2, "indicator"), (8, "drop"), (0, "drop")])
def test_gaps_are_met(tmp_path, cell, policy):
    cells = ["Köln", "P1", "30", "1,5", "West", "a", "2024-01-01", "7", "krank"]
    cells[cell] = ""
    _, experiment = written(tmp_path, rows=[*ROWS, ";".join(cells)])
    assert experiment.environment.missing == policy
    experiment.environment.prepare()


def test_an_encoding_is_kept(tmp_path):
    _, experiment = written(tmp_path, encoding="cp1252")
    assert experiment.environment.encoding == "cp1252"
    assert experiment.environment.party_names == ("Köln", "Münster")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"site": "Klinic"}, "init --site: .*has no column 'Klinic'; did you mean 'Klinik'"),
        ({"target": "notes"}, "init --target: 'notes' holds texts, 120 different; allowed: a colu"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, options, message):
    with pytest.raises(ConfigError, match=message):
        written(tmp_path, **options)


def test_a_target_that_cannot_be_guessed_is_asked_for(tmp_path):
    data = tmp_path / "plain.csv"
    data.write_text("size,kind\n" + "\n".join(f"{i},{i % 3}" for i in range(90)), "utf-8")
    with pytest.raises(ConfigError, match=r"Give it with --target; if .* values: kind$"):
        own_data_template(str(data), "plain.toml")


def test_the_command_writes_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v.csv").write_text("\n".join([HEADER, *ROWS]), encoding="latin-1")
    runner = CliRunner()
    done = runner.invoke(app, ["init", "m.toml", "--data", "v.csv", "--encoding", "latin-1"])
    assert done.exit_code == 0
    assert fb.load("m.toml").environment.path == "v.csv"
    alone = runner.invoke(app, ["init", "other.toml", "--site", "Klinik"])
    assert isinstance(alone.exception, ConfigError)
    assert "init: --site names a column of --data; give it" in str(alone.exception)


def of_columns(tmp_path, reading=AS_FOUND, **columns):
    """The template of a table with a site, a class, and these columns by name."""
    rows = [
        ";".join([f"H{i % 2}", *(str(make(i)) for make in columns.values()), "yn"[i % 3 % 2]])
        for i in range(40)
    ]
    data = tmp_path / "a.csv"
    data.write_text("\n".join([";".join(["site", *columns, "class"]), *rows]), encoding="utf-8")
    return own_data_template(str(data), tmp_path / "mine.toml", reading=reading).text


@pytest.mark.parametrize(
    "spelled",
    ["{} %", "{}%", "5.{:03} €", "1.{:03},50", "{} kg", "<{}", "−{}", "1 {:03}", "1'{:03}", "{}°"],
)
def test_numbers_with_something_beside_them_are_no_categories(tmp_path, spelled):
    text = of_columns(tmp_path, age=lambda i: 20 + i, cost=spelled.format)
    assert 'features = ["age"]' in text
    about = " ".join(text.replace("\n#", "").split())
    assert "looks like numbers" in about or "between thousands, as it seems; set" in about


@pytest.mark.parametrize("spelled", ["{} mg", "{}-{}9", "Haus {}", "A{}"])
def test_doses_groups_and_names_are_categories(tmp_path, spelled):
    text = of_columns(tmp_path, age=lambda i: 20 + i, dose=lambda i: spelled.format(i % 9, i % 9))
    assert 'features = ["age", "dose"]' in text


def test_dots_that_may_stand_between_thousands_are_no_decimal_points(tmp_path):
    columns = {"cost": lambda i: f"1.{100 + i}" if i % 2 else 950, "kg": lambda i: f"{60 + i},5"}
    text = of_columns(tmp_path, **columns)
    assert 'features = ["kg"]' in text
    assert "can be read in two ways" in text
    mine = text.replace('features = ["kg"]', 'features = ["kg", "cost"]')
    (tmp_path / "mine.toml").write_text(mine, encoding="utf-8")
    with pytest.raises(DataError, match="line 3, column 'cost': can be read in two ways: a dot"):
        fb.load(tmp_path / "mine.toml").claims()
    stated = of_columns(tmp_path, Reading(thousands="."), **columns)
    assert 'features = ["cost", "kg"]' in stated
    assert 'thousands = "."' in stated


@pytest.mark.parametrize("name", ["PatientenNr", "Patientinnen-ID", "Pat. Nr.", "pat_nr", "MRN"])
def test_numbers_of_persons_name_the_person(tmp_path, name):
    text = of_columns(tmp_path, **{name: lambda i: i // 2, "age": lambda i: 20 + i})
    assert f'person = "{name}"' in text
    assert 'features = ["age"]' in text


@pytest.mark.parametrize("name", ["FallNr", "CaseID", "lfd. Nr.", "row_id", "Fallnummer"])
def test_numbers_of_rows_are_no_features(tmp_path, name):
    text = of_columns(tmp_path, **{name: lambda i: 7000 + i, "age": lambda i: 20 + i})
    assert 'features = ["age"]' in text


def test_why_no_column_can_be_a_feature_is_told(tmp_path):
    with pytest.raises(ConfigError, match="age: has numbers and texts, see line 5; if"):
        of_columns(tmp_path, age=lambda i: ">90" if i == 3 else i)


def test_a_title_above_the_names_is_told(tmp_path):
    (tmp_path / "a.csv").write_text("Auswertung 2024;;\n;;\nsite;age;class\nA;1;y\nB;2;n\n")
    with pytest.raises(DataError, match=r"line 1: names one column only, as a title does; take"):
        own_data_template(str(tmp_path / "a.csv"), tmp_path / "mine.toml")


def test_a_path_with_blanks_is_quoted_where_it_is_typed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(app, ["init", "my own (1).toml"]).output
    assert 'Run it:  fedbandits run "my own (1).toml"' in told
    assert 'fedbandits run "my own (1).toml"' in (tmp_path / "my own (1).toml").read_text()
