"""Keys that take several values: how they are written, and what is refused before anything runs."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbandits as fb
from fedbandits.environments import Linear, Table
from fedbandits.errors import ConfigError
from fedbandits.settings.sweep_keys import parse_option
from fedbandits.settings.sweeps import Sweep, load_any, sweep_of

TOML = """
name = "swept"
rounds = 30
[environment]
kind = "linear"
agents = 2
dim = 3
arms = 4
[[systems]]
preset = "feducb"
delta = 0.1
[[systems]]
preset = "linucb-alone"
label = "alone"
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "swept.toml"
    path.write_text(TOML)
    return path


def base(**changes):
    settings = {
        "rounds": 30, "environment": Linear(agents=2, dim=3, arms=4),
        "systems": (fb.system("feducb", delta=0.1), fb.system("fedlinucb-async", label="async")),
    }  # fmt: skip
    return fb.Experiment(**settings | changes)


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("0.1,0.3,1,3", [0.1, 0.3, 1, 3]),
        ("[0.1, 3]", [0.1, 3]),
        ("[1, 2],[2, 1]", [[1, 2], [2, 1]]),
        ('"growing(2)","every(10)"', ["growing(2)", "every(10)"]),
        ("growing(2, 5),every(10)", ["growing(2, 5)", "every(10)"]),
        ("'a,b',\"c\"", ["a,b", "c"]),
        ("true,false", [True, False]),
        ("raw , released", ["raw", "released"]),
        ('{kind = "every", rounds = 2},never', [{"kind": "every", "rounds": 2}, "never"]),
        ("0.1:10:log5", [0.1, 0.316228, 1.0, 3.16228, 10.0]),
        ("2:8:lin4", [2, 4, 6, 8]),
        ("1,2:4:lin3", [1, 2, 3, 4]),
        ("0.12345678:1:lin3", [0.12345678, 0.561728, 1.0]),
        ("1234567:1234569:lin2", [1234567, 1234569]),
    ],
)
def test_values_are_written_as_in_a_file_with_commas_between_them(written, values):
    assert parse_option(f"systems.*.x={written}") == ("systems.*.x", values)


@given(
    st.lists(
        st.one_of(
            st.integers(-(2**40), 2**40),
            st.floats(allow_nan=False, allow_infinity=False),
            st.booleans(),
            st.text(st.characters(codec="ascii", exclude_characters='"\\\x7f', min_codepoint=32)),
        ),
        min_size=1,
    )
)
def test_what_is_written_in_toml_is_read_back(values):
    text = ",".join(f'"{v}"' if isinstance(v, str) else str(v).lower() for v in values)
    assert parse_option(f"rounds={text}") == ("rounds", values)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["systems.*.epsilon"], "--sweep systems.*.epsilon: write key.path=value,value"),
        (["systems.*.epsilon="], "write key.path=value,value"),
        (["systems.*.epsilon=1,,2"], "write key.path=value,value"),
        (["systems.*.epsilon=1,2,1.0"], "sweep.systems.*.epsilon: has the value 1 twice|1.0 twice"),
        (["systems.*.epsilon=1", "systems.*.epsilon=2"], "is given twice"),
        (["systems.*.epsilon=1", "systems[*].epsilon=2"], "is given twice"),
        (["systems.*.epsilom=1"], "sweep.systems.*.epsilom: no such key; did you mean 'epsilon'"),
        (["systems.feducb.epsilom=1"], "sweep.systems.feducb.epsilom: no such key"),
        (["systems.feducc.epsilon=1"], "there is no system 'feducc'; did you mean 'feducb'"),
        (["systems.7.epsilon=1"], "there is no system '7'; allowed: feducb, alone, 0, 1, *"),
        (["environment.agent=1"], "sweep.environment.agent: no such key; did you mean 'agents'"),
        (["environment.agents.x=1"], "environment.agents.x: no such key: agents is not a table"),
        (["environment=1"], "sweep.environment: cannot be swept; allowed: rounds, environment.KEY"),
        (["systems.0=1"], "sweep.systems.0: cannot be swept; allowed: rounds"),
        (["banana=1"], "sweep.banana: cannot be swept; allowed: rounds"),
        (["seed=1,2"], "sweep.seed: cannot be swept: all points have the same seed"),
        (["replicates=1,2"], "sweep.replicates: cannot be swept: all points have the same number"),
        (["name=a,b"], "sweep.name: cannot be swept: it names the whole sweep"),
        (["checkpoints=1,2"], "sweep.checkpoints: cannot be swept: it changes what is kept"),
        (["environment.kind=linear"], "sweep.environment.kind: cannot be swept"),
        (["systems.0.preset=feducb"], "sweep.systems.0.preset: cannot be swept: presets are"),
        (["systems.*.label=a,b"], "sweep.systems.*.label: cannot be swept: it names a system"),
        (["systems.*.epsilon=1,-1"], "sweep, at ε = -1: systems[0].epsilon: given -1"),
        (["environment.agents=2,x"], "sweep, at agents = x: environment.agents: given 'x'"),
        (["rounds=0"], "sweep, at rounds = 0: rounds: given 0"),
        (["systems.*.epsilon=5:1:log3"], "needs LOW < HIGH"),
        (["systems.*.epsilon=0:1:log3"], "equal ratios need LOW > 0"),
        (["rounds=1:20000:lin9999", "environment.agents=2,3"], "has 19,998 points, allowed: at"),
    ],
)
def test_what_cannot_be_swept_is_refused_with_its_key(file, options, message):
    with pytest.raises(ConfigError) as refused:
        load_any(file, (), options).points()
    assert any(part in str(refused.value) for part in message.split("|"))


