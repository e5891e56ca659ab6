"""What every preset of every system promises; see :mod:`fedbandits.testing.systems`."""

from __future__ import annotations

import pytest

from fedbandits.systems import preset_names
from fedbandits.testing.systems import CHECKS

PRESETS = sorted(preset_names())


def test_preset_names_are_unique():
    assert len(PRESETS) == len(set(PRESETS)) > 0


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset(preset, check):
    check(preset)
