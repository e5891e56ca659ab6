"""Experiments: one environment, several systems, the same contexts and rewards for all."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import tomli_w
from msgspec import Meta

from fedbandits._suggest import close_names
from fedbandits.environments import Environment, environments, kind_of
from fedbandits.errors import ConfigError, ConfigWarning, DataError
from fedbandits.settings.examples import experiment_file
from fedbandits.settings.modules import Module, drop_module_keys, hold_texts, table_of, take_modules
from fedbandits.settings.plain import plain, without_none
from fedbandits.settings.schema import convert, shown
from fedbandits.settings.showing import ShownExperiment, ShownVariant
from fedbandits.settings.toml_files import assign, read_toml
from fedbandits.settings.worlds import environment_of, with_key
from fedbandits.systems import Plan, find_preset, find_system, preset_names

if TYPE_CHECKING:  # a configuration is read without what prices it
    from fedbandits.privacy.claims import PrivacyClaim
    from fedbandits.systems.theory import Bound

#: A name is a folder's name: no separators, no leading dot or dash.
_NAME = r"^\w[\w .+=,-]{0,99}\Z"


class Variant(ShownVariant, frozen=True):
    """One system of an experiment: a preset with its settings resolved.

    Made by :func:`system`.

    Parameters
    ----------
    preset
        The preset that it is made from.
    label
        Its name in results, and in ``--set systems.LABEL.key=value``; the preset's by default.
    system
        Name of the system that the preset belongs to.
    config
        Configuration of the system.
    """

    preset: str
    label: str
    system: str
    config: Any

    def plan(self, environment: Environment, rounds: int) -> Plan:
        """What all parties of this variant go by."""
        plan: Plan = find_system(self.system).plan(self.config, environment.facts, rounds)
        return plan


class _Head(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of a configuration, as they stand in the file."""

    rounds: Annotated[int, Meta(ge=1, le=4_000_000_000)]
    environment: dict[str, Any]
    systems: list[dict[str, Any]]
    name: Annotated[str, Meta(pattern=_NAME)] = "experiment"
    replicates: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    checkpoints: Annotated[int, Meta(ge=1, le=100_000)] = 60


class Experiment(ShownExperiment, frozen=True, kw_only=True):
    """What is run.

    Parameters
    ----------
    rounds
        The horizon T: how many rounds are played. Where one party acts a round, as in ``bernoulli``
        and ``clustered`` worlds, it is how many decisions are made in all.
    environment
        The world, the same for every system.
    systems
        The systems to play, each made by :func:`system`. Labels must differ.
    name
        Name of the experiment, in reports and of its folder under ``runs``: up to 100 letters,
        digits, spaces and the signs ``_ . + = , -``, not beginning with one of these signs but _.
    replicates
        Independent repetitions; θ* and splits of data are drawn anew for each.
    seed
        Together with the replicate's number it names every draw: the same seed, the same result.
    checkpoints
        In how many rounds the result is noted, from the first to the last; they lie closer
        together at the beginning.
    modules
        Code that registers what is not built in; :func:`load` fills it in from ``module``.
    """

    rounds: int
    environment: Environment
    systems: tuple[Variant, ...]
    name: str = "experiment"
    replicates: int = 1
    seed: int = 0
    checkpoints: int = 60
    modules: tuple[Module, ...] = ()

    def __post_init__(self) -> None:
        # Built from Python, it passes the same checks as a file does.
        if not isinstance(self.environment, Environment):
            raise ConfigError(
                f"environment: given {shown(self.environment)}, allowed: one of fb.environments"
            )
        head = _head(self._head_table() | {"systems": []})
        for key in ("rounds", "replicates", "seed", "checkpoints"):
            msgspec.structs.force_setattr(self, key, getattr(head, key))
        checked = environment_of(head.environment, type(self.environment))
        msgspec.structs.force_setattr(self, "environment", checked)
        msgspec.structs.force_setattr(self, "systems", _checked_systems(self.systems))

    @classmethod
    def from_table(
        cls,
        raw: Mapping[str, Any],
        folder: str | pathlib.Path = ".",
        modules: tuple[Module, ...] | None = None,
    ) -> Experiment:
        """Build from a table as TOML gives it; raises ConfigError naming the key's path.

        Parameters
        ----------
        raw
            The table.
        folder
            Where modules lie that it names. Their code is run.
        modules
            Those modules, where they are imported already.
        """
        table = dict(raw)
        if modules is None:
            modules = take_modules(table, pathlib.Path(folder))
        else:
            drop_module_keys(table)
        head = _head(table)
        systems = tuple(variant(entry, f"systems[{i}]") for i, entry in enumerate(head.systems))
        return cls(
            rounds=head.rounds,
            environment=environment_of(head.environment),
            systems=systems,
            name=head.name,
            replicates=head.replicates,
            seed=head.seed,
            checkpoints=head.checkpoints,
            modules=modules,
        )

    def to_table(self) -> dict[str, Any]:
        """The resolved configuration: every part written out, ready to be run again."""
        return (
            table_of(self.modules)
            | self._head_table()
            | {
                "systems": [
                    {
                        "preset": s.preset,
                        "label": s.label,
                        **without_none(msgspec.to_builtins(s.config)),
                    }
                    for s in self.systems
                ]
            }
        )

    def to_toml(self) -> str:
        """:meth:`to_table` as TOML text."""
        return tomli_w.dumps(self.to_table())

    def check(self) -> tuple[Plan, ...]:
        """Load data and plan every system, so that what is impossible fails before it runs.

        Returns
        -------
        tuple of Plan
            What each system goes by, in order.

        Warns
        -----
        ConfigWarning
            Of what can be run, but hardly makes sense.
        """
        try:
            self.environment.prepare()
        except DataError as error:
            raise DataError(with_key(self.environment, str(error))) from None
        plans = tuple(self._plan(index, entry) for index, entry in enumerate(self.systems))
        for index, (entry, plan) in enumerate(zip(self.systems, plans, strict=True)):
            for caution in find_system(entry.system).cautions(plan):
                warnings.warn(f"systems[{index}].{caution}", ConfigWarning, stacklevel=3)
        return plans

    def claims(self) -> dict[str, PrivacyClaim]:
        """The privacy claim of every system, by label."""
        return {
            entry.label: find_system(entry.system).claim(self._plan(index, entry))
            for index, entry in enumerate(self.systems)
        }

    def bounds(self) -> dict[str, Sequence[Bound]]:
        """What theorems promise of every system, by label; nothing for those without any."""
        return {
            entry.label: find_system(entry.system).bounds(
                self._plan(index, entry), self.environment
            )
            for index, entry in enumerate(self.systems)
        }

    def _plan(self, index: int, entry: Variant) -> Plan:
        hold_texts(self.modules)
        system = find_system(entry.system)
        if not system.plays_in(type(self.environment)):
            fitting = [kind for kind, found in environments().items() if system.plays_in(found)]
            raise ConfigError(
                f"systems[{index}].preset: {entry.preset!r} does not play in environment "
                f"{kind_of(self.environment)!r}; allowed: {', '.join(fitting)}"
            )
        facts = self.environment.facts
        try:
            plan: Plan = system.plan(entry.config, facts, self.rounds)
        except (ConfigError, DataError) as error:
            raise type(error)(f"systems[{index}].{error}") from None
        return plan

    def _head_table(self) -> dict[str, Any]:
        table = {
            key: getattr(self, key)
            for key in ("name", "rounds", "replicates", "seed", "checkpoints", "environment")
        }
        cleaned: dict[str, Any] = without_none(msgspec.to_builtins(table, enc_hook=plain))
        return cleaned


