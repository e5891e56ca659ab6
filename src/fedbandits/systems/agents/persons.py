"""Privacy for persons: which of a person's records count for what is released.

The first k visits of a person to an agent count, from the day that they are decided on. So who
counts follows from who comes when, which is public: from no context, action or reward, and not from
when a reward is observed, or whether it ever is. A visit whose reward never comes is used up.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.facts import ContextualFacts
from fedbandits.errors import ConfigError

if TYPE_CHECKING:  # these are made from what is here
    from fedbandits.systems.agents.config import AgentsConfig
    from fedbandits.systems.agents.plan import AgentsPlan

_DIGEST_BYTES = 16


class Persons(NamedTuple):
    """What loops keep of persons; arrays without entries where records are protected.

    Parameters
    ----------
    visits : (agents, persons) int64
        How many visits of each person to each agent count.
    uncounted : (sums, models, d (d + 3) / 2) float64
        Packed statistics of records that count for no release, one for each running sum; only
        where agents learn from them.
    """

    visits: Ints
    uncounted: Floats


def first_persons(plan: AgentsPlan, sums: int) -> Persons:
    """Return what is kept of persons before the first round.

    Parameters
    ----------
    plan
        What all parties go by.
    sums
        How many running sums all agents have together.
    """
    persons = (plan.facts.persons or 0) if plan.counts_persons else 0
    visits = np.zeros((plan.constants.agents, persons), np.int64)
    return Persons(visits, nothing_uncounted(plan, sums))


def nothing_uncounted(plan: AgentsPlan, sums: int) -> Floats:
    """Return statistics of no uncounted records, for so many running sums: see :class:`Persons`."""
    models, size = plan.constants.statistic_shape
    learns = plan.counts_persons and plan.constants.raw_view
    return np.zeros((sums, models, size if learns else 0))


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
