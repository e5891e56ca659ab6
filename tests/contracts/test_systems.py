"""What every preset of every system promises; see :mod:`fedbandits.testing.systems`."""

from __future__ import annotations

from collections import defaultdict

import numba
import pytest

import fedbandits as fb
from fedbandits.environments import find_environment
from fedbandits.experiments.result import own_metrics
from fedbandits.settings.reference.glossary import VARIABLES
from fedbandits.systems import find_preset, preset_names
from fedbandits.testing.systems import (
    CHECKS,
    ROUNDS,
    adds_its_planned_noise,
    goes_on_from_any_event,
    moves_no_further_than_charged,
    refuses_mutants_without_a_trace,
)
from fedbandits.testing.worlds import small_world

PRESETS = sorted(preset_names())
#: Checks that play parties hundreds of times: for the preset that a system is named after. Others
#: share its code, so fewer runs do: what is √2 times too small in all of a party's numbers shows.
DEAR = (adds_its_planned_noise, moves_no_further_than_charged)
FEWER = 0.35
#: Checks of parties alone, and index rules whose parties differ from those of ``ucb`` or of
#: ``egreedy`` in the formula of a score, which no message and no restart touches.
OF_PARTIES = (goes_on_from_any_event, refuses_mutants_without_a_trace)
ALIKE = ("-kl-ucb", "-ucb-tuned", "-thompson", "-egreedy-decreasing")

CASES = [
    pytest.param(
        preset, check, id=f"{preset}-{check.__name__}",
        marks=[pytest.mark.slow] if check in OF_PARTIES and preset.endswith(ALIKE) else [],
    )
    for preset in PRESETS
    for check in CHECKS
]  # fmt: skip


def test_preset_names_are_unique():
    assert len(PRESETS) == len(set(PRESETS)) > 0


@pytest.mark.parametrize(("preset", "check"), CASES)
def test_a_preset(preset, check):
    if check in DEAR and preset != find_preset(preset).name.replace("_", "-"):
        check(preset, FEWER)
    else:
        check(preset)


def test_presets_of_a_system_share_its_kernels():
    """An array that one preset makes read-only and another does not would double every kernel."""
    kinds = defaultdict(set)
    for preset in PRESETS:
        found = find_preset(preset)
        plan = fb.system(preset).plan(small_world(found), ROUNDS)
        if hasattr(plan, "constants"):
            kinds[found.name].add(str(numba.typeof(plan.constants)))
    assert len(kinds) > 4
    assert {name for name, seen in kinds.items() if len(seen) > 1} == set()


OWN_METRICS = [("fclub", "clustered"), ("fclub-published", "clustered"), ("pfcb", "procurement")]


@pytest.mark.parametrize(("preset", "kind"), OWN_METRICS)
def test_variables_of_a_system_s_own_are_explained(preset, kind):
    world = find_environment(kind)()
    result = fb.run(fb.Experiment(rounds=3, environment=world, systems=[fb.system(preset)]))
    assert own_metrics(result)
    assert set(own_metrics(result)) <= set(VARIABLES)
