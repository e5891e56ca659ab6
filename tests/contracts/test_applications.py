"""The way from an application to a party; see :mod:`fedbandits.testing.applications`."""

from __future__ import annotations

import pytest

from fedbandits.systems import preset_names
from fedbandits.testing.applications import CHECKS

PRESETS = sorted(preset_names())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset(preset, check):
    check(preset)
