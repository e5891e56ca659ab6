"""What contexts and rewards of a contextual world are held to."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from fedbandits.environments.facts import ContextualFacts


class Held(NamedTuple):
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
        """What is public of the world."""

    @property
    def counts_persons(self) -> bool:
        """Whether each decision needs the person for whom it is made."""

    @property
    def held(self) -> Held:
        """What contexts and rewards are held to."""
