"""Procurement from a configuration to results: metrics, bad input, figures."""

from __future__ import annotations

import csv
import warnings

import numpy as np
import pytest
import xarray as xr

import fedbandits as fb
from fedbandits.environments import Linear, Procurement
from fedbandits.errors import ConfigError, ConfigWarning, DataError
from fedbandits.experiments.checkpoint import CheckpointFolder, Progressed
from fedbandits.experiments.result import own_metrics
from fedbandits.experiments.trace import ReplicateTrace
from fedbandits.testing.replicates import simulate

METRICS = [
    "regret_after_exploration", "violation_share", "empty_rounds", "units", "reports_accepted",
    "reports_refused",
]  # fmt: skip
TOML = """
name = "orders"
rounds = 300
replicates = 2
[environment]
kind = "procurement"
case = "uniform"
agents = 3
producers = 5
max_capacity = 9
quality_threshold = 0.4
[[systems]]
preset = "pfcb"
epsilon = 1.0
delta = 0.01
window = [10, 120]
[[systems]]
preset = "cucb-alone"
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "orders.toml"
    path.write_text(TOML)
    return path


def test_a_systems_own_metrics_are_in_every_result(file, tmp_path):
    result = fb.run(file, out=tmp_path / "out")
    assert own_metrics(result) == METRICS
    with xr.open_dataset(tmp_path / "out" / "results.nc", engine="h5netcdf") as stored:
        for name in METRICS:
            assert stored[name].dims == ("system", "replicate", "party", "round")
            np.testing.assert_array_equal(stored[name], result[name])
    run = simulate(fb.load(file).systems[0].config, fb.load(file).environment, 300, 0, 1)
    run.advance(300)
    for name, values in run.metrics.items():
        mine = result[name].sel(system="pfcb", replicate=1).isel(round=-1)
        np.testing.assert_array_equal(mine, values)
    with (tmp_path / "out" / "summary.csv").open(encoding="utf-8") as text:
        rows = list(csv.DictReader(text))
    units = result.units.sel(system="pfcb").isel(round=-1).mean()
    assert float(rows[0]["units"]) == pytest.approx(float(units))
    last = result.sel(system="pfcb").isel(round=-1)
    for name in METRICS:
        assert float(rows[0][f"{name}_max"]) == pytest.approx(float(last[name].max()))
    assert float(rows[0]["units_max"]) > float(rows[0]["units"])
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "<td>violation share</td>" in report


def test_systems_without_metrics_are_as_they_were(tmp_path):
    experiment = fb.Experiment(
        rounds=20, environment=Linear(agents=2, dim=2, arms=3), systems=(fb.system("feducb"),)
    )
    result = fb.run(experiment, out=tmp_path / "out")
    assert own_metrics(result) == []
    assert simulate(experiment.systems[0].config, experiment.environment, 20, 0, 0).metrics == {}
    assert "Mean over parties" not in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_metrics_survive_a_checkpoint(file, tmp_path):
    experiment = fb.load(file)
    config, environment = experiment.systems[0].config, experiment.environment
    run, resumed = (simulate(config, environment, 300, 0, 0) for _ in range(2))
    rounds = np.array([100, 300])
    first, second = (ReplicateTrace.empty(0, 0, rounds, 3, run.metrics) for _ in range(2))
    run.advance(100)
    first.record(0, run)
    folder = CheckpointFolder(tmp_path / "out", experiment)
    folder.begin(resume=False)
    folder.save(first, run, Progressed(1, ((0.0, 1.0),)))
    assert folder.load(second, resumed) == Progressed(1, ((0.0, 1.0),))
    for name, values in first.arrays().items():
        np.testing.assert_array_equal(values, second.arrays()[name])
    assert first.metrics["units"][:, 0].min() > 0
    run.advance(300)
    resumed.advance(300)
    for name, values in run.metrics.items():
        np.testing.assert_array_equal(values, resumed.metrics[name])


BAD = {
    "environment.quality_threshold=0": "environment.quality_threshold: given 0, allowed: a number",
    "environment.quality_threshold=1.0": "environment.quality_threshold: given 1.0",
    "environment.quality_threshold=nan": "environment.quality_threshold: given nan",
    "environment.max_capacity=-1": "environment.max_capacity: given -1, allowed: a whole number",
    "environment.max_capacity=0": "environment.max_capacity: given 0",
    "environment.agents=0": "environment.agents: given 0",
    "environment.producers=0": "environment.producers: given 0",
    "environment.revenue=0": "environment.revenue: given 0",
    "environment.deviation=-0.1": "environment.deviation: given -0.1",
    "environment.benchmark='lp'": "environment.benchmark: given 'lp', allowed: 'exact', 'greedy'",
    "environment.producer=3": "environment.producer: unknown key; did you mean 'producers'?",
    "systems.0.window=[0, 10]": "systems[0].window",
    "systems.0.window=[10, 301]": "systems[0].window: given [10, 301], allowed: two rounds",
    "systems.0.window=[20, 10]": "systems[0].window: given [20, 10], allowed: two rounds",
    "systems.0.window=[1]": "systems[0].window",
    "systems.0.window='always'": "systems[0].window",
    "systems.0.epsilon=0": "systems[0].epsilon: given 0, allowed: a number > 0",
    "systems.0.delta=1": "systems[0].delta: given 1",
    "systems.0.zeta=0": "systems[0].zeta: given 0, allowed: a number ≥ 0.001",
    "systems.0.zeta=0.0009": "systems[0].zeta: given 0.0009",
    "systems.0.exploration_units='two'": "systems[0].exploration_units: given 'two', allowed:",
    "systems.0.quality_confidence=1.0": "systems[0].quality_confidence: given 1.0",
    "systems.0.quality_margin=-0.1": "systems[0].quality_margin: given -0.1",
    "systems.0.quality_margin=0.6": "systems[0].quality_margin: given 0.6, which makes α + γ = 1",
    "systems.0.acceptance='within-radius(0)'": "systems[0].acceptance.omega1: given 0",
    "systems.0.acceptance='within-radius(1, mine)'": "systems[0].acceptance.evidence: given 'mine'",
    "systems.0.acceptance='within-radius(1, own, n)'": "systems[0].acceptance.logarithm: given 'n'",
    "systems.0.privatizer='published(10)'": "systems[0].privatizer.logarithm: given 10",
    "systems.0.radius='narrow'": "systems[0].radius: given 'narrow', allowed:",
    "systems.0.exploration_log='none'": "systems[0].exploration_log: given 'none', allowed:",
    "systems.0.explorers='two'": "systems[0].explorers: given 'two', allowed:",
    "systems.0.weighting='constant(-1)'": "systems[0].weighting.omega2: given -1",
    "systems.0.schedule='growing(1)'": "systems[0].schedule.factor: given 1",
    "systems.0.privatizer='laplace'": "systems[0].privatizer: given 'laplace', allowed: none,",
    "systems.1.preset='feducb'": "'feducb' does not play in environment 'procurement'",
    "systems.1.local_view='released'": "buyers learn only from exchanges",
}


@pytest.mark.parametrize("assignment", BAD)
def test_bad_input_is_named_and_nothing_is_written(file, tmp_path, assignment):
    with pytest.raises(ConfigError) as refusal:
        fb.run(fb.load(file, [assignment]), out=tmp_path / "out")
    assert BAD[assignment] in str(refusal.value)
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_without_some_producer_is_named_and_nothing_is_written(file, tmp_path):
    table = tmp_path / "suppliers.csv"
    table.write_text("agent,producer,quality,cost,capacity\na,x,0.5,0.1,3\nb,y,0.5,0.1,3\n")
    changes = [f"environment.case='{table}'", "environment.agents=2", "environment.producers=2"]
    with pytest.raises(DataError, match="agent 'a' with producer 'y'"):
        fb.run(fb.load(file, changes), out=tmp_path / "out")
    assert sorted(tmp_path.iterdir()) == [file, table]


def test_a_path_with_a_nul_is_bad_data(file):
    with pytest.raises(DataError, match="cannot be read"):
        fb.run(fb.load(file, ['environment.case="a\\u0000b"']))


def test_the_exact_oracle_is_refused_where_it_would_take_too_long(file):
    changes = ['systems.0.oracle="exact"', "environment.max_capacity=1001"]
    with pytest.raises(ConfigError, match=r"systems\[0\].oracle: given \"exact\""):
        fb.run(fb.load(file, changes))


def test_a_window_without_an_exchange_is_warned_of(file):
    silent = ['systems.0.schedule="powers"', "systems.0.window=[130, 200]"]
    with pytest.warns(ConfigWarning, match=r"systems\[0\].window: it holds no round of exchange"):
        fb.load(file, silent).check()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fb.load(file).check()  # nor where there is to be none
    released = fb.load(file, [*silent, 'systems.0.local_view="released"'])
    with pytest.raises(ConfigError, match=r"systems\[0\].window: no exchange falls"):
        released.check()


def test_the_resolved_configuration_is_the_same_experiment(file, tmp_path):
    experiment = fb.load(file)
    again = tmp_path / "again.toml"
    again.write_text(experiment.to_toml())
    assert fb.load(again) == experiment
    assert experiment.environment == Procurement(agents=3, producers=5, max_capacity=9)
