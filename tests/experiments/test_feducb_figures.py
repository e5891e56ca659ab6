"""Figures after Dubey & Pentland (2020) at a tiny scale, and their verdicts on made-up numbers."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from fedbandits.experiments import output
from fedbandits.reproduce import FIGURES, Context, write_outcome
from fedbandits.reproduce import feducb as feducb_runs
from fedbandits.reproduce.engine import Measured
from fedbandits.reproduce.feducb import ALONE, CLEAR, PUBLISHED, SOUND, Played, Scale, world
from fedbandits.reproduce.feducb import curves as feducb_curves
from fedbandits.reproduce.feducb import sweeps as feducb_sweeps
from fedbandits.settings.experiment import Experiment

TINY = Scale(40, 2, 6)


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setattr(Scale, "of", lambda *_, **__: TINY)
    monkeypatch.setattr(feducb_sweeps, "AGENTS", (2, 3))
    monkeypatch.setattr(feducb_sweeps, "EPSILONS", (0.5, 1.0, 10.0))
    monkeypatch.setattr(feducb_sweeps, "GAPS", (0.1, 0.2))
    monkeypatch.setattr(feducb_curves, "AGENTS", 3)
    monkeypatch.setattr(feducb_curves, "DIMENSIONS", (2, 3))
    monkeypatch.setattr(feducb_curves, "_MANY", 20)
    monkeypatch.setattr(output, "draw_plots", lambda *_: {})  # of every point, dear; not the figure


@pytest.mark.parametrize("name", [name for name in FIGURES if name.startswith("feducb")])
def test_every_figure_can_be_made(tmp_path, name):
    context = Context(tmp_path / "out")
    outcome = FIGURES[name].make(context)
    for row in outcome.rows:
        assert row.keys() == outcome.rows[0].keys()
        assert all(np.isfinite(v) for v in row.values() if not isinstance(v, str))
    assert any("‖θ*‖ ≥ 0.8" in remark for remark in outcome.remarks)
    assert any("Theorem 1" in remark for remark in outcome.remarks)
    write_outcome(context, FIGURES[name], outcome)
    assert (tmp_path / "out" / "figure.png").exists()
    if name == "feducb-1b":
        exact = {row["communication"]: row["syncs"] for row in outcome.rows[:6]}
        assert set(exact.values()) == {2.0, 6.0, 39.0}  # ⌈√3⌉, ⌈log₂ 40⌉ and all but the last
    if name == "feducb-1c":
        assert {(row["d"], row["K"]) for row in outcome.rows} == {(2, 4), (3, 6)}


def test_figures_need_no_file_and_state_their_runs():
    for figure in (each for name, each in FIGURES.items() if name.startswith("feducb")):
        assert figure.data == ""
        assert "runs" in figure.quick
        assert "100 runs" in figure.full


def test_the_scale_is_the_papers_when_it_is_full(tmp_path, monkeypatch):
    monkeypatch.undo()
    assert Scale.of(Context(tmp_path, full=True)) == Scale(10_000_000, 100, 100)
    assert Scale.of(Context(tmp_path), replicates=3) == Scale(10_000, 3, 20)


def test_worlds_have_a_parameter_in_the_ball_and_no_more_arms_than_fit():
    assert world(Scale(10, 1, 100), 5, dim=3).arms == 9
    assert world(Scale(10, 1, 100), 5, dim=10).arms == 100
    assert world(TINY, 5).parameter == "ball"


def test_syncs_that_levels_mean():
    # T = 10⁷, M = 100: 10, 24 and all but the last.
    assert list(feducb_curves.sync_counts(10**7, 100).values()) == [10, 24, 10**7 - 1]


def made_up(regret, environment, systems):
    """Numbers as if they had been measured: regret an agent at the end, by label."""
    experiment = Experiment(
        rounds=100, environment=environment, systems=tuple(systems), replicates=2
    )
    labels, agents = [entry.label for entry in systems], environment.agents
    values = np.array([regret[label] for label in labels])[:, None, None, None]
    shape = (len(labels), 2, agents, 1)
    result = xr.Dataset(
        {
            "regret": (("system", "replicate", "party", "round"), np.broadcast_to(values, shape)),
            "syncs": (("system", "replicate", "round"), np.ones((len(labels), 2, 1))),
        },
        {"system": labels, "round": [100]},
    )
    return Played(experiment, environment, result)


def sweep(points, regret_of, worlds, epsilons):
    """Made-up runs: ``regret_of(preset, ε, point)``."""
    runs = {}
    for point, environment in zip(points, worlds, strict=True):
        systems = feducb_sweeps._systems(epsilons)
        regret = {
            entry.label: regret_of(entry.preset, getattr(entry.config, "epsilon", 1.0), point)
            for entry in systems
        }
        runs[point] = made_up(regret, environment, systems)
    return runs


@pytest.mark.parametrize(
    ("published", "agrees", "says"),
    [
        (lambda epsilon, m: 100.0 / (m * epsilon), True, "0.005 times that of learning alone"),
        (lambda epsilon, m: 1e5 / (m * epsilon), False, "because an agent's share of the shift"),
        (lambda epsilon, m: 100.0 / m, False, "does not fall with ε"),
        (lambda epsilon, m: 100.0 / epsilon, False, "does not fall with M"),
    ],
)
def test_verdict_1a_on_made_up_numbers(published, agrees, says, monkeypatch):
    def regret(preset, epsilon, m):
        if preset in (PUBLISHED, SOUND):
            return published(epsilon, m) if preset == PUBLISHED else 10.0 / (m * epsilon)
        return 1000.0

    points = (2, 20)
    worlds = [world(TINY, m) for m in points]
    runs = sweep(points, regret, worlds, feducb_sweeps.EPSILONS)
    verdict = feducb_sweeps._verdict_1a(runs)
    assert bool(verdict.agrees) == agrees
    # So few rounds: the shift explains every difference.
    assert verdict.comparable == agrees
    assert verdict.line.startswith("Agrees" if agrees else "Not comparable at this scale: ")
    monkeypatch.setattr(feducb_runs.Played, "shift_factor", lambda *_: 0.14)  # at the paper's T
    assert feducb_sweeps._verdict_1a(runs).agrees is agrees
    assert says in verdict.why
    assert f"{SOUND}'s regret falls with ε, falls with M" in verdict.why


@pytest.mark.parametrize(
    ("published", "agrees", "says"),
    [
        (lambda epsilon, gap: 10.0 / gap + 1.0 / (epsilon * gap**2), True, "depends less on ε"),
        (lambda epsilon, gap: 10.0 * gap + 1.0 / epsilon, False, "every miss costs more"),
        (lambda epsilon, gap: 10.0 / gap * epsilon**-gap, False, "depends no less on ε"),
    ],
)
def test_verdict_2_on_made_up_numbers(published, agrees, says):
    def regret(preset, epsilon, gap):
        return published(epsilon, gap) if preset == PUBLISHED else 1.0 / gap

    points = (0.1, 0.2)
    worlds = [world(TINY, 2, gap=gap) for gap in points]
    runs = sweep(points, regret, worlds, feducb_sweeps.GAP_EPSILONS)
    verdict = feducb_sweeps._verdict_2(runs)
    assert (bool(verdict.agrees), verdict.comparable) == (agrees, agrees)
    assert says in verdict.why


@pytest.mark.parametrize(
    ("private", "clear", "agrees", "says"),
    [
        ((9.0, 8.0, 7.0), (3.0, 2.0, 1.0), True, "3.0 → 2.0 → 1.0 in clear"),
        ((9.0, 9.0, 9.0), (3.0, 2.0, 1.0), False, "share of the shift, 2Λ"),
        ((9.0, 8.0, 7.0), (1.0, 1.0, 1.0), False, "more syncs do not help"),
    ],
)
def test_verdict_1b_on_made_up_numbers(private, clear, agrees, says):
    groups = feducb_curves._levels(100)
    systems = [entry for group in groups.values() for entry in group.values()]
    regret = {entry.label: 5.0 for entry in systems}
    for level, one, other in zip(feducb_curves.LEVELS, private, clear, strict=True):
        regret[groups["exact"][level].label] = one
        regret[groups["exact"][f"{level}, in clear"].label] = other
    verdict = feducb_curves._verdict_1b(made_up(regret, world(TINY, 3), systems), groups)
    assert bool(verdict.agrees) == agrees
    # In clear there is no shift that could explain anything.
    assert verdict.comparable == (agrees or clear == (1.0, 1.0, 1.0))
    assert says in verdict.why
    assert ("because" in verdict.why) is not agrees


@pytest.mark.parametrize(("exponent", "agrees"), [(2.0, True), (1.2, False), (0.0, False)])
def test_verdict_1c_on_made_up_numbers(exponent, agrees):
    systems = [feducb_curves.proved(preset) for preset in (PUBLISHED, SOUND, CLEAR, ALONE)]
    runs = {}
    for d in (2, 4, 8):
        regret = {entry.label: 3.0 * d for entry in systems} | {PUBLISHED: 0.1 * d**exponent}
        runs[d] = made_up(regret, world(TINY, 3, dim=d), systems)
    verdict = feducb_curves._verdict_1c(runs)
    assert (bool(verdict.agrees), verdict.comparable) == (agrees, agrees)
    assert f"grows like d^{exponent:.1f}" in verdict.why
    assert ("nearly at random" in verdict.why) is not agrees
    assert f"{SOUND} d^1.0" in verdict.why


def test_what_falls_must_fall_by_more_than_its_errors():
    def measured(mean, error):
        return Measured(mean, 0.0, error)

    assert feducb_runs.falls([measured(3.0, 0.1), measured(2.0, 0.1), measured(1.0, 0.1)])
    assert feducb_runs.falls([measured(3.0, 0.1), measured(2.9, 0.1), measured(1.0, 0.1)])
    assert not feducb_runs.falls([measured(3.0, 0.5), measured(2.0, 0.5)])
    assert not feducb_runs.falls([measured(3.0, 0.1), measured(1.0, 0.1), measured(2.0, 0.1)])
    assert measured(1.0, float("nan")).clearly_below(measured(2.0, float("nan")))
