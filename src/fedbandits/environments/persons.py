"""Persons for whom decisions are made, in worlds in which the same ones come again and again.

A privacy guarantee for persons counts their records, so it must be known whose each record is. Who
comes, and when, is public there: it never depends on what was shown, chosen or earned.
"""

from __future__ import annotations

from typing import Any, NamedTuple


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