@pytest.mark.parametrize("given", ["0.3", 0.3, [], {}, None])
def test_values_are_a_list(given):
    with pytest.raises(ConfigError, match=r"epsilon: given .*, allowed: a list of values"):
        sweep_of(base(), {"systems.*.epsilon": given})


def test_a_star_means_the_systems_that_have_the_key():
    made = sweep_of(base(), {"systems.*.privatizer": ["tree", "toeplitz"]})
    configs = [[s.config for s in point.experiment.systems] for point in made.points()]
    assert [type(one.privatizer).__name__ for one, _ in configs] == ["Tree", "Toeplitz"]
    assert all(other == base().systems[1].config for _, other in configs)


def test_a_key_inside_a_part_is_one_of_the_systems_with_that_part():
    systems = (fb.system("feducb", schedule="growing(2)"), fb.system("linucb-alone"))
    made = sweep_of(base(systems=systems), {"systems.*.schedule.factor": [1.5, 3.0]})
    found = [[s.config.schedule for s in p.experiment.systems] for p in made.points()]
    assert [one.factor for one, _ in found] == [1.5, 3.0]
    assert all(other == systems[1].config.schedule for _, other in found)


def test_a_grid_has_all_combinations_and_each_is_the_experiment_with_these_values(file):
    made = load_any(file, ["seed=3"], ["systems.*.epsilon=0.5,2", "environment.agents=2,3,4"])
    assert made.shape == (2, 3)
    assert [axis.name for axis in made.axes] == ["epsilon", "agents"]
    for point in made.points():
        epsilon, agents = point.values["epsilon"], point.values["agents"]
        assert point.index == ([0.5, 2].index(epsilon), agents - 2)
        changes = ["seed=3", f"systems.*.epsilon={epsilon}", f"environment.agents={agents}"]
        assert point.experiment == fb.load(file, changes)


def test_a_dimension_has_the_short_name_where_that_is_unique():
    made = sweep_of(base(), {"systems.feducb.epsilon": [1], "systems.async.alpha": [0.1]})
    assert [axis.name for axis in made.axes] == ["epsilon", "alpha"]
    systems = (fb.system("feducb"), fb.system("feducb", label="b"))
    made = sweep_of(
        base(systems=systems), {"systems.feducb.epsilon": [1], "systems.b.epsilon": [1]}
    )
    assert [axis.name for axis in made.axes] == ["systems.feducb.epsilon", "systems.b.epsilon"]


def test_a_file_may_hold_a_sweep_and_options_replace_its_keys(file):
    file.write_text(TOML + '[sweep]\n"systems.*.epsilon" = [0.1, 1]\nenvironment.agents = [2, 3]\n')
    made = load_any(file)
    assert isinstance(made, Sweep)
    assert {axis.path: axis.values for axis in made.axes} == {
        "systems.*.epsilon": (0.1, 1), "environment.agents": (2, 3),
    }  # fmt: skip
    other = load_any(file, (), ["systems.*.epsilon=5"])
    assert other.axes[0].values == (5,)
    assert other.axes[1] == made.axes[1]


def test_a_sweep_is_read_back_from_its_own_file(file, tmp_path):
    options = ["systems.*.epsilon=0.5,2", 'systems.*.schedule="growing(2)","never"', "rounds=9,8"]
    made = load_any(file, (), options)
    (tmp_path / "again.toml").write_text(made.to_toml())
    assert load_any(tmp_path / "again.toml") == made


def test_an_experiment_is_not_read_from_the_file_of_a_sweep(file):
    file.write_text(TOML + '[sweep]\n"systems.*.epsilon" = [0.1, 1]\n')
    with pytest.raises(ConfigError, match=r"is a sweep over systems.\*.epsilon.*--set sweep={}"):
        fb.load(file)
    assert fb.load(file, ["sweep={}"]) == fb.load(file, ["sweep={}", "seed=0"])
    assert isinstance(load_any(file, ["sweep={}"]), fb.Experiment)
    file.write_text("sweep = 3\n" + TOML)
    with pytest.raises(ConfigError, match=r"sweep: given 3, allowed: a table \[sweep\]"):
        load_any(file)


def test_what_toml_cannot_hold_is_not_lost():
    variant = fb.system("feducb")
    given = msgspec.structs.replace(variant, preset="linucb-alone")
    made = sweep_of(base(systems=(given,)), {"rounds": [3]})
    assert made.points()[0].experiment.systems == (given,)


def test_other_data_has_another_digest(tmp_path):
    """That of the first file would say of the second that it has changed."""
    for name in ("one", "other"):
        rows = "".join(f"{name}{i % 2},{i / 10},{'ab'[i % 2]}\n" for i in range(8))
        (tmp_path / f"{name}.csv").write_text(f"site,x,y\n{rows}")
    paths = [str(tmp_path / f"{name}.csv") for name in ("one", "other")]
    world = Table(
        path=paths[0], site="site", features=("x",), target="y", classes=("a", "b"),
        ranges={"x": (0.0, 1.0)},
    )  # fmt: skip
    made = fb.Experiment(environment=world, rounds=5, systems=(fb.system("linucb-alone"),))
    points = sweep_of(made, {"environment.path": paths}).points()
    worlds = [point.experiment.environment for point in points]
    assert [world.path for world in worlds] == paths
    assert worlds[0].digest != worlds[1].digest
    assert worlds[1].party_names == ("other0", "other1")
