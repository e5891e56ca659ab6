"""Variants: one preset of a system with all its settings, from a table or from Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from fedbandits._schema import convert, shown
from fedbandits._suggest import close_names
from fedbandits.errors import ConfigError
from fedbandits.settings.written import plain, variant_html, variant_line
from fedbandits.systems import find_preset, find_system, preset_names

if TYPE_CHECKING:  # a federation has facts, and no world
    from fedbandits.environments.base import Environment
    from fedbandits.systems.base import Plan


class Variant(msgspec.Struct, frozen=True):
    """One system of an experiment: a preset with all its settings.

    :func:`system` makes it.

    Parameters
    ----------
    preset
        Name of the preset.
    label
        Name in results, and in ``--set systems.LABEL.key=value``. By default the preset's name.
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
        """Make the plan of all parties, in ``environment``, for ``rounds`` rounds."""
        from fedbandits.systems.simulated import plan_in  # a federation plans without a world

        return plan_in(find_system(self.system), self.config, environment, rounds)

    def __repr__(self) -> str:
        return variant_line(self.preset, self.label, self.config)

    def _repr_html_(self) -> str:
        return variant_html(self.preset, self.label, self.config)


def system(preset: str, *, label: str | None = None, **settings: Any) -> Variant:
    """Make a system from the name of a preset and settings.

    Parameters
    ----------
    preset
        Name of the preset; ``fedbandits list`` shows all presets.
    label
        Name in results. By default the name of the preset.
    **settings
        Settings that replace those of the preset: ``epsilon=1.0, schedule="every(100)"``.

    Raises
    ------
    ConfigError
        If the preset or a setting is unknown, or a value is impossible.
    """
    name = preset if label is None else label
    given = msgspec.to_builtins(settings, enc_hook=plain)
    return variant({"preset": preset, "label": name} | given, "system")


def variant(entry: Mapping[str, Any], place: str) -> Variant:
    """Make a system from its table in a file; ``place`` is the path of the table."""
    settings = dict(entry)
    preset = settings.pop("preset", None)
    label = settings.pop("label", preset)
    system_ = find_preset(preset) if isinstance(preset, str) else None
    if system_ is None:
        known = close_names(preset, preset_names(), "fedbandits list")
        raise ConfigError(
            f"{place}.preset: given {shown(preset)}, {known}; one of your own is known once "
            '`module = "FILE.py"` names its file, or its module is imported'
        )
    if not isinstance(label, str) or not _is_label(label):
        raise ConfigError(
            f"{place}.label: given {shown(label)}, allowed: a name of up to 60 printable "
            "characters, not beginning with _ or a space"
        )
    table = {**system_.presets[str(preset)].settings, **settings}
    return Variant(str(preset), label, system_.name, convert(table, system_.config_type, place))


def _is_label(label: str) -> bool:
    fits = 0 < len(label) <= 60 and label.isprintable() and label == label.strip()
    return fits and not label.startswith("_")
