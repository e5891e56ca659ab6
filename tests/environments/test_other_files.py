"""Files that are no plain table: packed ones and pipes are read, others are named with a remedy."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import threading
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pytest

import fedbandits as fb
from fedbandits.environments import environments
from fedbandits.environments.rating_files import read_ratings
from fedbandits.environments.tables.cells import column_kind, missing, numbers, texts
from fedbandits.environments.tables.delimited import read_delimited
from fedbandits.environments.tables.files import unpacked
from fedbandits.environments.tables.formats import Reading
from fedbandits.environments.tables.sources import table_in_memory
from fedbandits.errors import ConfigError, DataError
from fedbandits.random import replicate_key
from fedbandits.settings.reference import keys

KEY = replicate_key(3, 0)
TEXT = "site,age,class\nA,20,y\nB,30,n\nA,40,y\nB,50,n\n"


def zipped(text: str, *names: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as opened:
        for name in names:
            opened.writestr(name, text)
    return stream.getvalue()


PACKED = {
    "gz": gzip.compress(TEXT.encode(), mtime=0),
    "bz2": bz2.compress(TEXT.encode()),
    "xz": lzma.compress(TEXT.encode()),
    "zip": zipped(TEXT, "visits.csv", "__MACOSX/visits.csv"),
}


def read(content: str | bytes, **how):
    data = content if isinstance(content, bytes) else content.encode()
    return read_delimited("visits.csv", data, Reading(**how))


def refused(message: str):
    return pytest.raises(DataError, match=re.escape(message))


class TestPacked:
    @pytest.mark.parametrize("kind", PACKED)
    def test_a_packed_file_is_read(self, kind):
        assert numbers(read(PACKED[kind]), "age", "features").tolist() == [20, 30, 40, 50]

    @pytest.mark.parametrize("name", ["u.data.gz", "ratings.csv.gz"])
    def test_so_are_packed_ratings(self, tmp_path, name):
        text = "1\t2\t3\n" if "u.data" in name else "userId,movieId,rating\n1,2,3\n"
        (tmp_path / name).write_bytes(gzip.compress(text.encode()))
        assert read_ratings(str(tmp_path / name)).values.tolist() == [3.0]

    @pytest.mark.parametrize("kind", PACKED)
    def test_what_unpacks_to_too_much_is_refused(self, kind):
        """A few thousand bytes may be made to fill the memory; no more than needed is unpacked."""
        assert unpacked("v.csv", PACKED[kind], len(TEXT)) == TEXT.encode()
        remedy = "unpack it first, and give the file that it holds"
        with refused(f"v.csv: unpacks to more than {(len(TEXT) - 1) / 2**30:g} GiB; if that is"):
            unpacked("v.csv", PACKED[kind], len(TEXT) - 1)
        with pytest.raises(DataError, match=remedy):
            unpacked("v.csv", PACKED[kind], 1)

    @pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zip"])
    def test_so_much_is_not_even_unpacked(self, kind):
        zeros = b"0" * 2**25
        data = {
            "gz": lambda: gzip.compress(zeros, mtime=0),
            "bz2": lambda: bz2.compress(zeros),
            "xz": lambda: lzma.compress(zeros, preset=0),
            "zip": lambda: zipped(zeros.decode(), "a.csv"),
        }[kind]()
        assert len(data) < 2**18
        tracemalloc.start()
        try:
            with refused("a.csv: unpacks to more than"):
                unpacked("a.csv", data, 2**16)
            assert tracemalloc.get_traced_memory()[1] < 2**24
        finally:
            tracemalloc.stop()

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (PACKED["gz"][:-9], "cannot be unpacked: "),
            (PACKED["xz"][:-9], "cannot be unpacked: "),
            (PACKED["gz"][:-5] + b"12345", "cannot be unpacked: CRC check failed"),
            (PACKED["bz2"][:-9], "cannot be unpacked: "),
            (zipped(TEXT, "a.csv", "b.csv"), "is a zip file of 2 files; unpack it, and give one"),
            (zipped("", "[Content_Types].xml"), "is a spreadsheet or another document; save it as"),
            (b"\x28\xb5\x2f\xfdrest", "is compressed; unpack it first (zstd -d)"),
        ],
        # Bytes hold the time, and two processes that share tests must call them alike.
        ids=["gz", "xz", "a wrong sum", "bz2", "two files", "a document", "zstd"],
    )
    def test_what_cannot_be_unpacked_is_refused(self, data, message):
        with refused(f"visits.csv: {message}"):
            read(data)


class TestPipes:
    def world(self, path, **settings):
        return fb.environments.table(
            path, site="site", features=["age"], ranges={"age": (0, 90)}, target="class",
            classes=["y", "n"], **settings,
        )  # fmt: skip

    @pytest.fixture
    def pipe(self, tmp_path):
        path = tmp_path / "pipe"
        os.mkfifo(path)
        writer = threading.Thread(target=path.write_bytes, args=(PACKED["gz"],))
        writer.start()
        yield path
        writer.join()

    @pytest.mark.filterwarnings("ignore:.*rows are short")
    def test_a_pipe_is_read_once_for_a_whole_run(self, pipe, tmp_path):
        world = self.world(pipe)
        systems = [fb.system("linucb-alone")]
        experiment = fb.Experiment(rounds=3, environment=world, systems=systems)
        result = fb.run(experiment, out=tmp_path / "out")
        assert result.regret.shape[-1] > 0
        assert world.party_names == ("A", "B")
        (tmp_path / "file").write_bytes(PACKED["gz"])
        there = self.world(tmp_path / "file").identified().digest
        assert experiment.environment.digest == there
        with pytest.raises(ConfigError, match=r"environment\.path: a pipe is not there on the mac"):
            world.refuse_elsewhere()

    def test_a_device_is_refused(self):
        with refused("/dev/zero: is a terminal or another device; give a file or a pipe"):
            self.world("/dev/zero").prepare()


OTHERS = {
    "@relation x\n@attribute a numeric\n@data\n1,2\n": "an ARFF file",
    "% a comment\n@RELATION x\n": "an ARFF file",
    '{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n': "JSON, a line a row",
    '[{"a": 1}]': "JSON; read it as a data frame",
    "<!DOCTYPE html>\n<html>": "a web page or XML",
    "1:0.5:0.25 |x age:3 |y b\n": "in Vowpal Wabbit's format",
    "-1 |f a b c\n1 |f d\n": "in Vowpal Wabbit's format",
    "1 3:0.5 7:1\n0 2:1\n": "in the format of LIBSVM",
    "version https://git-lfs/spec/v1\n": "a pointer of Git LFS",
    "%PDF-1.7\n": "a PDF",
}


@pytest.mark.parametrize("content", OTHERS)
def test_other_formats_are_named_with_a_remedy(content):
    with refused(f"visits.csv: is {OTHERS[content]}"):
        read(content)


class TestNames:
    @pytest.mark.parametrize(
        "content",
        [
            "5.1,3.5,secret\n4.9,3.0,secret\n6.2,2.2,open\n",
            "A;20;yes\nB;30;no\nA;40;yes\n",
            "?|20|yes\nB|30|no\nA|40|yes\n",
        ],
    )
    def test_a_first_record_of_data_is_refused_and_not_printed(self, content):
        with refused("line 1: is a row of data, as it seems") as caught:
            read(content)
        assert not re.search("secret|yes|20", str(caught.value).removeprefix("visits.csv, line 1"))

    @pytest.mark.parametrize(
        "content",
        ["region,2019,2020\nA,1,2\nB,3,4\n", "x,other\n1,other\n2,more\n", ",0,1\n0,5,6\n"],
    )
    def test_years_and_the_like_are_names(self, content):
        if content.startswith(","):
            content = content.replace("0,1", "a,1", 1)
        assert len(read(content).columns) >= 2

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("Report\na,b,c\n1,2,3\n", "if line 1 is a title, take it out, or set separator"),
            ("Report;;\na;b;c\n1;2;3\n", "line 1: names one column only, as a title does"),
            ("a,b\n1,2\n3,4\nExported today\n", "if it is a note below the table, take it out"),
            ("a,b,c\n1,2,3\n3,4,5\nnote,,\n", "line 4: is a note or a sum below the table"),
            ("a,b,c\nA,2,3\nB,4,5\nTotal,6,8\n", "line 4: is a note or a sum below the table"),
            ("a,b\nA,2\na,b\nB,4\n", "line 3: names the columns again; take it out"),
        ],
    )
    def test_what_stands_around_a_table_is_refused(self, content, message):
        with refused(message):
            read(content)


class TestSeparators:
    def test_a_bar_is_found_out(self):
        assert numbers(read("a|b\n1,5|x\n2,5|y\n"), "a", "features").tolist() == [1.5, 2.5]

    @pytest.mark.parametrize("separator", [" ", ";"])
    def test_one_may_be_stated(self, separator):
        raw = read(f"a,x{separator}b\n1{separator}2\n", separator=separator)
        assert list(raw.columns) == ["a,x", "b"]


DATES = (
    "2024-01-02", "2024-01-02T10:00:00+01:00", "2024-01-02 10:00:00", "2024/01/02", "02-01-2024",
    "01/02/2024", "1/2/24 3:15 PM", "02.01.2024", "02.01.2024 10:15", "02-Jan-2024", "02-Jan-24",
    "January 02, 2024", "2. Januar 2024", "2 févr. 2024", "Tue, 02 Jan 2024", "20240102", "2024-01",
    "08:17", "08:17:33", "8:17 am", "2024-W03", "2024Q1", "02.01.", "3 days", "26:10:00", "P3DT4H",
    "3 days 04:00:00", "2h 30m", "3 Tage",
)  # fmt: skip


class TestEncodings:
    @pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "iso-8859-15"])
    def test_utf_8_is_no_other_encoding(self, encoding):
        with refused(f"visits.csv: is UTF-8 text, not {encoding}; leave out encoding"):
            read("Größe,b\n1,2\n", encoding=encoding)
        raw = read("Größe,b\n1,2\n".encode(encoding), encoding=encoding)
        assert "Größe" in raw.columns


class TestDates:
    @pytest.mark.parametrize("text", DATES)
    def test_dates_times_and_durations_are_known(self, text):
        raw = read(f'when,b\n"{text}",x\n"{text}",y\n')
        assert column_kind(raw, "when", "features").kind == "date"

    @pytest.mark.parametrize("text", ["1:80", "10-19", "A4", "3b", "May", "Monday", "P1", "10 mg"])
    def test_titres_groups_and_words_are_not(self, text):
        raw = read(f"when,b\n{text},x\n{text},y\n")
        assert column_kind(raw, "when", "features").kind == "text"

    @pytest.mark.parametrize(
        "values",
        [
            pd.to_datetime(["2024-01-01"]), pd.to_timedelta([3, 4], "D"),
            pd.to_timedelta([3], "h").to_numpy(), [20240102, 20231231], [20240102.0, None],
            pd.period_range("2024-01", periods=3, freq="M"), pd.to_datetime(["2024-01-01"]).date,
            pd.to_datetime(["2024-01-01 10:15"]).time,
        ],
    )  # fmt: skip
    def test_so_they_are_in_frames(self, values):
        raw = table_in_memory(pd.DataFrame({"when": values}))
        assert column_kind(raw, "when", "features").kind == "date"

    def test_numbers_of_eight_digits_need_not_be_dates(self):
        raw = read("n,b\n20240102,x\n20241399,y\n")
        assert column_kind(raw, "n", "features").kind == "number"


MARKS = (
    "?",
    " ?",
    "\\N",
    "#N/A",
    "#DIV/0!",
    ".",
    "-",
    "None",
    "k.A.",
    "<NA>",
    "NaT",
    "NULL",
    "#NV",
)


class TestMarks:
    @pytest.mark.parametrize("mark", MARKS)
    def test_usual_ones_are_known_in_every_role(self, mark):
        raw = read(f"n,ward\n1,a\n{mark},{mark}\n2,b\n")
        assert column_kind(raw, "n", "features").kind == "number"
        for name in raw.columns:
            assert missing(raw, name, "site").tolist() == [False, True, False]

    def test_those_that_are_stated_are_the_only_ones(self):
        raw = read("n,land\n1,NA\n-999,DE\n,\n2,x\n", marks=("-999",))
        assert numbers(raw, "n", "features").tolist()[0] == 1.0
        assert missing(raw, "n", "features").tolist() == [False, True, False]
        assert missing(raw, "land", "site").tolist() == [False] * 3

    @pytest.mark.parametrize("cell", ["-999", "-999.0", -999, -999.0])
    def test_a_number_is_the_same_however_it_is_written(self, cell):
        raw = table_in_memory(pd.DataFrame({"n": [1, cell]})).read_as(Reading(marks=("-999",)))
        assert missing(raw, "n", "features").tolist() == [False, True]

    def test_a_minus_beside_a_plus_is_a_value(self):
        raw = read("rhesus,n\n+,1\n-,2\n")
        assert texts(raw, "rhesus", "features").tolist() == ["+", "-"]
        assert not missing(raw, "rhesus", "features").any()


class TestRatings:
    def write(self, tmp_path, text, encoding="utf-8"):
        (tmp_path / "r.csv").write_text(text, encoding=encoding)
        return str(tmp_path / "r.csv")

    def test_columns_may_have_any_names_and_signs(self, tmp_path):
        text = 'Kundin;Artikel;Note\nJörg;"Stuhl\nblau";1,5\nAnna;Tisch;2,5\n'
        path = self.write(tmp_path, text, "cp1252")
        found = read_ratings(path, Reading("cp1252"), ("Kundin", "Artikel", "Note"))
        assert found.values.tolist() == [1.5, 2.5]
        with refused("r.csv, line 1: is not utf-8 text") if "ö" in text[:20] else refused("line 2"):
            read_ratings(path)

    def test_numbers_are_asked_for_here_too(self, tmp_path):
        path = self.write(tmp_path, "user;item;weight\na;b;1,234\na;c;870\n")
        with refused("line 2, column 'weight': can be read in two ways"):
            read_ratings(path)
        assert read_ratings(path, Reading(thousands=",")).values.tolist() == [1234, 870]

    def test_a_missing_rating_is_refused_with_its_line(self, tmp_path):
        path = self.write(tmp_path, "user,item,rating\na,b,3\na,c,?\n")
        with refused("line 3, column 'rating': is missing"):
            read_ratings(path)

    def test_the_keys_are_those_of_a_table(self, tmp_path):
        rows = [f"{u};{i};{(u * i) % 5},5" for u in range(6) for i in range(5)]
        path = self.write(tmp_path, "\n".join(["who;what;stars", *rows]) + "\n")
        world = fb.environments.RatingData(
            path=path, agents=2, dim=2, arms=3, user="who", item="what", separator=";", decimal=","
        )
        world.prepare()
        assert world.facts.persons == 6
        with pytest.raises(ConfigError, match="thousands: given ',', which is the decimal sign"):
            fb.environments.RatingData(path=path, agents=2, decimal=",", thousands=",")


#: Every environment that reads a file of text, with the key that names the file.
FROM_RATINGS = {"ratings": "path", "bernoulli": "ratings", "clustered": "ratings"}
FROM_TEXTS = {**FROM_RATINGS, "procurement": "case", "table": "path"}
STATED = {"encoding": "cp1252", "separator": ";", "decimal": ",", "thousands": "."}
COLUMNS = {"user": "Käufer", "item": "Artikel", "rating": "Note"}
NEEDED = {
    "ratings": {"agents": 2, "dim": 2, "arms": 3},
    "bernoulli": {"arms": 4, "threshold": 1.0},
    "clustered": {"users": 6, "clusters": 2, "dim": 3, "servers": 2},
    "procurement": {},
}


def keys_of(kind):
    return {key.name: key for key in keys.keys_of(environments()[kind])}


class TestKeysOfFiles:
    """What is said of one file can be said of all, in the same words."""

    @pytest.mark.parametrize("kind", FROM_TEXTS)
    def test_the_keys_are_everywhere(self, kind):
        wanted = [*STATED, *(COLUMNS if kind in FROM_RATINGS else ())]
        tables, ratings = keys_of("table"), keys_of("ratings")
        for name in wanted:
            usual, key = tables.get(name, ratings[name]), keys_of(kind)[name]
            assert key.meaning
            assert (key.allowed, key.default) == (usual.allowed, usual.default)

    @pytest.mark.parametrize("kind", NEEDED)
    def test_a_file_written_in_another_way_is_the_same_world(self, kind, tmp_path):
        plain, other = tmp_path / "plain.csv", tmp_path / "other.csv"
        if kind == "procurement":
            head, rows = (
                "agent,producer,quality,cost,capacity",
                [[a, p, f"0.{q}5", f"{c}.5", "3"] for a in "äb" for p, q, c in ("x52", "y73")],
            )
            names, more = head.split(","), {}
        else:
            names = ["user", "item", "rating"]
            rows = [[f"ü{u}", f"i{i}", f"{(u * i) % 5}.5"] for u in range(6) for i in range(5)
                    if u % 2 or i != 4]  # fmt: skip
            more = COLUMNS
        plain.write_text("\n".join(map(",".join, [names, *rows])) + "\n", encoding="utf-8")
        named = [more.get(name, name) for name in names]
        lines = [";".join(named), *(";".join(row).replace(".", ",") for row in rows)]
        other.write_text("\n".join(lines) + "\n", encoding="cp1252")
        make, file = environments()[kind], FROM_TEXTS[kind]
        one = make(**{file: str(plain)}, **NEEDED[kind])
        two = make(**{file: str(other)}, **STATED, **more, **NEEDED[kind])
        for environment in (one, two):
            environment.prepare()
        np.testing.assert_equal(one.world(KEY), two.world(KEY))
        with refused(f"other.csv, line {1 if more else 2}: is not utf-8"):
            make(**{file: str(other)}, **NEEDED[kind]).prepare()

    @pytest.mark.parametrize("kind", ["bernoulli", "clustered", "procurement"])
    @pytest.mark.parametrize("key", [*STATED, *COLUMNS])
    def test_without_a_file_they_are_refused(self, kind, key):
        make = environments()[kind]
        if key not in keys_of(kind):
            return
        message = f"{key}: given without {FROM_TEXTS[kind]}"
        with pytest.raises(ConfigError, match=message):
            make(**{key: {**STATED, **COLUMNS}[key]})

    @pytest.mark.parametrize("kind", ["bernoulli", "clustered", "procurement"])
    def test_those_that_do_not_fit_together_are_refused(self, kind):
        with pytest.raises(ConfigError, match="thousands: given ',', which is the decimal sign"):
            environments()[kind](**{FROM_TEXTS[kind]: "a.csv"}, decimal=",", thousands=",")
