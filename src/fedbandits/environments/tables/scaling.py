"""Public facts of a table's columns: stated by the user, or measured with consent."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fedbandits.environments.tables.cells import (
    RawTable,
    column_kind,
    missing,
    numbers,
    texts,
)
from fedbandits.environments.tables.features import Categorical, Feature, Numeric
from fedbandits.environments.tables.formats import DATES, listed_text, tidy
from fedbandits.environments.tables.settings import TableKeys
from fedbandits.errors import DataError

#: Largest number of categories: a column with more texts is a name or an identifier.
_MOST_CATEGORIES = 100
_STATED = (
    "The ranges, categories, classes and reward range that the configuration states are public."
)
_STATED_SPREADS = "The centres and spreads of columns that the configuration states are public."


class Public(NamedTuple):
    """Facts of a table's columns that every party may know."""

    features: tuple[Feature, ...]  # the features in use
    classes: tuple[str, ...]  # classes of the target; empty without a target
    reward_range: tuple[float, float]  # smallest and largest reward
    sentences: tuple[str, ...]  # public facts for privacy claims
    cautions: tuple[str, ...]  # cautions for the user


def public_of(table: TableKeys, raw: RawTable) -> Public:
    """Return the public facts of the columns, stated or measured as the settings allow.

    Raises DataError if a fact must be stated and is missing: the message shows the lines to write.
    """
    stated = _stated_features(table)
    unstated = [name for name in map(tidy, table.features) if name not in stated]
    kinds = {name: _usable_kind(raw, name) for name in unstated}
    named = table.target or table.action  # the column whose texts are the arms
    no_classes = named is not None and not table.classes
    no_smallest = isinstance(table.propensity, str) and table.smallest_propensity is None
    rewarded = tuple(table.rewards) or ((table.reward,) if table.reward is not None else ())
    no_range = bool(rewarded) and table.reward_range is None
    if table.scaling == "stated" and (unstated or no_classes or no_range or no_smallest):
        wanted = {"classes": no_classes, "range": no_range, "smallest": no_smallest}
        raise DataError(_lines_to_write(table, kinds, wanted))
    measured = {
        name: _measured(raw, name) if kind == "number" else _levels(raw, name)
        for name, kind in kinds.items()
    }
    known: dict[str, Feature] = {**stated, **measured}
    features = [known[name] for name in map(tidy, table.features)]
    constant = [feature.name for feature in features if _is_constant(feature)]
    kept = tuple(feature for feature in features if feature.name not in constant)
    if not kept:
        raise DataError("environment.features: all are constant, so there is nothing to learn from")
    classes = table.class_names
    if no_classes and named is not None:
        role = "target" if table.target else "action"
        classes = _different(raw, named, role)
        if len(classes) < 2:
            raise DataError(
                f"environment.{role}: column {named!r} of {raw.name} has only one class, but a "
                "bandit needs at least two arms; choose another, or state classes"
            )
    reward_range = table.reward_range or (0.0, 1.0)
    if no_range:
        reward_range = _range_of_rewards(raw, rewarded)
    numeric = [name for name, kind in kinds.items() if kind == "number"]
    taken = [
        *([f"the ranges of {_listed(numeric)}"] if numeric else []),
        *([f"the categories of {_listed(n for n in kinds if n not in numeric)}"]
          if len(numeric) < len(kinds) else []),
        *([f"the classes of {named}"] if no_classes else []),
        *(["the range of rewards"] if no_range else []),
        *(["the smallest propensity"] if no_smallest else []),
    ]  # fmt: skip
    return Public(
        kept,
        classes,
        reward_range,
        tuple(_sentences(table, taken)),
        tuple(_cautions(taken, constant)),
    )


def _stated_features(table: TableKeys) -> dict[str, Feature]:
    ranges = {tidy(n): Numeric(tidy(n), *limits) for n, limits in table.ranges.items()}
    centres = {tidy(n): centre for n, centre in (table.centre or {}).items()}
    spreads = {
        tidy(n): Numeric.spread_out(tidy(n), centres[tidy(n)], spread)
        for n, spread in (table.spread or {}).items()
    }
    listed = {
        tidy(n): Categorical(tidy(n), tuple(map(listed_text, levels)))
        for n, levels in table.categories.items()
    }
    return {**ranges, **spreads, **listed}


def _usable_kind(raw: RawTable, name: str) -> str:
    """Return ``number`` or ``text``; refuse other kinds."""
    content = column_kind(raw, name, "features")
    place = raw.place(content.row, name)
    if content.kind == "date":
        raise DataError(f"{place}: is {DATES}")
    if content.kind == "mixed":
        raise DataError(
            f"{place}: the column has numbers and texts; correct it, or list categories for it; if "
            "such texts stand for missing values, list them as missing_marks"
        )
    if content.kind == "empty":
        raise DataError(
            f"environment.features: column {name!r} of {raw.name} is empty; leave it out"
        )
    return content.kind


