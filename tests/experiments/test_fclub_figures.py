"""Figures after Liu et al. (2022) at a tiny scale."""

from __future__ import annotations

import numpy as np
import pytest

from fedbandits.environments import Clustered
from fedbandits.errors import ConfigError
from fedbandits.experiments import output
from fedbandits.random import Key
from fedbandits.reproduce import (
    Context,
    fclub,
    fclub_regret,
    fclub_sweeps,
    fclub_worlds,
    write_outcome,
)
from fedbandits.reproduce.fclub_worlds import ALONE, Scale, given_world

SWEEPS = {("fclub-dc", "U = D"): (1.01, 2.0), ("fclub", "trust"): (0.0, 1.0)}


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setattr(fclub_worlds.Scale, "of", lambda *_, **__: Scale(2, 160))
    points = fclub_sweeps.Pays((0.5, 1.0), (120, 160), (20, 40))
    monkeypatch.setattr(fclub_sweeps.Pays, "of", lambda _: points)
    monkeypatch.setattr(fclub_sweeps, "SWEEPS", SWEEPS)
    monkeypatch.setattr(output, "draw_plots", lambda *_: {})  # of every point, dear; not the figure


@pytest.fixture
def users(tmp_path):
    path = tmp_path / "users.npy"
    np.save(path, Clustered(users=45, clusters=3, dim=4).world(Key(0, 0)).theta)
    return str(path)


@pytest.mark.parametrize("name", fclub.FIGURES)
def test_every_figure_can_be_made(tmp_path, name):
    context = Context(tmp_path / "out")
    outcome = fclub.FIGURES[name].make(context)
    for row in outcome.rows:
        assert row.keys() == outcome.rows[0].keys()
        assert all(np.isfinite(v) for v in row.values() if not isinstance(v, str))
    assert len(outcome.remarks) >= 3
    write_outcome(context, fclub.FIGURES[name], outcome)
    assert (tmp_path / "out" / "figure.png").exists()


@pytest.mark.parametrize("name", ["fclub-2a", "fclub-2b", "fclub-parameters"])
def test_figures_can_be_made_from_given_users(tmp_path, users, name):
    outcome = fclub.FIGURES[name].make(Context(tmp_path / "out", data=[users]))
    assert "as they come" in outcome.remarks[0]
    assert "NOT the paper's" not in " ".join(outcome.remarks)


def test_given_users_are_cut_to_the_papers_number(tmp_path, users):
    assert given_world(users, whole=False).parties == 40
    assert given_world(users, whole=True).parties == 45
    ratings = given_world(str(tmp_path / "u.data"), whole=False)
    assert (ratings.ratings, ratings.parties) == (str(tmp_path / "u.data"), 40)
    with pytest.raises(ConfigError, match="one file"):
        fclub.FIGURES["fclub-2a"].make(Context(tmp_path / "out", data=[users, "other.npy"]))


def test_regret_is_read_at_the_marks_and_held_against_learning_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(fclub_regret, "_MARKS", (40, 80))
    outcome = fclub.FIGURES["fclub-2a"].make(Context(tmp_path))
    row = next(row for row in outcome.rows if row["system"] == ALONE)
    assert row["40"] < row["80"] < row["160"]
    assert row[fclub_regret._RATIO] == 1.0
    assert row["messages"] == 0


def test_verdicts_on_made_up_numbers():
    ratios = {"fclub": 1.05, "fclub, δ = 1e-05": 1.06, "fclub-published": 20.0}
    rows = [{"system": name, fclub_regret._RATIO: ratio} for name, ratio in ratios.items()]
    verdicts = fclub_regret._verdicts(rows)
    assert ["MORE THAN" in verdict for verdict in verdicts] == [False, True, True]


def test_from_where_it_pays_on_made_up_numbers():
    rows = [
        {"over": "T", "value": value, "delta": delta, "ratio": ratio, "standard error": 0.01}
        for delta, ratios in ((1e-5, (1.02, 0.99, 1.0)), (0.1, (0.9, 1.01, 0.97)))
        for value, ratio in zip((10, 20, 30), ratios, strict=True)
    ]
    first, second = fclub_sweeps._thresholds(rows)
    assert "NOWHERE" in first
    assert "from 30 on" in second
    assert "at worst 1.01 at 20" in second
