"""A complete system outside the package: run from its file, resumed, reported, audited, held."""

from __future__ import annotations

import asyncio
import importlib
import logging
import pathlib
import shutil
import sys
from collections import Counter

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

import fedbandits as fb
from fedbandits.cli.main import app
from fedbandits.environments import registry as environment_registry
from fedbandits.errors import ResumeWarning
from fedbandits.experiments.audits.audit import audit
from fedbandits.experiments.events import ReplicateFinished
from fedbandits.federation.messages import ImplausibleError, pack
from fedbandits.privacy import running_sum
from fedbandits.systems import find_preset, registry
from fedbandits.testing import applications, environments, systems
from fedbandits.testing.deployed_systems import does_as_simulated
from fedbandits.testing.replicates import federate
from tests.deployment.fuzzed import Fuzzed
from tests.deployment.misbehaving import disturbed
from tests.sized import in_two_sizes

FOLDER = pathlib.Path(__file__).parents[2] / "examples" / "extending"
FILE = FOLDER / "private_greedy.toml"
PRESETS = ["private-greedy", "greedy-in-clear"]
#: Fewer numbers are checked and attacked sooner.
FEW = {"releases": 3}


@pytest.fixture(scope="module", autouse=True)
def loaded():
    """What the file's modules register is known while these tests run."""
    kept = dict(registry._registered), dict(environment_registry._registered)
    yield fb.load(FILE)
    for known, before in zip((registry, environment_registry), kept, strict=True):
        known._registered.clear()
        known._registered.update(before)
    for name in [each for each in sys.modules if each.startswith("fedbandits_module_")]:
        del sys.modules[name]


def small(experiment, *presets, **settings):
    return msgspec.structs.replace(
        experiment, rounds=60, replicates=2,
        systems=tuple(fb.system(preset, **settings) for preset in presets),
    )  # fmt: skip


@pytest.mark.usefixtures("few_pairs")
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("check", in_two_sizes(systems.CHECKS))
def test_it_is_held_to_what_all_systems_are(check, preset):
    check(preset)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("check", applications.CHECKS, ids=lambda check: check.__name__)
def test_applications_can_ask_it_as_any_other(check, preset):
    check(preset)


@pytest.mark.parametrize("preset", PRESETS)
def test_members_of_a_federation_do_as_simulated(preset, tmp_path):
    does_as_simulated(preset, tmp_path, restarts=True)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_member_that_sends_nonsense_disturbs_nobody(preset, tmp_path):
    for name in ("quiet", "attacked"):
        (tmp_path / name).mkdir()
    quiet = asyncio.run(disturbed(preset, tmp_path / "quiet", False))
    attacked = asyncio.run(disturbed(preset, tmp_path / "attacked", True))
    np.testing.assert_array_equal(attacked[0], quiet[0])
    np.testing.assert_array_equal(attacked[1], quiet[1])
    assert attacked[2] >= 5
    assert attacked[3] >= 100


def test_whatever_real_hosts_do_not_take_changes_nothing(tmp_path, caplog):
    found = Counter()
    caplog.set_level(logging.CRITICAL, "fedbandits.deployment")
    asyncio.run(Fuzzed("private-greedy", tmp_path, (30, 15), found).run())
    assert found["frame: SealError"] > 100
    assert sum(count for kind, count in found.items() if kind.endswith("Error")) > 250


@pytest.mark.parametrize("check", environments.CHECKS, ids=lambda check: check.__name__)
def test_its_world_is_held_to_what_all_worlds_are(check, loaded):
    check(msgspec.structs.replace(loaded.environment, agents=3))


def invoke(*arguments):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done.output


def test_the_command_runs_and_reports_it(tmp_path):
    out = tmp_path / "out"
    short = ["--set", "rounds=80", "--replicates", "2", "--out", out]
    assert "private-greedy" in invoke("run", FILE, "--allow-modules", *short)
    assert (out / "private_greedy" / "roles" / "agent.py").is_file()
    assert "private-greedy" in (out / "report.html").read_text(encoding="utf-8")
    assert "private-greedy," in (out / "summary.csv").read_text(encoding="utf-8")
    assert "ε = 1" in invoke("privacy", FILE, "--allow-modules")


