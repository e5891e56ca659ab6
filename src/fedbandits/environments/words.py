"""Words for the things of an environment, in tables, plots and sentences."""

from __future__ import annotations

from typing import NamedTuple


class Words(NamedTuple):
    """The words of an environment, for texts that people read.

    Parameters
    ----------
    party, parties
        One of those who learn, and several of them: ``hospital``, ``hospitals``.
    loss
        What regret counts: ``regret`` in general, ``mistakes`` where each wrong decision costs 1.
    turn
        One decision of one party: ``round``, ``visit``, ``purchase``.
    """

    party: str = "agent"
    parties: str = "agents"
    loss: str = "regret"
    turn: str = "round"


def plural(noun: str) -> str:
    """Return the plural of a ``noun``: ``hospitals``, ``branches``, ``facilities``."""
    if noun.endswith("s"):
        return noun
    if noun.endswith(("ch", "sh", "x")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2:-1] not in (*"aeiou", ""):
        return f"{noun[:-1]}ies"
    return f"{noun}s"
