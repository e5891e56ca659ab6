"""Sweeps: each point is the run of it alone, and what points share is played once."""

from __future__ import annotations

import csv
import io
import json
import signal

import msgspec
import numpy as np
import pytest
import xarray as xr

import fedbandits as fb
from fedbandits.environments import Linear, Table
from fedbandits.errors import ConfigError, OutputExistsError, ResumeWarning, StoppedError
from fedbandits.experiments import output as sweep_output
from fedbandits.experiments.events import (
    Compiling,
    PointFinished,
    SweepAdvanced,
    SweepFinished,
    SweepInterrupted,
    SweepStarted,
)
from fedbandits.experiments.result import SUMMARY_COLUMNS, at_point
from fedbandits.experiments.workload import units_of
from fedbandits.reproduce.feducb import proved
from fedbandits.settings.sweeps import sweep_of
from fedbandits.systems import find_system, preset_names
from fedbandits.systems.variants import effective

KEYS = {"systems.*.epsilon": [0.5, 5.0], "environment.agents": [2, 3], "rounds": [40, 60]}
GRID = {"systems.*.epsilon": [0.5, 5.0], "environment.agents": [2, 3]}


def experiment(**changes):
    settings = {
        "name": "swept", "rounds": 60, "replicates": 2, "seed": 4, "checkpoints": 8,
        "environment": Linear(agents=2, dim=3, arms=4),
        "systems": (
            fb.system("feducb", delta=0.1), fb.system("linucb-alone"), fb.system("linucb-pooled"),
        ),
    }  # fmt: skip
    return fb.Experiment(**settings | changes)


def listened(keys=GRID, **options):
    told = []
    result = fb.sweep(experiment(), keys, on_event=told.append, **options)
    return result, [event for event in told if not isinstance(event, Compiling)]


def of(told, kind):
    return [event for event in told if isinstance(event, kind)]


def assert_same(one, two):
    """All but times."""
    xr.testing.assert_equal(one.drop_vars("seconds"), two.drop_vars("seconds"))


