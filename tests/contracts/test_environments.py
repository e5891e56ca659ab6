"""What every environment promises; see :mod:`fedbandits.testing.environments`."""

from __future__ import annotations

import atexit
import pathlib
import shutil
import tempfile

import msgspec
import numpy as np
import pytest

from fedbandits.environments import (
    Classification,
    Linear,
    PythonEnvironment,
    RatingData,
    Table,
    environments,
    find_environment,
    kind_of,
)
from fedbandits.errors import ConfigError
from fedbandits.testing import environments as suite
from fedbandits.testing.worlds import SMALL_WORLDS

_FOLDER = tempfile.mkdtemp(prefix="fedbandits-")
_RATINGS = pathlib.Path(_FOLDER) / "pairs.tsv"
_RATINGS.write_text(
    "\n".join(f"{u}\t{i}\t{(u * u + 3 * i) % 7}" for u in range(20) for i in range(15)),
    encoding="utf-8",
)
_VISITS = pathlib.Path(_FOLDER) / "visits.csv"
_VISITS.write_text(
    "clinic,age,ward,diagnosis\n"
    + "\n".join(f"{'ABC'[i % 3]},{i % 90},{'xyz'[i % 7 % 3]},{i * i % 5 % 2}" for i in range(150)),
    encoding="utf-8",
)
atexit.register(shutil.rmtree, _FOLDER)

#: Small ones, and those that are nothing without a file. All others are made with their defaults.
EXAMPLES = {kind_of(world): world for world in SMALL_WORLDS.values()} | {
    "classification": Classification(agents=3, dataset="wine", components=4),
    "ratings": RatingData(agents=3, path=str(_RATINGS), dim=4, arms=5),
    "table": Table(
        path=str(_VISITS),
        site="clinic",
        features=("age", "ward"),
        target="diagnosis",
        classes=("0", "1"),
        ranges={"age": (0, 100)},
        categories={"ward": ("x", "y", "*")},
        missing="indicator",
    ),
}


def example(kind):
    return EXAMPLES[kind] if kind in EXAMPLES else find_environment(kind)()


@pytest.mark.parametrize("check", suite.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("kind", sorted(environments()))
def test_an_environment(kind, check):
    check(example(kind))


class Spoiled(Linear, frozen=True, kw_only=True, tag="spoiled"):
    """Linear, with one thing wrong."""

    wrong: str = ""

    @property
    def facts(self):
        facts = super().facts
        if self.wrong == "norm":
            return msgspec.structs.replace(facts, context_norm=0.5)
        if self.wrong == "range":
            return msgspec.structs.replace(facts, reward_range=(0.0, 0.5))
        if self.wrong == "parties":
            return msgspec.structs.replace(facts, parties=self.agents + 1)
        return facts

    @property
    def largest_gap(self):
        return 0.01 if self.wrong == "gap" else super().largest_gap

    def true_parameters(self, world):
        truth = np.array(super().true_parameters(world))
        return -truth if self.wrong == "truth" else truth


@pytest.mark.parametrize(
    ("check", "wrong", "says"),
    [
        (suite.keeps_its_bounds, "norm", "too long"),
        (suite.keeps_its_bounds, "range", "out of range"),
        (suite.keeps_its_bounds, "gap", "largest_gap"),
        (suite.says_what_it_is, "parties", "parties"),
        (suite.explains_rewards_by_its_parameters, "truth", "Not equal"),
    ],
)
def test_what_is_wrong_is_seen(check, wrong, says):
    check(Spoiled(agents=3, dim=3, arms=4))
    with pytest.raises(AssertionError, match=says):
        check(Spoiled(agents=3, dim=3, arms=4, wrong=wrong))


class Walk(PythonEnvironment, tag="walk"):
    """Two arms: one pays half of the time, the other a little more."""

    agents: int = 2
    wrong: str = ""
    arm_count = dimension = 2

    def decision_set(self, world, agent, round_, draws):
        steps.append(round_)
        better = 0.5 + 0.3 * draws.uniform()
        if self.wrong == "order":
            better = 0.5 + 0.001 * (len(steps) % 7)
        return np.eye(2), np.array([0.5, better])

    def draw_reward(self, world, expected, draws):
        if self.wrong == "mean":
            return 1.0
        return 0.0 if self.wrong == "alike" else super().draw_reward(world, expected, draws)


class Still(Walk, tag="still"):
    """The same at all times, for all agents."""

    def decision_set(self, world, agent, round_, draws):
        return np.eye(2), np.array([0.5, 0.7])


steps: list[int] = []


@pytest.mark.parametrize(
    ("check", "spoiled", "says"),
    [
        (suite.draws_depend_on_their_names_alone, Walk(wrong="order"), "asked for before"),
        (suite.pays_what_is_expected, Walk(wrong="mean"), "mean rewards are off by 0"),
        (suite.tells_agents_and_replicates_apart, Still(wrong="alike"), "see the same"),
        (suite.survives_a_file, Walk(), "walk"),
    ],
)
def test_what_is_wrong_in_plain_python_is_seen(check, spoiled, says):
    """The last of them is not registered."""
    if check is not suite.survives_a_file:
        check(type(spoiled)())
    with pytest.raises((AssertionError, ConfigError), match=says):
        check(spoiled)
