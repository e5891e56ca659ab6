"""Columns of the user's own data, and their possible roles."""

from __future__ import annotations

import pathlib
import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from fedbandits._suggest import did_you_mean
from fedbandits.environments.tables.cells import RawTable, column_kind, missing, numbers, texts
from fedbandits.environments.tables.features import mark_among
from fedbandits.environments.tables.formats import tidy, unit_since_1970
from fedbandits.errors import ConfigError, DataError

#: Largest number of categories or classes: a column with more texts has names.
MOST_TEXTS = 50
#: Largest number of texts with leading digits for categories, such as doses.
_MOST_DOSES = 10
_WORDS: dict[str, dict[str, str]] = tomllib.loads(
    pathlib.Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
_GUESSES = {
    role: re.compile(rf"(?:{names})\Z", re.IGNORECASE) for role, names in _WORDS["roles"].items()
}
#: Meanings of the roles.
MEANINGS = _WORDS["meanings"]
#: Roles of a log, all of which are needed.
LOG = ("action", "reward", "propensity")
_IDENTIFIERS = re.compile(_WORDS["unfit"]["identifiers"])
_PERSONAL = re.compile(_WORDS["unfit"]["personal"], re.IGNORECASE)
#: Numbers with further characters, such as 37 %, 5.000 €, 1.234,50 or < 3.
_ALMOST_NUMBERS = re.compile(r"[<>~≤≥±]?\s*[-+−]?\s*\d[\d.,'’\s]*\s*[^\W\d_]{0,4}[%‰€$£°]?\Z")
_KINDS = {"number": "numbers", "text": "texts", "date": "dates", "mixed": "numbers and texts"}


class Column(NamedTuple):
    """A column and its content."""

    name: str
    kind: str  #: ``number``, ``text``, ``date``, ``mixed`` or ``empty``.
    different: int  #: Number of different values.
    gaps: int  #: Number of missing values.
    marks: tuple[str, ...]  #: Marks of missing values, beside empty cells.
    unfit: str  #: Reason against use as a feature; empty for a possible feature.

    @property
    def content(self) -> str:
        """Content of the column, in words."""
        if self.kind == "empty":
            return self.kind
        written = f" ({', '.join(self.marks)})" if self.marks else ""
        gaps = f", {self.gaps} missing{written}" if self.gaps else ""
        return f"{_KINDS[self.kind]}, {self.different} different{gaps}"


def look(raw: RawTable, name: str) -> Column:
    """Examine a column of a table."""
    content, gaps = column_kind(raw, name, "features"), missing(raw, name, "features")
    cells = raw.columns[name]
    written = tuple(sorted({*cells[gaps]} - {""})) if cells.dtype == object else ()
    values = set(texts(raw, name, "features")[~gaps])
    where = f"{raw.unit} {raw.lines[content.row]}"
    unfit = _unfit(raw, name, content.kind, values, where)
    return Column(name, content.kind, len(values), int(gaps.sum()), written, unfit)


def _unfit(raw: RawTable, name: str, kind: str, values: set[str], where: str) -> str:
    if kind == "date":
        return "make a number of dates and times first, such as days since a date"
    if kind == "mixed":
        return (
            f"has numbers and texts, see {where}; if such texts stand for missing values, give "
            "them with --missing"
        )
    if name.startswith("Unnamed:"):
        return "the index of a data frame"
    if _PERSONAL.match(name):
        return "tells who a person is, by its name"
    if kind == "empty" or len(values) < 2:
        return "never varies"
    if kind == "number":
        reason = _unreadable(raw, name)
        if reason:
            return reason
    elif len(values) > _MOST_DOSES and all(map(_ALMOST_NUMBERS.match, values)):
        return "looks like numbers; take out signs, units, and dots or blanks between thousands"
    elif len(values) > MOST_TEXTS:
        return "too many different texts for categories"
    if _IDENTIFIERS.match(name) and 2 * len(values) > len(raw.lines):
        return "looks like the number of a row"
    return ""


def _unreadable(raw: RawTable, name: str) -> str:
    """Return the reason why a column of numbers is unfit or doubtful; empty for good numbers."""
    try:
        values = numbers(raw, name, "features")
    except DataError as error:
        before, _, why = str(error).partition(f", column {name!r}: ")
        return f"{before.rpartition(', ')[2]} {why}"
    if unit := unit_since_1970(values):
        return (
            f"looks like times in {unit} since 1970; make hours, weekdays or a time since an event "
            "of them, or add the column to features"
        )
    mark = mark_among(values[~np.isnan(values)])
    if mark is None:
        return ""
    return (
        f"{mark:.0f} may stand for a missing value; if so, give --missing {mark:.0f}, and if not, "
        "add the column to features"
    )


class Asked(NamedTuple):
    """A role for which the user must name a column."""

    role: str
    meaning: str
    allowed: str  #: Columns that may have the role, in words.
    columns: tuple[str, ...]  #: Names of the columns that may have the role.


class UnnamedColumnError(ConfigError):
    """A column must be named, because no name of a column reveals it.

    ``asks`` are the possible roles: the first, or another for another kind of table.
    """

    def __init__(self, message: str, asks: tuple[Asked, ...]) -> None:
        super().__init__(message)
        self.asks = asks


class Roles(NamedTuple):
    """Columns by their roles, without roles that no column has."""

    columns: Mapping[str, str]
    guessed: frozenset[str] = frozenset()

    def of(self, role: str) -> str:
        """Return the column with a role; empty if no column has it."""
        return self.columns.get(role, "")

    def use(self, name: str) -> str:
        """Describe the role of a column; empty if the column has none."""
        for role, held in self.columns.items():
            if held == name:
                return f"{MEANINGS[role]}{' (guessed by its name)' if role in self.guessed else ''}"
        return ""


def guessed_roles(columns: Mapping[str, Column], data: str, **given: str | None) -> Roles:
    """Return the columns' roles: as given, and otherwise guessed from their names.

    The table is a log if a column of a log is given. It is also a log if there are propensities and
    no target is given, unless only the target's name is in the table, and not all roles of a log.

    Raises ConfigError if a given column does not exist, or a needed role has no column.
    """
    chosen = {role: _named(columns, data, role, name) for role, name in given.items() if name}
    fitting = {
        role: [n for n in columns if pattern.match(n) and _can_be(role, columns[n])]
        for role, pattern in _GUESSES.items()
    }
    is_log = any(role in chosen for role in LOG)
    if fitting["propensity"] and "target" not in chosen:
        is_log = is_log or all(fitting[role] for role in LOG) or not fitting["target"]
    wanted = ["site", "person", *(LOG if is_log else ("target",))]
    guessed = set()
    for role in wanted:
        free = [name for name in fitting[role] if name not in chosen.values()]
        if role not in chosen and free:
            chosen[role] = free[0]
            guessed.add(role)
    roles = Roles(chosen, frozenset(guessed))
    _refuse_roles(columns, data, roles, wanted[2:])
    return roles


def _named(columns: Mapping[str, Column], data: str, role: str, name: str) -> str:
    if tidy(name) in columns or (role == "propensity" and _is_share(name)):
        return tidy(name)
    raise ConfigError(
        f"init --{role}: {data} has no column {name!r}; "
        f"{did_you_mean(name, columns)}its columns: {', '.join(columns)}"
    )


def _is_share(text: str) -> bool:
    try:
        return 0.0 < float(text) <= 1.0
    except ValueError:
        return False


def _refuse_roles(
    columns: Mapping[str, Column], data: str, roles: Roles, needed: Iterable[str]
) -> None:
    asked = {role: _asked(role, columns, roles) for role in ("target", *LOG)}
    able = asked["target"].columns
    for role in needed:
        if roles.of(role):
            continue
        if role == "target":
            raise UnnamedColumnError(
                f"init --data: which column of {data} holds the class to name? Give it with "
                "--target; if it is a log of past decisions, give --action, --reward and "
                "--propensity (a column, or a number if all actions were equally likely). Columns "
                f"with 2 to {MOST_TEXTS} different values: {', '.join(able) or 'none'}",
                (asked["target"], asked["action"]),
            )
        raise UnnamedColumnError(
            f"init --data: {data} looks like a log of past decisions; which column holds "
            f"{MEANINGS[role]}? Give it with --{role}. If it is no log, name the class with "
            "--target",
            (asked[role], asked["target"]),
        )
    for role in ("target", "action"):
        name = roles.of(role)
        if name and not _can_be(role, columns[name]):
            raise ConfigError(
                f"init --{role}: {name!r} holds {columns[name].content}; allowed: a column with 2 "
                f"to {MOST_TEXTS} different values"
            )


def _asked(role: str, columns: Mapping[str, Column], roles: Roles) -> Asked:
    able = tuple(n for n, c in columns.items() if _can_be(role, c) and not roles.use(n))
    allowed = f"a column with 2 to {MOST_TEXTS} different values"
    if role in LOG[1:]:
        allowed = "a column of numbers"
    return Asked(role, MEANINGS[role], allowed, able)


def _can_be(role: str, column: Column) -> bool:
    if role == "person":
        return True
    if role in ("reward", "propensity"):
        return column.kind == "number"
    most = {"target": MOST_TEXTS, "action": MOST_TEXTS}.get(role, 1000)
    return 2 <= column.different <= most
