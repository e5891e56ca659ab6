"""Settings of a table that do not fit together, refused before any data is read."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Any

from fedbandits.environments.rows import why_no_scale
from fedbandits.environments.tables.cells import listed_text, tidy
from fedbandits.environments.tables.features import OTHER

if TYPE_CHECKING:
    from fedbandits.environments.data_table import Table

_FORMS = (
    "a table has one of three forms: target = the column with the right class; rewards = a list of "
    "columns, one for each arm; or action and reward = two columns of a log of past decisions"
)
#: Settings that name one column.
_COLUMNS = ("site", "person", "target", "action", "reward", "propensity")


def refuse_settings(table: Table) -> None:
    """Refuse what does not fit together, by a ValueError that begins with the key."""
    _refuse_source(table)
    _refuse_form(table)
    _refuse_parties(table)
    _refuse_columns(table)
    _refuse_facts(table)


def _refuse_source(table: Table) -> None:
    if not table.path and not table.digest:
        raise ValueError(
            "path: missing; give the path of a CSV or Parquet file, or make the environment with "
            "fb.environments.table(data, …)"
        )
    refuse_reading(table)


def refuse_reading(table: Any) -> None:
    """Refuse settings of how a file is read that do not fit together."""
    try:
        "".encode(table.encoding)
        codecs.lookup(table.encoding)
    except (LookupError, ValueError):  # ValueError: a name with a zero byte
        raise ValueError(
            f"encoding: given {table.encoding!r}, allowed: the name of one that Python knows, such "
            "as utf-8, latin-1 or cp1252"
        ) from None
    if table.decimal is not None and table.decimal == table.thousands:
        raise ValueError(
            f"thousands: given {table.thousands!r}, which is the decimal sign too; allowed: "
            "another one, or leave it out"
        )


def _refuse_form(table: Table) -> None:
    logged = table.action is not None or table.reward is not None
    given = [table.target is not None, bool(table.rewards), logged]
    if sum(given) != 1:
        raise ValueError(f"target: {'none' if not any(given) else 'several'} given; {_FORMS}")
    if logged and (table.action is None or table.reward is None):
        name = "reward" if table.reward is None else "action"
        raise ValueError(f"{name}: missing; a log has both action and reward")
    for key in ("propensity", "smallest_propensity"):
        if getattr(table, key) is not None and not logged:
            raise ValueError(f"{key}: belongs to a log, which has action and reward")
    if logged:
        _refuse_log(table)
    if table.rewards and len(table.rewards) < 2:
        raise ValueError("rewards: one column given, allowed: at least two, one for each arm")
    if table.classes and table.target is None and table.action is None:
        raise ValueError("classes: given without a target; its columns name the arms")
    if table.reward_range is not None and table.target is not None:
        raise ValueError("reward_range: belongs to rewards or a log; a right class pays 1")


def _refuse_log(table: Table) -> None:
    if table.propensity is None:
        raise ValueError(
            "propensity: missing; a log needs the probability with which each action was taken, "
            "allowed: the name of its column, or a number if all actions were equally likely (0.25 "
            "for four); it is not guessed, because estimates would be wrong"
        )
    if isinstance(table.propensity, float) and table.smallest_propensity is not None:
        raise ValueError(
            "smallest_propensity: given beside one propensity for all actions; remove it"
        )
    if table.visits == "drawn":
        raise ValueError(
            'visits: given "drawn", allowed for a log: "once" (events in random order) or "in '
            'order" (as they stand, for a log whose policy changed on the way); each event is met '
            "once at most"
        )


def _refuse_parties(table: Table) -> None:
    if (table.site is None) == (table.agents == 0):
        given = "both" if table.agents else "neither"
        raise ValueError(
            f"site: {given} of site and agents given, allowed: one of them: site = the column that "
            "names the party of each row, or agents = the number of parties that rows are dealt to "
            "at random (1 to learn alone)"
        )


def _refuse_columns(table: Table) -> None:
    if not table.features:
        raise ValueError("features: none given, allowed: the columns that make up a context")
    for key in ("features", "rewards"):
        names = [tidy(name) for name in getattr(table, key)]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(f"{key}: {min(twice)!r} is given twice")
    features = {tidy(name) for name in table.features}
    singles = {key: tidy(name) for key in _COLUMNS if isinstance(name := getattr(table, key), str)}
    for key in ("target", "action", "reward", "propensity"):
        if singles.get(key) in features:
            raise ValueError(
                f"features: {singles[key]!r} is the {key}: it would give the answer away; leave it "
                "out"
            )
    shown = features & {tidy(name) for name in table.rewards}
    if shown:
        raise ValueError(
            f"features: {min(shown)!r} is a reward: it would give the answer away; leave it out"
        )


def _refuse_facts(table: Table) -> None:
    features = {tidy(name) for name in table.features}
    for key in ("ranges", "centre", "spread", "categories"):
        for name in getattr(table, key) or ():
            if tidy(name) not in features:
                raise ValueError(f"{key}: {name!r} is not among the features; add it, or remove it")
    _refuse_two_kinds(table)
    _refuse_spreads(table)
    for name, (low, high) in table.ranges.items():
        _refuse_range(f"ranges: {name!r}", low, high)
    if table.reward_range is not None:
        _refuse_range("reward_range:", *table.reward_range)
    for name, levels in table.categories.items():
        _refuse_levels(f"categories: {name!r}", [*map(listed_text, levels)])
    if table.classes:
        _refuse_levels("classes:", [*table.class_names])
        if OTHER in table.class_names:
            raise ValueError(f'classes: "{OTHER}" is not a class; list all of them')


def _refuse_two_kinds(table: Table) -> None:
    """Refuse a column of which is stated that it is scaled in two ways."""
    ways = {"ranges": "range", "spread": "spread", "categories": "list of categories"}
    known: dict[str, str] = {}
    for key, what in ways.items():
        for name in map(tidy, getattr(table, key) or ()):
            if name in known:
                raise ValueError(f"{key}: {name!r} has a {known[name]} already; remove one of them")
            known[name] = what


def _refuse_spreads(table: Table) -> None:
    """Refuse spreads and centres that are not there in pairs, or by which nothing can be scaled."""
    stated = {
        key: {tidy(name): value for name, value in (getattr(table, key) or {}).items()}
        for key in ("centre", "spread")
    }
    for key, other in (("centre", "spread"), ("spread", "centre")):
        if alone := stated[key].keys() - stated[other].keys():
            raise ValueError(
                f"{other}: {min(alone)!r} has a {key} only; give it a number in both, a typical "
                "value in centre and a typical deviation in spread, or remove it"
            )
    for name, centre in stated["centre"].items():
        if wrong := why_no_scale(centre, stated["spread"][name]):
            key, _, why = wrong.partition(": ")
            raise ValueError(f"{key}: {name!r} {why}")


def _refuse_range(what: str, low: float, high: float) -> None:
    if not -1e300 <= low < high <= 1e300:
        raise ValueError(
            f"{what} given [{low:g}, {high:g}], allowed: the smallest value, then a larger one"
        )


def _refuse_levels(what: str, levels: list[str]) -> None:
    if len(levels) < 2:
        raise ValueError(f"{what} given {len(levels)}, allowed: at least two")
    if len(set(levels)) < len(levels):
        raise ValueError(f"{what} has the same one twice")
