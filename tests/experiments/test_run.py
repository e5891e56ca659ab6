from __future__ import annotations

import csv
import io
import json
import math
import re
import signal

import msgspec
import numpy as np
import pytest
import xarray as xr
from rich.console import Console

import fedbandits as fb
from fedbandits.environments import Bernoulli, Classification, Linear
from fedbandits.errors import DataError, OutputExistsError
from fedbandits.experiments import output
from fedbandits.experiments import result as result_module
from fedbandits.experiments.events import ReplicateAdvanced
from fedbandits.experiments.files import put_in_place
from fedbandits.experiments.folder import read_result
from fedbandits.experiments.labels import labels_of
from fedbandits.experiments.progress import TerminalProgress
from fedbandits.experiments.replicate import checkpoint_rounds
from fedbandits.experiments.result import SUMMARY_COLUMNS, summarise
from fedbandits.experiments.trace import ReplicateTrace


def small(**changes):
    settings = {
        "name": "small", "rounds": 60, "replicates": 3, "seed": 4,
        "environment": Linear(agents=2, dim=3, arms=4),
        "systems": (
            fb.system("feducb", delta=0.1), fb.system("feducb-published"),
            fb.system("linucb-alone"),
        ),
    }  # fmt: skip
    return fb.Experiment(**settings | changes)


@pytest.fixture(scope="module")
def result():
    return fb.run(small(), jobs=2)


def test_the_result_is_labelled(result):
    assert result.regret.dims == ("system", "replicate", "party", "round")
    assert list(result.system.values) == ["feducb", "feducb-published", "linucb-alone"]
    assert result.sizes["replicate"] == 3
    assert result.sizes["party"] == 2
    assert result["round"].values[0] == 1
    assert result["round"].values[-1] == 60
    for name in ("regret", "reward", "messages", "bytes", "syncs", "epsilon_contents"):
        assert np.isfinite(result[name]).all()
        assert (result[name].diff("round") >= 0).all()
    assert result.regret.sel(system="feducb").mean("replicate").shape[0] == 2


def test_attributes_tell_how_it_came_about(result):
    assert result.attrs["seed"] == 4
    assert fb.Experiment.from_table(__import__("tomllib").loads(result.attrs["config"])) == small()
    assert json.loads(result.attrs["claims"])["feducb-published"]["epsilon"] == "inf"
    assert "numba" in json.loads(result.attrs["versions"])
    assert result.attrs["interrupted"] == 0


