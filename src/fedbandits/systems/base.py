"""What a system of this package offers to the experiments: simulate, and claim."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec
from numpy.typing import NDArray

from fedbandits.environments.base import Environment
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.claims import PrivacyClaim


class Preset(NamedTuple):
    """A named variant: what it is, and the settings that differ from the family's defaults."""

    description: str
    settings: Mapping[str, Any]


class Simulation(Protocol):
    """One replicate of one system, advanced in steps; everything is cumulative.

    A system may report more about its parties: see :func:`metrics_of`.
    """

    @property
    def state(self) -> Any:
        """A tree of named tuples of arrays: all that changes, written in place."""

    @property
    def done(self) -> int:
        """Rounds played."""

    @property
    def regret(self) -> NDArray[Any]:
        """(parties,) cumulative regret."""

    @property
    def reward(self) -> NDArray[Any]:
        """(parties,) cumulative reward."""

    @property
    def syncs(self) -> int:
        """Syncs so far."""

    @property
    def messages(self) -> int:
        """Messages so far."""

    @property
    def bytes(self) -> int:
        """Bytes of payload so far."""

    @property
    def epsilon(self) -> float:
        """ε charged so far for the contents of one party's messages."""

    def advance(self, stop: int) -> None:
        """Play until ``stop`` rounds are done."""


def no_cautions(config: Any, environment: Any, rounds: int) -> tuple[str, ...]:
    """Nothing to be warned of."""
    del config, environment, rounds
    return ()


def no_games(config: Any, environment: Any, rounds: int) -> Sequence[Game]:
    """Nothing to audit: no ε is claimed."""
    del config, environment, rounds
    return ()


def metrics_of(simulation: Simulation) -> Mapping[str, NDArray[Any]]:
    """What a system reports beside what all report: (parties,) arrays by name, or nothing.

    A simulation offers them as an attribute ``metrics``. They need not be cumulative. Each becomes
    a variable of the result, NaN for systems that have none of that name.
    """
    found: Mapping[str, NDArray[Any]] = getattr(simulation, "metrics", {})
    return found


class Family(NamedTuple):
    """A system with its variants.

    Parameters
    ----------
    paper
        Where it was published.
    config_type
        Its configuration, a frozen struct.
    presets
        Its named variants.
    simulate
        ``(config, environment, rounds, seed, replicate, threads)`` to a :class:`Simulation`;
        results do not depend on ``threads``.
    claim
        ``(config, environment, rounds)`` to the :class:`PrivacyClaim` of what is run.
    plays_in
        The kind of environment that it needs.
    cautions
        ``(config, environment, rounds)`` to warnings: what can be run, but hardly makes sense.
        Each begins with the name of the key that it is about.
    games
        ``(config, environment, rounds)`` to the :class:`Game` s that an audit plays.
    """

    paper: str
    config_type: type[msgspec.Struct]
    presets: Mapping[str, Preset]
    simulate: Callable[[Any, Any, int, int, int, int], Simulation]
    claim: Callable[[Any, Any, int], PrivacyClaim]
    plays_in: type[Environment]
    cautions: Callable[[Any, Any, int], tuple[str, ...]] = no_cautions
    games: Callable[[Any, Any, int], Sequence[Game]] = no_games
