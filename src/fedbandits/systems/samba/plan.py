"""From a configuration to what a run goes by."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import msgspec

from fedbandits.crypto.keystream import derive_key
from fedbandits.environments.bernoulli import Bernoulli
from fedbandits.errors import ConfigError
from fedbandits.learners.index_rules import ITERATIONS
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


def agree(budget: int, arms: int, algorithm: Algorithm) -> Plan:
    """The plan that Setup spreads (steps 0 and 1)."""
    rule = algorithm.rule()
    agreed = msgspec.msgpack.encode(("samba", 1, budget, arms, algorithm))
    context = hashlib.sha256(agreed).digest()[:16]
    return Plan(budget, arms, rule, ITERATIONS[type(rule)], context)


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
    return agree(rounds, environment.arms, config.algorithm)


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
