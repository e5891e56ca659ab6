"""Decisions of linear agents: situations, and bounds of records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from fedbandits._typing import Floats32
from fedbandits.facts import ContextualFacts


class Offer(NamedTuple):
    """A situation in which not all arms can be chosen, where each has a model of its own.

    Where arms share one, whoever has fewer shows fewer columns.

    Parameters
    ----------
    context : (d, 1) float32
        What all arms show.
    arms
        Numbers of those that can be chosen, from 0, each once.
    """

    context: Floats32
    arms: Sequence[int]


class RecordBounds(NamedTuple):
    """Bounds on what an application may ask and tell.

    Parameters
    ----------
    context
        The largest Euclidean norm of a context.
    lowest, highest
        The range of rewards.
    clips
        Whether what is beyond is cut down; otherwise it is refused.
    """

    context: float
    lowest: float
    highest: float
    clips: bool


class ContextualPlan(Protocol):
    """A plan whose parties decide on contexts."""

    @property
    def facts(self) -> ContextualFacts:
        """Public facts of the world."""

    @property
    def counts_persons(self) -> bool:
        """True if each decision needs the person for whom it is made."""

    @property
    def record_bounds(self) -> RecordBounds:
        """Bounds on contexts and rewards."""
