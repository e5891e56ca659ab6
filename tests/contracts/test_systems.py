"""What every preset of every system promises; see :mod:`fedbandits.testing.systems`."""

from __future__ import annotations

import pytest

import fedbandits as fb
from fedbandits.environments import find_environment
from fedbandits.experiments.result import own_metrics
from fedbandits.settings.reference.glossary import VARIABLES
from fedbandits.systems import preset_names
from fedbandits.testing.systems import CHECKS

PRESETS = sorted(preset_names())


def test_preset_names_are_unique():
    assert len(PRESETS) == len(set(PRESETS)) > 0


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset(preset, check):
    check(preset)


OWN_METRICS = [("fclub", "clustered"), ("fclub-published", "clustered"), ("pfcb", "procurement")]


@pytest.mark.parametrize(("preset", "kind"), OWN_METRICS)
def test_variables_of_a_system_s_own_are_explained(preset, kind):
    world = find_environment(kind)()
    result = fb.run(fb.Experiment(rounds=3, environment=world, systems=[fb.system(preset)]))
    assert own_metrics(result)
    assert set(own_metrics(result)) <= set(VARIABLES)
