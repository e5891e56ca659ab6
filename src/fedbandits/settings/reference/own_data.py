"""A commented configuration for a file of the user's own data, ready to be run."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from fedbandits._suggest import did_you_mean
from fedbandits.environments.tables.cells import (
    RawTable,
    found_in,
    missing,
    numbers,
    perhaps_thousands,
    texts,
    tidy,
)
from fedbandits.environments.tables.delimited import SEPARATORS
from fedbandits.environments.tables.sources import read_table
from fedbandits.errors import ConfigError
from fedbandits.settings.reference.keys import in_toml
from fedbandits.settings.reference.templates import comment, in_shell
from fedbandits.settings.toml_files import NAME

#: Learning alone, sharing everything in clear, and sharing privately in two ways.
_SYSTEMS = ("linucb-alone", "linucb-pooled", "feducb", "feducb-hybrid")
_LABELS = {"linucb-alone": "alone", "linucb-pooled": "pooled in clear"}
#: Names by which columns are guessed, where no option names them.
_SITES = re.compile(
    r"(hospital|clinic|site|centre|center|krankenhaus|klinik|standort|station|store|shop|branch"
    r"|filiale|bank|school|organi[sz]ation|party)s?(_?(id|name|nr))?\Z",
    re.IGNORECASE,
)
_TARGETS = re.compile(
    r"(target|label|class|klasse|outcome|diagnos(is|e)|befund|result|decision)\Z", re.IGNORECASE
)
_PERSONS = re.compile(
    r"(person|patient|pat\.?|user|customer|client|member|kunde)(in|inn?en|en|n)?"
    r"([_ -]?(id|nr|no|number|nummer)\.?)?\Z|(pid|mrn)\Z",
    re.IGNORECASE,
)
#: More different texts than these are names, not categories or classes.
_MOST_TEXTS = 50
#: Up to so many different texts that begin with digits are taken as categories, such as doses.
_MOST_DOSES = 10
_IDENTIFIERS = re.compile(
    r"(\A|.*[_ .-]|.*[a-z](?=[A-Z]))"
    r"(?i:id|nr|no|number|key|schlüssel|uuid|index|row|zeile)\.?\Z|.*(?i:nummer)\Z"
)
#: Numbers with something beside the digits, such as 37 %, 5.000 €, 1.234,50 or < 3.
_ALMOST_NUMBERS = re.compile(r"[<>~≤≥±]?\s*[-+−]?\s*\d[\d.,'’\s]*\s*[^\W\d_]{0,4}[%‰€$£°]?\Z")
_REPLICATES, _FEWEST_ROUNDS, _MOST_ROUNDS = 8, 50, 1000


class Column(NamedTuple):
    """A column and its content."""

    name: str
    #: ``number``, ``text``, ``date``, ``mixed`` or ``empty``; also ``almost`` for texts that are
    #: nearly numbers, and ``dots`` for numbers like 1.234.
    kind: str
    different: int  #: Number of different values.
    gaps: int  #: Number of missing values.
    odd: str = ""  #: Place of a cell of the rarer kind in a mixed column, such as ``line 12``.

    @property
    def told(self) -> str:
        """Content of the column, in words."""
        words = {"number": "numbers", "text": "texts", "date": "dates", "empty": "empty"}
        words |= {"almost": "texts", "dots": "numbers"}
        kind = words.get(self.kind, "numbers and texts")
        gaps = f", {self.gaps} missing" if self.gaps and self.kind != "empty" else ""
        return kind if self.kind == "empty" else f"{kind}, {self.different} different{gaps}"

    def unfit(self, rows: int) -> str:
        """Say why it cannot be a feature; empty if it can."""
        if self.kind == "date":
            return "make a number of dates first, such as days since a date"
        if self.kind == "mixed":
            return f"has numbers and texts; look at {self.odd}"
        if self.kind == "almost":
            return "looks like numbers; take out signs, units, and dots or blanks between thousands"
        if self.kind == "dots":
            return "dots may stand between thousands, as other columns have decimal commas"
        if self.kind == "empty" or self.different < 2:
            return "never varies"
        if self.kind == "text" and self.different > _MOST_TEXTS:
            return "too many different texts for categories"
        if _IDENTIFIERS.match(self.name) and 2 * self.different > rows:
            return "looks like the number of a row"
        return ""


class Roles(NamedTuple):
    """Columns by their roles; empty where there is none."""

    site: str
    target: str
    person: str
    guessed: tuple[str, ...]


def own_data_template(
    data: str,
    path: str | pathlib.Path,
    site: str | None = None,
    target: str | None = None,
    person: str | None = None,
    presets: Sequence[str] = (),
    encoding: str = "utf-8",
) -> str:
    """Write a configuration for a CSV or Parquet file of ``data``, as TOML text.

    The file is read here, and nothing of it leaves this machine. ``path``, where the configuration
    will be, names the experiment too. ``site``, ``target`` and ``person`` are the columns that name
    the party, the right class and the person of each row; others are guessed by their names. The
    systems are by default learning alone, pooling in clear, ``feducb`` and ``feducb-hybrid``.

    Raises DataError if the file is no table, and ConfigError if a column is not there, or there is
    no target.
    """
    raw = read_table(data, encoding, "")
    columns = {name: _look(raw, name) for name in raw.columns}
    if len(columns) < 2:
        raise ConfigError(
            f"init --data: the first line of {data} names fewer than two columns. It must name all "
            "of them; take out a title above it"
        )
    roles = _roles(columns, data, site=site, target=target, person=person)
    rows, named = len(raw.lines), [roles.site, roles.target, roles.person]
    why = {n: c.unfit(rows) for n, c in columns.items() if n not in named}
    features = [name for name, reason in why.items() if not reason]
    if not features:
        out = "; ".join(f"{name}: {reason}" for name, reason in why.items())
        raise ConfigError(
            f"init --data: {data} has no column that can be a feature{f'. {out}' if out else ''}"
        )
    how = f", cells separated by {SEPARATORS[raw.separator]}" if raw.separator else ""
    lines = comment(
        [f"Run it:                 fedbandits run {in_shell(path)}",
         f"See what it promises:   fedbandits privacy {in_shell(path)}",
         "", "These comments hold values of the data. Take them out before you pass this file on.",
         "", f"{data}: {rows:,} rows{how}. Its columns:"]
    )  # fmt: skip
    width = max(map(len, columns))
    for name, column in columns.items():
        use = _use(name, roles) or (f"left out: {why[name]}" if why[name] else "a feature")
        lines += comment([f"  {name:<{width}}  {column.told}: {use}"])
    rounds = _rounds(raw, roles.site)
    lines += ["", *_head(path, rounds), "", "[environment]", 'kind = "table"']
    lines += [f"path = {in_toml(data)}"]
    lines += [f"encoding = {in_toml(encoding)}"] if encoding != "utf-8" else []
    lines += [*_parties(roles), f"features = {in_toml(features)}"]
    lines += [f"target = {in_toml(roles.target)}", *_gaps(columns, features, named)]
    lines += _scaling(raw, [columns[name] for name in features], columns[roles.target])
    for preset in presets or _SYSTEMS:
        lines += ["", "[[systems]]", f"preset = {in_toml(preset)}"]
        lines += [f"label = {in_toml(_LABELS[preset])}"] if preset in _LABELS else []
    return "\n".join(lines) + "\n"


def _look(raw: RawTable, name: str) -> Column:
    """Examine a column of a table."""
    found, gaps = found_in(raw, name, "features"), missing(raw.columns[name])
    values, kind = set(texts(raw, name, "features")[~gaps]), str(found.kind)
    if kind == "text" and len(values) > _MOST_DOSES and all(map(_ALMOST_NUMBERS.match, values)):
        kind = "almost"
    if kind == "number" and perhaps_thousands(raw, name) is not None:
        kind = "dots"
    return Column(name, kind, len(values), int(gaps.sum()), f"{raw.unit} {raw.lines[found.row]}")


def _roles(columns: dict[str, Column], data: str, **given: str | None) -> Roles:
    patterns = {"site": _SITES, "target": _TARGETS, "person": _PERSONS}
    chosen: dict[str, str] = {}
    for role, name in given.items():
        if name is not None and tidy(name) not in columns:
            raise ConfigError(
                f"init --{role}: {data} has no column {name!r}; "
                f"{did_you_mean(name, columns)}its columns: {', '.join(columns)}"
            )
        if name is not None:
            chosen[role] = tidy(name)
    guessed = []
    for role, pattern in patterns.items():
        fitting = [n for n in columns if pattern.match(n) and n not in chosen.values()]
        if role not in chosen and fitting and _can_be(role, columns[fitting[0]]):
            chosen[role] = fitting[0]
            guessed.append(role)
    if "target" not in chosen:
        able = [n for n, c in columns.items() if _can_be("target", c) and n not in chosen.values()]
        raise ConfigError(
            f"init --data: which column of {data} holds the class to name? Give it with --target; "
            f"with 2 to {_MOST_TEXTS} different values: {', '.join(able) or 'none'}"
        )
    target = columns[chosen["target"]]
    if not _can_be("target", target):
        raise ConfigError(
            f"init --target: {target.name!r} holds {target.told}; allowed: a column with 2 to "
            f"{_MOST_TEXTS} different values"
        )
    return Roles(chosen.get("site", ""), target.name, chosen.get("person", ""), tuple(guessed))


def _can_be(role: str, column: Column) -> bool:
    return role == "person" or 2 <= column.different <= (_MOST_TEXTS if role == "target" else 1000)


def _use(name: str, roles: Roles) -> str:
    meanings = {
        "site": "the party of each row",
        "target": "the class to name",
        "person": "the person of each row",
    }
    for role, meaning in meanings.items():
        if getattr(roles, role) == name:
            return f"{meaning}{' (guessed by its name)' if role in roles.guessed else ''}"
    return ""


def _rounds(raw: RawTable, site: str) -> int:
    """Choose about one visit for each row of the smallest site, but not too few or too many."""
    rows = len(raw.lines) // 4
    if site:
        _, counts = np.unique(texts(raw, site, "site").astype(str), return_counts=True)
        rows = int(counts.min())
    return min(max(rows, _FEWEST_ROUNDS), _MOST_ROUNDS)


def _head(path: str | pathlib.Path, rounds: int) -> list[str]:
    name = pathlib.Path(path).stem
    named = [f"name = {in_toml(name)}"] if re.match(NAME, name) else []
    about = (
        f"Visits of each party: the rows of the smallest one, but at least {_FEWEST_ROUNDS} and at "
        f"most {_MOST_ROUNDS:,}. Rows are drawn at random, so other numbers work too."
    )
    return [
        *named,
        *comment([about]),
        f"rounds = {rounds}",
        f"replicates = {_REPLICATES}",
        "seed = 0",
    ]


def _parties(roles: Roles) -> list[str]:
    lines = [f"site = {in_toml(roles.site)}"] if roles.site else []
    if not roles.site:
        none = "No column names a party (--site COLUMN would): rows are dealt to four at random."
        lines += [*comment([none]), "agents = 4"]
    if roles.person:
        return [*lines, f"person = {in_toml(roles.person)}"]
    nobody = "No column names the person of a row (--person COLUMN would): each row is another one."
    return [*lines, *comment([nobody])]


def _gaps(columns: dict[str, Column], features: Iterable[str], named: Iterable[str]) -> list[str]:
    if any(columns[name].gaps for name in named if name):
        about = "Rows without a party, a class, a person or a feature are left out."
        return [*comment([about]), 'missing = "drop"']
    if any(columns[name].gaps for name in features):
        about = 'Missing features are marked; "drop" leaves out their rows, "refuse" stops at them.'
        return [*comment([about]), 'missing = "indicator"']
    return []


def _scaling(raw: RawTable, features: Sequence[Column], target: Column) -> list[str]:
    """Write the consent to take all values from the data, and the lines that would replace it."""
    about = (
        "What is computed from the data counts as public, and no privacy claim covers it. To be "
        "able to promise more, remove the line with scaling, and the # before the next lines, "
        "whose values are those of the data: replace them by what is publicly known, such as "
        'ages from 0 to 120. "*" stands for all other categories.'
    )
    ranges, categories = {}, {}
    for column in features:
        if column.kind == "number":
            values = numbers(raw, column.name, "features")
            ranges[column.name] = [float(np.nanmin(values)), float(np.nanmax(values))]
        else:
            categories[column.name] = [*_different(raw, column.name), "*"]
    return [
        *comment([about]),
        'scaling = "data"',
        *([f"#ranges = {in_toml(_quoted(ranges))}"] if ranges else []),
        *([f"#categories = {in_toml(_quoted(categories))}"] if categories else []),
        f"#classes = {in_toml(_different(raw, target.name))}",
    ]


def _different(raw: RawTable, name: str) -> list[str]:
    return sorted({*texts(raw, name, "features")[~missing(raw.columns[name])]})


def _quoted(table: dict[str, list[float]] | dict[str, list[str]]) -> dict[str, object]:
    """Write names as TOML writes keys: in quotation marks where they need them."""
    bare = re.compile(r"[A-Za-z0-9_-]+\Z")
    return {name if bare.match(name) else in_toml(name): held for name, held in table.items()}
