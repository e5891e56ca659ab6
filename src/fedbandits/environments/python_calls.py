"""How compiled loops call a world in plain Python. Importing it imports Numba."""

from __future__ import annotations

from typing import Any

from numba import objmode

from fedbandits._compile import implements
from fedbandits._typing import Floats32
from fedbandits.environments.base import decision_set_workspace, draw_reward, fill_decision_set
from fedbandits.environments.persons import person_of
from fedbandits.environments.python import PythonEnvironment, PythonWorld, pay, person_in, show
from fedbandits.random import Key

#: Environments that worlds are of, by number: compiled code can hold numbers alone.
_environments: list[PythonEnvironment] = []


def number_of(environment: PythonEnvironment) -> int:
    """The number of an environment; equal ones have the same."""
    for number, known in enumerate(_environments):
        if type(known) is type(environment) and known == environment:
            return number
    _environments.append(environment)
    return len(_environments) - 1


def fill(
    number: int,
    low: int,
    high: int,
    agent: int,
    round_: int,
    features: Floats32,
    expected: Floats32,
) -> int:
    """Write a decision set, and return the best arm."""
    shown = show(_environments[number], Key(int(low), int(high)), int(agent), int(round_))
    features[:] = shown.features
    expected[:] = shown.expected
    return shown.best


def reward(number: int, low: int, high: int, expected: float, agent: int, round_: int) -> float:
    """Draw a reward."""
    key = Key(int(low), int(high))
    return pay(_environments[number], key, float(expected), int(agent), int(round_))


def person(number: int, low: int, high: int, agent: int, round_: int) -> int:
    """Ask who comes."""
    return person_in(_environments[number], Key(int(low), int(high)), int(agent), int(round_))


@implements(decision_set_workspace, PythonWorld)
def _workspace(world: Any) -> Any:
    return ()


@implements(fill_decision_set, PythonWorld)
def _fill(
    world: Any, workspace: Any, key: Any, agent: Any, round_: Any, features: Any, expected: Any
) -> Any:
    number, low, high = world.number, key[0], key[1]
    with objmode(best="int64"):
        best = fill(number, low, high, agent, round_, features, expected)
    return best


@implements(draw_reward, PythonWorld)
def _reward(world: Any, expected: Any, key: Any, agent: Any, round_: Any) -> Any:
    number, low, high = world.number, key[0], key[1]
    with objmode(drawn="float64"):
        drawn = reward(number, low, high, expected, agent, round_)
    return drawn


@implements(person_of, PythonWorld)
def _person(world: Any, key: Any, agent: Any, round_: Any) -> Any:
    number, low, high = world.number, key[0], key[1]
    with objmode(who="int64"):
        who = person(number, low, high, agent, round_)
    return who
