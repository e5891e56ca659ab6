"""What is said before a run is what it keeps; what cannot fit is refused, what is long told."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest

import fedbandits as fb
from fedbandits.environments import Bernoulli, Classification, Clustered, Linear, Procurement
from fedbandits.environments.base import Needs
from fedbandits.errors import LongRunWarning, ResourceError
from fedbandits.experiments import estimate as module
from fedbandits.experiments.estimate import available_memory, estimate, warn_of_long_runs
from fedbandits.random import replicate_key
from fedbandits.systems import System, find_preset, preset_names

WORLDS = {
    "contextual": Linear(agents=40, dim=20, arms=5),
    "arms": Bernoulli(arms=300),
    "procurement": Procurement(agents=60, producers=50),
    "clustered": Clustered(users=60, dim=12, items=5),
}


def kept(tree: object) -> int:
    """Bytes of all arrays in nested tuples."""
    if isinstance(tree, np.ndarray):
        return tree.nbytes
    return sum(map(kept, tree)) if isinstance(tree, tuple) else 0


def experiment(world, *presets, rounds=2_000, **keys) -> fb.Experiment:
    systems = [fb.system(preset) for preset in presets]
    return fb.Experiment(rounds=rounds, environment=world, systems=systems, **keys)


@pytest.mark.parametrize("preset", preset_names())
def test_what_is_declared_is_what_a_state_keeps(preset):
    """Matrices of a trigger that there is not are allocated, but never written to: no memory."""
    found = find_preset(preset)
    world = next(w for w in WORLDS.values() if found.plays_in(type(w)))
    plan = fb.system(preset).plan(world, 2_000)
    make = found.function("state", "initial_state")
    # Owners of SAMBA have so little that the simulation makes the state itself.
    state = make(plan) if make else found.simulate(plan, world, 1, 0).state
    needs = found.needs(plan)
    assert 0.55 < needs.bytes / kept(state) < 1.6
    assert needs.operations > 2_000
    assert all(part.keys for part in needs.parts)


@pytest.mark.parametrize(
    "world",
    [
        Linear(dim=40, arms=1_000),
        Procurement(agents=300, producers=200),
        Clustered(users=2_000, dim=30, items=10),
        Classification(dataset="wine", agents=400, shards="shared"),
    ],
    ids=lambda world: type(world).__name__,
)
def test_what_is_declared_is_what_a_world_keeps(world):
    found = world.world(replicate_key(1, 0))
    allocated = kept(found)
    if isinstance(world, Linear):  # what is drawn in, not what is there
        allocated += (world.dim + 2) * world.arms * 2
    assert 0.5 < world.needs(10).bytes / allocated < 2.0


def test_a_million_agents_are_refused_with_the_numbers_and_at_once(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "available_memory", lambda: (2**32, "available here"))
    began = time.process_time()
    with pytest.raises(ResourceError) as refusal:
        fb.run(
            experiment(Linear(agents=1_000_000), "feducb", rounds=100_000),
            out=tmp_path / "out",
            jobs=1,
        )
    assert time.process_time() - began < 60.0  # it was hours
    message = str(refusal.value)
    assert "experiment: needs at least" in message
    assert "4.0 GiB are available here" in message
    assert "The most go to feducb: noise that is kept for later releases" in message
    assert "lower environment.agents or environment.dim, or sync less" in message
    assert not (tmp_path / "out").exists()


def test_the_remedy_is_that_of_what_is_largest(monkeypatch):
    monkeypatch.setattr(module, "available_memory", lambda: (2**20, "available here"))
    many = experiment(Linear(agents=2_000), "linucb-alone", replicates=20, rounds=50)
    with pytest.raises(
        ResourceError, match=r"go to the results, .* lower environment\.agents, che"
    ):
        fb.run(many, jobs=1)
    large = experiment(Linear(agents=50, dim=60), "linucb-alone", replicates=4, rounds=50)
    with pytest.raises(ResourceError, match=r"in each replicate; .* fewer than 4 replicates side"):
        fb.run(large, jobs=4)


def test_a_run_that_fits_is_not_refused(monkeypatch):
    small = experiment(Linear(agents=2, dim=2, arms=3), "feducb-nonprivate", rounds=20)
    expected = estimate(small, small.check(), 1)
    monkeypatch.setattr(module, "available_memory", lambda: (int(expected.bytes) + 1, "here"))
    fb.run(small, jobs=1)
    monkeypatch.setattr(module, "available_memory", lambda: None)  # nobody knows
    fb.run(small, jobs=1)
    monkeypatch.setattr(module, "available_memory", lambda: (int(expected.bytes) - 1, "here"))
    with pytest.raises(ResourceError):
        fb.run(small, jobs=1)


def test_long_runs_are_warned_of_and_others_are_not():
    long = experiment(
        Linear(dim=2_000, arms=65_535), "linucb-alone", "feducb-nonprivate", rounds=1_000
    )
    with pytest.warns(
        LongRunWarning, match=r"may take about \d+ days \(a rough .* most of it feducb-nonprivate"
    ):
        warn_of_long_runs(long, estimate(long, long.check()))
    for preset in preset_names():
        found = find_preset(preset)
        world = next(w for w in WORLDS.values() if found.plays_in(type(w)))
        usual = experiment(world, preset)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what hardly makes sense
            plans = usual.check()
        warn_of_long_runs(usual, estimate(usual, plans))


def test_what_says_nothing_of_itself_counts_as_nothing():
    assert System().needs(None) == Needs()
    assert Needs().bytes == 0.0


class TestMemory:
    """A machine with 8 GB left, and control groups that may have less."""

    def machine(self, tmp_path, group: str, **files: str):
        proc, cgroups = tmp_path / "proc", tmp_path / "cgroup"
        (proc / "self").mkdir(parents=True)
        cgroups.mkdir()
        (proc / "meminfo").write_text("MemTotal: 9000000 kB\nMemAvailable:    8000000 kB\n")
        (proc / "self" / "cgroup").write_text(group)
        for path, text in files.items():
            file = cgroups / path.replace("__", "/").replace("_dot_", ".")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return available_memory(proc, cgroups)

    def test_a_machine_without_groups(self, tmp_path):
        assert self.machine(tmp_path, "") == (8_192_000_000, "available on this machine")

    def test_a_group_of_the_second_version(self, tmp_path):
        found = self.machine(
            tmp_path, "0::/a/b\n",
            a__memory_dot_max="1000\n", a__memory_dot_current="700\n",
            a__memory_dot_stat="anon 1\ninactive_file 200\n",
            a__b__memory_dot_max="max\n", a__b__memory_dot_current="700\n",
        )  # fmt: skip
        assert found == (500, "left to this container or control group")

    def test_a_container_that_sees_itself_at_the_root(self, tmp_path):
        found = self.machine(
            tmp_path, "0::/outer/name\n",
            memory_dot_max="1000\n", memory_dot_current="2000\n",
        )  # fmt: skip
        assert found == (0, "left to this container or control group")

    def test_a_group_of_the_first_version(self, tmp_path):
        found = self.machine(
            tmp_path, "3:cpu:/x\n2:memory:/x\n",
            memory__x__memory_dot_limit_in_bytes="1000\n",
            memory__x__memory_dot_usage_in_bytes="400\n",
        )  # fmt: skip
        assert found == (600, "left to this container or control group")

    def test_a_system_that_tells_nothing(self, tmp_path):
        assert available_memory(tmp_path / "none", tmp_path / "none") is None
