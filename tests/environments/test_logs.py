"""A log as a world: each event once at most, and a reward only where the choice agrees with it."""

from __future__ import annotations

import io

import msgspec
import numpy as np
import pytest
import xarray as xr
from rich.console import Console

import fedbandits as fb
from fedbandits.cli.summary import summary_table
from fedbandits.environments.tables.forms import NOT_MET, log_sums
from fedbandits.errors import ConfigError, DataError
from fedbandits.experiments.answers.answer import _worse_off
from fedbandits.experiments.checkpoint import CheckpointFolder, Progressed
from fedbandits.experiments.intervals import spelled
from fedbandits.experiments.labels import labels_of
from fedbandits.experiments.log_values import doubts, estimates_of, of_decision
from fedbandits.experiments.measure import Measure, ends
from fedbandits.experiments.report import tables
from fedbandits.experiments.result import at_point, summarise
from fedbandits.experiments.trace import ReplicateTrace
from fedbandits.offline import doubly_robust, ips, replay, snips
from fedbandits.offline.estimates import estimates_of as from_sums
from fedbandits.offline.estimates import intervals
from fedbandits.random import replicate_key
from fedbandits.testing import environments as suite
from fedbandits.testing.replicates import federate, simulate
from tests.known_logs import known_log
from tests.worlds import decision_set, opened

LOG = known_log(600, uneven=True)
WORLD = LOG.environment()
KEY = replicate_key(3, 0)
SYSTEMS = {
    "feducb": {"epsilon": 10.0},
    "feducb-published": {"schedule": "determinant(1.0)", "epsilon": 1e4},
    "feducb-p2p": {"graph": "ring", "gamma": 2},
    "fedlinucb-async": {"growth": 0.1},
    "linucb-alone": {},
}


def config_of(name):
    return fb.system(name, **SYSTEMS[name]).config


def choose(world, environment, agent, round_, arm):
    """The decision set, what is expected, and what is observed of an arm."""
    features, expected, _ = decision_set(environment, world, KEY, agent, round_)
    return features[:, 0], expected, opened(environment, world, KEY).reward(arm, agent, round_)


@pytest.mark.parametrize("check", suite.CHECKS, ids=lambda check: check.__name__)
def test_a_log_is_an_environment(check):
    check(WORLD)


def test_every_event_is_met_once_and_pays_where_the_choice_agrees():
    world = WORLD.world(KEY)
    rewards = dict(
        zip(map(bytes, world.rows), zip(LOG.actions, LOG.rewards, strict=True), strict=True)
    )
    met, paid = set(), 0
    for agent in range(3):
        for round_ in range(1, 201):
            arm = (agent + round_) % 4
            context, expected, reward = choose(world, WORLD, agent, round_, arm)
            action, logged = rewards[bytes(context)]
            met.add(bytes(context))
            if not np.isnan(reward):
                assert (arm, reward) == (action, logged)
                paid += 1
            assert np.isfinite(expected).sum() <= 1
            assert np.isnan(np.delete(expected, action)).all()
    assert len(met) == 600
    assert paid == pytest.approx(600 / 16, abs=4 * 6)
    context, expected, reward = choose(world, WORLD, 0, 201, 1)  # the log is over
    assert not context.any()
    assert np.isnan(expected).all()
    assert np.isnan(reward)


def test_every_action_is_shown_equally_often():
    log = known_log(40_000, uneven=True, seed=3)
    world = log.environment(agents=1).world(KEY)
    shown = log.actions[world.order[world.shown]]
    assert np.bincount(shown, minlength=4) / len(shown) == pytest.approx([0.25] * 4, abs=0.03)
    assert np.bincount(log.actions, minlength=4).min() < 6_000  # the log itself is not like that


@pytest.mark.parametrize("name", SYSTEMS)
def test_simulation_and_parties_agree_round_by_round(name):
    config, rounds = config_of(name), 60
    compiled, parties = simulate(config, WORLD, rounds, 3, 1), federate(config, WORLD, rounds, 3, 1)
    for stop in range(1, rounds + 1):
        compiled.advance(stop)
        parties.advance(stop)
        np.testing.assert_array_equal(compiled.reward, parties.reward)
        assert (compiled.syncs, compiled.messages) == (parties.syncs, parties.messages)
    chosen = compiled.world.noted.chosen
    np.testing.assert_array_equal(chosen, parties.run.stage.world.arrays.noted.chosen)
    assert (chosen != NOT_MET).sum() == 3 * rounds
    for measured, values in compiled.metrics.items():
        np.testing.assert_array_equal(values, parties.metrics[measured])
    assert not any(agent.state.open for agent in parties.of("agent"))


