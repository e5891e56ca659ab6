"""A commented configuration for a file of the user's own data, ready to run."""

from __future__ import annotations

import pathlib
import re
import tomllib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jinja2
import numpy as np

from fedbandits.environments.rating_files import is_published, names_ratings, read_ratings
from fedbandits.environments.tables.cells import RawTable, missing, numbers, texts
from fedbandits.environments.tables.delimited import SEPARATORS
from fedbandits.environments.tables.files import is_pipe
from fedbandits.environments.tables.formats import AS_FOUND, Reading
from fedbandits.environments.tables.sources import read_table
from fedbandits.errors import ConfigError, ConfigWarning, DataError
from fedbandits.rows import centre_and_spread
from fedbandits.settings.experiment import Experiment
from fedbandits.settings.reference.columns import Column, Roles, guessed_roles, look
from fedbandits.settings.reference.keys import in_toml
from fedbandits.settings.reference.templates import comment, in_shell
from fedbandits.settings.toml_files import NAME

#: Learning alone, sharing everything in clear, and sharing privately in two ways.
_COMPARED = ("linucb-alone", "linucb-pooled-hybrid")
#: Private systems. In secure sums of fewer than three parties each party would need all of the
#: noise.
_PRIVATE, _PRIVATE_OF_TWO = ("feducb-secure", "feducb-secure-hybrid"), ("feducb", "feducb-hybrid")
_FEWEST_SUMMED = 3
_LABELS = {"linucb-alone": "alone", "linucb-pooled-hybrid": "pooled in clear"}
_FEWEST_ROUNDS, _MOST_ROUNDS = 50, 1000
_RATINGS = (
    "It holds ratings: a user comes, some items are offered, and the rating is the reward. To "
    "treat it as a table with a class to name, give --target"
)
_AGENTS, _MOST_ARMS, _MOST_FACTORS = 4, 20, 10


class OwnData(NamedTuple):
    """A configuration for the user's own data."""

    text: str  # text of the file
    notes: tuple[str, ...]  # notes for the user, a line each
    rows: int | None = None  # rows of the table; None if the file has ratings


def own_data_template(
    data: str,
    path: str | pathlib.Path,
    presets: Sequence[str] = (),
    reading: Reading = AS_FOUND,
    **given: str | None,
) -> OwnData:
    """Write a configuration for a CSV or Parquet file of ``data``, as TOML text.

    The file is read here, and nothing of it leaves this machine. ``path``, where the configuration
    will be, names the experiment too. ``site``, ``target``, ``person``, ``action``, ``reward`` and
    ``propensity`` are the columns with these roles; missing roles are guessed from names. The
    systems are by default learning alone, pooling in clear, ``feducb-secure`` and
    ``feducb-secure-hybrid``; without secure sums for fewer than three parties.

    Raises DataError if the file is no table, and ConfigError if a column does not exist, there is
    no target, or the written configuration could not be run.
    """
    if is_pipe(data):
        raise ConfigError(
            f"init --data: {data} is a pipe, which a run could not read again; give a file. It may "
            "be compressed"
        )
    if not any(given.values()) and _are_ratings(data, reading):
        text = _of_ratings(data, path, reading) + _systems(presets)
        return OwnData(_checked(data, text), (_RATINGS,))
    raw = read_table(data, reading, "")
    raw, reading = _with_marks(raw, reading)
    columns = {name: look(raw, name) for name in raw.columns}
    if len(columns) < 2:
        raise ConfigError(
            f"init --data: the first line of {data} names fewer than two columns. It must name all "
            "columns; take out a title above it, or give the separator of cells with --separator"
        )
    roles = guessed_roles(columns, data, **given)
    features = [name for name, c in columns.items() if not roles.use(name) and not c.unfit]
    if not features:
        reasons = [f"{n}: {c.unfit}" for n, c in columns.items() if not roles.use(n)]
        out = "; ".join(reasons)
        raise ConfigError(
            f"init --data: {data} has no column that can be a feature{f'. {out}' if out else ''}"
        )
    text = _text(raw, data, path, columns, roles, features, reading, presets)
    notes = tuple(_notes(raw, data, columns, roles, features))
    return OwnData(_checked(data, text), notes, len(raw.lines))


