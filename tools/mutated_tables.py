"""Write a table in ten thousand ways, read each, and count what is read differently in silence.

    python tools/mutated_tables.py --files 10000

A table of known values is written as programs and people of many countries write it: with other
separators, decimal signs, signs between thousands, marks of missing values, encodings, ends of
lines, titles, notes, packed or not. Some files then lose a character, or get one more. Every file
must be read right, or be refused with its line and with a remedy. It is read without a word on its
format, and with the format stated; then it must be what pandas reads.
"""

from __future__ import annotations

import argparse
import bz2
import csv
import gzip
import io
import random
import sys
import warnings
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fedbandits.environments.tables.cells import missing, numbers, texts
from fedbandits.environments.tables.delimited import read_delimited
from fedbandits.environments.tables.features import mark_among
from fedbandits.environments.tables.formats import AS_FOUND, Reading
from fedbandits.errors import DataError

NAMES = ("Ort", "Größe", "Anzahl", "Station")
#: Columns of numbers, and columns of texts.
NUMBERS, TEXTS = NAMES[1:3], (NAMES[0], NAMES[3])
_MARKS = ("", "NA", "?", "\\N", "#N/A", ".", "-", "None", "k.A.", "-999", "n/a", "NULL")
_REMEDIES = (
    "set ", "take ", "correct", "put ", "save ", "write ", "rename", "unpack", "fill", "check",
    "leave", "make ", "give", "its columns: ",
)  # fmt: skip
_STRAY = ",;\t|\"'. \n-0x"


class Written(NamedTuple):
    """A file, and what it says."""

    data: bytes
    reading: Reading  # the format, as a user would state it
    truth: dict[str, list[Any]]  # values by column; None where one is missing
    plain: bool  # whether pandas reads it without more ado
    #: How many rows may differ, because a character was lost or added there.
    touched: int = 0


def written(draw: random.Random) -> Written:
    """Write a table in some way."""
    rows = draw.randrange(3, 12)
    places = draw.choice((0, 1, 2, 3))
    truth: dict[str, list[Any]] = {
        NAMES[0]: [draw.choice(("Köln", "Bonn, Süd", "Trier", 'a "b"')) for _ in range(rows)],
        NAMES[1]: [round(draw.uniform(-9e3, 9e4), places) for _ in range(rows)],
        NAMES[2]: [draw.choice((7, 250, 950, 1234, 12345, 1234567)) for _ in range(rows)],
        NAMES[3]: [draw.choice(("Ost", "West", "+", "1")) for _ in range(rows)],
    }
    mark = draw.choice(_MARKS)
    if mark == "-999":  # among other negative numbers nobody can tell it from a value
        truth[NAMES[1]] = [abs(value) for value in truth[NAMES[1]]]
    for name in NAMES[1:]:
        gaps = draw.random() < 0.3 and not (name in TEXTS and mark in ("-", "-999"))
        first, *others = truth[name]
        truth[name] = [first, *(None if gaps and draw.random() < 0.3 else v for v in others)]
    decimal, separator = draw.choice(".,"), draw.choice(",;\t|")
    signs = [
        sign for sign in (*[""] * 6, ",", ".", "'", " ", "\u00a0", "\u202f") if sign != decimal
    ]
    thousands = draw.choice(signs)
    spelled = [
        [mark if v is None else _spelled(v, decimal, thousands, places) for v in column]
        for column in truth.values()
    ]
    stream = io.StringIO(newline="")
    quoting = draw.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    end = draw.choice(("\n", "\r\n", "\r"))
    writer = csv.writer(stream, delimiter=separator, quoting=quoting, lineterminator=end)
    around = draw.choice(("", "", "", "", "title", "note", "announced", "no names", "blank lines"))
    if around == "title":
        writer.writerow(["Bericht"])
    if around == "announced":
        stream.write(f"sep={separator}{end}")
    if around != "no names":
        writer.writerow(NAMES)
    for row in zip(*spelled, strict=True):
        writer.writerow(row)
        stream.write(end if around == "blank lines" else "")
    if around == "note":
        writer.writerow(["Stand heute"])
    text, touched = stream.getvalue(), 0
    if draw.random() < 0.3:
        text, touched = _disturbed(draw, text), 1
    encoding = draw.choice(("utf-8", "utf-8", "utf-8", "utf-8-sig", "cp1252", "utf-16"))
    pack = draw.choice((bytes, bytes, bytes, gzip.compress, bz2.compress))
    stated = {"\u00a0": " ", "\u202f": " "}.get(thousands, thousands)
    reading = Reading(encoding, separator, decimal, stated, (mark,))
    plain = around == "" and not touched and len(thousands) == len(stated)
    return Written(pack(text.encode(encoding, "replace")), reading, truth, plain, touched)


