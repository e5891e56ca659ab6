"""Material of an audit of secure sums."""

from __future__ import annotations

from typing import Any, NamedTuple

from fedbandits._typing import Floats
from fedbandits.systems.base import System
from fedbandits.systems.party_games import SmallWorld

#: Members of secure sums that are played: of so many, one colludes and one may be absent.
MEMBERS = 5
#: Sums that they are asked for.
SUMS = 10


class SumsAudited(NamedTuple):
    """A system whose members release to secure sums.

    Parameters
    ----------
    system, plan
        The system, and its plan as configured.
    small
        :data:`MEMBERS` members that release after every round, for :data:`SUMS` rounds.
    role
        The role of members.
    covariance : (n, n)
        Covariance, over the releases of the small world, of the noise that the price of one number
        is worked out from, in any unit.
    """

    system: System[Any]
    plan: Any
    small: SmallWorld
    role: str
    covariance: Floats

    @property
    def members(self) -> str:
        """The word for members, in the plural."""
        return f"{self.role}s"
