"""What the tests of SAMBA share."""

from __future__ import annotations

import functools

from fedbandits.crypto import paillier
from fedbandits.environments import Bernoulli
from fedbandits.settings.experiment import system
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.samba import SYSTEM
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.config import Samba
from fedbandits.testing.replicates import federate, plan_of

ALGORITHMS = (
    "ucb", "ucb-tuned", "kl-ucb", "thompson", "egreedy", "egreedy-decreasing", "softmax", "pursuit",
)  # fmt: skip


@functools.cache
def customer_key() -> paillier.PrivateKey:
    """One key for all tests: making one takes a while."""
    return paillier.generate(2048)


def variant(name: str, execution: str = "samba", **parts) -> Samba:
    preset = f"{execution}-{name}"
    assert preset in SYSTEM.presets
    secure = {"paillier_bits": 2048} if execution == "samba" else {}
    config: Samba = system(preset, **secure, **parts).config
    return config


def silent(name: str, execution: str = "samba", **parts) -> Samba:
    """A variant in which neither server learns anything; five owners play two stages."""
    usual = {"total": "shares", "arity": 4}
    return variant(name, execution, comparison="silent", **(usual | parts))


def federated(config: Samba, arms: int, budget: int, seed: int = 0, route=None) -> PartiesReplicate:
    world = Bernoulli(arms=arms)
    simulated = SYSTEM.simulated_supplies(plan_of(config, world, budget), None, seed, 0)

    def supplies(role, place):
        secure = config.execution == "secure" and config.total == "paillier"
        if role == "customer" and secure:
            return Supply(private_key=customer_key())
        return simulated(role, place)

    return federate(config, world, budget, seed, 0, route, supplies)
