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
from fedbandits.systems.agents import audit as agents_audit
from fedbandits.testing.systems import (
    CHECKS,
    ROUNDS,
    goes_on_from_any_event,
    refuses_mutants_without_a_trace,
)
from fedbandits.testing.worlds import small_world
from tests.sized import DEAR

PRESETS = sorted(preset_names())
#: Variants whose parties release by the same code as two others do: ``feducb-hybrid``, and
#: ``feducb-secure`` where it adds up sums.
RELEASE_ALIKE = ("lints-hybrid", "feducb-secure-hybrid")
#: Checks of parties alone, and index rules whose parties differ from those of ``ucb`` or of
#: ``egreedy`` in the formula of a score, which no message and no restart touches.
OF_PARTIES = (goes_on_from_any_event, refuses_mutants_without_a_trace)
ALIKE = ("-kl-ucb", "-ucb-tuned", "-thompson", "-egreedy-decreasing", "-softmax")


def is_much_like_others(preset, check):
    """Tell whether a case is left to ``make test-all``."""
    if check in DEAR:
        return preset in RELEASE_ALIKE
    return check in OF_PARTIES and preset.endswith(ALIKE)


CASES = [
    pytest.param(
        preset, check, id=f"{preset}-{check.__name__}",
        marks=[pytest.mark.slow] if is_much_like_others(preset, check) else [],
    )
    for preset in PRESETS
    for check in CHECKS
]  # fmt: skip
#: Releases that whole parties make in them. Those that make more are played in full below.
FEW_RELEASES = 8
#: What is small in the cases above, for presets that a system is named after, and published ones.
IN_FULL = [
    pytest.param(preset, check, id=f"{preset}-{check.__name__}")
    for preset in PRESETS
    for check in DEAR
    if preset in (name := find_preset(preset).name.replace("_", "-"), f"{name}-published")
]


def test_preset_names_are_unique():
    assert len(PRESETS) == len(set(PRESETS)) > 0


@pytest.mark.parametrize(("preset", "check"), CASES)
def test_a_preset(preset, check, monkeypatch, few_pairs):
    if check in DEAR:
        monkeypatch.setattr(agents_audit, "_MOST_RELEASES", FEW_RELEASES)
        check(preset, DEAR[check])
    else:
        check(preset)


@pytest.mark.slow
@pytest.mark.parametrize(("preset", "check"), IN_FULL)
def test_a_preset_in_full(preset, check):
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
