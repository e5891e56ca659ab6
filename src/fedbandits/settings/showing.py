"""How experiments and their systems show themselves: in a line or a few, and in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from fedbandits._brief import brief, call_of, titled
from fedbandits._html import table
from fedbandits.settings.schema import convert
from fedbandits.settings.written import changed, settings_of
from fedbandits.systems import find_preset

if TYPE_CHECKING:
    from fedbandits.settings.experiment import Experiment, Variant


class ShownVariant(msgspec.Struct, frozen=True):
    """Shows a variant by its preset, its label, and what is not as in the preset."""

    def __repr__(self: Any) -> str:
        return call_of("system", _label(self) | _changed(self), self.preset)

    def _repr_html_(self: Any) -> str:
        other = _changed(self)
        rows = [
            (key, brief(value), "set here" if key in other else "")
            for key, value in settings_of(self.config).items()
        ]
        return titled(_name(self), table(rows, ("setting", "value", "")))


class ShownExperiment(msgspec.Struct, frozen=True, kw_only=True):
    """Shows an experiment by its numbers, its world and its systems, a line each."""

    def __repr__(self: Any) -> str:
        lines = [repr(self.environment), *map(repr, self.systems)]
        return "\n  ".join([f"Experiment {self.name!r}: {_numbers(self)}", *lines])

    def _repr_html_(self: Any) -> str:
        rows = [
            (entry.label, entry.preset, call_of("", _changed(entry))[1:-1])
            for entry in self.systems
        ]
        return titled(
            f"Experiment {self.name!r}",
            table([("runs", _numbers(self)), ("environment", repr(self.environment))])
            + table(rows, ("system", "preset", "settings that are not the preset's")),
        )


def _numbers(experiment: Experiment) -> str:
    replicates = f"{experiment.replicates:,} replicate{'s' if experiment.replicates > 1 else ''}"
    return f"{experiment.rounds:,} rounds, {replicates}, seed {experiment.seed}"


def _name(variant: Variant) -> str:
    return variant.preset + (f" as {variant.label!r}" if _label(variant) else "")


def _label(variant: Variant) -> dict[str, Any]:
    return {} if variant.label == variant.preset else {"label": variant.label}


def _changed(variant: Variant) -> dict[str, Any]:
    """The settings that are not the preset's; all of them where the preset is not known here."""
    found = find_preset(variant.preset)
    if found is None:
        return settings_of(variant.config)
    usual = convert(found.presets[variant.preset].settings, found.config_type, variant.preset)
    return changed(variant.config, usual)
