"""The attack that one can watch: it guesses as well as the claim allows, and no better."""

from __future__ import annotations

import math
from typing import Any

import pytest

from fedbandits.errors import ConfigError
from fedbandits.experiments.signals import Stop
from fedbandits.studio.attack import attack, attackable


def attacked(**job: Any) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    assert attack(job, lambda **line: lines.append(line), Stop()) == "complete"
    return lines


def test_guesses_are_right_as_often_as_the_claim_allows() -> None:
    lines = attacked(preset="feducb", epsilon=20.0, trials=2000, seed=3)
    last, verdict = lines[-2], lines[-1]["verdict"]
    share = last["right"] / last["total"]
    # Five standard deviations, beside a threshold that 500 training runs have chosen.
    assert share < last["expected"] + 5.0 * math.sqrt(0.25 / 2000)
    assert share > last["expected"] - 0.05
    assert 0.5 * verdict["epsilon_claimed"] < verdict["epsilon_at_least"]
    assert verdict["epsilon_at_least"] <= verdict["epsilon_claimed"]


def test_a_small_epsilon_leaves_nothing_to_guess() -> None:
    lines = attacked(preset="feducb", epsilon=0.01, trials=500)
    assert lines[-2]["expected"] == pytest.approx(0.5, abs=0.01)
    assert lines[-1]["verdict"]["epsilon_at_least"] < 0.1


def test_a_bound_is_told_at_the_end_alone() -> None:
    lines = attacked(preset="feducb-hybrid", trials=100)
    assert [line["event"] for line in lines].count("verdict") == 1
    assert lines[-1]["event"] == "verdict"


@pytest.mark.parametrize(
    "preset",
    [
        name if name in ("feducb", "feducb-secure", "pfcb", "fclub")
        else pytest.param(name, marks=pytest.mark.slow)
        for name in attackable()
    ],
)  # fmt: skip
def test_every_preset_that_is_offered_can_be_attacked(preset: str) -> None:
    lines = attacked(preset=preset, trials=20)
    assert lines[-2]["total"] == 20


def test_guesses_are_counted_by_world() -> None:
    for line in attacked(preset="feducb", trials=300)[:-1]:
        assert sum(world["of"] for world in line["worlds"]) == line["done"]
        assert sum(world["right"] for world in line["worlds"]) == line["right"]
        assert len(line["recent"]) <= line["done"]
    assert len(line["recent"]) == 60


def test_wrong_values_are_refused() -> None:
    for job in ({"preset": "samba-ucb"}, {"preset": "feducb", "trials": 0}, {"preset": 7}):
        with pytest.raises(ConfigError, match="given"):
            attacked(**job)


def test_it_stops() -> None:
    stop = Stop()
    stop.set()
    assert attack({"preset": "feducb", "trials": 1000}, lambda **_: None, stop) == "interrupted"
