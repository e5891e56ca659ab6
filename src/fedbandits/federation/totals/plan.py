"""Plans of secure sums, and what each party brings to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self

from fedbandits.crypto.chains import Draw, draw_nothing
from fedbandits.crypto.masks import Masks
from fedbandits.federation.seats import AGENT


class TotalsPlan(NamedTuple):
    """The public numbers of a federation's secure sums.

    A configuration that would hide nothing is refused by :func:`.aggregation.secure_totals`.

    Parameters
    ----------
    agents, helpers
        How many agents there are, who are the members of every sum, and how many helpers.
    size
        How many whole numbers an agent releases at once.
    releases
        The number of the last release.
    least_parties
        Helpers open no sum of fewer members, but for the empty one.
    colluding
        So many agents may be faulty or lie: no sum is closed on the word of so few.
    role
        The role of agents.
    """

    agents: int
    helpers: int
    size: int
    releases: int
    least_parties: int
    colluding: int
    role: str = AGENT


class AgentSecrets(NamedTuple):
    """Secrets that an agent brings. Its state goes on from them: it needs them once.

    Parameters
    ----------
    pairs
        For every helper, in order, the 32 bytes that nobody else but that helper has. All are
        empty once they were erased.
    own
        32 bytes that nobody else has; salts are made by them. Empty once they were erased.
    draw
        Draws new keys for single messages; it draws nothing in a simulation.
    masks
        From a key to the masks under it.
    """

    pairs: tuple[bytes, ...]
    own: bytes
    draw: Draw = draw_nothing
    masks: Callable[[bytes], Masks] = Masks

    def __repr__(self) -> str:
        return f"AgentSecrets({len(self.pairs)} pairs)"

    def without_keys(self) -> Self:
        """Return what is still needed once a state goes on from the secrets."""
        return self._replace(pairs=(), own=b"")


class HelperSecrets(NamedTuple):
    """Secrets that a helper brings. Its state goes on from them: it needs them once.

    Parameters
    ----------
    pairs
        For every agent, in order, the 32 bytes that nobody else but that agent has. All are empty
        once they were erased.
    draw
        Draws new keys for single sums; it draws nothing in a simulation.
    masks
        From a key to the masks under it.
    """

    pairs: tuple[bytes, ...]
    draw: Draw = draw_nothing
    masks: Callable[[bytes], Masks] = Masks

    def __repr__(self) -> str:
        return f"HelperSecrets({len(self.pairs)} pairs)"

    def without_keys(self) -> Self:
        """Return what is still needed once a state goes on from the secrets."""
        return self._replace(pairs=())
