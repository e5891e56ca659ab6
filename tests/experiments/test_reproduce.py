"""Figures made again: folders, resumption, errors; at sizes far below any figure's."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure as Plot
from typer.testing import CliRunner

from fedbandits.cli import app, main
from fedbandits.environments import Linear
from fedbandits.errors import ConfigError, OutputExistsError
from fedbandits.experiments.run import run as run_experiment
from fedbandits.reproduce import FIGURES, Context, Figure, Outcome, Verdict, write_outcome
from fedbandits.settings.experiment import Experiment, system


def test_every_figure_says_what_it_shows_at_both_scales():
    for figure in FIGURES.values():
        assert figure.title
        assert figure.source.count("20") >= 1
        assert figure.quick
        assert figure.full


def test_what_is_complete_is_not_run_again(tmp_path, monkeypatch):
    experiment = Experiment(
        rounds=20, environment=Linear(agents=2, dim=2, arms=3), systems=(system("feducb"),)
    )
    first = Context(tmp_path).run("point", experiment)
    monkeypatch.setattr(
        "fedbandits.reproduce.engine.run",
        lambda *_, **__: pytest.fail("it was run again"),
    )
    again = Context(tmp_path, resume=True).run("point", experiment)
    np.testing.assert_array_equal(first.regret, again.regret)


def test_measurements_are_taken_once(tmp_path):
    assert Context(tmp_path).measure("speed", lambda: 1.5) == 1.5
    assert Context(tmp_path, resume=True).measure("speed", lambda: 2.5) == 1.5
    assert Context(tmp_path).measure("speed", lambda: 2.5) == 2.5


def test_an_interruption_ends_the_figure(tmp_path, monkeypatch):
    def interrupted(*args, **options):
        return run_experiment(*args, **options).assign_attrs(interrupted=1)

    monkeypatch.setattr("fedbandits.reproduce.engine.run", interrupted)
    experiment = Experiment(
        rounds=20, environment=Linear(agents=2, dim=2, arms=3), systems=(system("feducb"),)
    )
    with pytest.raises(KeyboardInterrupt):
        Context(tmp_path).run("point", experiment)


@pytest.mark.parametrize("agrees", [True, False])
def test_the_last_line_says_whether_it_agrees(tmp_path, agrees):
    plot = Plot(figsize=(1, 1))
    outcome = Outcome([{"x": 1}], plot, ["A remark."], Verdict(agrees, "by 3 of 4."))
    figure = Figure("A title", "a paper, 2026", "tiny", "whole", lambda _: outcome)
    write_outcome(Context(tmp_path / "out"), figure, outcome)
    lines = (tmp_path / "out" / "remarks.md").read_text(encoding="utf-8").splitlines()
    assert lines[-1] == f"**{'Agrees' if agrees else 'Differs'}: by 3 of 4.**"
    assert "* A remark." in lines


def test_data_is_refused_where_a_figure_takes_none(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["fedbandits", "reproduce", "feducb-1a", "--data", "x.txt"])
    with pytest.raises(SystemExit) as leaving:
        main()
    assert leaving.value.code == 2
    assert "feducb-1a takes no data" in capsys.readouterr().err


def test_impossible_folders_and_data_are_refused_first(tmp_path):
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(OutputExistsError):
        Context(file)
    with pytest.raises(ConfigError, match="same name"):
        Context(tmp_path, data=["a/m.txt", "b/m.txt"])


def test_an_unknown_figure_is_refused(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["fedbandits", "reproduce", "figure-9"])
    with pytest.raises(SystemExit) as leaving:
        main()
    assert leaving.value.code == 2
    assert "`fedbandits list` shows all" in capsys.readouterr().err


def test_the_list_names_figures():
    listed = CliRunner().invoke(app, ["list"])
    assert listed.exit_code == 0
    assert all(name in listed.output for name in FIGURES)
