"""The way from an application to a party; see :mod:`fedbandits.testing.applications`."""

from __future__ import annotations

import pytest

from fedbandits.systems import find_preset, preset_names
from fedbandits.testing.applications import CHECKS

#: Presets whose parties are not those of their system's first preset.
OTHER_PARTIES = ("samba-silent-ucb",)


def of_variants(preset):
    """A system's first preset is always played; the others are asked in the same way."""
    always = {next(iter(find_preset(preset).presets)), *OTHER_PARTIES}
    return pytest.param(preset, marks=[] if preset in always else [pytest.mark.slow])


PRESETS = [of_variants(preset) for preset in sorted(preset_names())]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset(preset, check):
    check(preset)
