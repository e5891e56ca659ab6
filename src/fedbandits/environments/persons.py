"""Whose visit a decision is for, in worlds in which the same persons come again and again.

A privacy guarantee for persons counts their records, so it must be known whose each record is. Who
comes, and when, is public there: it never depends on what was shown, chosen or earned.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fedbandits._compile import compiled, implements_others
from fedbandits.random import Key

#: Stands for somebody who cannot be told from others.
NOBODY = -1


class Visit(NamedTuple):
    """A situation, and the person for whom a decision is made.

    Parameters
    ----------
    person
        Names the person. The name is the same in all visits of that person to one party.
    situation
        What the decision is made on.
    """

    person: str
    situation: Any


def person_of(world: Any, key: Any, agent: int, round_: int) -> int:
    """Who comes to an agent in a round: a number from 0, below the ``persons`` of the facts.

    Worlds without persons have no implementation: then it is :data:`NOBODY`.

    Parameters
    ----------
    world : named tuple
        The arrays of the replicate.
    key, agent, round_
        The random draws that decide it, the same as in
        :func:`~fedbandits.environments.base.fill_decision_set`.
    """
    raise NotImplementedError(f"no environment claims {type(world).__name__}")


@implements_others(person_of)
def _nobody(world: Any, key: Any, agent: Any, round_: Any) -> Any:
    return NOBODY


@compiled
def draw_person(world: Any, key: Key, agent: int, round_: int) -> int:
    """Call :func:`person_of` from outside compiled code.

    Parameters
    ----------
    world
        The world of the replicate.
    key, agent, round_
        Key of the random draws, number of the agent, and the round.
    """
    return person_of(world, key, agent, round_)
