"""From a configuration to what a run goes by."""

from __future__ import annotations

import functools
import hashlib
from typing import Any, NamedTuple

import msgspec

from fedbandits.crypto.aead import CipherName, PacketCipher, make_cipher
from fedbandits.crypto.keystream import derive_key
from fedbandits.environments.bernoulli import Bernoulli
from fedbandits.errors import ConfigError, RemoteProtocolError
from fedbandits.federation.messages import OutOfOrderError
from fedbandits.learners.index_rules import ITERATIONS, explores
from fedbandits.learners.locality import check_arm_score_locality
from fedbandits.systems.samba.config import Algorithm, Samba

#: Bytes of a run's name. It must be fresh for every run, or keys and nonces come twice.
RUN_BYTES = 16
#: What a party accepts: places have four bytes in a nonce, steps six.
_MOST_ARMS, _LARGEST_BUDGET = 65_535, 1 << 40


class Plan(NamedTuple):
    """What is public in a run, and agreed on by all parties."""

    budget: int  # N
    arms: int  # K
    rule: Any
    comparisons: tuple[int, ...]  # how each iteration of a step compares scores
    context: bytes  # names this run and what was agreed on; packets are bound to it

    @property
    def iterations(self) -> int:
        """nb_A of section 4.2."""
        return len(self.comparisons)

    @property
    def can_explore(self) -> bool:
        """Whether some step plays a random arm whatever the scores."""
        return bool(explores(self.rule, self.arms + 1, self.arms, 0.0))


def agree(budget: int, arms: int, algorithm: Algorithm, run: bytes) -> Plan:
    """The plan that Setup spreads (steps 0 and 1)."""
    rule = algorithm.rule()
    agreed = msgspec.msgpack.encode(("samba", 1, run, budget, arms, algorithm))
    context = hashlib.sha256(agreed).digest()[:16]
    return Plan(budget, arms, rule, ITERATIONS[type(rule)], context)


def channel_cipher(name: CipherName, key: bytes, agreed: Plan) -> PacketCipher:
    """The cipher of one run: its key is made for that run, so nonces may begin anew in the next."""
    return make_cipher(name, derive_key(key, f"samba {agreed.context.hex()}"), agreed.context)


class ImpossibleOrderError(RemoteProtocolError):
    """A budget that does not suffice, or too few arms."""


def check_order(name: str, budget: int, arms: int, algorithm: Algorithm, run: bytes) -> Plan:
    """The plan that a party is told of.

    Raises
    ------
    ImpossibleOrderError
        If there are fewer than two arms, fewer pulls than arms, or more of either than a nonce
        or a list can count; or if the run has no proper name.
    """
    if len(run) != RUN_BYTES:
        raise ImpossibleOrderError(f"{name}: a run is named by {RUN_BYTES} random bytes")
    if arms > _MOST_ARMS or budget > _LARGEST_BUDGET:
        raise ImpossibleOrderError(
            f"{name}: at most {_MOST_ARMS:,} arms and {_LARGEST_BUDGET:,} pulls are possible"
        )
    if arms < 2 or budget < arms:
        raise ImpossibleOrderError(
            f"{name}: {budget} pulls of {arms} arms; each is pulled once first, and one arm alone "
            "leaves nothing to learn"
        )
    return agree(budget, arms, algorithm, run)


def check_place(name: str, place: int, agreed: Plan) -> None:
    """Refuse a place that Comp's list does not have."""
    if not 0 <= place < agreed.arms:
        raise OutOfOrderError(f"{name}: place {place} in a list of {agreed.arms}")


def make_plan(
    config: Samba, environment: Bernoulli, rounds: int, run: bytes = bytes(RUN_BYTES)
) -> Plan:
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
    agreed = agree(rounds, environment.arms, config.algorithm, run)
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
    run: bytes  # the run's name, RUN_BYTES long

    @classmethod
    def derive(cls, seed: int, replicate: int) -> SimulatedSecrets:
        """Secrets named by seed and replicate."""
        name = b"fedbandits simulated secrets" + seed.to_bytes(8, "big")
        root = name + replicate.to_bytes(4, "big")
        channel, controller, comp, run = (derive_key(root, label) for label in cls._fields)
        return cls(channel, controller, comp, run[:RUN_BYTES])
