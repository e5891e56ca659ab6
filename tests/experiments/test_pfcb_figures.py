"""Figures 2 to 5 of Solanki et al. (2022) at a tiny scale, and their verdicts on given numbers."""

from __future__ import annotations

import numpy as np
import pytest

from fedbandits.experiments import output
from fedbandits.reproduce import FIGURES, Context, write_outcome
from fedbandits.reproduce import pfcb as pfcb_runs
from fedbandits.reproduce.pfcb import figures as pfcb_figures

TINY = pfcb_runs.Scale(1, 1, 120)


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(pfcb_runs.Scale, "of", lambda *_: TINY)
    monkeypatch.setattr(pfcb_figures, "BUYERS", ((2, 3),))
    monkeypatch.setattr(pfcb_figures, "BUDGETS", ((0.1, 0.2, 1.0, 1.1),))
    monkeypatch.setattr(output, "draw_plots", lambda *_: {})  # of every point, dear; not the figure


@pytest.mark.parametrize("name", [name for name in FIGURES if name.startswith("pfcb")])
def test_every_figure_can_be_made(tmp_path, tiny, name):
    context = Context(tmp_path / "out")
    outcome = FIGURES[name].make(context)
    for row in outcome.rows:
        assert row.keys() == outcome.rows[0].keys()
        assert np.isfinite(row["regret a buyer"])
    assert len(outcome.remarks) >= 3
    for axes in outcome.plot.axes[:4]:  # as printed, and ours
        assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "linear")
    assert outcome.verdict.why
    write_outcome(context, FIGURES[name], outcome)
    assert (tmp_path / "out" / "figure.png").exists()


def test_figures_are_of_the_papers_ranges(tmp_path):
    quick, paper = pfcb_figures.BUYERS
    assert list(paper) == list(range(8, 43, 2))
    assert pfcb_runs.Scale.of(Context(tmp_path, full=True)) == (5, 20, 100_000)
    assert (quick[0], quick[-1]) == (8, 42)
    for budgets in pfcb_figures.BUDGETS:
        assert {0.2, 1.0, 1.1} <= set(budgets)


def ends(uniform, normal):
    """Figure 3's rows: regret of alone, published, fcb, and of the one that shares every round."""
    labels = (*pfcb_figures._PRINTED[:2], pfcb_runs.CLEAR, pfcb_runs.FLOOR)
    return [
        {"case": case, "system": label, "regret a buyer": value}
        for case, values in (("uniform", uniform), ("normal", normal))
        for label, value in zip(labels, values, strict=True)
    ]


def test_the_verdict_on_figure_3():
    papers = pfcb_figures._verdict_3(ends((333, 236, 100, 90), (494, 335, 100, 90)))
    assert papers.agrees
    assert "136% and 233% above FCB" in papers.why
    far = pfcb_figures._verdict_3(ends((201, 148, 100, 60), (183, 138, 100, 52)))
    assert not far.agrees
    assert "48% and 101%" in far.why
    assert "shares every round it is 147% and 235% (uniform)" in far.why
    disordered = pfcb_figures._verdict_3(ends((333, 236, 100, 90), (300, 335, 100, 90)))
    assert not disordered.agrees
    assert "NOT the paper" in disordered.why


def test_the_verdict_on_figure_2():
    def rows(alike, other):
        return [
            {"case": case, "buyers": kind, "system": "homogeneous-fcb", "FRR": value}
            | {"FRR after exploration": value / 2.0}
            for case in pfcb_runs.CASES
            for kind, value in (("homogeneous", alike), ("heterogeneous", other))
        ]

    assert pfcb_figures._verdict_2(rows(0.30, 0.35)).agrees
    apart, above = (pfcb_figures._verdict_2(rows(*pair)) for pair in ((0.30, 0.50), (1.02, 1.05)))
    assert not apart.agrees
    assert "they are 0.15 and 0.25 (normal)" in apart.why
    assert not above.agrees
    assert "costs more than it brings (uniform, normal)" in above.why


def swept(over, value, uniform, normal, points):
    return [
        {"case": case, "system": "pfcb-published", over: point, value: each}
        | {"after exploration": 0.5 * each}
        for case, values in (("uniform", uniform), ("normal", normal))
        for point, each in zip(points, values, strict=True)
    ]


@pytest.mark.parametrize(
    ("uniform", "agrees"),
    [
        ((1.45, 0.75, 0.7), True),  # the paper's percentages make it 0.71 at ε = 1
        ((0.6, 0.75, 0.7), False),
        ((1.45, 0.55, 0.5), False),
        ((0.9, 0.75, 0.7), False),  # the label at 1.5 is far
        ((1.45, 0.75, 0.6), False),  # the last step is the steepest
    ],
)
def test_the_verdict_on_figure_4(uniform, agrees):
    rows = swept("epsilon", "FRR", uniform, (0.95, 0.7, 0.68), (0.2, 1.0, 1.1))
    verdict = pfcb_figures._verdict_4(rows)
    assert ("labels up to 1.5 (uniform):" in verdict.why) == (max(uniform) < 1.4)
    assert verdict.agrees == agrees
    before, beyond = (uniform[0] - uniform[1]) / 0.8, (uniform[1] - uniform[2]) / 0.1
    assert ("less than linearly" in verdict.why) == (0.0 < before < beyond)
    assert "make it 0.71" in verdict.why
    assert "make it 0.68" in verdict.why


@pytest.mark.parametrize(
    ("normal", "agrees"),
    [((3000, 2600, 2200), True), ((2200, 2600, 3000), False), ((3000, 2210, 2200), False)],
)
def test_the_verdict_on_figure_5(normal, agrees):
    rows = swept("agents", "regret a buyer", (3000, 2000, 1000), normal, (8, 25, 42))
    verdict = pfcb_figures._verdict_5(rows)
    assert verdict.agrees == agrees
    assert "from 3,000 with 8 buyers to 1,000 with 42" in verdict.why
    assert ("1,000 of 2,000 (uniform)" in verdict.why) == (not agrees)
