"""Figures of Ciucanu et al. (2022), SAMBA: the common algorithms, arms and runs.

The figures show the sight of participants, times, rewards and shares of work.
"""

from __future__ import annotations

import functools
import math
import os
import pathlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from fedbandits.crypto import paillier
from fedbandits.environments import Bernoulli
from fedbandits.random import Key, Purpose, uniforms
from fedbandits.reproduce.engine import Context
from fedbandits.settings.experiment import system
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.samba import SYSTEM
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.config import Samba
from fedbandits.systems.samba.keys import CUSTOMER
from fedbandits.systems.samba.loop import Replicate, Timer
from fedbandits.systems.samba.plan import make_plan
from fedbandits.systems.samba.theory import Costs

ALGORITHMS = ("egreedy", "egreedy-decreasing", "softmax", "pursuit", "ucb", "thompson")
#: Ways of play, as tables name them behind the algorithm.
WAYS = {"samba": "secure", "distributed": "distributed in clear", "plain": "plain"}
STREAM = "secure, stream cipher"
#: Runs of parties that exchange messages: of the published variant, and of the silent variant, in
#: which no server learns anything. A simulation does not play the servers' messages of a silent
#: run.
PARTIES, SILENT = "secure, by parties", "silent, by parties"
STAND_IN = "stand-in (drawn means)"
_MEANS = 100


class Sizes(NamedTuple):
    """The sizes of a figure's runs."""

    budgets: Sequence[int]  # N
    arms: Sequence[int]  # K
    repeats: int


class Source(NamedTuple):
    """A source of arm means."""

    name: str  # in tables and above axes
    path: str | None = None  # of a file; None for the stand-in

    @property
    def is_jester(self) -> bool:
        """True for Jester's ratings, by the name of the file."""
        return "jester" in self.name.lower()

    def world(self, arms: int) -> Bernoulli:
        """Make a world of the K largest means; ratings are counted like the published means."""
        if self.path is None:
            return Bernoulli(means=drawn_means(), arms=arms)
        if pathlib.Path(self.path).suffix == ".txt":
            return Bernoulli(means=self.path, arms=arms)
        # As the authors count: of Jester (-10 to 10) from 4.5 on, of MovieLens 4 and 5 stars.
        threshold = math.nextafter(4.5, 0.0) if self.is_jester else 3.0
        return Bernoulli(ratings=self.path, threshold=threshold, share_of="users", arms=arms)


def sources(context: Context) -> list[Source]:
    """Return the given files, or the stand-in."""
    if not context.data:
        return [Source(STAND_IN)]
    return [Source(pathlib.Path(path).stem, path) for path in context.data]


def drawn_means() -> tuple[float, ...]:
    """Draw the stand-in: means that fall about like MovieLens's, the same every time."""
    units = uniforms(_MEANS, Key(2022, 8), 0, 0, Purpose.WORLD)
    return tuple((1.0 - np.power(1.0 - units, 1.0 / 6.0)).tolist())


def played_means(data: Sequence[Source]) -> str:
    """Name the sources of the means."""
    if data[0].path is None:
        return (
            f"No data was given: {_MEANS} means drawn once from Beta(1, 6) STAND IN for MovieLens "
            "and Jester. Give the published means with --data."
        )
    return f"Means of the arms: {', '.join(source.name for source in data)}."


#: Of the customer's key, as in the paper.
BITS = 2048
_AES_REPEATS, _PAILLIER_REPEATS = 20_000, 5
#: Steps that parties play: all steps are the same work, so they stand for a longer run.
PARTY_STEPS = 100
#: Rounds of a run for compilation.
_SHORT = 20


@functools.cache
def customer_key() -> paillier.PrivateKey:
    """Make a key for all runs, which is no part of the protocol, here or in the paper."""
    return paillier.generate(BITS)


@functools.cache
def _compile(config: Samba) -> None:
    """Play a short run, so that measured runs exclude compilation."""
    world = Bernoulli(means=(0.2, 0.4, 0.6), arms=3)
    run = Replicate(make_plan(config, world.facts, _SHORT), world, 0, 0)
    run.customer_key = customer_key()
    run.advance(_SHORT)


def replicate(
    config: Samba, world: Bernoulli, budget: int, number: int = 0, clock: Timer = time.perf_counter
) -> Replicate:
    """Make a run before its first round, compiled and with a key."""
    _compile(config)
    run = Replicate(make_plan(config, world.facts, budget), world, 0, number, clock=clock)
    run.customer_key = customer_key()
    return run


def cpu_seconds(
    preset: str, world: Bernoulli, budget: int, parts: Mapping[str, str], number: int
) -> float:
    """Measure the processor time of a whole run, which other work disturbs less than the clock."""
    run = replicate(system(preset, paillier_bits=BITS, **parts).config, world, budget, number)
    return round(_of(lambda: run.advance(budget)), 6)


def parties(
    config: Samba, world: Bernoulli, budget: int, number: int = 0, seed: int = 0
) -> PartiesReplicate:
    """Make a run of parties that exchange messages, before its first round."""
    plan = make_plan(config, world.facts, budget)
    simulated = SYSTEM.simulated_supplies(plan, None, seed, number)

    def supplies(role: str, place: int) -> Supply:
        if role == CUSTOMER and config.encrypts_sums:
            return Supply(private_key=customer_key())
        supply: Supply = simulated(role, place)
        return supply

    return PartiesReplicate(SYSTEM, plan, world, seed, number, supplies=supplies)


@functools.cache
def compile_parties(config: Samba) -> None:
    """Play a short run of parties, so that measured runs exclude compilation."""
    parties(config, Bernoulli(means=(0.2, 0.4, 0.6), arms=3), _SHORT).advance(_SHORT)


def party_seconds(preset: str, world: Bernoulli, budget: int, number: int) -> float:
    """Measure the processor time of a run of parties, from few of its steps."""
    config = system(preset, paillier_bits=BITS).config
    compile_parties(config)
    arms = world.facts.parties
    played = min(budget, arms + PARTY_STEPS)
    run = parties(config, world, played, number)
    first, steps, last = (
        _of(functools.partial(run.advance, stop)) for stop in (arms, played - 1, played)
    )
    share = (budget - 1 - arms) / max(1, played - 1 - arms)
    return round(first + share * steps + last, 6)


def bare_costs() -> Costs:
    """Measure bare operations: mean times over scores and bits."""
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
    public, numbers = private.public_key, range(_PAILLIER_REPEATS)
    ciphertexts = [public.encrypt(i) for i in numbers]
    return Costs(
        _of(encrypt) / _AES_REPEATS,
        _of(decrypt) / _AES_REPEATS,
        _of(lambda: [public.encrypt(i) for i in numbers]) / _PAILLIER_REPEATS,
        _of(lambda: [private.decrypt(c) for c in ciphertexts]) / _PAILLIER_REPEATS,
    )


def _of(action: Callable[[], object]) -> float:
    began = time.thread_time()
    action()
    return time.thread_time() - began
