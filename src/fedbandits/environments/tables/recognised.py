"""Files that are no table of separated values: what they are, and what to do with them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fedbandits.environments.tables.dates import is_date
from fedbandits.environments.tables.formats import NumberFormat, with_thousands
from fedbandits.environments.tables.reading import KNOWN_MARKS
from fedbandits.errors import DataError

#: What `fedbandits` reads, for errors.
ACCEPTED = (
    "a table may be CSV (cells separated by commas, semicolons, tabs or |; the first line names "
    "the columns), Parquet, or a data frame"
)
_FRAME = "read it as a data frame, and give that to fb.environments.table"
_BINARY = {
    b"\xd0\xcf\x11\xe0": "a spreadsheet; save it as CSV (UTF-8)",
    b"%PDF": "a PDF; save the table as CSV",
    b"SQLite format 3": f"an SQLite database; {_FRAME}",
    b"\x89HDF": f"an HDF5 file; {_FRAME}",
    b"ARROW1": f"an Arrow file; {_FRAME}",
    b"\x93NUMPY": "a numpy array; give it to fb.environments.table with columns = [names]",
    b"\x80\x04": f"a pickle; {_FRAME}",
    b"\x80\x05": f"a pickle; {_FRAME}",
    b"$FL2": f"an SPSS file; {_FRAME} (pandas.read_spss)",
    b"<stata_dta>": f"a Stata file; {_FRAME} (pandas.read_stata)",
    b"\x89PNG": "a picture",
    b"{\\rtf": "a text document; save the table as CSV",
}
_BEGINNINGS = (
    (r"\s*@relation\s", f"an ARFF file; {_FRAME} (scipy.io.arff.loadarff)"),
    (r"\s*%[^\n]*\n(?:\s*%[^\n]*\n|\s*\n)*\s*@relation\s",
     f"an ARFF file; {_FRAME} (scipy.io.arff.loadarff)"),
    (r"\s*\{\s*\"[^\n]*\}\s*(\n|\Z)", f"JSON, a line a row; {_FRAME} (pandas.read_json, lines = "
     "True); for Yelp's reviews there is kind = \"ratings\""),
    (r"\s*[\[{]\s*[\[{\"]", f"JSON; {_FRAME} (pandas.read_json)"),
    (r"\s*<(!doctype|html|\?xml|table|head|body)", "a web page or XML; save the table as CSV"),
    (r"\S*:\S+:\S+ \|[^|\n]* ", f"in Vowpal Wabbit's format; {_FRAME}, a column each for the "
     "action, its cost, its probability and the features"),
    (r"[-+]?\d+(\.\d+)?( '[^\s|]+)? \|[A-Za-z]? ?\S+", f"in Vowpal Wabbit's format; {_FRAME}, a "
     "column each for the label and the features"),
    (r"[-+]?\d+(\.\d+)?( \d+:[-+.\deE]+)+\s*(\n|\Z)",
     f"in the format of LIBSVM; {_FRAME} (sklearn.datasets.load_svmlight_file)"),
    (r"version https://git-lfs", "a pointer of Git LFS; fetch the file: git lfs pull"),
)  # fmt: skip


def refuse_binary(path: str, data: bytes) -> None:
    """Refuse a file whose first bytes say that it is no text."""
    for beginning, what in _BINARY.items():
        if data.startswith(beginning):
            raise DataError(f"{path}: is {what}")


def refuse_other_formats(path: str, text: str) -> None:
    """Refuse a text that is a table in another format."""
    for beginning, what in _BEGINNINGS:
        if re.match(beginning, text[:4096], re.IGNORECASE):
            raise DataError(f"{path}: is {what}; {ACCEPTED}")


def refuse_data_as_names(
    path: str, line: int, names: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """Refuse a first record that is a row of data; it is not printed."""
    named = [index for index, name in enumerate(names) if name]
    format_ = NumberFormat(commas=True)
    whole = numeric = certain = 0
    for index in named:
        name, below = names[index], {row[index] for row in rows[1:] if row != names}
        if with_thousands(name) is not None:
            certain += 1
        elif format_.read(name) is not None:
            numeric += 1
            whole += name.isdigit()
        elif name in below or is_date(name) or name.lower() in KNOWN_MARKS.texts:
            certain += 1
    if named and numeric == len(named):
        raise DataError(
            f"{path}, line {line}: has numbers only; the first line must name the columns: put a "
            "line with names above it"
        )
    if certain + numeric - whole and 2 * (certain + numeric) >= len(named):
        raise DataError(
            f"{path}, line {line}: is a row of data, as it seems: {certain + numeric} of its "
            f"{len(named)} cells are numbers, dates, or texts that come again below. The first "
            "line must name the columns: put a line with names above it"
        )
