"""Experiments: one environment, several systems, the same contexts and rewards for all."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import msgspec
import tomli_w
from msgspec import Meta

from fedbandits._checked import without_later
from fedbandits._schema import convert, shown
from fedbandits.environments import (
    ContextualEnvironment,
    Environment,
    environments,
    find_environment,
    kind_of,
)
from fedbandits.environments.base import refuse_late
from fedbandits.errors import ConfigError, ConfigWarning, DataError
from fedbandits.settings.modules import (
    Module,
    drop_module_keys,
    hold_texts,
    refuse_modules,
    table_of,
    take_modules,
)
from fedbandits.settings.sweep_keys import without_sweep
from fedbandits.settings.toml_files import NAME, experiment_file, read_experiment
from fedbandits.settings.variants import Variant as Variant
from fedbandits.settings.variants import system as system
from fedbandits.settings.variants import variant as variant
from fedbandits.settings.written import experiment_html, plain, without_none
from fedbandits.systems import Plan, System, find_system
from fedbandits.systems.simulated import bounds_in, plan_in
from fedbandits.systems.terms import cautions_of

if TYPE_CHECKING:
    from fedbandits.privacy.claims import PrivacyClaim
    from fedbandits.systems.theory import Bound

#: Keys of an experiment that are no tables.
_PLAIN_KEYS = ("name", "rounds", "replicates", "seed", "checkpoints", "best_alone")


#: Rows that reach this share of what they should are told nothing of: a column whose values fill
#: its range evenly is long enough.
_NEARLY = 0.9


class ExperimentKeys(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of a configuration in its file."""

    rounds: Annotated[int, Meta(ge=1, le=4_000_000_000)]
    environment: dict[str, Any]
    systems: list[dict[str, Any]]
    name: Annotated[str, Meta(pattern=NAME)] = "experiment"
    replicates: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    checkpoints: Annotated[int, Meta(ge=1, le=100_000)] = 60
    best_alone: str = ""
    ELSEWHERE: ClassVar[tuple[str, ...]] = ("module", "sweep")


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """An experiment: an environment, and the systems that are compared in it.

    Parameters
    ----------
    rounds
        The horizon T: the number of rounds. In ``bernoulli`` and ``clustered`` environments one
        party acts in each round, so T is also the number of all decisions.
    environment
        The environment, which is the same for all systems.
    systems
        The systems to compare, each made by :func:`system`. Their labels must differ.
    name
        Name of the experiment, in reports and of its folder under ``runs``. In a file it is the
        file's own by default. It has at most 100 characters: letters, digits, spaces and
        ``_ . + = , -``. The first is a letter, a digit or ``_``.
    replicates
        Number of independent repetitions. Each draws its own θ* and its own splits of data.
    seed
        The seed. With the number of the replicate it determines all random draws.
    checkpoints
        Number of rounds that are kept in the result, closer together at the beginning.
    best_alone
        Label of the system whose parties learn alone at their best; see :func:`.with_alone`.
    modules
        Modules that register environments, learners or systems; in a file the key ``module``.
    """

    rounds: int
    environment: Environment
    systems: tuple[Variant, ...]
    name: str = "experiment"
    replicates: int = 1
    seed: int = 0
    checkpoints: int = 60
    best_alone: str = ""
    modules: tuple[Module, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.environment, Environment):
            raise ConfigError(
                f"environment: given {shown(self.environment)}, allowed: one of fb.environments"
            )
        head: ExperimentKeys = convert(self._head_table() | {"systems": []}, ExperimentKeys, "")
        for key in _PLAIN_KEYS:
            msgspec.structs.force_setattr(self, key, getattr(head, key))
        checked = environment_of(head.environment, type(self.environment)).identified()
        msgspec.structs.force_setattr(self, "environment", checked)
        systems = _checked_systems(self.systems, self.best_alone)
        msgspec.structs.force_setattr(self, "systems", systems)

    @classmethod
    def from_table(
        cls,
        raw: Mapping[str, Any],
        folder: str | pathlib.Path = ".",
        modules: tuple[Module, ...] | Literal[False] | None = None,
    ) -> Experiment:
        """Make an experiment from a table, the content of a TOML file.

        Parameters
        ----------
        raw
            The table.
        folder
            Folder of the modules that the table names. Their code is run.
        modules
            These modules, if they are imported already. False refuses a table that names some, so
            that no code but this package's is run.
        """
        table = without_sweep(raw)
        if modules is None:
            modules = take_modules(table, pathlib.Path(folder))
        if modules is False:
            refuse_modules(table)
        drop_module_keys(table)
        head: ExperimentKeys = convert(table, ExperimentKeys, "")
        systems = tuple(variant(entry, f"systems[{i}]") for i, entry in enumerate(head.systems))
        return cls(
            environment=environment_of(head.environment),
            systems=systems,
            modules=modules or (),
            **{key: getattr(head, key) for key in _PLAIN_KEYS},
        )

    def to_table(self) -> dict[str, Any]:
        """Return the complete configuration as a table, which can be run again."""
        systems = [
            {"preset": s.preset, "label": s.label, **without_none(msgspec.to_builtins(s.config))}
            for s in self.systems
        ]
        return table_of(self.modules) | self._head_table() | {"systems": systems}

    def to_toml(self) -> str:
        """Return the complete configuration as TOML text; see :meth:`to_table`."""
        return tomli_w.dumps(self.to_table())

    def check(self) -> tuple[Plan, ...]:
        """Load the data and return every system's plan; errors appear before anything runs.

        Warns
        -----
        ConfigWarning
            If something can be run, but its results may mean little.
        """
        _prepare(self.environment, self.rounds)
        planned = tuple(self._planned())
        if caution := _caution_of_rows(self.environment, (plan.config for *_, plan in planned)):
            warnings.warn(f"environment.{caution}", ConfigWarning, stacklevel=3)
        for index, (_, found, plan) in enumerate(planned):
            for caution in cautions_of(found, plan):
                warnings.warn(f"systems[{index}].{caution}", ConfigWarning, stacklevel=3)
        return tuple(plan for _, _, plan in planned)

    def claims(self) -> dict[str, PrivacyClaim]:
        """Return the privacy claim of every system, by label."""
        return {entry.label: system.claim(plan) for entry, system, plan in self._planned()}

    def bounds(self) -> dict[str, Sequence[Bound]]:
        """Return bounds from theorems by system's label; a system without theorems has none."""
        return {
            entry.label: bounds_in(system, plan, self.environment)
            for entry, system, plan in self._planned()
        }

    def __repr__(self) -> str:
        lines = [repr(self.environment), *map(repr, self.systems)]
        return "\n  ".join([f"Experiment {self.name!r}: {self._numbers()}", *lines])

    def _repr_html_(self) -> str:
        systems = [(entry.label, entry.preset, entry.config) for entry in self.systems]
        return experiment_html(self.name, self._numbers(), repr(self.environment), systems)

    def _numbers(self) -> str:
        replicates = f"{self.replicates:,} replicate{'s' if self.replicates > 1 else ''}"
        return f"{self.rounds:,} rounds, {replicates}, seed {self.seed}"

    def _planned(self) -> Iterator[tuple[Variant, System[Any], Plan]]:
        """Plan every system; errors name its table."""
        hold_texts(self.modules)
        for index, entry in enumerate(self.systems):
            system = find_system(entry.system)
            if not system.plays_in(type(self.environment)):
                fitting = [kind for kind, found in environments().items() if system.plays_in(found)]
                raise ConfigError(
                    f"systems[{index}].preset: {entry.preset!r} does not play in environment "
                    f"{kind_of(self.environment)!r}; allowed: {', '.join(fitting)}"
                )
            self.environment.facts  # noqa: B018 - its data are wrong, if so, not the system
            refuse_late(self.environment, self.rounds)
            try:
                plan = plan_in(system, entry.config, self.environment, self.rounds)
            except (ConfigError, DataError) as error:
                raise type(error)(f"systems[{index}].{error}") from None
            yield entry, system, plan

    def _head_table(self) -> dict[str, Any]:
        table = {key: getattr(self, key) for key in _PLAIN_KEYS}
        table["environment"] = _table_of_environment(self.environment)
        table["best_alone"] = self.best_alone or None
        cleaned: dict[str, Any] = without_none(msgspec.to_builtins(table, enc_hook=plain))
        return cleaned


