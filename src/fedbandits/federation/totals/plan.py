"""Plans of secure sums, and the secrets of each party."""

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
        Number of agents, who may be members of every sum, and number of helpers.
    size
        Number of whole numbers in a release.
    releases
        The number of the last release.
    least_parties
        Least number of members of a sum that helpers open, except an empty sum.
    colluding
        Number of agents that may be faulty or lie: no sum is closed on the word of so few.
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
    """Secrets of an agent. The agent needs them once: its state continues from them.

    Parameters
    ----------
    pairs
        For every helper, in order, 32 bytes that only the agent and this helper have. Empty once
        they were erased.
    own
        32 bytes of the agent alone, for making salts. Empty once they were erased.
    draw
        Draws new keys for single messages; it draws nothing in a simulation.
    masks
        A function from a key to its masks.
    """

    pairs: tuple[bytes, ...]
    own: bytes
    draw: Draw = draw_nothing
    masks: Callable[[bytes], Masks] = Masks

    def __repr__(self) -> str:
        return f"AgentSecrets({len(self.pairs)} pairs)"

    def without_keys(self) -> Self:
        """Return the secrets without their keys, for an agent whose state continues from them."""
        return self._replace(pairs=(), own=b"")


class HelperSecrets(NamedTuple):
    """Secrets of a helper. The helper needs them once: its state continues from them.

    Parameters
    ----------
    pairs
        For every agent, in order, 32 bytes that only the helper and this agent have. Empty once
        they
        were erased.
    draw
        Draws new keys for single sums; it draws nothing in a simulation.
    masks
        A function from a key to its masks.
    """

    pairs: tuple[bytes, ...]
    draw: Draw = draw_nothing
    masks: Callable[[bytes], Masks] = Masks

    def __repr__(self) -> str:
        return f"HelperSecrets({len(self.pairs)} pairs)"

    def without_keys(self) -> Self:
        """Return the secrets without their keys, for a helper whose state continues from them."""
        return self._replace(pairs=())