def _with_marks(raw: RawTable, reading: Reading) -> tuple[RawTable, Reading]:
    """Add known marks of missing values in the table to the stated marks."""
    if reading.marks is None:
        return raw, reading
    usual = raw.read_as(reading._replace(marks=None))
    present = {text for name in usual.columns for text in look(usual, name).marks}
    reading = reading._replace(marks=(*reading.marks, *sorted(present - {*reading.marks})))
    return raw.read_as(reading), reading


def _filled(template: str, data: str, path: str | pathlib.Path, **values: Any) -> str:
    """Fill in the template of a file of ``data``, with the name ``path``."""
    room = jinja2.FileSystemLoader(pathlib.Path(__file__).parent)
    filling = jinja2.Environment(  # noqa: S701 - it writes TOML, no page
        loader=room,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    filling.filters |= {
        "toml": in_toml,
        "comment": lambda text: "\n".join(comment(text.removesuffix("\n").split("\n"))) + "\n",
    }
    stem = pathlib.Path(path).stem
    name = stem if re.match(NAME, stem) else ""
    filled = filling.get_template(template)
    return filled.render(data=data, path=in_shell(path), name=name, **values)


def _text(
    raw: RawTable, data: str, path: str | pathlib.Path, columns: Mapping[str, Column],
    roles: Roles, features: Sequence[str], reading: Reading, presets: Sequence[str],
) -> str:  # fmt: skip
    """Write the configuration for a table."""
    width, lines = max(map(len, columns)), []
    for name, column in columns.items():
        use = roles.use(name) or (f"left out: {column.unfit}" if column.unfit else "a feature")
        lines.append(f"{name:<{width}}  {column.content}: {use}")
    propensity = roles.of("propensity")
    text = _filled(
        "own_table.toml.jinja", data, path,
        size=_size(raw), columns=lines, roles=roles, features=features, how=_how(reading),
        rounds=_rounds(raw, roles), fewest=_FEWEST_ROUNDS, most=_MOST_ROUNDS,
        missing=_gaps(columns, features, roles),
        propensity=float(propensity or 0) if propensity not in raw.columns else propensity,
        **_scaling(raw, [columns[name] for name in features], roles),
    )  # fmt: skip
    site = roles.of("site")
    return text + _systems(presets, columns[site].different if site else _FEWEST_SUMMED)


def _systems(presets: Sequence[str], parties: int = _FEWEST_SUMMED) -> str:
    """Write tables of the presets; the default fits the number of parties."""
    lines = []
    private = _PRIVATE if parties >= _FEWEST_SUMMED else _PRIVATE_OF_TWO
    for preset in presets or (*_COMPARED, *private):
        lines += ["", "[[systems]]", f"preset = {in_toml(preset)}"]
        lines += [f"label = {in_toml(_LABELS[preset])}"] if preset in _LABELS else []
    return "\n".join([*lines, ""])


def _checked(data: str, text: str) -> str:
    """Return a configuration after a check; ConfigError with the reason if it cannot be run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfigWarning)
        try:
            Experiment.from_table(tomllib.loads(text)).check()
        except (ConfigError, DataError) as error:
            raise ConfigError(f"init --data: {data} cannot be run: {error}") from None
    return text


def _size(raw: RawTable) -> str:
    how = f", cells separated by {SEPARATORS[raw.separator]}" if raw.separator else ""
    return f"{len(raw.lines):,} rows{how}"


def _notes(
    raw: RawTable, data: str, columns: Mapping[str, Column], roles: Roles, features: Sequence[str]
) -> Iterable[str]:
    """List the recognised columns, and the columns that were left out, with reasons."""
    yield f"{data}: {_size(raw)}; {len(features)} of {len(columns)} columns are features"
    for name, column in columns.items():
        if roles.use(name) or not column.unfit:
            if roles.use(name).endswith("(guessed by its name)"):
                yield f"  {name}: {roles.use(name)}"
            if column.marks:
                yield f"  {name}: {column.gaps} cells count as missing ({', '.join(column.marks)})"
        else:
            yield f"  {name}: left out: {column.unfit}"
    if any(columns[name].kind == "number" for name in features):
        yield "  centre, spread: computed from the data, and public: replace them by rough guesses"


def _how(reading: Reading) -> dict[str, Any]:
    """Return the keys for the format of the file, if it is not found from the file."""
    keys = {"separator": reading.separator, "decimal": reading.decimal}
    keys["thousands"] = reading.thousands
    if reading.encoding != AS_FOUND.encoding:
        keys["encoding"] = reading.encoding
    stated: dict[str, Any] = {key: value for key, value in keys.items() if value}
    return stated if reading.marks is None else stated | {"missing_marks": [*reading.marks]}


def _rounds(raw: RawTable, roles: Roles) -> int:
    """Choose about one visit for each row of the smallest site, but not too few or too many.

    A log, whose rows come once, is played as long as the largest site has rows.
    """
    counts = np.array([len(raw.lines) // 4])
    if roles.of("site"):
        kept = ~missing(raw, roles.of("site"), "site")
        named = texts(raw, roles.of("site"), "site")[kept].astype(str)
        _, counts = np.unique(named, return_counts=True)
    if not roles.of("target"):
        return min(int(counts.max()), _MOST_ROUNDS)
    return min(max(int(counts.min()), _FEWEST_ROUNDS), _MOST_ROUNDS)


def _gaps(columns: Mapping[str, Column], features: Iterable[str], roles: Roles) -> str:
    """Choose the value of ``missing``; empty if no value is missing."""
    if any(columns[name].gaps for name in columns if roles.use(name)):
        return "drop"
    return "indicator" if any(columns[name].gaps for name in features) else ""


def _scaling(raw: RawTable, features: Sequence[Column], roles: Roles) -> dict[str, Any]:
    """Compute spreads, and all other facts that could be ``stated``.

    Numbers that are too large for a spread are scaled by ranges.
    """
    centre, spread, ranges, categories = {}, {}, {}, {}
    for column in features:
        if column.kind != "number":
            categories[column.name] = [*_different(raw, column.name), "*"]
            continue
        values = numbers(raw, column.name, "features")
        if pair := centre_and_spread(values):
            centre[column.name], spread[column.name] = pair
        else:
            ranges[column.name] = [float(np.nanmin(values)), float(np.nanmax(values))]
    stated: dict[str, Any] = {"ranges": _quoted(ranges)} if ranges else {}
    stated |= {"categories": _quoted(categories)} if categories else {}
    stated["classes"] = _different(raw, roles.of("target") or roles.of("action"))
    if not roles.of("target"):
        rewards = numbers(raw, roles.of("reward"), "reward")
        stated["reward_range"] = [float(np.nanmin(rewards)), float(np.nanmax(rewards))]
        if roles.of("propensity") in raw.columns:
            shares = numbers(raw, roles.of("propensity"), "propensity")
            stated["smallest_propensity"] = float(np.nanmin(shares))
    return {"centre": _quoted(centre), "spread": _quoted(spread), "stated": stated}


def _different(raw: RawTable, name: str) -> list[str]:
    return sorted({*texts(raw, name, "features")[~missing(raw, name, "features")]})


def _quoted(table: Mapping[str, object]) -> dict[str, object]:
    """Write names as TOML writes keys: in quotation marks if necessary."""
    bare = re.compile(r"[A-Za-z0-9_-]+\Z")
    return {name if bare.match(name) else in_toml(name): value for name, value in table.items()}


def _are_ratings(data: str, reading: Reading) -> bool:
    """Tell whether a file holds ratings, by its name or the names of its columns."""
    if is_published(data):
        return True
    try:
        return names_ratings([*read_table(data, reading, "").columns])
    except DataError:
        return False


def _of_ratings(data: str, path: str | pathlib.Path, reading: Reading) -> str:
    """Write the configuration for a file of ratings, without its systems.

    Raises ConfigError if there are too few ratings.
    """
    users, items, _ = read_ratings(data, reading)
    pairs = np.unique(np.stack([users, items]), axis=1)
    per_user = np.sort(np.bincount(pairs[0]))[::-1]  # ratings of each user, in descending order
    arms = min(_MOST_ARMS, int(per_user[_AGENTS - 1]) if len(per_user) >= _AGENTS else 0)
    factors = min(_MOST_FACTORS, len(per_user) - 1, int(items.max()))
    if arms < 2 or factors < 2:
        raise ConfigError(
            f"init --data: {data} has too few ratings: {_AGENTS} users with two ratings each are "
            "needed, and three items"
        )
    return _filled(
        "own_ratings.toml.jinja", data, path,
        size=f"{len(users):,} ratings by {len(per_user):,} users", notes=_RATINGS,
        how=_how(reading), agents=_AGENTS, arms=arms, dim=factors,
    )  # fmt: skip