def test_a_run_estimates_what_the_functions_estimate_from_its_choices():
    run = simulate(config_of("linucb-alone"), WORLD, 200, 3, 1)
    run.advance(200)
    world = run.world
    turns = np.arange(600) % 200  # visits of all parties, round by round
    in_time = np.argsort(turns, kind="stable")
    events, chosen = world.order[in_time], world.noted.chosen[in_time].astype(int)
    logged = [each[events] for each in LOG.logged]
    expected = [
        replay(*logged, chosen, shown=world.shown[in_time]),
        ips(*logged, chosen),
        snips(*logged, chosen),
        doubly_robust(*logged, chosen, world.rows[events]),
    ]
    for ours, theirs in zip(from_sums(log_sums(world, 200).sum(axis=0)), expected, strict=True):
        assert ours.method == theirs.method
        np.testing.assert_allclose(ours[:3], theirs[:3])
        assert ours[4:] == pytest.approx(theirs[4:])
    assert run.reward.sum() == pytest.approx(expected[0].value * expected[0].matched)


@pytest.fixture(scope="module")
def result():
    systems = tuple(fb.system(name, **SYSTEMS[name]) for name in ("feducb", "linucb-alone"))
    experiment = fb.Experiment(
        name="a log", environment=WORLD, rounds=200, replicates=2, systems=systems, checkpoints=5
    )
    return experiment, fb.run(experiment, jobs=1)


def test_a_result_has_estimates_and_no_regret(result):
    experiment, found = result
    assert found.regret.isnull().all()
    assert found.value.dims == ("system", "replicate", "estimator", "round")
    assert list(found.estimator.values) == ["replay", "ips", "snips", "dr"]
    assert not [name for name in found if str(name).startswith("log.")]
    last = found.isel(round=-1)
    assert (last.events == 200).all()
    observed = last.observed.sum("party")
    np.testing.assert_allclose(
        last.reward.sum("party"), last.value.sel(estimator="replay") * observed
    )
    with_value = last.value_low.notnull()
    assert (last.value_low < last.value).where(with_value, True).all()
    assert "regret is not known" in found.attrs["estimates"]
    for row in summarise(experiment, found):
        assert np.isnan(row["regret_mean"])
        assert row["replicates"] == 2
        assert row["value_ips_low"] < row["value_ips"] < row["value_ips_high"]


def test_rows_for_texts(result):
    _, found = result
    rows = estimates_of(found)
    assert [row.system for row in rows] == ["feducb"] * 4 + ["linucb-alone"] * 4
    ips_of = rows[1]
    assert ips_of.name == "IPS (inverse propensity)"
    last = found.isel(round=-1).sel(system="feducb", estimator="ips")
    assert ips_of.value == pytest.approx(float(last.value.mean()))
    # Replicates use the same log: many of them do not make an interval narrow.
    widths = (last.value_high - last.value_low).values
    assert ips_of.high - ips_of.low == pytest.approx(widths.mean())
    assert ips_of.events == 600


def test_a_run_in_a_known_world_has_no_estimates():
    experiment = fb.Experiment(
        name="x", environment=fb.environments.Linear(agents=2), rounds=5, replicates=1,
        systems=(fb.system("linucb-alone"),),
    )  # fmt: skip
    found = fb.run(experiment, jobs=1)
    assert estimates_of(found) == []
    assert "value" not in found
    assert found.regret.notnull().all()


def test_what_was_chosen_survives_a_checkpoint(tmp_path):
    entry = fb.system("feducb", **SYSTEMS["feducb"])
    experiment = fb.Experiment(name="x", environment=WORLD, rounds=200, systems=(entry,))
    run, resumed = (simulate(entry.config, WORLD, 200, 0, 0) for _ in range(2))
    trace = ReplicateTrace.empty(0, 0, np.array([200]), 3, run.metrics)
    folder = CheckpointFolder(tmp_path / "out", experiment)
    folder.begin(resume=False)
    run.advance(120)
    folder.save(trace, run, Progressed(0, ()))
    assert folder.load(trace, resumed) == Progressed(0, ())
    for each in (run, resumed):
        each.advance(200)
    for name, values in run.metrics.items():
        np.testing.assert_array_equal(values, resumed.metrics[name])
    assert (resumed.world.noted.chosen != NOT_MET).all()


