"""Numbers of a file: read as pandas reads them under the stated format, or refused."""

from __future__ import annotations

import io
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbandits as fb
from fedbandits.environments.tables.cells import numbers, texts
from fedbandits.environments.tables.delimited import read_delimited
from fedbandits.environments.tables.formats import Reading
from fedbandits.environments.tables.sources import table_in_memory
from fedbandits.errors import ConfigError, ConfigWarning, DataError

SPEND = [250, 950, 1234, 12345, 2500, 870]


def read(text: str, **how):
    return read_delimited("visits.csv", text.encode(), Reading(**how))


def column(cells, separator=";", other="7", **how):
    """One column of these cells, beside another one."""
    quoted = [f'"{cell}"' if separator in cell else cell for cell in cells]
    rows = [f"{cell}{separator}{other}" for cell in quoted]
    return read("\n".join([f"n{separator}m", *rows]) + "\n", **how)


def refused(message: str):
    return pytest.raises(DataError, match=re.escape(message))


@pytest.mark.parametrize("separator", [";", "\t", "|", ","])
@pytest.mark.parametrize("sign", [",", ".", "'", " ", "\u00a0", "\u202f", "’"])
def test_signs_between_thousands_are_asked_for_and_then_read(separator, sign):
    cells = [f"{value:,}".replace(",", sign) for value in SPEND]
    with refused("visits.csv, line 4, column 'n': ") as caught:
        numbers(column(cells, separator), "n", "features")
    stated = {"’": "'", "\u00a0": " ", "\u202f": " "}.get(sign, sign)
    assert f'thousands = "{stated}"' in str(caught.value)
    assert "1" not in str(caught.value).replace("line 4", "")  # nothing of the data
    raw = column(cells, separator, thousands=stated)
    assert numbers(raw, "n", "features").tolist() == SPEND


@pytest.mark.parametrize("sign", [",", "."])
def test_a_decimal_sign_that_is_stated_is_believed(sign):
    raw = column([f"1{sign}234", f"2{sign}500"], decimal=sign)
    assert numbers(raw, "n", "features").tolist() == [1.234, 2.5]


@pytest.mark.parametrize(
    ("cells", "other"), [(["1,234", "2,5"], "7"), (["0,123", "1,234"], "7"), (["1,234"], "0,5")]
)
def test_a_comma_that_cannot_stand_between_thousands_settles_it(cells, other):
    read_ = numbers(column(cells, other=other), "n", "features")
    assert read_.tolist() == [float(cell.replace(",", ".")) for cell in cells]


def test_columns_that_contradict_one_another_settle_nothing():
    with refused("line 2, column 'n': can be read in two ways: a dot may be a decimal sign"):
        numbers(column(["1.234"], other="0,5"), "n", "features")
    both = read("n;a;b\n1,234;0,5;0.5\n")
    with refused("column 'n': can be read in two ways: a comma may be"):
        numbers(both, "n", "features")


@pytest.mark.parametrize("key", ["features", "reward", "rewards", "propensity"])
def test_every_key_that_reads_numbers_asks(key):
    with refused("can be read in two ways"):
        numbers(column(["1,234"]), "n", key)


@pytest.mark.parametrize("cell", ["1,234", "1,5", "1,234.5", "1'234", "1.234,5"])
def test_texts_of_a_frame_are_asked_for_too(cell):
    frame = pd.DataFrame({"n": [cell, "7"]})
    with refused("the table, row 0, column 'n': "):
        numbers(table_in_memory(frame), "n", "features")


def test_a_frame_is_read_as_stated():
    frame = pd.DataFrame({"n": ["1,234", "870"] * 20, "y": ["a", "b"] * 20})
    settings = {"agents": 2, "features": ["n"], "ranges": {"n": (0, 2000)}, "target": "y"}
    settings["classes"] = ["a", "b"]
    with refused('set decimal = "," if it is a decimal sign, or thousands = ","'):
        fb.environments.table(frame, **settings).prepare()
    world = fb.environments.table(frame, thousands=",", **settings)
    same = fb.environments.table(frame.assign(n=[1234.0, 870.0] * 20), **settings)
    np.testing.assert_array_equal(world._data().contexts, same._data().contexts)


def test_a_thousand_is_another_text_than_one():
    """A point before three zeros may stand between thousands, in names of persons and classes."""
    raw = column(["1", "1.0", "1.000"])
    assert texts(raw, "n", "person").tolist() == ["1", "1", "1.000"]


