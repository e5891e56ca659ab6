"""SAMBA's secrets and the streams made of them: who holds which key, and what it draws.

The Controller's secret gives four keys: places and scores (its own), masks and exploration (the
owners' too). Comp's secret gives two: waits for probability matching, and ties, by which it
chooses among equal scores. In a silent run exploration comes of a secret that the owners alone
share. All keys are made for one run, by its name: another run under the same secrets repeats
nothing. Every stream is read by step and iteration, so that a party can make the
numbers of any step again, alone.
"""

from __future__ import annotations

import hashlib
import math
from typing import NamedTuple

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints, Words64
from fedbandits.crypto.keystream import KeyStream, derive_key, permute, word_to_unit
from fedbandits.learners.kernels.index_rules import IN_PROPORTION, fill_arm_keys
from fedbandits.random import Key
from fedbandits.systems.samba.agreement import RUN_BYTES, Agreement


class SimulatedSecrets(NamedTuple):
    """The parties' secrets of a simulation, from its seed: they protect nobody."""

    channel: bytes  # Comp's and the owners'
    controller: bytes
    comp: bytes
    run: bytes  # the run's name, RUN_BYTES long
    owners: bytes  # drawn by the first owner for all of them; neither server has it

    @classmethod
    def derive(cls, seed: int, replicate: int) -> SimulatedSecrets:
        """Secrets named by seed and replicate."""
        name = b"fedbandits simulated secrets" + seed.to_bytes(8, "big")
        root = name + replicate.to_bytes(4, "big")
        secrets = cls(*(derive_key(root, label) for label in cls._fields))
        return secrets._replace(run=secrets.run[:RUN_BYTES])


class ControllerKeys(NamedTuple):
    """What the Controller makes of its secret."""

    places: bytes  # its own
    masks: bytes  # for the owners, never for Comp
    exploration: bytes  # for the owners
    scores: bytes  # its own: those of steps that explore, where it draws them

    @classmethod
    def derive(cls, secret: bytes, run: bytes) -> ControllerKeys:
        """The four keys of the run of that name."""
        return cls(*(_run_key(secret, label, run) for label in cls._fields))


class CompKeys(NamedTuple):
    """What Comp makes of its secret; nobody else has either."""

    waits: bytes  # for probability matching
    ties: bytes  # for choosing among equal scores

    @classmethod
    def derive(cls, secret: bytes, run: bytes) -> CompKeys:
        """The two keys of the run of that name."""
        return cls(*(_run_key(secret, label, run) for label in cls._fields))


class SilentControllerKeys(NamedTuple):
    """What the Controller makes of its secret in a silent run: nothing that a published one has.

    There an order of owners is told in clear. In a published run it must be hidden from Comp.
    """

    ties: bytes  # the order of owners that breaks ties

    @classmethod
    def derive(cls, secret: bytes, run: bytes) -> SilentControllerKeys:
        """The key of the run of that name."""
        return cls(*(_run_key(secret, f"silent {label}", run) for label in cls._fields))


class OwnersKeys(NamedTuple):
    """What all owners make of the secret that they share in a silent run; no server has it."""

    exploration: bytes  # which steps explore

    @classmethod
    def derive(cls, secret: bytes, run: bytes) -> OwnersKeys:
        """The key of the run of that name."""
        return cls(*(_run_key(secret, f"silent {label}", run) for label in cls._fields))


def _run_key(secret: bytes, label: str, run: bytes) -> bytes:
    return derive_key(secret, f"{label} {run.hex()}")


def owner_key(draws: Key, run: bytes) -> Key:
    """The key of an owner's own draws in the run of that name, made of the one that it brings."""
    name = b"".join(int(word).to_bytes(8, "big") for word in draws)
    digest = hashlib.sha256(b"samba owner's draws" + name + run).digest()
    return Key(int.from_bytes(digest[:4], "big"), int.from_bytes(digest[4:8], "big"))


def position(step: int, iteration: int, iterations: int) -> int:
    """Where a stream stands in a step's iteration (both counted from 1)."""
    return step * iterations + iteration - 1


@compiled
def word_to_mask(word: np.uint64) -> float:
    """αₜ: in one of 64 octaves, uniform within; never 0.

    The upper 53 bits make a significand in [1, 2), the lowest 6 an exponent from -32 to 31.
    """
    return math.ldexp(1.0 + word_to_unit(word), int(word & np.uint64(63)) - 32)


class Masks:
    """αₜ as an owner draws it."""

    def __init__(self, key: bytes, iterations: int) -> None:
        self._stream, self._iterations = KeyStream(key, 1), iterations

    def draw(self, step: int, iteration: int) -> float:
        """The mask of one iteration, the same for all owners."""
        return word_to_mask(self._stream.words(position(step, iteration, self._iterations))[0])


class Places:
    """σₜ as the Controller draws it."""

    def __init__(self, key: bytes, arms: int, iterations: int) -> None:
        self._stream, self._iterations = KeyStream(key, arms), iterations
        self._arms = arms

    def draw(self, step: int, iteration: int) -> Ints:
        """Owner i's place in Comp's list is entry i, (arms,)."""
        places = np.empty(self._arms, np.int64)
        permute(self._stream.words(position(step, iteration, self._iterations)), places)
        return places