def _spelled(value: Any, decimal: str, thousands: str, places: int) -> str:
    if isinstance(value, str):
        return value
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.{places}f}"
    return text.translate({ord(","): thousands, ord("."): decimal})


def _disturbed(draw: random.Random, text: str) -> str:
    place = draw.randrange(len(text))
    if draw.random() < 0.5:
        return text[:place] + text[place + 1 :]
    return text[:place] + draw.choice(_STRAY) + text[place:]


def judged(file: Written, reading: Reading) -> str:
    """Read a file; say ``right``, why it is ``refused``, or what is wrong."""
    try:
        raw = read_delimited("t.csv", file.data, reading)
        wrong: set[int] = set()
        for name in NAMES:
            if name not in raw.columns:  # its name was disturbed
                raw.cells(name, "features")
            wanted = file.truth[name]
            gaps = missing(raw, name, "features")
            if name in NUMBERS:
                values = numbers(raw, name, "features")
                if mark_among(values[~np.isnan(values)]) is not None:
                    return "told of as a mark"
                found = [None if np.isnan(v) else v for v in values]
            else:
                held = texts(raw, name, "features")
                found = [None if gap else v for v, gap in zip(held, gaps, strict=True)]
            if abs(len(found) - len(wanted)) > file.touched:
                return f"WRONG: {len(found)} rows, not {len(wanted)}"
            if len(found) == len(wanted):
                wrong |= {i for i, pair in enumerate(zip(found, wanted, strict=True))
                          if pair[0] != pair[1]}  # fmt: skip
    except DataError as error:
        said = str(error)
        if not any(remedy in said for remedy in _REMEDIES):
            return f"WRONG: no remedy: {said}"
        return "refused"
    return "right" if len(wrong) <= file.touched else f"WRONG: {len(wrong)} rows differ"


def as_pandas(file: Written) -> str:
    """Compare the numbers of a file, as they are read with its format stated, with pandas."""
    how = file.reading
    raw = read_delimited("t.csv", file.data, how)
    packed = "gzip" if file.data[:2] == b"\x1f\x8b" else "bz2" if file.data[:3] == b"BZh" else None
    frame = pd.read_csv(
        io.BytesIO(file.data), sep=how.separator, decimal=how.decimal, encoding=how.encoding,
        thousands=how.thousands or None, na_values=[*(how.marks or ())], keep_default_na=False,
        compression=packed,
    )  # fmt: skip
    for name in NUMBERS:
        try:
            theirs = frame[name].astype(float).to_numpy()
        except ValueError:
            return "pandas reads texts"
        if not np.array_equal(numbers(raw, name, "features"), theirs, equal_nan=True):
            return f"WRONG: {name} is another column for pandas"
    return "as pandas"


def check(files: int, seed: int) -> tuple[Counter[str], list[tuple[int, str]]]:
    """Judge so many files; return how often what was found, and the numbers of wrong files."""
    counts, wrong = Counter[str](), list[tuple[int, str]]()
    for number in range(files):
        file = written(random.Random(f"{seed} {number}"))  # noqa: S311
        found = {"not stated": judged(file, AS_FOUND), "stated": judged(file, file.reading)}
        if file.plain and found["stated"] == "right":
            found["stated"] = as_pandas(file)
        for how, said in found.items():
            counts[f"{how}: {'WRONG' if said.startswith('WRONG') else said}"] += 1
            wrong += [(number, f"{how}: {said}")] if said.startswith("WRONG") else []
    return counts, wrong


def main() -> None:
    """Judge as many files as are asked for; end with 1 if one is read differently in silence."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore", pd.errors.ParserWarning)
    counts, wrong = check(given.files, given.seed)
    for said, count in sorted(counts.items()):
        print(f"{count:6}  {said}")
    for number, said in wrong[:20]:
        print(f"file {number}: {said}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
