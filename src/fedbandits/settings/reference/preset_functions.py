"""Presets as functions that an editor can complete: ``fb.presets.feducb(epsilon=1.0)``."""

from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from fedbandits.settings.experiment import Variant, variant
from fedbandits.settings.experiment import system as make
from fedbandits.settings.reference.docstrings import marked_meanings_of
from fedbandits.settings.reference.hints import Words, hint
from fedbandits.settings.written import written
from fedbandits.systems import System, systems

#: Columns of a docstring.
_WIDTH = 90


class Setting(msgspec.Struct, frozen=True):
    """One setting of a preset, for those who complete and explain it.

    Parameters
    ----------
    name
        The setting's name.
    hint
        The types that it takes, as one writes them in Python.
    usual
        What it is where it is not given.
    meaning
        What it means.
    """

    name: str
    hint: str
    usual: Any
    meaning: str


def preset_functions() -> Mapping[str, Callable[..., Variant]]:
    """A function for every preset, by its name with underscores for dashes."""
    found: dict[str, Callable[..., Variant]] = {}
    for system in systems():
        for preset in system.presets:
            if identifier(preset).isidentifier():
                found.setdefault(identifier(preset), preset_function(system, preset))
    return found


def identifier(preset: str) -> str:
    """The name of a preset's function."""
    return preset.replace("-", "_")


def settings_of_preset(system: System[Any], preset: str) -> list[Setting]:
    """The settings of a preset, in the order of its configuration's fields."""
    config = variant({"preset": preset}, preset).config
    texts = marked_meanings_of(system.config_type)
    return [
        Setting(
            field.name, hint(field.type), written(getattr(config, field.name)),
            texts.get(field.name, ""),
        )
        for field in msgspec.structs.fields(system.config_type)
    ]  # fmt: skip


@functools.cache
def preset_function(system: System[Any], preset: str) -> Callable[..., Variant]:
    """A preset as a function of its settings; the function returns what ``fb.system`` does."""
    settings = settings_of_preset(system, preset)

    def function(*, label: str | None = None, **given: Any) -> Variant:
        return make(preset, label=label, **given)

    function.__name__ = function.__qualname__ = identifier(preset)
    function.__module__ = "fedbandits.presets"
    function.__doc__ = described(system, preset, settings)
    label = Setting("label", "str | None", None, "")
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=each.usual,
                annotation=Words(each.hint),
            )
            for each in (label, *settings)
        ],
        return_annotation=Variant,
    )
    return function


def described(system: System[Any], preset: str, settings: list[Setting]) -> str:
    """The docstring of a preset's function."""
    first = system.presets[preset].description
    lines = [
        f"{first[:1].upper()}{first[1:]}.",
        "",
        f"A preset of the system {system.name!r} ({system.paper}).",
        "",
        "Parameters",
        "----------",
        "label",
        "    Its name in results; the preset's by default.",
    ]
    for each in settings:
        lines += [each.name, *_indented(each.meaning)]
    return "\n".join(lines)


def _indented(text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent="    ", subsequent_indent="    ", break_long_words=False
    )
