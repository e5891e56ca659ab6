"""Every system between machines does what it does in a simulation."""

from __future__ import annotations

import pytest

from fedbandits.testing.deployed_systems import does_as_simulated

#: One of every kind of parties; ``benchmarks/deployed.py`` plays all presets.
PRESETS = [
    "feducb", "feducb-published", "feducb-p2p", "fedlinucb-async", "fclub", "fclub-published",
    "pfcb", "samba-ucb",
]  # fmt: skip


@pytest.mark.parametrize("preset", PRESETS)
def test_members_do_as_simulated(preset, tmp_path):
    does_as_simulated(preset, tmp_path, restarts=True)
