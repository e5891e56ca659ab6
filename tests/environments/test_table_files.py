"""Tables as they are read: what is handled, and what is refused with its line."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbandits as fb
from fedbandits.environments.tables.cells import column_kind, numbers, texts
from fedbandits.environments.tables.delimited import read_delimited
from fedbandits.environments.tables.formats import Reading, tidy
from fedbandits.environments.tables.sources import table_in_memory
from fedbandits.errors import ConfigError, DataError, MissingExtraError


def read(text: str | bytes, encoding: str = "utf-8", **how):
    data = text if isinstance(text, bytes) else text.encode(encoding)
    return read_delimited("visits.csv", data, Reading(encoding, **how))


def refused(message: str):
    return pytest.raises(DataError, match=re.escape(message))


class TestSeparatedValues:
    @pytest.mark.parametrize("separator", [",", ";", "\t"])
    def test_the_separator_is_found_out(self, separator):
        raw = read(f"name{separator}age\nA{separator}3\n")
        assert raw.separator == separator
        assert raw.columns["age"].tolist() == ["3"]

    def test_a_name_may_have_a_comma_where_a_semicolon_separates(self):
        raw = read('who;age;size\n"Meier, Anna";3;1,5\nOtto;4;2,5\n')
        assert raw.columns["who"].tolist() == ["Meier, Anna", "Otto"]
        assert numbers(raw, "size", "features").tolist() == [1.5, 2.5]

    def test_a_spreadsheet_may_announce_its_separator(self):
        assert read("sep=;\na;b\n1;2,5\n").lines.tolist() == [3]

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_lines_may_end_in_any_way(self, end):
        raw = read(end.join(["a,b", "1,2", "", "3,4", ",", ""]))
        assert raw.lines.tolist() == [2, 4]  # of rows that hold something

    def test_a_mark_at_the_beginning_is_no_part_of_a_name(self):
        assert list(read(b"\xef\xbb\xbfa,b\n1,2\n").columns) == ["a", "b"]

    def test_a_cell_may_have_line_breaks_and_lines_are_still_counted(self):
        raw = read('a,b\n"first\nsecond\nthird",2\nx,3\n')
        assert raw.lines.tolist() == [2, 5]
        with refused("visits.csv, line 5, column 'a': is not a number"):
            numbers(raw.only(np.array([False, True])), "a", "reward")

    def test_two_spellings_of_an_umlaut_are_one(self):
        raw = read("Stadt,Größe\nKo\u0308ln,1\nK\u00f6ln,2\n")
        assert set(raw.columns["Stadt"]) == {"Köln"}
        assert raw.cells("Gro\u0308ße", "features").tolist() == ["1", "2"]

    def test_columns_without_a_name_are_not_offered(self):
        assert list(read(",a,\n0,1,\n1,2,\n").columns) == ["a"]

    def test_latin_1_is_read_where_it_is_said(self):
        assert read("Größe,b\n1,2\n", "latin-1").columns["Größe"].tolist() == ["1"]

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("", "visits.csv: is empty"),
            ("\n\n", "visits.csv: is empty"),
            ("a,b\n", "has a line with names (line 1), but no rows"),
            ("a,b\n,\n", "but no rows"),
            ("a,b,a\n1,2,3\n", "line 1: columns 1 and 3 are both called 'a'"),
            ("1,2.5\n3,4\n", "line 1: has numbers only; the first line must name the columns"),
            ("a,b\n1,2\n3,4,5\n", "line 3: has 3 cells, but line 1 names 2 columns (cells are"),
            ("a,b\n1,2\n\n3\n", "line 4: has 1 cells"),
            ('a,b\n1,"2\n3,4\n', "line 2: unexpected end of data; check its quotation marks"),
            ('a,b\n1,"2"x\n', "line 2: ',' expected after '\"'"),
            ('"a\nb",c\n1,2\n', "line 1: the name of column 1 has a line break"),
            ("a,b\n1,\0\n", "line 2: has a zero byte"),
            ("a,Größe\nü,1\n".encode("latin-1"), 'line 1: is not utf-8 text; save the file as UTF'),
            ("a,b\n1,2\nü,1\n".encode("cp1252"), 'line 3: is not utf-8 text'),
            ("a,b\n1,2\n".encode("utf-16"), 'is UTF-16 text; set encoding = "utf-16"'),
            (b"PK\x03\x04rest", "cannot be unpacked: File is not a zip file; unpack it first"),
        ],
    )  # fmt: skip
    def test_what_is_no_table_is_refused_with_its_line(self, content, message):
        with refused(message):
            read(content)

    @pytest.mark.parametrize(
        ("cells", "message"),
        [
            (["1.5", "x"], "line 3, column 'n': is not a number; correct it"),
            (
                ["1.5", "2024-03-01"],
                "line 3, column 'n': is a date or a time; make a number of it first",
            ),
            (["1.5", "inf"], "line 3, column 'n': is not a number"),
            (["1.5", "1e999"], "line 3, column 'n': is not a number"),
            (
                ["1.234,5", "2"],
                "line 2, column 'n': has a dot between thousands, as it seems; set th",
            ),
            (["1,5", "2", "1.5"], "line 4, column 'n': is written with another decimal sign than "),
        ],
    )
    def test_what_is_no_number_is_refused_with_its_line(self, cells, message):
        raw = read("n;m\n" + "".join(f"{cell};0\n" for cell in cells))
        with refused(message):
            numbers(raw, "n", "features")

    def test_a_decimal_comma_needs_another_separator(self):
        quoted = 'n,m\n"1,5",2\n'
        with refused(
            "line 2, column 'n': has a comma; set decimal = \",\" if it is a decimal sign"
        ):
            numbers(read(quoted), "n", "features")
        assert numbers(read(quoted, decimal=","), "n", "features").tolist() == [1.5]

    def test_an_unknown_column_is_refused_with_those_that_are_there(self):
        with refused("environment.site: visits.csv has no column 'hopital'; did you mean 'hospi"):
            read("hospital,age\nA,1\n").cells("hopital", "site")

    @pytest.mark.parametrize(
        ("cells", "kind", "row"),
        [
            (["1", "2.5", ""], "number", 0),
            (["a", "2024-01-01"], "text", 0),
            (["1.2.2024", "2024-01-01"], "date", 0),
            (["NA", "", "null"], "empty", 0),
            (["1", "2", "x"], "mixed", 2),
            (["x", "y", "1", "z"], "mixed", 2),
        ],
    )
    def test_the_kind_of_a_column_is_found(self, cells, kind, row):
        raw = read("n;m\n" + "".join(f"{cell};0\n" for cell in cells))
        assert column_kind(raw, "n", "features") == (kind, row)


CELL = st.text(
    st.characters(exclude_categories=("Cs", "Cc")) | st.sampled_from("\n,;\t\"'"), max_size=8
)
NUMBER = st.floats(-1e9, 1e9, allow_subnormal=False)


@given(st.lists(st.tuples(CELL, NUMBER), min_size=1, max_size=8), st.sampled_from(",;\t"))
def test_what_is_written_is_read(rows, separator):
    """Whatever cells hold: separators, quotation marks, line breaks."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=separator)
    writer.writerows([["text", "number"], *rows])
    raw = read(stream.getvalue())
    assert raw.columns["text"].tolist() == [tidy(text) for text, _ in rows]
    assert numbers(raw, "number", "features").tolist() == [number for _, number in rows]
    assert raw.separator == separator