def test_one_propensity_for_equally_likely_actions():
    log = known_log(200)
    stated = log.environment(propensity=0.25, smallest_propensity=None)
    world, column = stated.world(KEY), log.environment().world(KEY)
    assert world.shown.all()
    np.testing.assert_array_equal(world.propensities, column.propensities)


def test_the_smallest_propensity_from_the_data_is_public():
    world = LOG.environment(smallest_propensity=None, scaling="data")
    assert world.world(KEY).shown.mean() < 0.5
    assert any("the smallest propensity" in said for said in world.facts.public)


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"propensity": None}, ConfigError, r"Table\.propensity: missing; a log needs the prob"),
        ({"visits": "drawn"}, ConfigError, r'Table\.visits: given "drawn", allowed for a log'),
        ({"propensity": 0.25}, ConfigError, r"Table\.smallest_propensity: given beside one"),
        ({"smallest_propensity": None}, DataError, "smallest_propensity = LOW"),
        ({"smallest_propensity": 0.5}, DataError, r"row \d+, column 'p': the propensity is below"),
        ({"propensity": 0.5, "smallest_propensity": None}, DataError, r"4 actions that .* 0\.25"),
        ({"classes": ("a", "b")}, DataError, r"row \d+, column 'did': its text is not among"),
    ],
)
def test_a_log_that_cannot_be_used_is_refused(settings, error, says):
    with pytest.raises(error, match=says):
        LOG.environment(**settings).prepare()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (0.0, "is not above 0"), (-0.1, "is not above 0"), (40.0, "is above 1"),
        (np.nan, "is missing"), (np.inf, "is infinite"),
    ],
)  # fmt: skip
def test_a_propensity_that_cannot_be_one_is_refused_with_its_line(wrong, says):
    propensities = LOG.propensities.copy()
    propensities[7] = wrong
    with pytest.raises(DataError, match=rf"row 7, column 'p': .*{says}"):
        LOG._replace(propensities=propensities).environment().prepare()


def test_a_site_may_have_fewer_events_than_another():
    world = LOG.environment(agents=7)  # 85 or 86 events each
    run = simulate(config_of("linucb-alone"), world, 86, 0, 0)
    run.advance(86)
    assert (run.world.noted.chosen != NOT_MET).all()
    with pytest.raises(DataError, match="no agent has more than 86 events"):
        world.refuse_rounds(87)


def test_in_order_events_come_as_they_stand():
    world = msgspec.structs.replace(WORLD, agents=1, visits="in order").world(KEY)
    np.testing.assert_array_equal(world.order, np.arange(600))


def test_a_sweep_over_a_log_has_the_estimates_of_each_run():
    """Not a regret of 0, which is what the sums alone would say."""
    experiment = fb.Experiment(
        name="x", environment=LOG.environment(agents=2), rounds=60, replicates=3, checkpoints=4,
        systems=(fb.system("feducb", epsilon=10.0), fb.system("linucb-alone")),
    )  # fmt: skip
    found = fb.sweep(experiment, {"environment.agents": [2, 3]}, jobs=1)
    assert found.regret.isnull().all()
    assert not any(str(name).startswith("log.") for name in found.data_vars)
    for number, agents in enumerate((2, 3)):
        world = LOG.environment(agents=agents)
        alone = fb.run(msgspec.structs.replace(experiment, environment=world), jobs=1)
        point = at_point(found, {"agents": number})
        for name in ("value", "value_low", "value_high", "effective", "events"):
            np.testing.assert_array_equal(point[name].values, alone[name].values)
        shown, last = ends(found), alone.isel(round=-1).sel(estimator="dr")
        assert shown.unit == "estimated reward per visit"
        mean, half = (array.isel(agents=number) for array in (shown.mean, shown.half))
        np.testing.assert_allclose(mean, last.value.mean("replicate"))
        widths = (last.value_high - last.value_low).mean("replicate")
        np.testing.assert_allclose(half, widths / 2.0)


