"""A sweep: one experiment for every combination of the values of some keys."""

from __future__ import annotations

import itertools
import math
import pathlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import tomli_w

from fedbandits._schema import shown
from fedbandits._suggest import did_you_mean
from fedbandits.errors import ConfigError
from fedbandits.settings.experiment import Experiment
from fedbandits.settings.sweep_keys import (
    MOST_POINTS,
    parse_option,
    steps_of,
    take_sweep,
    values_of,
)
from fedbandits.settings.toml_files import (
    experiment_file,
    named_entries,
    read_experiment,
    unknown_entry,
)
from fedbandits.systems import find_system

#: Names that a dimension of a swept key cannot have.
_TAKEN = ("system", "replicate", "party", "round")


class Axis(msgspec.Struct, frozen=True):
    """One swept key and its values, in order.

    An example of a ``path`` is ``systems.*.epsilon``. The ``name`` in results is the last step of
    the path, or the whole path where this step is not unique.
    """

    path: str
    name: str
    values: tuple[Any, ...]

    @property
    def words(self) -> str:
        """Name of the key in texts for people: ``ε`` and ``δ`` for these keys."""
        return key_words(self.name)


class Point(msgspec.Struct, frozen=True):
    """One experiment of a sweep.

    ``index`` has the number of its value on each axis, and ``values`` its values by the axes'
    names.
    """

    index: tuple[int, ...]
    values: dict[str, Any]
    experiment: Experiment


class Sweep(msgspec.Struct, frozen=True):
    """An experiment with several values of some keys; :func:`sweep_of` makes it.

    The ``experiment`` has its own values of the swept keys. All combinations of the values of the
    ``axes`` are run.
    """

    experiment: Experiment
    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values on each axis."""
        return tuple(len(axis.values) for axis in self.axes)

    def points(self) -> tuple[Point, ...]:
        """Make all experiments; the values of the last axis change first.

        Raises ConfigError, with the key and the values of the point, if a value is impossible.
        """
        return tuple(self._point(index) for index in itertools.product(*map(range, self.shape)))

    def to_table(self) -> dict[str, Any]:
        """Return the complete configuration as a table, which can be run again."""
        swept = {axis.path: list(axis.values) for axis in self.axes}
        return self.experiment.to_table() | ({"sweep": swept} if swept else {})

    def to_toml(self) -> str:
        """Return the complete configuration as TOML text; see :meth:`to_table`."""
        return tomli_w.dumps(self.to_table())

    def _point(self, index: tuple[int, ...]) -> Point:
        table, values = self.experiment.to_table(), {}
        for axis, number in zip(self.axes, index, strict=True):
            values[axis.name] = axis.values[number]
            for holder, key in _holders(table, self.experiment, axis.path):
                holder[key] = axis.values[number]
                if axis.path == "environment.path":  # other data has another digest
                    holder.pop("digest", None)
        try:
            experiment = Experiment.from_table(table, modules=self.experiment.modules)
        except ConfigError as error:
            raise type(error)(f"sweep, at {in_words(values)}: {error}") from None
        return Point(index, values, experiment)


def key_words(name: str) -> str:
    """Write the name of a swept key for readers."""
    return {"epsilon": "ε", "delta": "δ"}.get(name, name.replace("_", " "))


def in_words(values: Mapping[str, Any]) -> str:
    """Write the values of a point for readers: ``ε = 0.3, agents = 5``."""
    return ", ".join(f"{key_words(name)} = {value_text(value)}" for name, value in values.items())


def value_text(value: Any) -> str:
    """Write one value of a key for readers."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, int):
        return f"{value:,}"
    return value if isinstance(value, str) else shown(value)


