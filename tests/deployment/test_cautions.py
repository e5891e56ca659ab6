"""A federation's file that the command writes can be used as it is."""

from __future__ import annotations

import pytest

from fedbandits.deployment.hosting.cautions import too_slow
from fedbandits.deployment.process.examples import example
from fedbandits.settings.federation import load_federation


@pytest.mark.parametrize("every", ["300 ms", "3 s", "1 min", "1 h"])
@pytest.mark.parametrize("preset", ["feducb", "feducb-secure", "pfcb", "fclub", "samba-ucb"])
def test_an_example_can_be_used_however_short_its_rounds_are(preset, every, tmp_path):
    file = tmp_path / "one.toml"
    file.write_text(example(preset, every), encoding="utf-8")
    assert too_slow(load_federation(file)) == ""
