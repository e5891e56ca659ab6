"""Simulations of a system: in an environment, by compiled code or by its parties, from a seed.

A system need not know of drift or delay. Drift is in the world that it is given. Delayed rewards
are played by its parties, which can keep many decisions open. Late joiners are in the world too,
but a system must have said that it lets them begin when their time comes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from numpy.typing import NDArray

from fedbandits._typing import Floats
from fedbandits.environments.base import Environment
from fedbandits.errors import ConfigError
from fedbandits.random import Key, Purpose, normals, replicate_key
from fedbandits.systems.base import PartiesReplicate, Plan, Simulation, System

if TYPE_CHECKING:  # a configuration is read without what prices it
    from fedbandits.systems.theory import Bound

AnyPlan = TypeVar("AnyPlan", bound=Plan)

_DRIFTS = "Expected rewards change here (environment.drift)."
_LATE = "Rewards are observed late here (environment.delay)."
_JOINS = "Some agents join late here (environment.first_round)."


def plan_in(system: System[Any], config: Any, environment: Environment, rounds: int) -> Plan:
    """Plan ``system`` in ``environment``.

    Raises
    ------
    ConfigError
        If the configuration does not fit, or rewards are delayed and the variant cannot take them.
        The message begins with the key.
    """
    plan: Plan = system.plan(config, environment.facts, rounds)
    if environment.first_rounds and not system.AGENTS_MAY_JOIN_LATE:
        raise ConfigError(
            f"preset: {system.name} cannot play where some agents join late; leave "
            "environment.first_round out, or change the system (docs/drift-and-delay.md says how)"
        )
    if environment.delay is not None:
        roles = system.roles(plan)
        if roles is None or not roles.outcomes_may_be_late:
            raise ConfigError(
                f"preset: this variant of {system.name} cannot take rewards that come late; leave "
                "environment.delay out, or change the system (docs/drift-and-delay.md says how)"
            )
    return plan


def simulation_in(
    system: System[Any], plan: Any, environment: Environment, seed: int, replicate: int,
    threads: int = 1,
) -> Simulation:  # fmt: skip
    """Make one replicate of ``system``; its parties play if rewards are delayed.

    The seed and the replicate determine all random draws; ``threads`` changes no result.
    """
    if environment.delay is None:
        return system.simulate(plan, environment, seed, replicate, threads)
    return PartiesReplicate(system, plan, environment, seed, replicate)


def bounds_in(system: System[Any], plan: Any, environment: Environment) -> Sequence[Bound]:
    """Return the bounds of ``system``; what departs from their conditions is named with them."""
    drifts = () if environment.drift is None else (_DRIFTS,)
    late = () if environment.delay is None else (_LATE,)
    joins = (_JOINS,) if environment.first_rounds else ()
    return tuple(
        bound._replace(departs=(*bound.departs, *drifts, *late, *joins))
        for bound in system.bounds(plan, environment)
    )


class CompiledReplicate(Generic[AnyPlan]):
    """A world, a plan, and the key that names all draws; subclasses make ``state`` and play.

    A state has a ``tally`` with regret and reward, and a ``clock`` with the round. The plan was
    made from the environment's facts. A system whose rounds have too little to share uses one
    thread.
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


def simulated_noise(size: int, key: Key, agent: int, name: int) -> Floats:
    """Draw noise from the seed: it protects nobody."""
    return normals(size, key, agent, name, Purpose.PRIVACY_NOISE)
