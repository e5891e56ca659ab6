"""Agents that join late: each agent's first round, as a setting of contextual environments.

Before its first round an agent has no decision set, so it plays nothing, and has no regret, reward
or records. Its draws in later rounds are those that it would have had anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fedbandits.environments.drift import RoundNumber
from fedbandits.errors import ConfigError

if TYPE_CHECKING:
    from fedbandits.environments.base import Environment

#: The first round of all agents, or a list with that of each.
FirstRound = RoundNumber | tuple[RoundNumber, ...]


def first_rounds_of(given: FirstRound, parties: int) -> tuple[int, ...]:
    """Return the first round of each of so many parties; empty if all begin in the first one.

    Raises ConfigError if a list has another length.
    """
    if isinstance(given, int):
        return () if given == 1 else (given,) * parties
    if len(given) != parties:
        raise ConfigError(
            f"environment.first_round: given a list of {len(given)}, allowed: a list of {parties}, "
            "one first round for each agent, or one number for all of them"
        )
    return given if max(given) > 1 else ()


def refuse_late(environment: Environment, rounds: int) -> None:
    """Refuse, by ConfigError, first rounds that are after the last one."""
    for agent, first in enumerate(environment.first_rounds):
        if first > rounds:
            raise ConfigError(
                f"environment.first_round: agent {agent} begins in round {first}, and the last "
                f"round is {rounds}; lower its first round, or raise rounds"
            )


class Decisions(NamedTuple):
    """Numbers of decisions in a run."""

    acting: int  # parties that act in a round, if none begins late
    total: int  # of all parties
    differ: bool  # whether some parties make more of them than others

    def each(self, turn: str) -> str:
        """Say how many decisions one party makes, by the name of a ``turn``: ``1,000 visits``."""
        mean = self.total / self.acting
        counted = f"{mean:,.0f}" if mean == round(mean) else f"{mean:,.1f}"
        return f"{counted} {turn}{'s' if mean != 1 else ''}{' on average' if self.differ else ''}"


def decisions_in(rounds: int, acting: int, first_rounds: tuple[int, ...]) -> Decisions:
    """Count the decisions in ``rounds`` rounds.

    ``acting`` parties act in a round, if none begins late; see :func:`first_rounds_of`.
    """
    if not first_rounds:
        return Decisions(acting, acting * rounds, False)
    each = [max(0, rounds - first + 1) for first in first_rounds]
    return Decisions(acting, sum(each), len({*each}) > 1)


def decisions_of(environment: Environment, rounds: int) -> Decisions:
    """Count the decisions in ``rounds`` rounds of an ``environment``."""
    return decisions_in(rounds, environment.acting, environment.first_rounds)
