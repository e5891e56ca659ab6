"""What people see of a sweep: the plot, the report, the table and the bar in a terminal."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure
from rich.console import Console
from scipy import stats

import fedbandits as fb
from fedbandits.cli.summary import sweep_table
from fedbandits.errors import ConfigError, LongRunWarning, ResourceError
from fedbandits.experiments import estimate
from fedbandits.experiments.answers.answer import point_answers
from fedbandits.experiments.estimate import estimate_workload
from fedbandits.experiments.events import SweepAdvanced, SweepFinished, SweepStarted
from fedbandits.experiments.intervals import spelled
from fedbandits.experiments.measure import ends, final_runs
from fedbandits.experiments.plots import Picture
from fedbandits.experiments.plots.swept import draw_sweep, sweep_pictures
from fedbandits.experiments.progress import TerminalProgress
from fedbandits.experiments.report.pages import render_sweep
from fedbandits.experiments.workload import Workload
from fedbandits.settings.sweeps import sweep_of
from tests.experiments.test_sweep import experiment
from tests.test_cli import call

KEYS = {"systems.*.epsilon": [0.3, 3.0, 30.0], "environment.agents": [2, 3], "rounds": [20, 30]}


WORLD = fb.environments.Bernoulli(means=(0.2, 0.5, 0.8), arms=3)


def base():
    return experiment(replicates=3, rounds=30)


@pytest.fixture(scope="module")
def result():
    return fb.sweep(base(), KEYS)


@pytest.fixture(scope="module")
def one(result):
    return result.sel(agents=2, rounds=30)


def lines_of(axes):
    """The data of each system's line, by its label."""
    return {container.get_label(): container.lines[0].get_xydata() for container in axes.containers}


def test_ends_are_those_of_each_points_own_last_round_and_parties(result):
    runs = final_runs(result)
    assert runs.dims == ("epsilon", "agents", "rounds", "system", "replicate")
    for agents, rounds in ((2, 20), (3, 30)):
        at = result.sel(agents=agents, rounds=rounds)
        expected = at.regret.sel(round=rounds).isel(party=slice(agents)).mean("party")
        np.testing.assert_allclose(runs.sel(agents=agents, rounds=rounds), expected, rtol=1e-12)
    found = ends(result)
    cell = runs.sel(epsilon=3.0, agents=2, rounds=20, system="feducb").values
    low, high = stats.t.interval(0.95, 2, cell.mean(), stats.sem(cell))
    half = found.half.sel(epsilon=3.0, agents=2, rounds=20, system="feducb")
    assert float(half) == pytest.approx((high - low) / 2)
    assert found.unit == "regret per agent"


def test_fewer_than_three_replicates_have_no_interval(result):
    assert np.isnan(ends(result.isel(replicate=slice(2))).half).all()


def test_the_plot_has_a_line_for_each_system(one):
    axes = draw_sweep(one)
    lines, mean = lines_of(axes), ends(one).mean
    assert set(lines) == {"feducb", "linucb-alone", "linucb-pooled"}
    shown = [text.get_text() for text in axes.get_legend().get_texts()]
    assert shown == ["feducb", "linucb-alone", "linucb-pooled (no finite ε)"]
    np.testing.assert_array_equal(lines["feducb"][:, 0], [0.3, 3.0, 30.0])
    np.testing.assert_array_equal(lines["feducb"][:, 1], mean.sel(system="feducb"))
    assert axes.get_xscale() == "log"
    assert axes.get_xlabel() == "ε"
    assert axes.get_ylabel() == "regret per agent"
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0.3", "3", "30"]


def test_a_system_far_above_all_others_leaves_the_picture(one):
    far = one.copy(deep=True)
    far.regret.loc[{"system": "feducb"}] *= 10.0
    axes, height = draw_sweep(far), ends(far).mean
    others = float(height.sel(system=["linucb-alone", "linucb-pooled"]).max())
    assert others < axes.get_ylim()[1] < 2.0 * others
    shown = [text.get_text() for text in axes.get_legend().get_texts()]
    assert shown[0] == f"feducb, up to {float(height.sel(system='feducb').max()):.3g}"


def test_bars_are_intervals(one):
    axes = draw_sweep(one)
    half = ends(one).half
    for container, system in zip(axes.containers, one.system.values, strict=True):
        segments = container.lines[2][0].get_segments()
        widths = [(bar[1, 1] - bar[0, 1]) / 2 for bar in segments]
        np.testing.assert_allclose(widths, half.sel(system=system), atol=1e-9)
    none = draw_sweep(one.isel(replicate=slice(2)))
    assert all(not container.has_yerr for container in none.containers)


