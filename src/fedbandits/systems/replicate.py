"""Code that compiled replicates of all systems have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray

from fedbandits._typing import Floats
from fedbandits.environments.base import Environment
from fedbandits.random import Key, replicate_key
from fedbandits.systems.base import Plan

AnyPlan = TypeVar("AnyPlan", bound=Plan)


class CompiledReplicate(Generic[AnyPlan]):
    """A world, a plan, and the key that names all draws; subclasses make ``state`` and play.

    A state has a ``tally`` with regret and reward, and a ``clock`` with the round.

    Parameters
    ----------
    plan
        The plan that is played.
    environment
        The environment that it is played in; the plan was made from its facts.
    seed, replicate
        They name the random draws.
    threads
        How many may work side by side; a system whose rounds have too little to share uses one.
    """

    state: Any

    def __init__(
        self, plan: AnyPlan, environment: Environment, seed: int, replicate: int, threads: int = 1
    ) -> None:
        del threads
        self.plan, self._environment = plan, environment
        self.key: Key = replicate_key(seed, replicate)
        self.world: Any = environment.world(self.key)

    def advance(self, stop: int) -> None:
        """Play until ``stop`` rounds are done."""
        raise NotImplementedError

    @property
    def metrics(self) -> Mapping[str, NDArray[Any]]:
        """Measurements of the system's own or its world's, beside those of all."""
        return self._environment.measures(self.world, self.done)

    @property
    def done(self) -> int:
        """Rounds played."""
        return int(self.state.clock.round_[0])

    @property
    def regret(self) -> Floats:
        """(parties,) cumulative regret."""
        regret: Floats = self.state.tally.regret
        return regret

    @property
    def reward(self) -> Floats:
        """(parties,) cumulative reward."""
        reward: Floats = self.state.tally.reward
        return reward
