"""Seconds of SAMBA runs, and of the bare operations that they are made of."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from fedbandits.crypto import paillier
from fedbandits.environments import Bernoulli
from fedbandits.settings.experiment import system
from fedbandits.systems.samba.config import Samba
from fedbandits.systems.samba.loop import Replicate
from fedbandits.systems.samba.plan import make_plan
from fedbandits.systems.samba.steps import Timer
from fedbandits.systems.samba.theory import Costs

#: Of the customer's key, as in the paper.
BITS = 2048
_AES_REPEATS, _PAILLIER_REPEATS = 20_000, 5
#: Rounds of a run that is played only to be compiled.
_SHORT = 20


@functools.cache
def customer_key() -> paillier.PrivateKey:
    """One key for all runs: making it is no part of the protocol, here or in the paper."""
    return paillier.generate(BITS)


@functools.cache
def _compile(config: Samba) -> None:
    """Play a short run of its own, so that no time of a measured one goes into compilation."""
    world = Bernoulli(means=(0.2, 0.4, 0.6), arms=3)
    run = Replicate(make_plan(config, world.facts, _SHORT), world, 0, 0)
    run.customer_key = customer_key()
    run.advance(_SHORT)


def replicate(
    config: Samba, world: Bernoulli, budget: int, number: int = 0, clock: Timer = time.perf_counter
) -> Replicate:
    """A run before its first round, compiled and with a key."""
    _compile(config)
    run = Replicate(make_plan(config, world.facts, budget), world, 0, number, clock=clock)
    run.customer_key = customer_key()
    return run


def cpu_seconds(preset: str, world: Bernoulli, budget: int, number: int, **parts: str) -> float:
    """Processor time of a whole run; other work disturbs it less than the clock."""
    run = replicate(system(preset, paillier_bits=BITS, **parts).config, world, budget, number)
    return round(_of(lambda: run.advance(budget)), 6)


def bare_costs() -> Costs:
    """What one operation takes with nothing around it: means over scores and bits."""
    gcm, nonce, position = AESGCM(os.urandom(32)), os.urandom(12), bytes(16)
    payloads = (bytes(8), bytes(1))
    sealed = [gcm.encrypt(nonce, payload, position) for payload in payloads]
    half = range(_AES_REPEATS // 2)

    def encrypt() -> None:
        for payload in payloads:
            for _ in half:
                gcm.encrypt(nonce, payload, position)

    def decrypt() -> None:
        for packet in sealed:
            for _ in half:
                gcm.decrypt(nonce, packet, position)

    private = customer_key()
    public, some = private.public_key, range(_PAILLIER_REPEATS)
    ciphertexts = [public.encrypt(i) for i in some]
    return Costs(
        _of(encrypt) / _AES_REPEATS,
        _of(decrypt) / _AES_REPEATS,
        _of(lambda: [public.encrypt(i) for i in some]) / _PAILLIER_REPEATS,
        _of(lambda: [private.decrypt(c) for c in ciphertexts]) / _PAILLIER_REPEATS,
    )


def _of(action: Callable[[], object]) -> float:
    began = time.thread_time()
    action()
    return time.thread_time() - began