def test_it_draws_where_it_is_told(one):
    axes = Figure().add_subplot()
    assert draw_sweep(one, axes) is axes


def test_it_is_offered_with_the_other_plots(one):
    assert lines_of(fb.plot.sweep(one)).keys() == lines_of(draw_sweep(one)).keys()


def test_two_keys_have_a_line_for_each_value_of_the_second_or_one_where_it_changes_nothing(result):
    lines = lines_of(draw_sweep(result.sel(rounds=30)))
    assert "feducb, agents = 2" in lines
    assert "feducb, agents = 3" in lines
    swapped = result.sel(rounds=30).transpose("agents", "epsilon", ...)
    swapped.attrs["sweep"] = json.dumps({"agents": "environment.agents", "epsilon": "x"})
    lines = lines_of(draw_sweep(swapped))
    assert "linucb-alone" in lines
    assert "feducb, ε = 0.3" in lines
    np.testing.assert_array_equal(lines["linucb-alone"][:, 0], [2, 3])


def test_colours_are_those_of_a_run(one):
    axes = draw_sweep(one)
    colours = [container.lines[0].get_color() for container in axes.containers]
    assert colours == ["#0072B2", "#D55E00", "#009E73"]


def test_words_stand_side_by_side_without_a_line():
    keys = {"systems.feducb.schedule": ["growing(2)", "every(10)"]}
    axes = draw_sweep(fb.sweep(base(), keys))
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["growing(2)", "every(10)"]
    assert {container.lines[0].get_linestyle() for container in axes.containers} == {"None"}


def test_of_three_keys_one_is_chosen_first(result):
    with pytest.raises(ConfigError, match=r"one or two swept keys, given 3: epsilon, agents, roun"):
        draw_sweep(result)
    assert list(sweep_pictures(result)) == ["rounds = 20", "rounds = 30"]


@pytest.fixture(scope="module")
def page(result):
    sweep = sweep_of(base(), KEYS)
    return render_sweep(sweep, sweep.points(), result, {"rounds = 20": Picture(b"png", b"svg")})


def test_the_report_has_a_row_for_each_point(page, result):
    tables = re.findall(r"<table.*?</table>", page, re.DOTALL)
    assert [len(re.findall("<tr>", table)) - 1 for table in tables] == [12, 12, 12]
    answers, regrets, claims = tables
    assert "ε = 30, agents = 3, rounds = 20" in answers
    for value in ("0.3", "30", "feducb", "linucb-pooled", "∞"):
        assert value in claims
    at = {"epsilon": 30.0, "agents": 3, "rounds": 20, "system": "feducb"}
    found = ends(result)
    assert spelled(float(found.mean.sel(at)), float(found.half.sel(at))) in regrets


def test_the_answer_at_a_point_is_that_of_a_run_of_it_alone(result):
    points = sweep_of(base(), KEYS).points()
    told = {one.point: one.answer for one in point_answers(points[-1:], result)}
    (alone,) = told.values()
    assert alone == fb.answer(points[-1].experiment, fb.run(points[-1].experiment))


def test_a_report_on_drawn_data_has_no_warning(page):
    assert "not private" not in page  # its data is made up
    assert "[sweep]" in page


def test_a_report_on_real_data_says_that_it_is_not_private(result):
    world = fb.environments.Classification(dataset="wine", agents=2)
    sweep = sweep_of(experiment(environment=world), KEYS)
    text = render_sweep(sweep, sweep.points(), result, {})
    assert "This report is itself not private" in text
    assert 'content: "made from real data: not private"' in text  # at the head of printed pages