@pytest.fixture(scope="module", autouse=True)
def no_pictures():
    """They take a second each; tests of pages draw some."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep_output, "sweep_pictures", lambda _: {})
        yield


@pytest.fixture(scope="module")
def whole():
    return listened()


@pytest.fixture(scope="module")
def padded():
    return fb.sweep(experiment(), KEYS)


def test_the_result_has_a_dimension_for_each_key(whole):
    result, _ = whole
    assert result.regret.dims == (
        "epsilon", "agents", "system", "replicate", "party", "round",
    )  # fmt: skip
    np.testing.assert_array_equal(result.epsilon, [0.5, 5.0])
    np.testing.assert_array_equal(result.agents, [2, 3])
    assert result.epsilon.attrs["path"] == "systems.*.epsilon"
    assert result.agents.attrs["path"] == "environment.agents"
    assert "epsilon_spent" in result
    assert result.attrs["interrupted"] == 0
    assert json.loads(result.attrs["sweep"]) == {
        "epsilon": "systems.*.epsilon", "agents": "environment.agents",
    }  # fmt: skip


def test_every_point_is_the_run_of_it_alone_bit_for_bit(padded):
    sweep = sweep_of(experiment(), KEYS)
    for point in sweep.points():
        found = at_point(padded, dict(zip(KEYS_SHORT, point.index, strict=True)))
        alone = fb.run(point.experiment)
        assert set(alone.data_vars) == set(found.data_vars)
        assert_same(alone, found)


KEYS_SHORT = ("epsilon", "agents", "rounds")


def test_parties_and_rounds_that_a_point_has_not_are_nan(padded):
    assert padded.sizes["party"] == 3
    short = padded.sel(rounds=40)
    assert np.isnan(short.regret.sel(round=slice(41, None))).all()
    assert np.isnan(padded.regret.sel(agents=2, party=2)).all()
    assert np.isfinite(padded.regret.sel(agents=3, rounds=60, round=60)).all()
    np.testing.assert_array_equal(padded.parties.sel(agents=3), 3)
    np.testing.assert_array_equal(padded.acting.sel(agents=2), 2)


def test_what_points_share_is_played_once(whole):
    result, told = whole
    started = told[0]
    assert isinstance(started, SweepStarted)
    # feducb at 2 × 2 points, and two systems without noise at 2: two replicates each.
    assert (started.replicates, started.asked) == ((4 + 2 * 2) * 2, 4 * 3 * 2)
    played = {(e.point, e.system, e.replicate) for e in of(told, SweepAdvanced) if e.done == 60}
    assert len(played) == started.replicates
    for system in ("linucb-alone", "linucb-pooled"):
        both = result.regret.sel(system=system)
        np.testing.assert_array_equal(both.isel(epsilon=0), both.isel(epsilon=1))
    private = result.regret.sel(system="feducb")
    assert not np.array_equal(private.isel(epsilon=0), private.isel(epsilon=1))


VARIANTS = (
    *(fb.system(preset) for preset in preset_names()),
    proved("feducb-nonprivate", schedule="determinant(theory)", local_view="raw"),
    fb.system("feducb-nonprivate", schedule="every(auto)", confidence="published"),
    fb.system("feducb-p2p", privatizer="none"),
    fb.system("fclub-dc", confidence="lemma"),
)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.preset)
def test_idle_settings_change_no_plan(variant):
    """What a system does without noise is planned alike at every budget, say."""
    idle = getattr(variant.config, "idle", ())
    if not idle:
        assert effective(variant.config) is variant.config
        return
    others = {"epsilon": 0.037, "delta": 0.0123, "alpha": 0.2}
    other = msgspec.structs.replace(
        variant.config, **{name: value for name, value in others.items() if name in idle}
    )
    assert effective(other) == effective(variant.config)
    system = find_system(variant.system)
    world = next(w for w in WORLDS if system.plays_in(type(w)))
    plans = [system.plan(config, world.facts, 300) for config in (variant.config, other)]
    for name in plans[0].__struct_fields__:
        if name != "config":
            _assert_equal(*(getattr(plan, name) for plan in plans))
    runs = [system.simulate(plan, world, 5, 0) for plan in plans]
    for run in runs:
        run.advance(30)
    for name in ("regret", "reward", "messages", "bytes", "syncs", "epsilon"):
        np.testing.assert_array_equal(*(getattr(run, name) for run in runs))


WORLDS = (
    Linear(agents=2, dim=3, arms=4),
    fb.environments.Clustered(users=6, servers=2),
    fb.environments.Procurement(agents=2, producers=3, max_capacity=5),
    fb.environments.Bernoulli(),
)


def _assert_equal(one, two):
    if isinstance(one, tuple):
        for a, b in zip(one, two, strict=True):
            _assert_equal(a, b)
    elif isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, two)
    elif not isinstance(one, msgspec.Struct):
        assert one == two
    else:
        for name in one.__struct_fields__:
            if name != "config":
                _assert_equal(getattr(one, name), getattr(two, name))


def test_a_setting_that_nothing_depends_on_makes_no_new_unit():
    sweep = sweep_of(experiment(), {"systems.linucb-alone.epsilon": [1.0, 2.0, 3.0]})
    units = units_of(sweep.points())
    assert [len(unit.places[0]) for unit in units] == [3, 3, 3]
    sweep = sweep_of(experiment(), {"systems.linucb-alone.alpha": [0.1, 0.2]})
    assert [len(unit.places[0]) for unit in units_of(sweep.points())] == [2, 2, 2]
    sweep = sweep_of(experiment(), {"systems.linucb-alone.exploration_scale": [0.1, 0.2]})
    assert [len(unit.places[0]) for unit in units_of(sweep.points())] == [2, 1, 2, 1]


class TestEvents:
    def test_a_sweep_begins_advances_and_ends(self, whole):
        _, told = whole
        assert {type(event) for event in told[1:-1]} == {SweepAdvanced, PointFinished}
        assert told[-1] == SweepFinished(total=4, out=None)
        points = of(told, PointFinished)
        assert [event.finished for event in points] == sorted(e.finished for e in points)
        assert sorted(event.point for event in points) == [0, 1, 2, 3]
        for event in points:
            assert event.values == told[0].points[event.point]
        shares = [event.share for event in of(told, SweepAdvanced)]
        assert shares == sorted(shares)
        assert shares[-1] == 1.0
        assert all(json.dumps(event.to_table()) for event in told)

    def test_what_a_listener_raises_ends_it(self, tmp_path):
        def listen(event):
            if isinstance(event, PointFinished):
                raise LookupError("mine")  # noqa: TRY004 (any error)

        with pytest.raises(LookupError, match="mine"):
            fb.sweep(experiment(), GRID, out=tmp_path / "s", on_event=listen)


def stopped_after(count, out, keys=GRID):
    """Stop when so many replicates are finished, one at a time; returns the result."""
    stop, ended = fb.Stop(), []

    def listen(event):
        if isinstance(event, SweepAdvanced) and event.done == event.rounds:
            ended.append(event)
            if len(ended) > count:
                stop.set()

    return fb.sweep(experiment(), keys, out=out, jobs=1, on_event=listen, stop=stop)


class TestResume:
    @pytest.mark.parametrize("count", [1, 7, 12])
    def test_interrupted_it_keeps_what_is_finished_and_goes_on(self, tmp_path, whole, count):
        cut = stopped_after(count, tmp_path / "s")
        assert cut.attrs["interrupted"] == 1
        known = np.isfinite(cut.regret)
        assert 0 < known.sum() < known.size
        np.testing.assert_array_equal(cut.regret.values[known], whole[0].regret.values[known])
        again, told = listened(out=tmp_path / "s", resume=True)
        assert told[0].finished >= count
        assert_same(again, whole[0])
        played = {(e.point, e.system, e.replicate) for e in of(told, SweepAdvanced)}
        assert len(played) == told[0].replicates - told[0].finished
        assert not list(tmp_path.glob(".s.*"))

    def test_ctrl_c_keeps_what_is_finished(self, tmp_path, whole):
        def interrupt(event):
            if isinstance(event, PointFinished):
                signal.raise_signal(signal.SIGINT)

        cut = fb.sweep(experiment(), GRID, out=tmp_path / "s", jobs=1, on_event=interrupt)
        known = np.isfinite(cut.regret.isel(epsilon=0, agents=0, party=slice(2)))
        assert known.all()
        assert cut.attrs["interrupted"] == 1
        assert_same(fb.sweep(experiment(), GRID, out=tmp_path / "s", resume=True), whole[0])

    def test_other_values_take_up_what_is_there(self, tmp_path, whole):
        stopped_after(7, tmp_path / "s")
        keys = GRID | {"systems.*.epsilon": [0.5, 2.0, 5.0]}
        more, told = listened(keys, out=tmp_path / "s", resume=True)
        assert told[0].finished >= 7
        assert_same(more.sel(epsilon=[0.5, 5.0]), whole[0])

    def test_a_complete_sweep_is_returned(self, tmp_path):
        first, _ = listened(out=tmp_path / "s")
        with pytest.warns(ResumeWarning, match="holds a complete sweep already"):
            again, told = listened(out=tmp_path / "s", resume=True)
        assert_same(first, again)
        assert [type(event) for event in told] == [SweepStarted, SweepFinished]
        assert told[0].finished == told[0].replicates

    def test_another_configuration_is_refused(self, tmp_path):
        listened(out=tmp_path / "s")
        for resume in (False, True):
            with pytest.raises(OutputExistsError, match=r"differs in sweep\.environment\.agents"):
                listened(GRID | {"environment.agents": [2, 4]}, out=tmp_path / "s", resume=resume)

    def test_stopped_before_anything_is_finished(self, tmp_path):
        stop, told = fb.Stop(), []
        stop.set()
        with pytest.raises(StoppedError):
            fb.sweep(experiment(), GRID, out=tmp_path / "s", stop=stop, on_event=told.append)
        assert told[-1] == SweepInterrupted(finished=0, total=4, out=str(tmp_path / "s"))
        with pytest.warns(ResumeWarning, match="nothing to resume"):
            listened(out=tmp_path / "s", resume=True)


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """A folder that a sweep has written."""
    out = tmp_path_factory.mktemp("files") / "s"
    listened(out=out)
    return out


class TestFiles:
    def test_the_summary_has_a_column_for_each_key(self, out, whole):
        rows = list(csv.DictReader(io.StringIO((out / "summary.csv").read_text())))
        assert list(rows[0]) == ["epsilon", "agents", *SUMMARY_COLUMNS]
        assert len(rows) == 4 * 3
        for row in rows:
            cell = whole[0].regret.sel(
                epsilon=float(row["epsilon"]), agents=int(row["agents"]), system=row["system"]
            )
            total = cell.isel(round=-1).sum("party").mean("replicate")
            assert float(row["regret_mean"]) == pytest.approx(float(total))
        claimed = {(r["system"], r["epsilon"]): float(r["epsilon_accounted"]) for r in rows}
        assert claimed["feducb", "0.5"] == pytest.approx(0.5, rel=1e-3)
        assert claimed["feducb", "5"] == pytest.approx(5.0, rel=1e-3)

    def test_results_are_read_back_as_they_were(self, out, whole):
        with xr.open_dataset(out / "results.nc", engine="h5netcdf") as stored:
            assert_same(stored, whole[0])

    def test_its_configuration_runs_it_again(self, out, whole):
        assert_same(fb.sweep(out / "config.toml"), whole[0])


def test_two_keys_of_one_short_name_have_their_paths(tmp_path):
    """Also in files, whose names of dimensions allow stars and dots."""
    systems = (fb.system("feducb"), fb.system("feducb", label="b"))
    keys = {"systems.feducb.delta": [1e-5, 1e-4], "systems.b.delta": [1e-6]}
    swept = fb.sweep(experiment(systems=systems, replicates=1), keys, out=tmp_path / "s")
    assert swept.regret.dims[:2] == tuple(keys)
    with xr.open_dataset(tmp_path / "s" / "results.nc", engine="h5netcdf") as stored:
        assert_same(stored, swept)


def test_a_swept_key_keeps_its_column_where_the_summary_has_one_of_that_name(tmp_path):
    keys = {"systems.*.delta": [1e-5, 1e-3]}
    fb.sweep(experiment(replicates=1), keys, out=tmp_path / "s")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "s" / "summary.csv").read_text())))
    assert [float(row["delta"]) for row in rows] == [1e-5] * 3 + [1e-3] * 3
    assert all(row["delta_claimed"] for row in rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jobs": 0}, "jobs: given 0"),
        ({"resume": True}, "resume: needs out"),
        ({"backend": "spark"}, "backend: given 'spark'"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        fb.sweep(experiment(), GRID, **options)


def test_a_point_that_cannot_be_planned_is_refused_with_its_values():
    with pytest.raises(ConfigError, match=r"sweep, at context bound = 0.5: systems\[0\].context_b"):
        fb.sweep(experiment(), {"systems.feducb.context_bound": [1.0, 0.5]})


def test_without_keys_there_is_no_sweep():
    with pytest.raises(ConfigError, match="sweep: no key is given"):
        fb.sweep(experiment())


def test_values_that_are_no_numbers_are_written_as_one_reads_them():
    keys = {"systems.feducb.schedule": ["growing(2)", {"kind": "every", "rounds": 20}]}
    found = fb.sweep(experiment(replicates=1, rounds=20), keys)
    assert found.schedule.values[0] == "growing(2)"
    assert "every" in found.schedule.values[1]


def test_a_complete_sweep_of_other_data_is_not_taken_for_this_one(tmp_path):
    """The configuration names the digest of one file alone."""

    def write(name, shift):
        rows = "".join(f"{'ab'[i % 2]},{(i + shift) / 20},{'cd'[i % 2]}\n" for i in range(12))
        (tmp_path / name).write_text(f"site,x,y\n{rows}")
        return str(tmp_path / name)

    paths = [write("one.csv", 0), write("other.csv", 1)]
    world = Table(
        path=paths[0], site="site", features=("x",), target="y", classes=("c", "d"),
        ranges={"x": (0.0, 1.0)},
    )  # fmt: skip
    made = experiment(
        environment=world, rounds=5, systems=(fb.system("linucb-alone", parameter_bound=2.0),)
    )
    keys, out = {"environment.path": paths}, tmp_path / "out"
    whole = fb.sweep(made, keys, out=out, jobs=1)
    with pytest.warns(ResumeWarning, match="holds a complete sweep already"):
        assert_same(fb.sweep(made, keys, out=out, jobs=1, resume=True), whole)
    write("other.csv", 5)
    with pytest.raises(OutputExistsError, match="holds a sweep of other data"):
        fb.sweep(made, keys, out=out, jobs=1, resume=True)