def _lines_to_write(table: TableKeys, kinds: Mapping[str, str], others: Mapping[str, bool]) -> str:
    """Return the public facts to state, as lines of TOML to fill in.

    ``kinds`` are the kinds of features without a stated fact; ``others`` marks further missing
    facts.
    """
    listed = [
        f"{_toml_key(n)} = {json.dumps(levels, ensure_ascii=False)}"
        for n, levels in table.categories.items()
    ]
    wanted = [f'{_toml_key(n)} = ["A", "B", "*"]' for n, kind in kinds.items() if kind == "text"]
    listed = [*listed, *wanted] if wanted else []
    lines = [
        *_numbers_to_write(table, [name for name, kind in kinds.items() if kind == "number"]),
        *([f"categories = {{ {', '.join(listed)} }}"] if listed else []),
        *(['classes = ["A", "B"]'] if others["classes"] else []),
        *(["reward_range = [LOW, HIGH]"] if others["range"] else []),
        *(["smallest_propensity = LOW"] if others["smallest"] else []),
    ]
    return (
        'environment: scaling = "stated" needs public facts that the configuration does not '
        "state. Write what is publicly known, not what the data say, below [environment]:\n"
        + "".join(f"  {line}\n" for line in lines)
        + 'Or set scaling = "data" to have them computed from all rows; they then count as public.'
    )


def _numbers_to_write(table: TableKeys, names: Sequence[str]) -> Iterable[str]:
    """Yield lines for columns of numbers: ranges if others have ranges, else spreads."""
    if not names:
        return
    if table.ranges and not table.spread:
        given = [f"{_toml_key(n)} = [{low:g}, {high:g}]" for n, (low, high) in table.ranges.items()]
        listed = [*given, *(f"{_toml_key(name)} = [LOW, HIGH]" for name in names)]
        yield f"ranges = {{ {', '.join(listed)} }}"
        return
    for key, stated, word in (
        ("centre", table.centre, "TYPICAL"), ("spread", table.spread, "DEVIATION")
    ):  # fmt: skip
        listed = [f"{_toml_key(n)} = {value:g}" for n, value in (stated or {}).items()]
        listed += [f"{_toml_key(name)} = {word}" for name in names]
        yield f"{key} = {{ {', '.join(listed)} }}"


def _measured(raw: RawTable, name: str) -> Numeric:
    values = numbers(raw, name, "features")
    return Numeric(name, float(np.nanmin(values)), float(np.nanmax(values)))


def _levels(raw: RawTable, name: str) -> Categorical:
    levels = _different(raw, name, "features")
    if len(levels) > _MOST_CATEGORIES:
        raise DataError(
            f"environment.features: column {name!r} of {raw.name} has {len(levels)} different "
            f"texts, allowed without a list: up to {_MOST_CATEGORIES}; leave it out, or list "
            'categories for it, with "*" for all others'
        )
    return Categorical(name, levels)


def _different(raw: RawTable, name: str, key: str) -> tuple[str, ...]:
    """List the different texts of a column, in order; numbers by their size."""
    gaps = missing(raw, name, key)
    levels = {text for text, gap in zip(texts(raw, name, key), gaps, strict=True) if not gap}
    if all(_as_number(text) is not None for text in levels):
        return tuple(sorted(levels, key=lambda text: (_as_number(text), text)))
    return tuple(sorted(levels))


def _as_number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _range_of_rewards(raw: RawTable, columns: Sequence[str]) -> tuple[float, float]:
    all_ = [numbers(raw, column, "rewards") for column in columns]
    low, high = min(map(np.nanmin, all_)), max(map(np.nanmax, all_))
    if not low < high:
        raise DataError("environment.rewards: all rewards are equal; there is nothing to learn")
    return float(low), float(high)


def _is_constant(feature: Feature) -> bool:
    if isinstance(feature, Numeric):
        return not feature.low < feature.high
    return len(feature.levels) < 2


def _sentences(table: TableKeys, taken: list[str]) -> Iterable[str]:
    if table.ranges or table.categories or table.classes or table.reward_range is not None:
        yield _STATED
    if table.spread:
        yield _STATED_SPREADS
    if taken:
        yield f"These are public as well: {', '.join(taken)}. They are computed here from all rows."


def _cautions(taken: list[str], constant: list[str]) -> Iterable[str]:
    if taken:
        yield (
            f'scaling: "data" computes {", ".join(taken)} from all rows; no privacy claim covers '
            "them. State what is publicly known, to be able to promise more"
        )
    if constant:
        yield f"features: constant, and left out: {_listed(constant)}"


def _listed(names: Iterable[str]) -> str:
    *most, last = [*names]
    return f"{', '.join(most)} and {last}" if most else last


def _toml_key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "a").replace("-", "a").isalnum()
    return name if bare else json.dumps(name, ensure_ascii=False)