def test_the_table_fits_80_columns(result):
    sweep = sweep_of(base(), KEYS)
    console = Console(width=80, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    with console.file:
        console.print(sweep_table(sweep, sweep.points(), result))
    shown = console.export_text()
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    assert shown.count("feducb") == 12
    assert " ± " in shown


def test_encrypted_is_a_word_in_tables():
    systems = (fb.system("samba-ucb"), fb.system("plain-ucb"))
    chosen = experiment(environment=WORLD, systems=systems, rounds=20, replicates=1)
    sweep = sweep_of(chosen, {"environment.arms": [2, 3]})
    found = fb.sweep(sweep)
    *_, epsilon = (column.cells for column in sweep_table(sweep, sweep.points(), found).columns)
    assert list(epsilon) == ["encrypted", "∞"] * 2


def test_a_long_table_ends_early_and_says_so(result):
    sweep = sweep_of(base(), KEYS)
    table = sweep_table(sweep, sweep.points() * 3, result)
    assert table.row_count == 60
    assert table.caption == "16 more points are in summary.csv"


def test_the_bar_says_which_point_is_played(tmp_path):
    console = Console(file=(tmp_path / "shown").open("w"), width=80)
    values = ({"epsilon": 0.1}, {"epsilon": 0.3})
    begin = SweepStarted(experiment="x", systems=("a",), points=values, replicates=2, asked=2)
    going = SweepAdvanced(
        point=1, values=values[1], system="a", replicate=0, done=5, rounds=10, share=0.75
    )
    with console.file, TerminalProgress(console) as progress:
        progress(begin)
        progress(going)
        progress(SweepFinished(total=2, out=None))
    shown = (tmp_path / "shown").read_text()
    assert "point 2 of 2, ε = 0.3" in shown
    assert "75 %" in shown


ALPHAS = [0.01 * n for n in range(1, 99)]


def _bytes(keys):
    return estimate_workload(Workload.of(sweep_of(base(), keys)))[1].bytes


class TestEstimates:
    def test_memory_is_that_of_the_whole_sweep(self, monkeypatch):
        """One point fits, all together do not."""
        few, many = {"systems.feducb.alpha": [0.1]}, {"systems.feducb.alpha": ALPHAS}
        least, most = (_bytes(keys) for keys in (few, many))
        assert most > 1.2 * least
        monkeypatch.setattr(estimate, "available_memory", lambda: (int((least + most) / 2), "free"))
        fb.sweep(base(), few)
        with pytest.raises(ResourceError, match=r"swept: needs at least .* results, .*; lower"):
            fb.sweep(base(), many)

    def test_time_is_that_of_the_whole_sweep(self, monkeypatch):
        monkeypatch.setattr(estimate, "LONG", 1e-4)
        monkeypatch.setattr(estimate, "RATE", 1e9)
        fb.run(experiment(rounds=2, replicates=1))
        with pytest.warns(LongRunWarning, match=r"swept: this may take .*, most of it linucb-po"):
            fb.sweep(base(), {"systems.feducb.alpha": ALPHAS[:9]})


TOML = """
name = "tiny"
rounds = 20
[environment]
kind = "linear"
agents = 2
dim = 2
arms = 3
[[systems]]
preset = "feducb"
[sweep]
"systems.*.epsilon" = [0.5, 2]
"""


class TestCommand:
    @pytest.mark.pictures
    def test_a_file_with_a_sweep_is_run_as_one(self, tmp_path, monkeypatch, capsys):
        (tmp_path / "tiny.toml").write_text(TOML)
        monkeypatch.chdir(tmp_path)
        assert call(monkeypatch, "run", "tiny.toml", "--sweep", "environment.agents=2,3") == 0
        assert "runs/tiny-sweep/report.html" in capsys.readouterr().out
        out = tmp_path / "runs" / "tiny-sweep"
        assert (out / "plots" / "sweep.png").read_bytes()[1:4] == b"PNG"
        assert b"<svg" in (out / "plots" / "sweep.svg").read_bytes()
        with xr.open_dataset(out / "results.nc", engine="h5netcdf") as stored:
            assert dict(stored.sizes)["epsilon"] == dict(stored.sizes)["agents"] == 2

    @pytest.mark.parametrize("command", ["privacy", "audit"])
    def test_other_commands_say_what_to_do(self, tmp_path, monkeypatch, capsys, command):
        (tmp_path / "tiny.toml").write_text(TOML)
        monkeypatch.chdir(tmp_path)
        assert call(monkeypatch, command, "tiny.toml") == 2
        assert "is a sweep over systems.*.epsilon" in capsys.readouterr().err

    def test_its_claims_can_be_asked_for_without_the_sweep(self, tmp_path, monkeypatch, capsys):
        (tmp_path / "tiny.toml").write_text(TOML)
        monkeypatch.chdir(tmp_path)
        arguments = ["--set", "sweep={}", "--set", "systems.*.epsilon=2"]
        assert call(monkeypatch, "privacy", "tiny.toml", *arguments) == 0
        assert "ε = 2" in capsys.readouterr().out

    def test_a_wrong_key_waits_for_nothing_that_a_run_needs(self, tmp_path, monkeypatch, capsys):
        (tmp_path / "tiny.toml").write_text(TOML)
        monkeypatch.chdir(tmp_path)
        monkeypatch.setitem(sys.modules, "fedbandits.experiments.runner", None)
        assert call(monkeypatch, "run", "tiny.toml", "--sweep", "environment.agent=2") == 2
        assert "sweep.environment.agent: no such key" in capsys.readouterr().err
