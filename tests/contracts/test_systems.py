"""What every preset of every system promises; see :mod:`fedbandits.testing.systems`."""

from __future__ import annotations

import pytest

from fedbandits.systems import find_preset, preset_names
from fedbandits.testing.systems import CHECKS

PRESETS = sorted(preset_names())


def test_preset_names_are_unique():
    assert len(PRESETS) == len(set(PRESETS)) > 0


#: Presets of one system share their kernels.
GROUPED = [
    pytest.param(name, marks=pytest.mark.xdist_group(find_preset(name).name)) for name in PRESETS
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("preset", GROUPED)
def test_a_preset(preset, check):
    check(preset)
