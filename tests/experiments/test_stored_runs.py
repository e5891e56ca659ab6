"""Runs in folders: which there are, and in what two of them differ."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

import fedbandits as fb
from fedbandits.cli.main import app
from fedbandits.environments import Linear
from fedbandits.errors import OutputExistsError

EXPERIMENT = fb.Experiment(
    name="tiny", rounds=12, replicates=4, environment=Linear(agents=3, dim=2, arms=3),
    systems=(fb.system("linucb-alone"), fb.system("feducb")),
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs: ``one``, one with another ε, a longer one, one without the first system, a sweep."""
    top = tmp_path_factory.mktemp("runs")
    change = msgspec.structs.replace
    private = fb.system("feducb", epsilon=30.0)
    for name, experiment in (
        ("one", EXPERIMENT),
        ("two", change(EXPERIMENT, systems=(EXPERIMENT.systems[0], private))),
        ("deep/longer", change(EXPERIMENT, rounds=20)),
        ("deep/less", change(EXPERIMENT, replicates=2, systems=EXPERIMENT.systems[1:])),
        ("other seed", change(EXPERIMENT, seed=1)),
    ):
        fb.run(experiment, out=top / name)
    fb.sweep(EXPERIMENT, {"rounds": [5, 6]}, out=top / "swept")
    return top


def test_all_runs_are_found_with_what_they_say(folder):
    found = {run.folder.relative_to(folder).as_posix(): run for run in fb.find_runs(folder)}
    assert list(found) == ["deep/less", "deep/longer", "one", "other seed", "swept", "two"]
    assert {run.status for run in found.values()} == {"complete"}
    one = found["one"]
    assert (one.name, one.rounds, one.replicates) == ("tiny", 12, 4)
    assert one.systems == ("linucb-alone", "feducb")
    assert one.headline == fb.answer(folder / "one").headline
    assert found["swept"].headline == ""


def test_what_is_not_complete_is_told(folder, tmp_path):
    out = tmp_path / "run"
    fb.run(EXPERIMENT, out=out)
    (out / "summary.csv").write_text("changed")
    assert [run.status for run in fb.find_runs(tmp_path)] == ["damaged"]
    (out / "results.nc").unlink()
    (out / "answer.json").write_text("{")
    assert [(run.status, run.headline) for run in fb.find_runs(tmp_path)] == [("no results", "")]
    (out / "config.toml").write_text("rounds = [")
    assert [run.name for run in fb.find_runs(tmp_path)] == ["?"]
    (out / "config.toml").write_text('name = "of something else"')
    assert fb.find_runs(tmp_path) == []
    with pytest.raises(OutputExistsError, match="no such folder"):
        fb.find_runs(tmp_path / "nowhere")


def test_only_what_differs_is_told(folder):
    found = fb.compare_runs(folder / "one", folder / "two")
    assert found.settings == (("systems[feducb].epsilon", 1.0, 30.0),)
    (longer,) = fb.compare_runs(folder / "one", folder / "deep/longer").settings
    assert longer == ("rounds", 12, 20)
    less = {s.key: s[1:] for s in fb.compare_runs(folder / "one", folder / "deep/less").settings}
    assert less.keys() == {"replicates", "systems[linucb-alone]"}
    assert less["replicates"] == (4, 2)
    assert less["systems[linucb-alone]"][1] is None
    assert fb.compare_runs(folder / "one", folder / "one").settings == ()


def test_replicates_are_compared_in_pairs(folder):
    found = fb.compare_runs(folder / "one", folder / "two")
    results = [fb.run(EXPERIMENT), None]
    private = (EXPERIMENT.systems[0], fb.system("feducb", epsilon=30.0))
    results[1] = fb.run(msgspec.structs.replace(EXPERIMENT, systems=private))
    one, two = (r.regret.isel(round=-1).mean("party").sel(system="feducb").values for r in results)
    alone, feducb = found.systems
    assert found.are_pairs
    assert (alone.system, alone.difference.mean, alone.difference.half_width) == (
        "linucb-alone", 0.0, 0.0,
    )  # fmt: skip
    assert (feducb.first, feducb.second) == pytest.approx((one.mean(), two.mean()))
    assert feducb.difference.mean == pytest.approx((two - one).mean())
    half = 3.182446305284263 * (two - one).std(ddof=1) / np.sqrt(4)  # Student's t, 3 degrees
    assert feducb.difference.half_width == pytest.approx(half)
    fewer = fb.compare_runs(folder / "one", folder / "deep/less").systems
    assert [(each.system, each.difference.replicates) for each in fewer] == [("feducb", 2)]


def test_other_worlds_have_no_pairs_and_other_units_no_numbers(folder):
    seeds = fb.compare_runs(folder / "one", folder / "other seed")
    assert not seeds.are_pairs
    assert [each.difference for each in seeds.systems] == [None, None]
    longer = fb.compare_runs(folder / "one", folder / "deep/longer")
    assert (longer.systems, longer.units[0] == longer.units[1]) == ((), False)


def test_what_is_no_run_is_refused(folder, tmp_path):
    (tmp_path / "config.toml").write_text('[[systems]]\nlabel = "x"\n')
    for wrong, why in (
        (folder / "swept", "has a sweep"), (folder / "deep", "has no run"),
        (tmp_path, "has no results"),
    ):  # fmt: skip
        with pytest.raises(OutputExistsError, match=why):
            fb.compare_runs(folder / "one", wrong)


def test_the_commands_show_it(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "160")
    called = CliRunner()
    listed = called.invoke(app, ["runs", "."])
    assert listed.exit_code == 0
    for word in ("deep/longer", "complete", "linucb-alone, feducb"):
        assert word in listed.output
    compared = called.invoke(app, ["compare", "one", "two"]).output
    for word in ("systems[feducb].epsilon", "30.0", "regret an agent in 12 rounds", " ± "):
        assert word in compared
    assert "replicates" not in compared.split("Settings that differ")[1].split("regret")[0]
    assert (
        "The settings of both runs are the same."
        in called.invoke(app, ["compare", "one", "one"]).output
    )
    assert "not compared" in called.invoke(app, ["compare", "one", "deep/longer"]).output
    assert "seeds differ" in called.invoke(app, ["compare", "one", "other seed"]).output
    (folder / "empty").mkdir()
    assert called.invoke(app, ["runs", "empty"]).output == "empty: no runs\n"