def test_the_command_resumes_what_was_stopped(tmp_path):
    out, stop = tmp_path / "out", fb.Stop()
    short = fb.load(FILE, ["rounds=80", "replicates=2"])

    def leave(event):
        if isinstance(event, ReplicateFinished):
            stop.set()

    stopped = fb.run(short, out=out, jobs=1, on_event=leave, stop=stop)
    assert stopped.attrs["interrupted"] == 1
    assert np.isnan(stopped.regret).any()
    changes = ["--set", "rounds=80", "--replicates", "2", "--out", out]
    invoke("run", FILE, "--allow-modules", *changes, "--resume")
    with pytest.warns(ResumeWarning, match="complete run already"):
        resumed = fb.run(short, out=out, resume=True)  # as the command has left it
    assert resumed.regret.equals(fb.run(short).regret)


def test_it_is_run_from_its_copy(tmp_path, loaded):
    result = fb.run(small(loaded, *PRESETS), out=tmp_path / "out")
    assert fb.run(tmp_path / "out" / "config.toml").regret.equals(result.regret)


def test_listing_runs_none_of_its_code(tmp_path, monkeypatch):
    shutil.copytree(FOLDER, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    for module in (tmp_path / "here").rglob("*.py"):
        module.write_text("raise RuntimeError('was imported')", encoding="utf-8")
    invoke("list")


def test_its_claim_holds(loaded):
    (verdict,) = audit(small(loaded, "private-greedy", **FEW), runs=4000).verdicts
    assert (verdict.outcome, verdict.epsilon) == ("holds", pytest.approx(1.0, rel=1e-3))
    assert verdict.tightness > 0.4
    assert all(finding.right for finding in verdict.noise)
    assert [finding.sees for finding in verdict.findings] == ["contents"] * 2 + ["messages"] * 2
    assert "no record moves its releases further than is charged" in verdict.sensitivity_line


def test_half_the_noise_is_seen(loaded, monkeypatch):
    """By attacks on contents, and in every number that leaves a party."""
    whole = running_sum.release

    def half(plan, *arguments):
        return whole(msgspec.structs.replace(plan, scale=0.5 * plan.scale), *arguments)

    monkeypatch.setattr(running_sum, "release", half)
    (verdict,) = audit(small(loaded, "private-greedy", **FEW), runs=4000).verdicts
    assert verdict.outcome == "broken"
    assert verdict.epsilon_low > 1.0
    with pytest.raises(AssertionError, match=r"number \d+: 0\.5 × planned"):
        systems.adds_its_planned_noise("private-greedy")


def agent_class():
    return find_preset("private-greedy").room("roles").Agent


def test_an_agent_that_counts_an_interaction_twice_is_seen(loaded, monkeypatch):
    """It moves its sums twice as far as the plan says: no attack of so few runs shows that."""
    observe = agent_class()._observe

    def twice(agent, event):
        step = observe(agent, event)
        own = 2.0 * step.state.own - agent._state.own
        return replace(step, state=replace(step.state, own=own))

    monkeypatch.setattr(agent_class(), "_observe", twice)
    (verdict,) = audit(small(loaded, "private-greedy", **FEW), runs=4000).verdicts
    assert verdict.outcome == "broken"
    assert "a record moves its releases further than is charged" in verdict.sensitivity_line
    with pytest.raises(AssertionError, match="one record moves releases too far: ε = "):
        systems.moves_no_further_than_charged("private-greedy", 0.0)


def test_an_agent_that_acts_on_its_own_records_is_seen(loaded, monkeypatch):
    """Its claim says that others may react. Its next arms then tell of the record as well."""
    observe = agent_class()._observe

    def by_own(agent, event):
        step, arms = observe(agent, event), agent._plan.facts.arms
        means = step.state.own[arms:] / np.maximum(step.state.own[:arms], 1.0)
        return replace(step, state=replace(step.state, means=means))

    monkeypatch.setattr(agent_class(), "_observe", by_own)
    (verdict,) = audit(small(loaded, "private-greedy", **FEW), runs=4000).verdicts
    assert verdict.outcome == "broken"
    with pytest.raises(AssertionError, match="one record moves releases too far: ε = "):
        systems.moves_no_further_than_charged("private-greedy", 0.0)


def test_sharing_helps_and_noise_costs():
    """In a world with one best arm, sums of all agents find it sooner than one agent's own."""
    world = environment_registry.find_environment("coins")(agents=20, coins=4)

    def regret(preset, **settings):
        run = federate(fb.system(preset, **settings).config, world, 400, 1, 0)
        run.advance(400)
        return run.regret.sum()

    shared, noisy = regret("greedy-in-clear"), regret("private-greedy", epsilon=1.0)
    never = regret("greedy-in-clear", explore=1.0)
    assert shared < noisy < never
    assert shared < 0.5 * never


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-1.0, 1.0), (-3.0, 3.0), (0.0, 5.0), (-4.0, 1.0)])
def test_one_interaction_moves_the_sums_by_no_more_than_is_priced(loaded, bounds):
    facts = msgspec.structs.replace(loaded.environment.facts, reward_range=bounds)
    plan = find_preset("private-greedy").plan(loaded.systems[0].config, facts, 60)
    rewards = (*bounds, sum(bounds) / 2)
    records = [plan.record(arm, reward) for arm in (0, 1) for reward in rewards]
    moved = [np.linalg.norm(one - other) for one in records for other in records]
    assert max(moved) == pytest.approx(plan.record_norm)
    assert max(moved) <= plan.record_norm


