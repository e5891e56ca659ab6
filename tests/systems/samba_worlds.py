"""What the tests of SAMBA share."""

from __future__ import annotations

import functools

from fedbandits.crypto import paillier
from fedbandits.environments import Bernoulli
from fedbandits.settings.experiment import system
from fedbandits.systems.samba import FAMILY, Samba
from fedbandits.systems.samba.federate import FederatedRun

ALGORITHMS = ("ucb", "thompson", "egreedy", "egreedy-decreasing", "softmax", "pursuit")


@functools.cache
def customer_key() -> paillier.PrivateKey:
    """One key for all tests: making one takes a while."""
    return paillier.generate(2048)


def variant(algorithm: str, execution: str = "samba", **parts) -> Samba:
    preset = f"{execution}-{algorithm}"
    assert preset in FAMILY.presets
    secure = {"paillier_bits": 2048} if execution == "samba" else {}
    config: Samba = system(preset, **secure, **parts).config
    return config


def federated(config: Samba, arms: int, budget: int, seed: int = 0, **more) -> FederatedRun:
    key = customer_key() if config.execution == "secure" else None
    return FederatedRun(config, Bernoulli(arms=arms), budget, seed, 0, key, **more)