def test_two_signs_that_are_the_same_are_refused():
    with pytest.raises(ConfigError, match=r"Table\.thousands: given ',', which is the decimal"):
        fb.environments.table(
            "a.csv", agents=2, features=["n"], target="y", decimal=",", thousands=","
        )


VALUES = st.one_of(
    st.integers(-(10**9), 10**9),
    st.decimals(-(10**6), 10**6, places=2).map(float),
    st.decimals(-(10**4), 10**4, places=3).map(float),
)
FORMATS = st.tuples(st.sampled_from(".,"), st.sampled_from(["", ",", ".", "'", " "])).filter(
    lambda signs: signs[0] != signs[1]
)


def spelled(value: float, decimal: str, thousands: str) -> str:
    """A number as a program of this country writes it."""
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"
    return text.translate({ord(","): thousands, ord("."): decimal})


@given(
    st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=6),
    FORMATS,
    st.sampled_from(";\t|,"),
)
def test_no_number_is_read_differently(rows, signs, separator):
    """Stated: what pandas reads. Not stated: the same, or refused with the line and the keys."""
    decimal, thousands = signs
    cells = [[spelled(value, decimal, thousands) for value in row] for row in rows]
    quoted = [[f'"{cell}"' if separator in cell else cell for cell in row] for row in cells]
    text = "\n".join(separator.join(row) for row in [["a", "b"], *quoted]) + "\n"
    stated = read(text, decimal=decimal, thousands=thousands)
    frame = pd.read_csv(
        io.StringIO(text), sep=separator, decimal=decimal, thousands=thousands or None
    )
    for name in "ab":
        wanted = frame[name].tolist()
        assert numbers(stated, name, "features").tolist() == wanted
        try:
            found = numbers(read(text), name, "features").tolist()
        except DataError as error:
            assert re.search(r"line \d+, column .*(decimal|thousands)", str(error))  # noqa: PT017
        else:
            assert found == wanted


class TestRanges:
    def world(self, values, **settings):
        frame = pd.DataFrame({"n": values, "y": ["a", "b"] * (len(values) // 2)})
        return fb.environments.table(
            frame, agents=2, features=["n"], target="y", classes=["a", "b"], **settings
        )

    def test_one_that_cuts_off_many_values_is_told(self):
        world = self.world([*range(80), *range(200, 220)], ranges={"n": (0, 100)})
        (caution,) = world.cautions()
        assert caution.startswith("ranges: 20 of 100 values of n lie outside [0, 100]")
        experiment = fb.Experiment(rounds=3, environment=world, systems=[fb.system("linucb-alone")])
        with pytest.warns(ConfigWarning, match="20 of 100 values of n"):
            experiment.check()

    def test_one_that_cuts_off_few_is_not(self):
        assert not [*self.world([*range(98), 200, 201], ranges={"n": (0, 100)}).cautions()]

    @pytest.mark.parametrize(("mark", "told"), [(-999, True), (9999, True), (-98, False)])
    def test_a_range_of_the_data_that_ends_in_nines_is_told(self, mark, told):
        cautions = [*self.world([*range(99), mark], scaling="data").cautions()]
        assert (
            any(each.startswith("missing_marks: a value of n is far") for each in cautions) == told
        )
        listed = self.world(
            [*range(99), mark], scaling="data", missing_marks=[mark], missing="drop"
        )
        assert not any("is far" in each for each in listed.cautions())

    @pytest.mark.parametrize(
        ("first", "step", "unit"),
        [
            (1_704_067_200, 60, "seconds"), (1_704_067_200.25, 0.5, "seconds"),
            (1_704_067_200_000, 9, "milliseconds"), (1_704_067_200_000_000, 9, "microseconds"),
            (1_704_067_200_000_000_000, 10**10, "nanoseconds"), (1_700_000, 60, ""),
            (900_000_000, 10**7, ""), (1_704_067_200, 0, ""),
        ],
    )  # fmt: skip
    def test_times_since_1970_are_told_unless_their_range_is_stated(self, first, step, unit):
        values = [first + step * row for row in range(100)]
        cautions = " ".join(self.world(values, scaling="data").cautions()) if step else ""
        assert ("features: values of n look like times in " in cautions) == bool(unit)
        assert f"in {unit} since 1970" in cautions or not unit
        stated = self.world(values, ranges={"n": (first, first + 100 * step + 1)})
        assert not [*stated.cautions()]