def test_a_result_explains_its_numbers(result, tmp_path):
    for array in result.variables.values():
        assert array.attrs["long_name"]
        assert "units" in array.attrs
    assert result.regret.attrs["long_name"] == "regret of one agent so far"
    found = labels_of(result)
    assert (found.words, found.acting, found.rounds) == (small().environment.words, 2, 60)
    assert (found.real_data, found.loss) == (False, "regret per agent")
    assert found.stands_for == {"feducb": "", "feducb-published": "", "linucb-alone": "alone"}
    result.to_netcdf(tmp_path / "r.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "r.nc", engine="h5netcdf") as stored:
        assert labels_of(stored) == found
        assert stored.epsilon.attrs == result.epsilon.attrs
    with pytest.raises(DataError, match="another version of fedbandits"):
        labels_of(result.drop_attrs())


def test_epsilon_is_that_of_everything_that_leaves(result):
    """Contents of the published variant look cheap, but no finite ε holds: its times leak."""
    sound, broken, alone = (result.sel(system=entry.label) for entry in small().systems)
    np.testing.assert_array_equal(sound.epsilon, sound.epsilon_contents)
    assert (alone.epsilon == 0.0).all()
    released = broken.epsilon_contents > 0.0
    assert released[:, -1].all()
    assert not released[:, 0].any()
    assert np.isinf(broken.epsilon).all()  # also before: that nothing is sent is seen
    assert np.isfinite(broken.epsilon_contents).all()


def test_encryption_has_no_epsilon():
    experiment = small(
        rounds=20, replicates=1, environment=Bernoulli(arms=3), systems=(fb.system("samba-ucb"),)
    )
    outcome = fb.run(experiment)
    assert outcome.epsilon.isnull().all()
    assert outcome.epsilon_contents.isnull().all()
    (row,) = summarise(experiment, outcome)
    for name in ("epsilon_claimed", "epsilon_accounted", "epsilon_contents"):
        assert math.isnan(row[name])


def test_a_result_of_another_version_is_refused_by_name(tmp_path):
    """Its epsilon was that of contents."""
    fb.run(small(), out=tmp_path / "r")
    stored = read_result(tmp_path / "r")
    stored.attrs["format"] = 1
    data = output.netcdf(stored)
    put_in_place({"results.nc": data, "config.toml": small().to_toml().encode()}, tmp_path / "r")
    with pytest.raises(OutputExistsError, match="made by another version of fedbandits"):
        fb.run(small(), out=tmp_path / "r", resume=True)


@pytest.mark.parametrize("jobs", [1, 3])
def test_the_number_of_jobs_changes_nothing(result, jobs):
    again = fb.run(small(), jobs=jobs)
    for name in ("regret", "reward", "messages", "syncs", "epsilon"):
        np.testing.assert_array_equal(result[name], again[name])


def test_replicates_differ_and_do_not_depend_on_how_many_there_are(result):
    assert len(np.unique(result.reward.isel(system=0, party=0, round=-1))) > 1
    fewer = fb.run(small(replicates=2))
    np.testing.assert_array_equal(fewer.regret, result.regret[:, :2])


def test_another_seed_is_another_run(result):
    assert not np.array_equal(fb.run(small(seed=5)).regret, result.regret)


def test_the_summary_is_of_the_group(result):
    rows = {row["system"]: row for row in summarise(small(), result)}
    last = result.regret.isel(round=-1).sum("party")
    for label, row in rows.items():
        assert tuple(row) == SUMMARY_COLUMNS
        runs = last.sel(system=label).values
        assert row["regret_mean"] == pytest.approx(runs.mean())
        assert row["regret_sem"] == pytest.approx(runs.std(ddof=1) / math.sqrt(3))
        # Student's t with two degrees of freedom: 4.3027.
        assert row["regret_ci95"] == pytest.approx(4.302652729911 * row["regret_sem"])
        steps = 3 * 60 * 2 / row["seconds"]
        assert row["agent_steps_per_second"] == pytest.approx(steps)
    assert rows["feducb"]["epsilon_claimed"] == pytest.approx(1.0, rel=5e-5)
    assert rows["feducb-published"]["epsilon_claimed"] == 1.0
    assert rows["feducb-published"]["epsilon_accounted"] == math.inf
    assert rows["linucb-alone"]["messages"] == 0


@pytest.mark.parametrize("count", [1, 2])
def test_few_replicates_have_no_interval(result, count):
    rows = summarise(small(replicates=count), result.isel(replicate=slice(count)))
    assert all(math.isnan(row["regret_ci95"]) for row in rows)
    assert all(math.isnan(row["regret_sem"]) == (count == 1) for row in rows)


def test_real_data_runs_end_to_end(tmp_path):
    experiment = small(environment=Classification(agents=3, dataset="wine", components=3))
    outcome = fb.run(experiment, out=tmp_path / "wine")
    played = outcome.regret.isel(round=-1) + outcome.reward.isel(round=-1)
    np.testing.assert_allclose(played, 60.0)  # every visit is right or wrong


@pytest.mark.pictures
def test_the_folder_of_a_run(tmp_path):
    out = tmp_path / "deep" / "small"
    outcome = fb.run(small(), out=out)
    names = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    drawn = ("regret", "syncs", "epsilon", "theory-regret", "theory-syncs")
    plots = {f"plots/{name}.{kind}" for name in drawn for kind in ("png", "svg")}
    assert names == plots | {
        "results.nc",
        "summary.csv",
        "config.toml",
        "report.html",
        "run.json",
        "answer.json",
    }
    assert not [path for path in out.parent.iterdir() if path != out]
    with xr.open_dataset(out / "results.nc", engine="h5netcdf") as stored:
        np.testing.assert_array_equal(stored.regret, outcome.regret)
        assert stored.attrs["config"] == outcome.attrs["config"]
    with (out / "summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["system"] for row in rows] == list(outcome.system.values)
    assert float(rows[0]["regret_mean"]) == pytest.approx(
        float(outcome.regret.isel(system=0, round=-1).sum("party").mean())
    )
    assert fb.load(out / "config.toml") == small()


@pytest.mark.pictures
def test_the_report_needs_nothing_beside_itself_and_states_every_claim(tmp_path):
    named = fb.system("feducb-nonprivate", label="<b>bold & co</b> $\\frac{$")
    fb.run(small(systems=(*small().systems, named)), out=tmp_path / "r")
    text = (tmp_path / "r" / "report.html").read_text(encoding="utf-8")
    assert text.count("data:image/svg+xml;base64,") == 5  # two of them beside what is proved
    assert not re.search(r"https?:|<script|<link|url\(|@import", text)
    assert "default-src 'none'" in text
    assert "<b>bold" not in text
    assert "&lt;b&gt;bold &amp; co" in text
    for label in ("feducb", "feducb-published", "linucb-alone"):
        assert f"<h3>{label}</h3>" in text
    assert "no finite ε: which messages there are depends on raw data" in text
    begins = "<h2>What each system claims about privacy</h2>"
    overview = text.partition(begins)[2].partition("</table>")[0]
    assert "<td>ε\xa0=\xa01, δ\xa0=\xa01e-05</td><td>no finite ε</td>" in overview
    assert overview.count("<tr>") == 5
    assert "&lt;b&gt;bold" in overview


def test_the_same_experiment_may_be_run_again_and_foreign_files_stay(tmp_path):
    fb.run(small(), out=tmp_path / "r")
    (tmp_path / "r" / "notes.txt").write_text("mine")
    fb.run(small(), out=tmp_path / "r")
    assert (tmp_path / "r" / "notes.txt").read_text() == "mine"


def test_an_interrupted_run_does_not_replace_a_complete_one(tmp_path):
    experiment = small(replicates=4, systems=(fb.system("feducb"),))
    fb.run(experiment, out=tmp_path / "r")
    before = (tmp_path / "r" / "summary.csv").read_text()
    cut = fb.run(experiment, out=tmp_path / "r", jobs=1, on_event=CtrlC(130))
    assert cut.attrs["interrupted"] == 1
    assert (tmp_path / "r" / "summary.csv").read_text() == before


def test_a_link_above_the_output_folder_is_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    fb.run(small(), out=tmp_path / "link" / "r")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "r" / "summary.csv").is_file()


@pytest.mark.parametrize("place", ["note/r", "x" * 300, "nul\0"])
def test_places_that_cannot_be_written_are_refused_before_the_run(tmp_path, place):
    (tmp_path / "note").write_text("x")
    with pytest.raises(
        (OutputExistsError, ValueError), match=r"cannot be written|null byte|is a file"
    ):
        fb.run(small(), out=tmp_path / place)


@pytest.mark.parametrize("jobs", [0, -1, 1.5])
def test_impossible_numbers_of_jobs_are_refused(jobs):
    with pytest.raises(fb.ConfigError, match="jobs"):
        fb.run(small(), jobs=jobs)


def test_a_folder_with_another_configuration_is_left_alone(tmp_path):
    fb.run(small(), out=tmp_path / "r")
    before = (tmp_path / "r" / "summary.csv").read_text()
    with pytest.raises(OutputExistsError, match=r"differs in rounds"):
        fb.run(small(rounds=61), out=tmp_path / "r")
    with pytest.raises(OutputExistsError, match=r"systems\[0\]\.epsilon"):
        fb.run(small(systems=(fb.system("feducb", epsilon=2.0),)), out=_only_feducb(tmp_path))
    assert (tmp_path / "r" / "summary.csv").read_text() == before


def _only_feducb(tmp_path):
    fb.run(small(systems=(fb.system("feducb"),)), out=tmp_path / "one")
    return tmp_path / "one"


def test_foreign_folders_and_files_are_left_alone(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"cat")
    with pytest.raises(OutputExistsError, match="not a run of fedbandits"):
        fb.run(small(), out=tmp_path / "photos")
    (tmp_path / "note").write_text("x")
    with pytest.raises(OutputExistsError, match="is a file"):
        fb.run(small(), out=tmp_path / "note")
    (tmp_path / "photos" / "config.toml").write_text("= broken")
    with pytest.raises(OutputExistsError, match="cannot be read"):
        fb.run(small(), out=tmp_path / "photos")


def test_what_fails_leaves_nothing_behind(tmp_path):
    impossible = small(environment=Classification(agents=1000))
    with pytest.raises(DataError):
        fb.run(impossible, out=tmp_path / "r")
    assert not list(tmp_path.iterdir())


class CtrlC:
    """Listens to a run, and presses Ctrl-C once so many rounds have been played."""

    def __init__(self, after: int) -> None:
        self.after, self.pressed = after, False
        self.played: dict[tuple[str, int], int] = {}

    def __call__(self, event: fb.events.Event) -> None:
        if isinstance(event, ReplicateAdvanced):
            self.played[event.system, event.replicate] = event.done
            if not self.pressed and sum(self.played.values()) >= self.after:
                self.pressed = True
                signal.raise_signal(signal.SIGINT)


def test_ctrl_c_keeps_finished_replicates(tmp_path):
    experiment = small(replicates=4, systems=(fb.system("feducb"),))
    whole = fb.run(experiment)
    out = tmp_path / "cut"
    cut = fb.run(experiment, out=out, jobs=1, on_event=CtrlC(130))
    assert cut.attrs["interrupted"] == 1
    finished = np.isfinite(cut.regret).all(dim=("system", "party", "round")).values
    assert list(finished) == [True, True, False, False]
    np.testing.assert_array_equal(cut.regret[:, :2], whole.regret[:, :2])
    assert "Interrupted" in (out / "report.html").read_text(encoding="utf-8")
    with (out / "summary.csv").open() as file:
        assert next(csv.DictReader(file))["replicates"] == "2"


def test_ctrl_c_before_anything_is_finished_writes_no_results(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        fb.run(small(), out=tmp_path / "r", jobs=1, on_event=CtrlC(1))
    assert [path.name for path in tmp_path.iterdir()] == [".r.checkpoint"]


@pytest.mark.parametrize(("rounds", "count"), [(1, 5), (10, 60), (10**9, 60), (7, 1)])
def test_checkpoints_are_log_spaced_and_end_at_the_horizon(rounds, count):
    points = checkpoint_rounds(rounds, count)
    assert points[-1] == rounds
    assert (np.diff(points) > 0).all()
    assert len(points) <= count + 1
    assert points[0] >= 1


class ClosedStream(io.StringIO):
    def write(self, _: str) -> int:
        raise BrokenPipeError


def test_a_progress_stream_that_nobody_reads_does_not_end_a_run():
    with TerminalProgress(Console(file=ClosedStream())) as progress:
        assert fb.run(small(), on_event=progress).attrs["interrupted"] == 0


def test_seconds_are_those_in_which_some_replicate_was_played():
    """Side by side they count once; gaps between processes, and what lies idle, not at all."""
    traces = [ReplicateTrace.empty(0, r, np.array([1]), 1) for r in range(3)]
    spells = [((0.0, 4.0), (100.0, 101.0)), ((3.0, 5.0),), ((100.5, 102.0),)]
    played = [
        msgspec.structs.replace(trace, spells=spell)
        for trace, spell in zip(traces, spells, strict=True)
    ]
    assert result_module.busy_seconds(played) == pytest.approx(7.0)


def test_a_damaged_earlier_result_is_replaced(tmp_path):
    experiment = small(replicates=4, systems=(fb.system("feducb"),))
    fb.run(experiment, out=tmp_path / "r")
    (tmp_path / "r" / "results.nc").write_bytes(b"damaged")
    fb.run(experiment, out=tmp_path / "r", jobs=1, on_event=CtrlC(130))
    with xr.open_dataset(tmp_path / "r" / "results.nc", engine="h5netcdf") as stored:
        assert stored.attrs["interrupted"] == 1