@given(st.lists(st.tuples(NUMBER, st.integers(0, 9), st.booleans()), min_size=1, max_size=8))
def test_a_frame_and_its_file_are_the_same_table(rows):
    frame = pd.DataFrame(rows, columns=["size", "class", "flag"])
    there, filed = table_in_memory(frame), read(frame.to_csv())
    assert (
        numbers(there, "size", "features").tolist() == numbers(filed, "size", "features").tolist()
    )
    for name in ("class", "flag"):
        assert texts(there, name, "target").tolist() == texts(filed, name, "target").tolist()


class TestMemory:
    FRAME = pd.DataFrame(
        {
            "age": [30, 40, 50],
            "size": [1.5, None, 2.0],
            "site": pd.Categorical(["A", "B", None]),
            "flag": [True, False, True],
            "when": pd.to_datetime(["2024-01-01"] * 3),
            "count": pd.array([1, None, 3], dtype="Int64"),
            "id": [2**60 + 1, 2**60 + 2, 3],
        }
    )

    def test_columns_of_a_frame_keep_their_values(self):
        raw = table_in_memory(self.FRAME)
        np.testing.assert_array_equal(raw.columns["size"], [1.5, np.nan, 2.0])
        np.testing.assert_array_equal(raw.columns["count"], [1.0, np.nan, 3.0])
        assert raw.columns["site"].tolist() == ["A", "B", ""]
        assert raw.columns["flag"].tolist() == ["True", "False", "True"]
        assert len(set(raw.columns["id"])) == 3  # not rounded to the same number
        assert column_kind(raw, "when", "features").kind == "date"

    def test_every_form_of_the_same_data_has_the_same_digest(self):
        values = {"a": [1.0, 2.0], "b": [3.0, 4.5]}
        structured = np.array([(1.0, 3.0), (2.0, 4.5)], dtype=[("a", "f8"), ("b", "f8")])
        plain = np.array([[1.0, 3.0], [2.0, 4.5]])
        tables = [
            table_in_memory(values),
            table_in_memory(pd.DataFrame(values)),
            table_in_memory(structured),
            table_in_memory(plain, ["a", "b"]),
        ]
        assert len({raw.digest for raw in tables}) == 1
        assert table_in_memory({"a": [1.0, 2.0], "c": [3.0, 4.5]}).digest != tables[0].digest
        assert table_in_memory({"a": ["1", "2"], "b": [3.0, 4.5]}).digest != tables[0].digest

    def test_what_is_masked_or_missing_is_missing(self):
        raw = table_in_memory(
            {
                "masked": np.ma.array([1.0, 99.0, 3.0], mask=[False, True, False]),
                "series": pd.Series([1, None, 3], dtype="Int64"),
                "object": np.array(["x", pd.NA, pd.NaT], dtype=object),
                "when": np.array(["2024-01-01", "NaT", "2024-01-02"], dtype="datetime64[ns]"),
            }
        )
        assert [texts(raw, name, "features").tolist() for name in ("masked", "series")] == [
            ["1", "", "3"]
        ] * 2
        assert raw.columns["object"].tolist() == ["x", "", ""]
        assert column_kind(raw, "when", "features").kind == "date"

    def test_a_frame_of_polars_gives_its_columns(self):
        class Frame:
            def get_columns(self):
                return []

            def to_dict(self, as_series):
                assert not as_series
                return {"a": [1, None], "b": ["x", None]}

        raw = table_in_memory(Frame())
        assert texts(raw, "a", "features").tolist() == ["1", ""]
        assert raw.columns["b"].tolist() == ["x", ""]

    @pytest.mark.parametrize(
        ("data", "columns", "message"),
        [
            ([1, 2], None, "table: given list, allowed: a path, a pandas or polars DataFrame"),
            (np.zeros((2, 2)), None, "an array of 2 columns needs columns = [as many names]"),
            (np.zeros((2, 2)), ["a"], "columns = [as many names], given 1"),
            ({"a": [1], "b": [1, 2]}, None, "columns of different lengths: {'a': 1, 'b': 2}"),
            ({"a": []}, None, "the table has no rows"),
            ({}, None, "the table has no rows"),
            ({"a": np.zeros((2, 2))}, None, "column 'a' has shape (2, 2)"),
            ({"a": [1]}, ["b"], "columns = [names] is for a 2-D numpy array"),
            (pd.DataFrame([[1, 2]], columns=["a", "a"]), None, "has two columns 'a'; rename one"),
        ],
    )
    def test_what_is_no_table_is_refused(self, data, columns, message):
        with refused(message):
            table_in_memory(data, columns)

    def test_rows_are_named_as_they_are_counted(self):
        raw = table_in_memory({"a": [1.0, np.inf]})
        with refused("the table, row 1, column 'a': is infinite"):
            numbers(raw, "a", "features")


