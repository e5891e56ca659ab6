"""The environment of an experiment, from its table."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from fedbandits._checked import without_later
from fedbandits._schema import convert, shown
from fedbandits.environments import (
    ContextualEnvironment,
    Environment,
    environments,
    find_environment,
)
from fedbandits.errors import ConfigError, ConfigWarning, DataError
from fedbandits.settings.written import plain

#: Rows that reach this share of what they should are told nothing of: a column whose values fill
#: its range evenly is long enough.
_NEARLY = 0.9


def environment_of(table: Mapping[str, Any], given: type[Environment] | None = None) -> Environment:
    """Make an environment from its table with a ``kind``; errors name the key's path.

    An environment that was made in Python must be of the class ``given``.
    """
    kind = table.get("kind")
    if not isinstance(kind, str):
        what = "missing" if kind is None else f"given {shown(kind)}"
        allowed = ", ".join(map(repr, environments()))
        raise ConfigError(f"environment.kind: {what}, allowed: {allowed}")
    try:
        found = find_environment(kind)
    except ConfigError as error:
        raise ConfigError(f"environment.kind: {error}") from None
    if given is not None and found is not given:
        raise ConfigError(
            f"environment: {given.__qualname__} is not registered; call fb.register"
            f"({given.__qualname__}) first"
        )
    environment: Environment = convert(table, found, "environment")
    return environment


def table_of_environment(environment: Environment) -> dict[str, Any]:
    """Return the table of an environment; keys of later releases stand in it if they are given."""
    return without_later(environment, msgspec.to_builtins(environment, enc_hook=plain))


def prepare(environment: Environment, rounds: int) -> None:
    """Load what ``environment`` needs to be played for ``rounds`` rounds, and warn of what is odd.

    It raises a DataError if its data cannot be used, or is not enough.
    """
    try:
        environment.prepare()
        environment.refuse_rounds(rounds)
    except DataError as error:
        raise DataError(with_key(environment, str(error))) from None
    for caution in environment.cautions():
        warnings.warn(f"environment.{caution}", ConfigWarning, stacklevel=4)


def caution_of_rows(environment: Environment, configs: Iterable[Any]) -> str | None:
    """Say that contexts are too short for the bounds on parameters; None if they are not.

    Predictions for typical rows differ from their mean by up to S times the deviation of the rows,
    and rewards by up to half their range.

    Parameters
    ----------
    environment
        The environment, prepared.
    configs
        Configurations of the systems that play there; those with a ``parameter_bound`` count.
    """
    if not isinstance(environment, ContextualEnvironment):
        return None
    bounds = [c.parameter_bound for c in configs if hasattr(c, "parameter_bound")]
    deviation, (low, high) = environment.row_deviation, environment.facts.reward_range
    needed = 0.5 * (high - low)
    if not bounds or deviation is None or min(bounds) * deviation >= _NEARLY * needed:
        return None
    return (
        f"spread: rows are short: they differ from their mean by about {deviation:.2g}. With "
        f"parameter_bound = {min(bounds):g}, predictions differ by {min(bounds) * deviation:.2g} "
        f"then, and rewards by {needed:g}, so learning is slow. State centre and "
        "spread of columns of numbers (fedbandits init --data writes them), or raise "
        "parameter_bound"
    )


def with_key(environment: Environment, message: str) -> str:
    """Put the key that names a file before a message about the file."""
    for field in msgspec.structs.fields(environment):
        value = getattr(environment, field.name)
        if isinstance(value, str) and value and message.startswith((value, repr(value))):
            return f"environment.{field.name}: {message}"
    return message
