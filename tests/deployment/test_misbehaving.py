"""A member that sends nonsense, sealed and numbered as it must be: the others go on as without it.

Every member in turn sends each of its peers absurd statistics, requests that are out of turn, bytes
with a flipped bit, and what it has sent before; frames are repeated and altered on their way.
"""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from tests.deployment.misbehaving import disturbed

#: One of each kind of parties; ``benchmarks/attacks.py`` plays all presets.
FEW = ["feducb", "fclub", "pfcb", "samba-ucb", "samba-silent-ucb"]


@pytest.mark.parametrize("preset", FEW)
def test_the_others_go_on_as_if_nothing_had_been_sent(preset, tmp_path):
    (tmp_path / "quiet").mkdir()
    (tmp_path / "attacked").mkdir()
    quiet = asyncio.run(disturbed(preset, tmp_path / "quiet", False))
    attacked = asyncio.run(disturbed(preset, tmp_path / "attacked", True))
    np.testing.assert_array_equal(attacked[0], quiet[0])
    np.testing.assert_array_equal(attacked[1], quiet[1])
    assert quiet[2:] == (0, 0)
    assert attacked[2] >= 5
    assert attacked[3] >= 100