@pytest.mark.filterwarnings("ignore:.*rows are short")
def test_too_few_events_are_no_verdict():
    experiment = fb.Experiment(
        name="x", environment=known_log(60).environment(agents=2), rounds=20, replicates=3,
        systems=(fb.system("feducb", epsilon=10.0), fb.system("linucb-alone")),
    )  # fmt: skip
    found = fb.answer(experiment, fb.run(experiment, jobs=1))
    assert found.pays is None
    assert found.comparisons[0].half_width is None
    assert found.headline.startswith(
        "Whether it pays is not known yet: the events of the log that match are too few"
    )
    assert "--replicates" not in found.headline


@pytest.mark.parametrize("wrong", [None, 1.0, 0.1])
def test_propensities_that_cannot_be_right_are_no_verdict(wrong, tmp_path):
    """As for whoever has none, and writes 1, or the same for all."""
    log = known_log(2_000, uneven=True)
    if wrong is not None:
        log = log._replace(propensities=np.full(2_000, wrong))
    environment = log.environment(agents=2, smallest_propensity=wrong or 0.01)
    experiment = fb.Experiment(
        name="x", environment=environment, rounds=900, replicates=2,
        systems=(fb.system("feducb", epsilon=10.0), fb.system("linucb-alone")),
    )  # fmt: skip
    result = fb.run(experiment, jobs=1, out=tmp_path / "run")
    told = fb.answer(experiment, result)
    report = (tmp_path / "run/report.html").read_text(encoding="utf-8")
    warned = "propensities do not fit together" in report
    assert warned == (wrong is not None) == bool(doubts(result))
    assert told.headline.startswith("No verdict. The log and its propensities") == warned
    if warned:
        assert told.pays is None
        assert "the mean weight of an event is" in told.headline
        assert all(one.pays is None for one in told.comparisons)


def test_intervals_that_lie_apart_are_told():
    ways = ["ips", "snips", "dr", "replay"]
    ends = {"low": [0.09, 0.53, 0.10, 0.0], "high": [0.11, 0.61, 0.54, 1.0]}
    shape, dims = (1, 1, 4, 1), ("system", "replicate", "estimator", "round")
    values = {f"value_{name}": (dims, np.reshape(v, shape)) for name, v in ends.items()}
    values |= {name: (dims, np.full(shape, 50.0)) for name in ("value", "matched", "effective")}
    values |= {"weight": (dims[:2] + dims[3:], np.ones((1, 1, 1)))}
    values |= {"weight_error": (dims[:2] + dims[3:], np.ones((1, 1, 1)))}
    values |= {"events": (("system", "replicate", "party", "round"), np.full((1, 1, 1, 1), 50.0))}
    result = xr.Dataset(values, {"system": ["a"], "estimator": ways})
    assert "(0.09 to 0.11) and self-normalised IPS (0.53 to 0.61) lie apart" in doubts(result)["a"]
    assert doubts(result.drop_sel(estimator="snips").reindex(estimator=ways)) == {}


def test_a_replicate_that_is_not_finished_has_no_effective_events():
    sums = np.full((1, 9), np.nan)
    assert np.isnan(intervals(sums).effective).all()


def test_parties_of_whom_a_log_tells_nothing_are_not_counted_as_better_off():
    parties = np.array([[[0.5, np.nan, np.nan, 0.2]], [[0.2, np.nan, np.nan, 0.5]]])
    found = Measure(parties, parties[..., 0], "reward a visit", "")
    assert _worse_off(found, 1, 0, np.array([True])) == 0.5


def test_tables_and_plots_show_the_estimate(result):
    """Only some rewards are observed: over all decisions they would be far less."""
    experiment, found = result
    rows = summarise(experiment, found)
    value, half = of_decision(rows[0], 3 * 200)
    last = found.isel(round=-1).sel(system="feducb", estimator="dr")
    assert value == pytest.approx(float(last.value.mean()))
    assert half == pytest.approx(float((last.value_high - last.value_low).mean()) / 2.0)
    assert value > 2.0 * rows[0]["reward_mean"] / (3 * 200)
    console = Console(width=120, file=io.StringIO())
    console.print(summary_table(experiment, rows))
    shown = console.file.getvalue()
    assert spelled(value, half) in shown
    assert "Estimated from the log" in shown
    (first, *_) = tables.summary_table(labels_of(found), rows).rows
    assert spelled(value, half) in first
    axes = fb.plot.reward(found)
    line = next(line for line in axes.lines if line.get_label() == "feducb")
    assert line.get_ydata()[-1] == pytest.approx(value)
    assert axes.get_ylabel() == "reward per visit, mean so far (estimated)"
