"""The table that ends a run: nothing that matters is cut, however narrow the terminal is."""

from __future__ import annotations

import io
import math

import pytest
from rich.console import Console

import fedbandits as fb
from fedbandits.cli.summary import summary_table
from fedbandits.environments import Bernoulli, Linear
from fedbandits.experiments.intervals import interval, spelled

LONG = "what we do today in each of our twenty hospitals, by itself"


def shown(width, rows, world=None):
    experiment = fb.Experiment(
        name="small", rounds=50, environment=world or Linear(agents=20, dim=3, arms=4),
        systems=(fb.system("feducb"),) if world is None else (fb.system("samba-ucb"),),
    )  # fmt: skip
    text = io.StringIO()
    Console(file=text, width=width).print(summary_table(experiment, rows, width))
    lines = text.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    return text.getvalue()


def row(system="feducb", **changes):
    return {
        "system": system, "replicates": 8, "regret_mean": 305.26, "regret_ci95": 1.25,
        "reward_mean": 900.0, "reward_ci95": 2.0, "syncs": 99.0, "epsilon_accounted": 1.0,
        "agent_steps_per_second": 213_000.0,
    } | changes  # fmt: skip


@pytest.mark.parametrize("width", [50, 60, 80, 100, 120, 200])
def test_regret_with_its_error_and_epsilon_stay_at_any_width(width):
    text = shown(width, [row(), row(LONG, epsilon_accounted=math.inf)])
    assert "15.26 ± 0.06" in text
    assert "∞" in text
    assert "…" not in text
    squeezed = "".join(text.split()).replace("│", "")
    assert all(word.strip(",") in squeezed for word in LONG.split() if len(word) < 6)


def test_what_matters_less_goes_first():
    wide, narrow = shown(120, [row()]), shown(60, [row()])
    assert all(title in wide for title in ("runs", "reward per agent", "syncs", "steps/s"))
    assert "steps/s" not in narrow
    assert "regret per agent" in narrow
    assert "20 agents" in narrow


def test_few_replicates_have_no_interval_and_encryption_no_epsilon():
    few = row("samba-ucb", regret_ci95=math.nan, reward_ci95=math.nan, epsilon_accounted=math.nan)
    text = shown(80, [few], Bernoulli(arms=3))
    assert "encrypted" in text
    assert "No ±: fewer than 3 replicates." in text
    assert "305.3" in text
    assert "nan" not in text


def test_where_regret_is_unknown_the_reward_of_a_turn_stands_there():
    text = shown(80, [row(regret_mean=math.nan, regret_ci95=math.nan)])
    assert "reward per round" in text
    assert "0.900 ± 0.002" in text
    assert "regret" not in text


def test_the_interval_is_that_of_students_t():
    from scipy import stats

    runs = [3.0, 5.0, 4.0, 9.0]
    low, high = stats.t.interval(0.95, 3, loc=5.25, scale=stats.sem(runs))
    found = interval(runs)
    assert found.mean == 5.25
    assert float(found.half) == pytest.approx((high - low) / 2)
    assert math.isnan(interval(runs[:2]).half)
    assert math.isnan(interval([]).mean)


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (15.26, 0.0634, "15.26 ± 0.06"), (34.4, 10.6, "34 ± 11"),
        (12345.6, 231.0, "12,300 ± 200"),
        (3.0, math.nan, "3"), (4321.4, math.nan, "4,321"), (math.nan, math.nan, "–"),
        (2.0, 0.0, "2 ± 0"),
    ],
)  # fmt: skip
def test_means_have_the_digits_that_their_intervals_allow(mean, half, text):
    assert spelled(mean, half) == text