def sweep_of(experiment: Experiment, keys: Mapping[str, Any]) -> Sweep:
    """Make a sweep of an experiment over ``keys``: paths, each with the list of its values.

    Raises ConfigError if a key cannot be swept, or a value is given twice.
    """
    if not keys:
        raise ConfigError("sweep: no key is given; write key.path=value,value,…")
    table = experiment.to_table()
    if Experiment.from_table(table, modules=experiment.modules) != experiment:
        raise ConfigError("systems: a part set to None cannot be in a sweep; leave it out")
    paths = {".".join(steps_of(path)): path for path in keys}
    if len(paths) < len(keys):
        raise ConfigError("sweep: a key is given twice")
    lasts = Counter(path.rpartition(".")[2] for path in paths)
    values = {path: values_of(path, keys[given]) for path, given in paths.items()}
    count = math.prod(map(len, values.values()))
    if count > MOST_POINTS:
        raise ConfigError(f"sweep: has {count:,} points, allowed: at most {MOST_POINTS:,}")
    axes = []
    for path in paths:
        _holders(table, experiment, path)  # refuses a path to no key
        last = path.rpartition(".")[2]
        name = path if lasts[last] > 1 or last in _TAKEN else last
        axes.append(Axis(path, name, values[path]))
    return Sweep(experiment, tuple(axes))


def load_any(
    path: str | pathlib.Path,
    overrides: Iterable[str] = (),
    sweeps: Sequence[str] = (),
    *,
    allow_modules: bool = True,
) -> Experiment | Sweep:
    """Read an experiment or a sweep from a TOML file; see :func:`fedbandits.load`.

    The result is a sweep if the file has a table ``[sweep]`` with keys, or ``sweeps`` are given as
    ``key.path=value,value,…``. These replace the keys of the file with the same path.
    """
    file = experiment_file(path)
    raw = read_experiment(file, overrides)
    keys = take_sweep(raw)
    options = [parse_option(option) for option in sweeps]
    twice = [key for key, count in Counter(key for key, _ in options).items() if count > 1]
    if twice:
        raise ConfigError(f"--sweep {twice[0]}: is given twice; write all values in one list")
    experiment = Experiment.from_table(raw, file.parent, None if allow_modules else False)
    keys |= dict(options)
    return sweep_of(experiment, keys) if keys else experiment


def _holders(
    table: dict[str, Any], experiment: Experiment, path: str
) -> list[tuple[dict[str, Any], str]]:
    """Return the tables that a path leads to, each with its key; refuse a path to no table.

    ``systems.*`` leads to those systems that have the key.
    """
    steps = steps_of(path)
    if steps[0] == "rounds":
        return [(table, "rounds")]
    if steps[0] == "environment":
        known = [field.name for field in msgspec.structs.fields(experiment.environment)]
        return [_inner(table["environment"], steps[1:], known, path)]
    entries, fields = table["systems"], [_fields(s.system) for s in experiment.systems]
    chosen = named_entries(entries, steps[1])
    if not chosen:
        raise ConfigError(f"sweep.{path}: there is no system {unknown_entry(entries, steps[1])}")
    if steps[1] == "*":
        having = [
            entry
            for entry, known in zip(entries, fields, strict=True)
            if steps[2] in known and _leads(entry, steps[2:])
        ]
        chosen = having or chosen[:1]
    known = sorted({name for names in fields for name in names})
    return [_inner(entry, steps[2:], known, path) for entry in chosen]


def _fields(system: str) -> tuple[str, ...]:
    fields: tuple[str, ...] = find_system(system).config_type.__struct_fields__
    return fields


def _leads(entry: Any, steps: Sequence[str]) -> bool:
    """Tell whether the tables on the way to a key exist."""
    inner = _table_at(entry, steps[:-1])
    return inner is not None and (len(steps) == 1 or steps[-1] in inner)


def _table_at(holder: Any, steps: Sequence[str]) -> dict[str, Any] | None:
    for step in steps:
        holder = holder.get(step) if isinstance(holder, dict) else None
    return holder if isinstance(holder, dict) else None


def _inner(
    holder: Any, steps: Sequence[str], known: Iterable[str], path: str
) -> tuple[dict[str, Any], str]:
    """Return the table below ``holder`` that has a key, and the key; refuse an unknown key."""
    if steps[0] not in known:
        close = did_you_mean(steps[0], known)
        raise ConfigError(f"sweep.{path}: no such key; {close}allowed: {', '.join(known)}")
    inner = _table_at(holder, steps[:-1])
    if inner is None:
        raise ConfigError(f"sweep.{path}: no such key: {'.'.join(steps[:-1])} is not a table here")
    return inner, steps[-1]
