"""From a configuration to what a run goes by."""

from __future__ import annotations

import functools
import hashlib
from typing import Any, NamedTuple

import msgspec

from fedbandits.crypto.keystream import derive_key
from fedbandits.environments.bernoulli import Bernoulli
from fedbandits.errors import ConfigError, RemoteProtocolError
from fedbandits.federation.messages import OutOfOrderError
from fedbandits.learners.index_rules import ITERATIONS, explores
from fedbandits.learners.locality import check_arm_score_locality
from fedbandits.systems.samba.config import Samba
from fedbandits.systems.samba.parts import Algorithm


class Plan(NamedTuple):
    """What is public in a run, and agreed on by all parties."""

    budget: int  # N
    arms: int  # K
    rule: Any
    comparisons: tuple[int, ...]  # how each iteration of a step compares scores
    context: bytes  # binds packets to this agreement

    @property
    def iterations(self) -> int:
        """nb_A of section 4.2."""
        return len(self.comparisons)

    @property
    def can_explore(self) -> bool:
        """Whether some step plays a random arm whatever the scores."""
        return bool(explores(self.rule, self.arms + 1, self.arms, 0.0))


def agree(budget: int, arms: int, algorithm: Algorithm) -> Plan:
    """The plan that Setup spreads (steps 0 and 1)."""
    rule = algorithm.rule()
    agreed = msgspec.msgpack.encode(("samba", 1, budget, arms, algorithm))
    context = hashlib.sha256(agreed).digest()[:16]
    return Plan(budget, arms, rule, ITERATIONS[type(rule)], context)


class ImpossibleOrderError(RemoteProtocolError):
    """A budget that does not suffice, or too few arms."""


def check_order(name: str, budget: int, arms: int, algorithm: Algorithm) -> Plan:
    """The plan that a party is told of.

    Raises
    ------
    ImpossibleOrderError
        If there are fewer than two arms, or fewer pulls than arms.
    """
    if arms < 2 or budget < arms:
        raise ImpossibleOrderError(
            f"{name}: {budget} pulls of {arms} arms; each is pulled once first, and one arm alone "
            "leaves nothing to learn"
        )
    return agree(budget, arms, algorithm)


def check_place(name: str, place: int, agreed: Plan) -> None:
    """Refuse a place that Comp's list does not have."""
    if not 0 <= place < agreed.arms:
        raise OutOfOrderError(f"{name}: place {place} in a list of {agreed.arms}")


def plan(config: Samba, environment: Bernoulli, rounds: int) -> Plan:
    """The plan of a configuration.

    Raises
    ------
    ConfigError
        If the budget does not suffice to pull every arm once.
    """
    if rounds < environment.arms:
        raise ConfigError(
            f"algorithm: {environment.arms} arms need at least so many rounds, since each is "
            f"pulled once first; rounds = {rounds}"
        )
    agreed = agree(rounds, environment.arms, config.algorithm)
    _check_locality(agreed.rule)
    return agreed


@functools.lru_cache(maxsize=64)
def _check_locality(rule: Any) -> None:
    check_arm_score_locality(rule)


class SimulatedSecrets(NamedTuple):
    """The parties' secrets of a simulation, from its seed: they protect nobody."""

    channel: bytes  # Comp's and the owners'
    controller: bytes
    comp: bytes

    @classmethod
    def derive(cls, seed: int, replicate: int) -> SimulatedSecrets:
        """Secrets named by seed and replicate."""
        name = b"fedbandits simulated secrets" + seed.to_bytes(8, "big")
        root = name + replicate.to_bytes(4, "big")
        return cls(*(derive_key(root, label) for label in cls._fields))