class TestFiles:
    def table(self, path, **settings):
        return fb.environments.table(
            path, agents=2, features=["a"], target="b", **{"scaling": "data"} | settings
        )

    def test_a_missing_file_is_refused_with_its_key(self, tmp_path):
        world = self.table(tmp_path / "none.csv")
        experiment = fb.Experiment(rounds=3, environment=world, systems=[fb.system("linucb-alone")])
        with pytest.raises(DataError, match=r"^environment\.path: .*none.csv: no such file; a pat"):
            experiment.check()

    def test_a_folder_is_refused(self, tmp_path):
        with refused("cannot be read: IsADirectoryError"):
            self.table(tmp_path).prepare()

    def test_an_encoding_that_there_is_not_is_refused(self, tmp_path):
        for encoding in ("latin-99", "hex", "a\0b"):
            with pytest.raises(ConfigError, match=r"Table.encoding: given .*such as utf-8, latin"):
                self.table(tmp_path / "none.csv", encoding=encoding)

    def test_parquet(self, tmp_path):
        frame = pd.DataFrame({"a": [0.5, None, 2.0], "b": ["x", "y", "x"]})
        path = tmp_path / "visits.parquet"
        try:
            frame.to_parquet(path)
        except ImportError:  # the extra is not installed
            path.write_bytes(b"PAR1")
            with pytest.raises(MissingExtraError, match=r"install the extra 'data'"):
                self.table(path).prepare()
        else:
            world = self.table(path, missing="indicator")
            assert world.arm_names == ("x", "y")
            same = fb.environments.table(
                frame, agents=2, features=["a"], target="b", scaling="data", missing="indicator"
            )
            assert world.facts == same.facts
