"""Theorems held beside a run: verdicts, plots, the report's section."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from fedbandits.environments import Clustered
from fedbandits.experiments.plots import Picture, draw_plots
from fedbandits.experiments.plots.bounds import compare
from fedbandits.experiments.report.pages import section
from fedbandits.experiments.run import run
from fedbandits.settings.experiment import Experiment, system
from fedbandits.systems.theory import Bound

ROUNDS = np.array([1, 10, 100])


def result(*final):
    """Two parties that share what is given, in one replicate each."""
    curves = np.array(final)[:, None, None] * ROUNDS / 100 / 2
    regret = np.repeat(curves, 2, axis=1)[None]
    messages = np.array(final)[None, :, None] * ROUNDS / 100
    return xr.Dataset(
        {
            "regret": (("system", "replicate", "party", "round"), regret),
            "messages": (("system", "replicate", "round"), messages),
        },
        {"system": ["one"], "round": ROUNDS},
    )


def bound(at, **others):
    return Bound("A paper, Theorem 7", "a formula", "regret", at, **others)


@pytest.mark.parametrize(
    ("promised", "verdict"),
    [
        (bound(lambda t: 5.0 * t / 100, largest=1.0), "holds"),
        (bound(lambda t: 2.0 * t, largest=1.0), "vacuous"),
        (bound(lambda t: 2.0 * t), "holds"),  # nothing is known of what is the most
        (bound(lambda t: 3.5 * t / 100, largest=1.0), "exceeded"),  # by the larger replicate
        (bound(lambda t: 3.5 * t / 100, largest=1.0, in_mean=True), "holds"),
        (bound(lambda t: np.where(t < 2, 0.0, 0.04 * t), largest=9.0, in_mean=True), "holds"),
        (bound(lambda t: np.where(t < 50, 0.0, 50.0), largest=9.0), "exceeded"),  # in between
    ],
)
def test_verdicts(promised, verdict):
    (found,) = compare(result(2.0, 4.0), {"one": [promised]})
    assert found.verdict == verdict
    assert found.measured == pytest.approx(3.0 if promised.in_mean else 4.0)
    assert found.limit == pytest.approx(float(promised.at(np.array([100.0]))[0]))


def test_missing_numbers_are_no_verdict():
    """A replicate without an end, or a bound that is no number."""
    (found,) = compare(result(2.0, np.nan), {"one": [bound(lambda t: t)]})
    assert found.verdict == "unknown"
    (found,) = compare(result(2.0), {"one": [bound(lambda t: t * np.nan)]})
    assert found.verdict == "unknown"


def test_every_formula_is_shown_with_the_systems_that_it_is_of():
    both = {"one": [bound(lambda t: t)], "two": [bound(lambda t: t)._replace(statement="D = 7")]}
    results = xr.concat([result(2.0), result(3.0).assign_coords(system=["two"])], dim="system")
    text = section("theory", comparisons=compare(results, both), plots={})
    assert "(one): a formula" in text
    assert "(two): D = 7" in text


def test_a_departure_is_said_beside_the_verdict():
    kept, left = bound(lambda t: t), bound(lambda t: t, departs=("a condition is not met.",))
    promised, not_promised = (
        section("theory", comparisons=compare(result(2.0), {"one": [each]}), plots={})
        for each in (kept, left)
    )
    assert "condition" not in promised.replace("a condition is not met.", "")
    assert "holds (a condition is not met: see below)" in not_promised


def test_captions_say_what_the_lines_are():
    def caption(*bounds):
        found = compare(result(2.0), {"one": list(bounds)})
        return section(
            "theory", comparisons=found, plots={"theory-regret": Picture(b"png", b"svg")}
        )

    assert "dotted" not in caption(bound(lambda t: t))
    assert "(largest replicate)" in caption(bound(lambda t: t, largest=1.0))
    assert "dotted" in caption(bound(lambda t: t, largest=1.0))
    assert "(mean of the replicates)" in caption(bound(lambda t: t, in_mean=True))


def test_parties_are_added_up_and_messages_are_not():
    promised = bound(lambda t: 5.0 + 0 * t)._replace(quantity="messages")
    assert compare(result(2.0), {"one": [promised]})[0].measured == 2.0


def test_a_run_shorter_than_what_a_theorem_is_about_is_left_out():
    assert compare(result(2.0), {"one": [bound(lambda t: t, since=101)]}) == []


def test_a_report_has_theorems_in_a_section_of_their_own(tmp_path):
    experiment = Experiment(
        rounds=40,
        environment=Clustered(users=4, clusters=2, servers=2, dim=3, items=3),
        systems=(system("fclub-published"), system("linucb-per-user")),
    )
    run(experiment, out=tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "Beside what is proved" in page
    assert page.count("Liu et al. 2022, Theorem 1") == 4  # table, formula, two departures
    assert (tmp_path / "run" / "plots" / "theory-regret.png").exists()
    assert (tmp_path / "run" / "plots" / "theory-messages.png").exists()
    without = Experiment(
        rounds=40, environment=experiment.environment, systems=(system("linucb-per-user"),)
    )
    found = run(without)
    assert set(draw_plots(found, without.bounds())) >= {"regret", "syncs"}
    assert not any("theory" in n for n in draw_plots(found, without.bounds()))
    assert not section("theory", comparisons=[], plots={}).strip()


def test_the_experiment_knows_the_bounds_of_its_systems():
    experiment = Experiment(
        rounds=40,
        environment=Clustered(users=4, clusters=2, servers=2, dim=3, items=3),
        systems=(system("fclub-dc"), system("club")),
    )
    found = experiment.bounds()
    assert [b.theorem for b in found["fclub-dc"]] == ["Liu et al. 2022, Theorem 2"]
    assert found["club"] == ()
