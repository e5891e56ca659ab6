"""Privacy for persons: which of a person's records count for what is released.

The first k visits of a person to an agent count, from the day that they are decided on. So who
counts follows from who comes when, which is public: from no context, action or reward, and not from
when a reward is observed, or whether it ever is. A visit whose reward never comes is used up.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedbandits._compile import compiled, implements, implements_others
from fedbandits._typing import Floats, Ints
from fedbandits.environments.facts import ContextualFacts
from fedbandits.environments.persons import person_of
from fedbandits.errors import ConfigError
from fedbandits.learners.ridge import add_record
from fedbandits.random import Key

if TYPE_CHECKING:  # these are made from what is here
    from fedbandits.systems.agents.config import AgentsConfig
    from fedbandits.systems.agents.plan import AgentsPlan

_DIGEST_BYTES = 16


class Persons(NamedTuple):
    """What compiled loops keep of persons, where persons are protected; elsewhere they have None.

    Which one it is decides what they are compiled to. Without the first axis it is one agent's.

    Parameters
    ----------
    visits : (agents, persons) int64
        How many visits of each person to each agent count.
    beyond : (sums, models, d (d + 3) / 2) float64
        Packed statistics of records that count for no release, one for each running sum; only
        where agents learn from them.
    """

    visits: Ints
    beyond: Floats


def first_persons(plan: AgentsPlan, sums: int) -> Persons | None:
    """What is kept before the first round, where all agents together have so many running sums."""
    if not plan.counts_persons:
        return None
    visits = np.zeros((plan.constants.agents, plan.facts.persons or 0), np.int64)
    return Persons(visits, nothing_beyond(plan, sums))


def persons_of(persons: Persons | None, agent: int, sums: int) -> Persons | None:
    """What is kept for one running sum of one agent; None if ``persons`` is.

    Parameters
    ----------
    persons : Persons or None
        What is kept for all.
    agent, sums : int
        Numbers of the agent and of the running sum.
    """
    raise NotImplementedError(_only_compiled(persons))


@implements(persons_of, Persons)
def _one(persons: Any, agent: Any, sums: Any) -> Any:
    return Persons(persons.visits[agent], persons.beyond[sums])


@implements_others(persons_of)
def _none(persons: Any, agent: Any, sums: Any) -> Any:
    return None


def visit_counts(
    persons: Persons | None, world: Any, key: Key, agent: int, round_: int, most: int
) -> bool:
    """Note whose visit a round is, and return whether its record counts; records all count.

    Parameters
    ----------
    persons : Persons or None
        What is kept for the agent.
    world, key, agent, round_
        See :func:`~fedbandits.environments.persons.person_of`.
    most : int
        Records of one person that count, k.
    """
    raise NotImplementedError(_only_compiled(persons))


@implements(visit_counts, Persons)
def _of_person(persons: Any, world: Any, key: Any, agent: Any, round_: Any, most: Any) -> Any:
    return counts_visit(persons.visits, person_of(world, key, agent, round_), most)


@implements_others(visit_counts)
def _always(persons: Any, world: Any, key: Any, agent: Any, round_: Any, most: Any) -> Any:
    return True


def note_beyond(
    persons: Persons | None, learns: bool, m: int, context: Floats, reward: float, rounding: float
) -> None:
    """Keep a record that counts for no release, if the agent learns from it.

    Parameters
    ----------
    persons : Persons or None
        What is kept for the agent.
    learns : bool
        Whether it learns from such records.
    m, context, reward, rounding
        See :func:`~fedbandits.learners.ridge.add_record`.
    """
    raise NotImplementedError(_only_compiled(persons))


@implements(note_beyond, Persons)
def _keep(persons: Any, learns: Any, m: Any, context: Any, reward: Any, rounding: Any) -> Any:
    if learns:
        add_record(persons.beyond, m, context, reward, rounding)


@implements_others(note_beyond)
def _drop(persons: Any, learns: Any, m: Any, context: Any, reward: Any, rounding: Any) -> Any:
    return None


def _only_compiled(persons: Persons | None) -> str:
    return f"compiled code alone asks what to do with {type(persons).__name__}"


def nothing_beyond(plan: AgentsPlan, sums: int) -> Floats:
    """Statistics of no records, for so many running sums; see :class:`Persons`."""
    models, size = plan.constants.statistic_shape
    learns = plan.counts_persons and plan.constants.raw_view
    return np.zeros((sums, models, size if learns else 0))


@compiled
def counts_visit(visits: Ints, person: int, most: int) -> bool:
    """Note a visit to an agent, and return whether its record counts for releases.

    Parameters
    ----------
    visits : (persons,) int64
        How often each person has come to that agent.
    person : int
        Who comes. Nobody who is not among the persons counts.
    most : int
        Records of one person that count, k.
    """
    if not 0 <= person < visits.size or visits[person] >= most:
        return False
    visits[person] += 1
    return True


def digest_of_person(person: str, key: bytes) -> bytes:
    """What stands for a person in the state of a party.

    Parameters
    ----------
    person
        The name that an application uses.
    key
        A secret of the party. Without it nobody can find out whose visits were counted.
    """
    return blake2b(person.encode(), key=key, digest_size=_DIGEST_BYTES).digest()


def require_persons(config: AgentsConfig, facts: ContextualFacts) -> None:
    """Refuse to protect persons where it is not known who comes.

    Raises
    ------
    ConfigError
        If the same persons do not visit again and again, as far as the facts say.
    """
    if config.protects_persons and facts.persons is None:
        raise ConfigError(
            'unit: given "person", but in this world nobody is known to come twice, so nobody\'s '
            'records can be counted; set unit = "record", or choose a world with persons: '
            "classification, ratings, or a table with a person column. A federation states how "
            "many persons there are: persons in its facts"
        )