class Exploration:
    """The uniform draw that tells whether a step explores.

    Parameters
    ----------
    key
        The Controller's and the owners'; in a silent run the owners' alone.
    """

    def __init__(self, key: bytes) -> None:
        self._stream = KeyStream(key, 1)

    def draw(self, step: int) -> float:
        """Uniform on [0, 1)."""
        return word_to_unit(self._stream.words(step)[0])


class DrawnScores:
    """The scores that the Controller draws for steps that explore, as section 5.4 prints it.

    Parameters
    ----------
    key
        The Controller's own.
    count
        How many it draws a step: one for all arms, or one for each. 0 where it draws none.
    """

    def __init__(self, key: bytes, count: int) -> None:
        self._stream, self._count = KeyStream(key, max(1, count)), count

    def draw(self, step: int) -> Words64:
        """The words of one step that the scores are made of, (count,)."""
        return self._stream.words(step)[: self._count]

    def block(self, first: int, steps: int) -> Words64:
        """The words of some steps, (steps, count)."""
        if self._count == 0:
            return np.empty((steps, 0), np.uint64)
        return self._stream.block(first, steps)


def fill_owner_keys(key: Key, run: bytes, keys: Words64) -> None:
    """Write the keys of all owners' own draws in a simulation's run, (arms, 2)."""
    fill_arm_keys(key, keys)
    for i, brought in enumerate(keys.tolist()):
        keys[i] = owner_key(Key(*brought), run)


class Ties:
    """The words by which Comp chooses among equal scores.

    Parameters
    ----------
    key
        Comp's own; empty for words of 0, with which the first of equals is chosen.
    iterations
        Iterations a step.
    """

    def __init__(self, key: bytes, iterations: int) -> None:
        self._stream = KeyStream(key, 1) if key else None
        self._iterations = iterations

    def draw(self, step: int, iteration: int) -> np.uint64:
        """The word of one iteration."""
        if self._stream is None:
            return np.uint64(0)
        word: np.uint64 = self._stream.words(position(step, iteration, self._iterations))[0]
        return word

    def block(self, first: int, steps: int) -> Words64:
        """The words of some steps, (steps, iterations)."""
        shape = (steps, self._iterations)
        if self._stream is None:
            return np.zeros(shape, np.uint64)
        start = position(first, 1, self._iterations)
        return self._stream.block(start, steps * self._iterations).reshape(shape)


class Batch(NamedTuple):
    """All draws of some steps, for the compiled loop."""

    exploration: Floats  # (steps,) uniform
    masks: Floats  # (steps, iterations)
    places: Words64  # (steps, iterations, arms)
    waits: Words64  # (steps, iterations, arms or 0)
    ties: Words64  # (steps, iterations)
    drawn: Words64  # (steps, 0, 1 or arms)


class Streams:
    """All streams of one run, for a simulation, which holds every key.

    Parameters
    ----------
    secrets
        The parties' secrets.
    agreed
        What they agreed on.
    random_ties
        Whether equal scores are chosen among at random; the first place wins otherwise.
    drawn_scores
        How many scores the Controller draws in a step that explores.
    """

    def __init__(
        self,
        secrets: SimulatedSecrets,
        agreed: Agreement,
        random_ties: bool,
        drawn_scores: int = 0,
    ) -> None:
        keys = ControllerKeys.derive(secrets.controller, agreed.run)
        own = CompKeys.derive(secrets.comp, agreed.run)
        self._iterations, self._arms = agreed.iterations, agreed.arms
        self._exploration = KeyStream(keys.exploration, 1)
        self._masks = KeyStream(keys.masks, 1)
        self._places = KeyStream(keys.places, agreed.arms)
        self._waits = KeyStream(own.waits, agreed.arms)
        self._ties = Ties(own.ties if random_ties else b"", agreed.iterations)
        self._drawn = DrawnScores(keys.scores, drawn_scores if agreed.can_explore else 0)
        self._matches = IN_PROPORTION in agreed.comparisons

    def batch(self, first: int, steps: int) -> Batch:
        """Draws of steps ``first`` … ``first + steps - 1``."""
        start, count = position(first, 1, self._iterations), steps * self._iterations
        shape = (steps, self._iterations, self._arms)
        masks = np.empty((steps, self._iterations))
        fill_masks(self._masks.block(start, count)[:, 0], masks.reshape(-1))
        exploration = np.empty(steps)
        fill_units(self._exploration.block(first, steps)[:, 0], exploration)
        places = self._places.block(start, count).reshape(shape)
        waits = (
            self._waits.block(start, count).reshape(shape)
            if self._matches
            else np.empty((steps, self._iterations, 0), np.uint64)
        )
        ties, drawn = self._ties.block(first, steps), self._drawn.block(first, steps)
        return Batch(exploration, masks, places, waits, ties, drawn)


@compiled
def fill_masks(words: Words64, masks: Floats) -> None:
    """:func:`word_to_mask` of every word."""
    for i in range(masks.size):
        masks[i] = word_to_mask(words[i])


@compiled
def fill_units(words: Words64, units: Floats) -> None:
    """:func:`~fedbandits.crypto.keystream.word_to_unit` of every word."""
    for i in range(units.size):
        units[i] = word_to_unit(words[i])
