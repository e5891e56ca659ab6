"""Guides fit the parties: pseudocode by their own transitions, words for all of their messages."""

from __future__ import annotations

import functools
from typing import Any

import pytest

import fedbandits as fb
from fedbandits.federation.seats import routes
from fedbandits.systems import System, find_preset
from fedbandits.systems.aggregation import Clear, SecureSum
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.guide import Guide, line
from fedbandits.systems.python_learners import LearnerSystem
from fedbandits.systems.registry import BUILT_IN, find_system
from fedbandits.testing.worlds import small_world
from tests.systems.private_learners import PrivateMeans

#: One preset for each set of parties, what a preset does not have, and somebody's own learner.
PRESETS = (
    "feducb", "feducb-secure", "feducb-p2p", "fedlinucb-async", "fclub", "fclub-published",
    "samba-ucb", "samba-silent-ucb", "samba-silent-ucb total=paillier", "pfcb", "pfcb-secure",
    "learner", "learner secure",
)  # fmt: skip
ROUNDS = 12


@functools.cache
def parties_of(name: str) -> tuple[Guide, PartiesReplicate]:
    """The guide of a preset, and its parties in a small world before the first round."""
    system, config = configured(name)
    world = small_world(system)
    plan = system.plan(config, world.facts, ROUNDS)
    guide = system.guide(plan)
    assert guide is not None
    return guide, PartiesReplicate(system, plan, world, 0, 0)


def configured(name: str) -> tuple[System, Any]:
    preset, *parts = name.split()
    if preset == "learner":
        system = LearnerSystem(PrivateMeans)
        return system, system.config_type(aggregation=SecureSum() if parts else Clear())
    return find_preset(preset), fb.system(preset, **dict(part.split("=") for part in parts)).config


def tables(run: PartiesReplicate) -> dict:
    """The transitions of each role."""
    return {
        role.name: run.of(role.name)[0].TRANSITIONS for role in run.system.roles(run.plan).roles
    }


def test_there_are_presets_of_all_systems():
    found = {configured(name)[0].name for name in PRESETS}
    assert found == {*BUILT_IN, PrivateMeans.NAME}


@pytest.mark.parametrize("name", PRESETS)
def test_every_transition_has_a_line(name):
    guide, run = parties_of(name)
    for role, transitions in tables(run).items():
        keys = {key for each in guide.pseudocode[role] for key in each.keys(transitions)}
        assert keys == {f"{stage} {event.__name__}" for stage, event in transitions}, role
    assert set(guide.pseudocode) == set(tables(run))


@pytest.mark.parametrize("name", PRESETS)
def test_every_key_of_a_line_is_a_transition(name):
    guide, run = parties_of(name)
    for role, transitions in tables(run).items():
        for each in guide.pseudocode[role]:
            for key in each.at:
                assert list(line("", key).keys(transitions)), (role, each.text, key)


@pytest.mark.parametrize("name", PRESETS)
def test_a_line_sends_what_its_role_sends(name):
    guide, run = parties_of(name)
    table = run.system.roles(run.plan).table
    for role, lines in guide.pseudocode.items():
        sent = {kind.__name__ for kind, sender, _ in routes(table) if sender == role}
        assert {each.sends for each in lines} - {None} <= sent, role


@pytest.mark.parametrize("name", PRESETS)
def test_all_messages_have_words(name):
    guide, run = parties_of(name)
    sent = {kind.__name__ for kind in run.system.roles(run.plan).table}
    assert sent <= set(guide.passages)


@pytest.mark.parametrize("name", PRESETS)
def test_all_protections_can_be_left_out(name):
    guide, run = parties_of(name)
    for protection, about in guide.protections.items():
        assert about.endswith(".")
        weak = guide.without(run.system, [protection])
        assert protection in weak.name
        assert weak.roles(weak.plan(run.plan.config, run.plan.facts, ROUNDS)) is not None


def test_a_line_stands_for_all_stages():
    transitions = tables(parties_of("feducb")[1])["agent"]
    assert set(line("", "* Decide").keys(transitions)) == {"ready Decide", "waiting Decide"}
    assert list(line("", "idle Decide", "* Nothing").keys(transitions)) == []


def test_systems_without_a_guide_have_none():
    plain = fb.system("plain-ucb")
    world = fb.environments.Bernoulli(arms=3)
    assert find_system("samba").guide(plain.plan(world, ROUNDS)) is None
