"""The verdict is by the best opponent that learns alone, whichever that is."""

from __future__ import annotations

import itertools

import msgspec
import numpy as np
import pytest

import fedbandits as fb
from fedbandits.experiments.answers.rivals import Opponent, noted
from tests.experiments.test_answer import hospitals, played

NOISE = np.array([0.1, -0.1, 0.2, -0.2, 0.0])
BEST = fb.system("linucb-alone", label="alone", exploration_scale=0.5, regularization=0.3)
PLAIN = "LinUCB on prepared rows"
LOGISTIC = "greedy logistic regression"


def run_of(private, alone=15.0, usual=None, pooled=3.0):
    """A run with its experiment: losses of 5 replicates around these means."""
    usual_system = [] if usual is None else ["linucb-alone"]
    given = hospitals("feducb", BEST, *usual_system, "linucb-pooled")
    experiment = msgspec.structs.replace(given, best_alone="alone")
    losses = {"feducb": private + 1.5 * NOISE, "alone": alone + NOISE}
    losses |= {"linucb-alone": None if usual is None else usual + 0.9 * NOISE}
    losses["linucb-pooled"] = pooled + 0.5 * NOISE
    return experiment, played(experiment, losses)


def opponent(mean, name=PLAIN, kind="alone", parties=(), linear=True, chance=0.0):
    losses = tuple(map(float, mean + 0.8 * NOISE + chance * NOISE[::-1]))
    return Opponent(name=name, kind=kind, losses=losses, parties=parties, linear=linear)


def answer(run, *opponents):
    experiment, result = run
    return fb.answer(experiment, result.assign_attrs(noted(opponents)))


def test_alone_at_its_best_tells_alpha_and_lambda():
    found = answer(run_of(9.0))
    assert found.headline.endswith("15.00 alone at its best (α = 0.5, λ = 0.3).")
    first = found.comparisons[0]
    assert (first.at_best, first.ridge_at_best, first.decides) == (0.5, 0.3, True)
    assert first.differs_in == ()
    assert found.to_table()["comparisons"][0]["ridge_at_best"] == 0.3


def test_the_verdict_is_by_linucb_on_prepared_rows_where_that_is_better():
    found = answer(run_of(12.0), opponent(10.0))
    assert found.pays is False
    assert found.comparisons[0].baseline == PLAIN
    assert found.comparisons[0].saves == pytest.approx(-2.0)
    assert "than learning alone with LinUCB on prepared rows" in found.headline
    assert answer(run_of(12.0), opponent(16.0)).pays is True


def test_another_system_of_the_run_that_learns_alone_counts_too():
    found = answer(run_of(12.0, usual=11.0))
    assert found.pays is False
    assert found.comparisons[0].baseline == "linucb-alone"
    assert found.comparisons[0].at_best is None
    assert answer(run_of(12.0, usual=15.0)).comparisons[0].baseline == "alone"  # of equals the best


@pytest.mark.parametrize("worse", ["alone", "usual", "plain"])
def test_it_never_pays_where_any_opponent_that_learns_alone_is_better(worse):
    for private, better in itertools.product((9.0, 12.0), (-3.0, -0.5, 0.0)):
        losses = dict.fromkeys(("alone", "usual", "plain"), 20.0)
        losses[worse] = private + better
        run = run_of(private, alone=losses["alone"], usual=losses["usual"])
        assert answer(run, opponent(losses["plain"])).pays is not True


def test_logistic_regression_decides_only_where_it_is_better_by_more_than_chance():
    run = run_of(12.0)
    better = opponent(11.0, LOGISTIC, linear=False)
    assert answer(run, better).pays is False
    assert answer(run, better).comparisons[0].baseline == LOGISTIC
    perhaps = opponent(14.9, LOGISTIC, linear=False, chance=5.0)
    assert answer(run, perhaps).comparisons[0].baseline == "alone"
    few = Opponent(name=LOGISTIC, kind="alone", losses=(11.0, 11.1), linear=False)
    assert answer(run, few).comparisons[0].baseline == "alone"


