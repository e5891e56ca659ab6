"""Worlds in which agents join late: the world without late joiners, and each agent's first round.

Compiled loops ask :func:`turn_from` where an agent goes on. For worlds without late joiners it
compiles to nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fedbandits._compile import implements, implements_others
from fedbandits._typing import Ints
from fedbandits.environments.base import (
    Environment,
    decision_set_workspace,
    draw_reward,
    fill_decision_set,
)
from fedbandits.environments.choices import note_choice
from fedbandits.environments.persons import person_of


class JoiningWorld(NamedTuple):
    """One replicate of a contextual environment that some agents join late."""

    world: Any  # the world without late joiners; None where nothing is compiled
    first: Ints  # (agents,): first rounds


def joined(environment: Environment, world: Any) -> Any:
    """The world that is played: the given one, with first rounds if some agents join late.

    Parameters
    ----------
    environment
        The environment.
    world
        What its method ``world`` returned.
    """
    first = environment.first_rounds
    return JoiningWorld(world, np.array(first, np.int64)) if first else world


def without_joins(world: Any) -> Any:
    """The world that the environment made, of the ``world`` that is played."""
    return world.world if isinstance(world, JoiningWorld) else world


def first_round_of(world: Any, agent: int) -> int:
    """The first round of an agent in the world that is played.

    Parameters
    ----------
    world
        What :func:`joined` returned.
    agent
        Number of the agent.
    """
    return int(world.first[agent]) if isinstance(world, JoiningWorld) else 1


def acting_in(world: Any, agents: int, round_: int) -> list[int] | range:
    """Numbers of the agents that act in a round, in ascending order.

    Parameters
    ----------
    world
        What :func:`joined` returned.
    agents
        How many there are.
    round_
        The round, from 1.
    """
    if not isinstance(world, JoiningWorld):
        return range(agents)
    return np.flatnonzero(world.first <= round_).tolist()


def turn_from(world: Any, agent: int, round_: int, step: int) -> int:
    """The first round that an agent plays, of the given one and every ``step``-th after it.

    Most worlds have no implementation: then it is ``round_``.

    Parameters
    ----------
    world : named tuple
        The world that is played.
    agent, round_, step
        Number of the agent, a round, and the distance between two of its rounds.
    """
    raise NotImplementedError(f"no environment claims {type(world).__name__}")


@implements_others(turn_from)
def _at_once(world: Any, agent: Any, round_: Any, step: Any) -> Any:
    return round_


@implements(turn_from, JoiningWorld)
def _later(world: Any, agent: Any, round_: Any, step: Any) -> Any:
    missed = max(0, world.first[agent] - round_)
    return round_ + (missed + step - 1) // step * step


@implements(decision_set_workspace, JoiningWorld)
def _workspace(world: Any) -> Any:
    return decision_set_workspace(world.world)


@implements(fill_decision_set, JoiningWorld)
def _fill(
    world: Any, workspace: Any, key: Any, agent: Any, round_: Any, features: Any, expected: Any
) -> Any:
    return fill_decision_set(world.world, workspace, key, agent, round_, features, expected)


@implements(person_of, JoiningWorld)
def _person(world: Any, key: Any, agent: Any, round_: Any) -> Any:
    return person_of(world.world, key, agent, round_)


@implements(note_choice, JoiningWorld)
def _note(world: Any, agent: Any, round_: Any, arm: Any) -> Any:
    return note_choice(world.world, agent, round_, arm)


@implements(draw_reward, JoiningWorld)
def _reward(world: Any, expected: Any, key: Any, agent: Any, round_: Any) -> Any:
    return draw_reward(world.world, expected, key, agent, round_)