def test_an_edit_of_any_room_is_other_code(tmp_path, monkeypatch):
    """For checkpoints, where a package is installed: a module's digest is recorded besides."""
    shutil.copytree(FOLDER / "private_greedy", tmp_path / "installed_greedy")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "_registered", {})
    system = importlib.import_module("installed_greedy").SYSTEM
    before = registry.code_of(system)
    room = tmp_path / "installed_greedy" / "roles" / "agent.py"
    room.write_text(room.read_text(encoding="utf-8") + "# another\n", encoding="utf-8")
    assert len(before) == 64
    assert registry.code_of(system) != before
    for name in [each for each in sys.modules if each.startswith("installed_greedy")]:
        del sys.modules[name]


def test_a_package_without_a_loop_is_played_by_its_parties(loaded):
    found = find_preset("private-greedy")
    plan = loaded.systems[0].plan(loaded.environment, 60)
    assert not found.has_room("loop")
    assert type(found.simulate(plan, loaded.environment, 0, 0)).__name__ == "PartiesReplicate"
    assert found.needs(plan).parts == ()
    assert found.bounds(plan, loaded.environment) == ()


def test_numbers_that_no_interactions_make_are_refused(loaded):
    run = federate(fb.system("private-greedy").config, loaded.environment, 32, 1, 0)
    run.advance(32)
    adder, agent = run.run.one("adder"), run.run.of("agent")[0]
    plan = loaded.systems[0].plan(loaded.environment, 32)
    most = 32.0 + 8.0 * plan.mechanism.largest_deviation()
    for party, agents in ((adder, 1), (agent, 10)):
        assert plan.read(party.name, pack(np.full(plan.size, 32.0)), agents).size == plan.size
        with pytest.raises(ImplausibleError, match=rf"{party.name}: a number is larger"):
            plan.read(party.name, pack(np.full(plan.size, agents * most)), agents)


def test_what_comes_after_the_last_round_counts_for_nothing(loaded):
    run = federate(fb.system("private-greedy").config, loaded.environment, 32, 1, 0)
    run.advance(32)
    agent = run.run.of("agent")[0]
    before = agent.state.own.copy()
    assert before[:5].sum() == 32
    agent.observe(agent.decide(None), 1.0)
    np.testing.assert_array_equal(agent.state.own, before)


@pytest.mark.parametrize(
    ("settings", "says"),
    [({"releases": 0}, "releases"), ({"noise": "some"}, "gaussian"), ({"epsilon": 0}, "epsilon")],
)
def test_settings_that_are_none_are_refused(settings, says):
    with pytest.raises(fb.ConfigError, match=says):
        fb.system("private-greedy", **settings)