def system(preset: str, *, label: str | None = None, **settings: Any) -> Variant:
    """A system by the name of a preset, with any part set by itself.

    Parameters
    ----------
    preset
        Name of the preset; ``fedbandits list`` shows them all.
    label
        Its name in results; the preset's by default.
    **settings
        Override the preset's parts: ``epsilon=1.0, schedule="every(100)"``.

    Raises
    ------
    ConfigError
        For an unknown preset or part, or an impossible value.
    """
    name = preset if label is None else label
    given = msgspec.to_builtins(settings, enc_hook=plain)
    return variant({"preset": preset, "label": name} | given, "system")


def load(path: str | pathlib.Path, overrides: Iterable[str] = ()) -> Experiment:
    """Read an experiment from a TOML file.

    Parameters
    ----------
    path
        Path of the TOML file, or the name of an example that comes with this package, as
        ``"quickstart"``. A file of that name comes first.
    overrides
        ``key.path=value`` assignments, values in TOML notation; ``systems.0.epsilon=2``,
        ``systems.LABEL.epsilon=2`` or ``systems.*.epsilon=2``.
    """
    file = experiment_file(path)
    raw = read_toml(file)
    for assignment in overrides:
        assign(raw, assignment)
    return Experiment.from_table(raw, file.parent)


def _head(raw: Mapping[str, Any]) -> _Head:
    head: _Head = convert(raw, _Head, "")
    return head


def variant(entry: Mapping[str, Any], place: str) -> Variant:
    """A system from its table in a file; ``place`` is that table's path."""
    settings = dict(entry)
    preset = settings.pop("preset", None)
    label = settings.pop("label", preset)
    found = find_preset(preset) if isinstance(preset, str) else None
    if found is None:
        known = close_names(preset, preset_names(), "fedbandits list")
        raise ConfigError(f"{place}.preset: given {shown(preset)}, {known}")
    if not isinstance(label, str) or not _is_label(label):
        raise ConfigError(
            f"{place}.label: given {shown(label)}, allowed: a name of up to 60 printable "
            "characters, not beginning with _ or a space"
        )
    table = {**found.presets[str(preset)].settings, **settings}
    return Variant(str(preset), label, found.name, convert(table, found.config_type, place))


def _is_label(label: str) -> bool:
    fits = 0 < len(label) <= 60 and label.isprintable() and label == label.strip()
    return fits and not label.startswith("_")


def _checked_systems(given: Any) -> tuple[Variant, ...]:
    if isinstance(given, Variant) or not isinstance(given, Iterable):
        raise ConfigError("systems: given a single one, allowed: a list of fb.system(…)")
    systems: tuple[Variant, ...] = tuple(given)
    if not all(isinstance(entry, Variant) for entry in systems):
        raise ConfigError("systems: allowed: a list of fb.system(…)")
    if not systems:
        raise ConfigError("systems: none given, allowed: at least one [[systems]] table")
    seen: set[str] = set()
    for index, entry in enumerate(systems):
        if entry.label in seen:
            raise ConfigError(
                f"systems[{index}].label: {entry.label!r} names two systems; give one a label"
            )
        seen.add(entry.label)
    return systems
