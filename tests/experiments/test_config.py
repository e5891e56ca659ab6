from __future__ import annotations

import pytest

import fedbandits as fb
from fedbandits.environments import Bernoulli, Linear
from fedbandits.errors import ConfigError, DataError
from fedbandits.systems.agents.config import Determinant, Every, Growing

TOML = """
name = "small"
rounds = 50
replicates = 2
[environment]
kind = "linear"
agents = 2
dim = 3
arms = 4
[[systems]]
preset = "feducb"
delta = 0.1
[[systems]]
preset = "feducb-published"
label = "as published"
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(TOML)
    return path


def test_a_file_becomes_an_experiment(file):
    experiment = fb.load(file)
    assert experiment.environment == Linear(agents=2, dim=3, arms=4)
    assert [s.label for s in experiment.systems] == ["feducb", "as published"]
    assert experiment.systems[0].config.delta == 0.1
    assert experiment.systems[1].config.schedule == Determinant("M log T")


def test_the_resolved_configuration_is_the_same_experiment(file, tmp_path):
    experiment = fb.load(file)
    again = tmp_path / "again.toml"
    again.write_text(experiment.to_toml())
    assert fb.load(again) == experiment


def test_python_and_toml_build_the_same(file):
    built = fb.Experiment(
        name="small", rounds=50, replicates=2, environment=Linear(agents=2, dim=3, arms=4),
        systems=(
            fb.system("feducb", delta=0.1), fb.system("feducb-published", label="as published")
        ),
    )  # fmt: skip
    assert built == fb.load(file)


@pytest.mark.parametrize(
    ("text", "schedule"),
    [
        ("growing(2)", Growing(2.0)), ("growing(1.2, 7)", Growing(1.2, 7)),
        ("growing", Growing()), ("every(10)", Every(10)),
        ("determinant(3.5)", Determinant(3.5)), ("determinant(theory)", Determinant("theory")),
        ("determinant('M^1.5')", Determinant("M^1.5")),
    ],
)  # fmt: skip
def test_parts_can_be_written_short(text, schedule):
    parts = {"privatizer": "tree", "local_view": "raw", "confidence": "adaptive"}
    assert fb.system("feducb", **parts, schedule=text).config.schedule == schedule


@pytest.mark.parametrize(
    ("assignment", "where"),
    [
        ("systems.0.epsilon=2", 0), ("systems[1].epsilon=2", 1), ("systems.feducb.epsilon=2", 0),
        ("systems.as published.epsilon=2", 1), ("systems.*.epsilon=2", 1),
    ],
)  # fmt: skip
def test_single_keys_can_be_set(file, assignment, where):
    assert fb.load(file, [assignment]).systems[where].config.epsilon == 2.0


BAD = {
    "systems.0.epsilon=-1": "systems[0].epsilon: given -1, allowed: a number > 0",
    "systems.0.epsilon=0": "systems[0].epsilon: given 0, allowed: a number > 0",
    "systems.0.epsilon=nan": "systems[0].epsilon: given nan, allowed: a finite number",
    "systems.0.epsilon=inf": "systems[0].epsilon: given inf, allowed: a finite number",
    "systems.0.epsilon='one'": "systems[0].epsilon: given 'one', allowed: a number > 0",
    "systems.0.delta=1": "systems[0].delta: given 1, allowed: a number > 0 and < 1",
    "systems.0.delta=0.0": "systems[0].delta: given 0.0, allowed: a number > 0 and < 1",
    "systems.0.epsilom=1": "systems[0].epsilom: unknown key; did you mean 'epsilon'?",
    "systems.0.preset='fed'": "systems[0].preset: given 'fed', did you mean 'feducb'? ",
    "systems.1.label='feducb'": "systems[1].label: 'feducb' is the label of two systems",
    "systems.1.label=''": "systems[1].label: given '', allowed: a name",
    "systems.0.schedule='grow(2)'": "systems[0].schedule: given 'grow(2)', allowed: every, growing",
    "systems.0.schedule='growing(0.5)'": "schedule.factor: given 0.5, allowed: a number > 1",
    "systems.0.schedule='never(3)'": "'never(3)' has too many arguments, never takes no arguments",
    "systems.0.schedule='determinant(2)'": "the optimal privatizer needs the number of releases",
    "systems.0.local_view='row'": "given 'row', allowed: 'joint', 'raw', 'released'",
    "systems.0.context_bound=0.5": "systems[0].context_bound: 0.5 is too small",
    "systems.0.reward_bound=0.5": "systems[0].reward_bound: 0.5 is too small",
    "systems=[]": "systems: none given",
    "environment.arms=1": "environment.arms: given 1, allowed: a whole number ≥ 2",
    "environment.dim=0": "environment.dim: given 0, allowed: a whole number ≥ 1",
    "environment.agents=2.5": "environment.agents: given 2.5, allowed: a whole number ≥ 1",
    "environment.kind='lunar'": "environment.kind: given 'lunar', did you mean 'linear'? all",
    "environment.dimension=3": "environment.dimension: unknown key; did you mean 'dim'?",
    "environment.theta=[1.0]": "environment: theta has 1 entries, dim is 3",
    "environment=3": "environment: given 3, allowed: a table",
    "rounds=0": "rounds: given 0, allowed: a whole number ≥ 1",
    "replicates=0": "replicates: given 0, allowed: a whole number ≥ 1",
    "seed=-1": "seed: given -1, allowed: a whole number ≥ 0",
    "round=3": "round: unknown key; did you mean 'rounds'?",
    "modul=mine.py": "modul: unknown key; did you mean 'module'? known keys: rounds",
    "systems.9.epsilon=1": "--set systems.9.epsilon=1: there is no '9'; allowed: ",
    "rounds": "--set rounds: write key.path=value",
    ".=1": "write key.path=value",
    "systems.².epsilon=1": "there is no '²'",
    "name='../escape'": "name: given '../escape'",
    "name='/tmp'": "name: given '/tmp'",
    'name="ends\\n"': r"name: given 'ends\n'",
    'systems.0.label="ends\\n"': r"systems[0].label: given 'ends\n', allowed: a name",
    "rounds=" + "9" * 5_000: "rounds: given '999",
    "rounds=0x" + "f" * 5_000: "rounds: given a whole number of more than 18 digits",
    "a" + ".a" * 5_000 + "=1": "is nested too deeply",
    "name=" + "[" * 5_000: "name: given '[[[",
    "systems.0.label='_hidden'": "systems[0].label: given '_hidden', allowed: a name",
    "systems.0.context_bound=1e300": "systems[0].context_bound: given 1e+300",
    "environment.dim=100000": "environment.dim: given 100000, allowed: a whole number ≥ 1 and",
}


@pytest.mark.parametrize("assignment", BAD)
def test_bad_values_are_refused_with_place_and_remedy(file, assignment):
    with pytest.raises(ConfigError) as refusal:
        fb.load(file, [assignment]).check()
    assert BAD[assignment] in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("missing", ["rounds", "environment", "systems"])
def test_missing_keys_are_named(missing):
    import tomllib

    table = tomllib.loads(TOML)
    del table[missing]
    with pytest.raises(ConfigError, match=f"^{missing}: missing"):
        fb.Experiment.from_table(table)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"rounds = ", "not valid TOML"), (b"\xff\xfe\x00", "cannot be read")],
)
def test_broken_files_are_refused(tmp_path, content, message):
    path = tmp_path / "broken.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        fb.load(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"nothing\.toml: no such file"):
        fb.load(tmp_path / "nothing.toml")


def test_errors_in_python_name_the_part():
    with pytest.raises(ConfigError, match=r"system\.epsilon: given -1"):
        fb.system("feducb", epsilon=-1)
    with pytest.raises(ConfigError, match="rounds: given 0"):
        fb.Experiment(rounds=0, environment=Linear(), systems=(fb.system("feducb"),))


def test_numbers_of_numpy_are_numbers():
    import numpy as np

    experiment = fb.Experiment(
        rounds=np.int64(10),
        environment=Linear(dim=2, theta=list(np.array([1.0, 0.0]))),
        systems=[fb.system("feducb", epsilon=np.float64(2.0))],
    )
    assert experiment.rounds == 10
    assert experiment.environment.theta == (1.0, 0.0)
    assert isinstance(experiment.systems, tuple)


@pytest.mark.parametrize("systems", [fb.system("feducb"), ("feducb",), 3])
def test_systems_must_be_systems(systems):
    with pytest.raises(ConfigError, match="systems"):
        fb.Experiment(rounds=10, environment=Linear(), systems=systems)


def test_a_fault_in_a_data_file_is_named_with_its_key_file_and_line(file, tmp_path):
    (tmp_path / "edges.txt").write_text("0 1\n1 2 3\n", encoding="utf-8")
    (tmp_path / "means.txt").write_text("2\n0.5\n1.5\n", encoding="utf-8")
    peers = fb.system("feducb-p2p", graph={"kind": "file", "path": str(tmp_path / "edges.txt")})
    with pytest.raises(
        DataError, match=r"^systems\[0\]\.graph: .*edges\.txt, line 2: expected two"
    ):
        fb.Experiment(rounds=9, environment=Linear(agents=3), systems=[peers]).check()
    world = Bernoulli(means=str(tmp_path / "means.txt"), arms=2)
    with pytest.raises(
        DataError, match=r"^environment\.means: .*means\.txt, line 3: expected a nu"
    ):
        fb.Experiment(rounds=9, environment=world, systems=[fb.system("samba-ucb")]).check()


def test_a_part_of_which_one_key_is_set_is_told_that_it_is_given_whole():
    with pytest.raises(ConfigError, match=r"schedule\.kind: missing, .*'every'.*whole"):
        fb.load("quickstart", ["systems.2.schedule.factor=1.5"])
    with pytest.raises(ConfigError, match=r"aggregation\.kind: missing, allowed: .*'secure-sum'"):
        fb.load("quickstart", ["systems.2.aggregation.least_parties=400"])