def test_where_few_parties_were_played_the_same_ones_are_compared():
    experiment, _ = run_of(12.0)
    losses = {"feducb": np.tile([8.0, 8.0, 16.0, 16.0], (5, 1)) + NOISE[:, None]}
    losses |= {"alone": np.tile([14.0, 16.0, 14.0, 16.0], (5, 1)) + 0.3 * NOISE[:, None]}
    losses |= {"linucb-pooled": 3.0 + NOISE}
    run = experiment, played(experiment, losses)
    found = answer(run, opponent(10.0, LOGISTIC, parties=(0, 1), linear=False))
    first = found.comparisons[0]
    assert first.baseline == LOGISTIC
    assert first.system_mean == pytest.approx(8.0)
    assert first.saves == pytest.approx(2.0)
    assert "(2 hospitals, 5 replicates)" in found.lines[1]
    unlike = opponent(14.8, LOGISTIC, parties=(0, 2), linear=False)  # alone, these lose 14.0
    assert answer(run, unlike).comparisons[0].baseline == "alone"


def test_a_line_names_all_opponents_with_their_numbers():
    found = answer(
        run_of(9.0, usual=16.0),
        opponent(17.0),
        opponent(14.0, LOGISTIC, parties=(0, 1, 2), linear=False),
        opponent(2.0, LOGISTIC, "pooled", linear=False),
    )
    assert found.lines[1] == (
        "Compared with learning alone: 15 at its best (α = 0.5, λ = 0.3), 16 by linucb-alone, 17 "
        "by LinUCB on prepared rows, 14 by greedy logistic regression (3 hospitals, 5 replicates); "
        "with everything pooled in clear: 3 by linucb-pooled, 2 by greedy logistic regression (5 "
        "replicates), in mistakes a hospital in 100 visits."
    )
    told = found.to_table()["opponents"]
    assert [(one["name"], one["kind"]) for one in told] == [
        ("alone", "alone"), ("linucb-alone", "alone"), ("linucb-pooled", "pooled"),
        (PLAIN, "alone"), (LOGISTIC, "alone"), (LOGISTIC, "pooled"),
    ]  # fmt: skip


def test_a_reader_sees_when_a_linear_model_is_the_wrong_one():
    wrong = "A linear model is the wrong one for this data"
    run = run_of(9.0)
    for kind, mean in (("alone", 13.0), ("pooled", 2.0)):
        (line,) = (
            line
            for line in answer(run, opponent(mean, LOGISTIC, kind, linear=False)).lines
            if line.startswith(wrong)
        )
        assert f"greedy logistic regression has {mean:.0f} mistakes" in line
    for kind, mean in (("alone", 14.0), ("pooled", 2.9)):
        found = answer(run, opponent(mean, LOGISTIC, kind, linear=False))
        assert not any(line.startswith(wrong) for line in found.lines)


def test_replicates_that_are_not_finished_count_nowhere():
    experiment, _ = run_of(9.0)
    losses = {"feducb": 9.0 + NOISE, "alone": 15.0 + NOISE, "linucb-pooled": 3.0 + NOISE}
    losses["feducb"] = np.where(np.arange(5) < 4, losses["feducb"], np.nan)
    losses["alone"] = np.where(np.arange(5) < 4, losses["alone"], np.nan)
    run = experiment, played(experiment, losses)
    found = answer(run, opponent(12.0))
    assert found.comparisons[0].baseline == PLAIN
    assert found.comparisons[0].replicates == 4
    assert found.comparisons[0].saves == pytest.approx(3.0)


def test_where_nobody_looked_for_the_best_nothing_is_told_of_opponents():
    experiment, result = run_of(9.0)
    given = msgspec.structs.replace(experiment, best_alone="")
    found = fb.answer(given, result)
    assert found.opponents == ()
    assert not any(line.startswith("Compared with") for line in found.lines)
    assert found.comparisons[0].decides is False
