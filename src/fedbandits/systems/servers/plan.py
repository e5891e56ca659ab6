"""Code that the plans of both forms of FCLUB have in common."""

from __future__ import annotations

from typing import Any

from fedbandits.environments.facts import ClusteredFacts
from fedbandits.errors import ConfigError
from fedbandits.systems.base import Plan

#: Ends the last phase: later than any round.
LATER = 2**62


class ServersPlan(Plan, frozen=True, kw_only=True):
    """The plan of servers that serve users in phases.

    Parameters
    ----------
    constants
        What compiled code takes: a named tuple that has ``servers``, ``dimension``, ``items``,
        ``context_bound`` (the longest item), and ``phase_ends`` (the last rounds of the phases,
        then :data:`LATER`).
    """

    constants: Any

    @property
    def private(self) -> bool:
        """True if there is noise."""
        return bool(self.constants.private)


def check_homes(facts: ClusteredFacts) -> None:
    """Refuse facts in which a user has no server, or a server no user.

    Raises
    ------
    ConfigError
        If they are such.
    """
    home = facts.home
    if not home or len(home) != facts.parties or set(home) != set(range(facts.servers)):
        raise ConfigError(
            f"home: {facts.parties} users need a server each, and servers are numbered from 0 and "
            "have at least one user"
        )