def load(
    path: str | pathlib.Path, overrides: Iterable[str] = (), *, allow_modules: bool = True
) -> Experiment:
    """Read an experiment from a TOML file.

    Parameters
    ----------
    path
        Path of the TOML file, or the name of an example that comes with this package, such as
        ``"quickstart"``. If a file has that name, the file is read.
    overrides
        Assignments ``key.path=value``, with values in TOML notation. Examples:
        ``systems.0.epsilon=2``, ``systems.LABEL.epsilon=2`` or ``systems.*.epsilon=2``.
    allow_modules
        Whether modules that the file names are imported, which runs their code. Say False of a
        file that you did not write: then one that names modules is refused.
    """
    file = experiment_file(path)
    modules: Literal[False] | None = None if allow_modules else False
    return Experiment.from_table(read_experiment(file, overrides), file.parent, modules)


def _checked_systems(given: Any, best_alone: str) -> tuple[Variant, ...]:
    if isinstance(given, Variant) or not isinstance(given, Iterable):
        raise ConfigError("systems: given one system, allowed: a list of fb.system(…)")
    systems: tuple[Variant, ...] = tuple(given)
    if not all(isinstance(entry, Variant) for entry in systems):
        raise ConfigError("systems: allowed: a list of fb.system(…)")
    if not systems:
        raise ConfigError("systems: none given, allowed: at least one [[systems]] table")
    labels = [entry.label for entry in systems]
    for index, label in enumerate(labels):
        if label in labels[:index]:
            where = f"systems[{index}].label: {label!r}"
            raise ConfigError(f"{where} is the label of two systems; give one another label")
    if best_alone not in ("", *labels):
        given = f"best_alone: given {shown(best_alone)}"
        raise ConfigError(f"{given}, allowed: the label of a system; left out, a run finds one")
    return systems


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
        cls = find_environment(kind)
    except ConfigError as error:
        raise ConfigError(f"environment.kind: {error}") from None
    if given is not None and cls is not given:
        raise ConfigError(
            f"environment: {given.__qualname__} is not registered; call fb.register"
            f"({given.__qualname__}) first"
        )
    environment: Environment = convert(table, cls, "environment")
    return environment


def _table_of_environment(environment: Environment) -> dict[str, Any]:
    """Return the table of an environment; keys of later releases stand in it if they are given."""
    return without_later(environment, msgspec.to_builtins(environment, enc_hook=plain))


def _prepare(environment: Environment, rounds: int) -> None:
    """Load the data of ``environment`` for ``rounds`` rounds, and warn of its cautions.

    It raises a DataError if its data cannot be used, or is not enough.
    """
    try:
        environment.prepare()
        environment.refuse_rounds(rounds)
    except DataError as error:
        raise DataError(_with_key(environment, str(error))) from None
    for caution in environment.cautions():
        warnings.warn(f"environment.{caution}", ConfigWarning, stacklevel=4)


def _caution_of_rows(environment: Environment, configs: Iterable[Any]) -> str | None:
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


def _with_key(environment: Environment, message: str) -> str:
    """Put the key that names a file before a message about the file."""
    for field in msgspec.structs.fields(environment):
        value = getattr(environment, field.name)
        if isinstance(value, str) and value and message.startswith((value, repr(value))):
            return f"environment.{field.name}: {message}"
    return message
