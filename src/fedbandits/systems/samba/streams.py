"""SAMBA's secrets and the streams made of them: who holds which key, and what it draws.

The Controller's secret gives three keys: places (its own), masks (the owners' too), exploration
(the owners' too). Comp has a secret of its own for probability matching. Every stream is read by
step and iteration, so that a party can make the numbers of any step again, alone.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints, Words64
from fedbandits.crypto.keystream import KeyStream, derive_key, permute, word_to_unit
from fedbandits.learners.index_rules import IN_PROPORTION
from fedbandits.systems.samba.agreement import RUN_BYTES


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


class ControllerKeys(NamedTuple):
    """What the Controller makes of its secret."""

    places: bytes  # its own
    masks: bytes  # for the owners, never for Comp
    exploration: bytes  # for the owners

    @classmethod
    def derive(cls, secret: bytes) -> ControllerKeys:
        """The three keys of one run."""
        return cls(*(derive_key(secret, label) for label in cls._fields))


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
    """The uniform draw that tells Controller and owners whether a step explores."""

    def __init__(self, key: bytes) -> None:
        self._stream = KeyStream(key, 1)

    def draw(self, step: int) -> float:
        """Uniform on [0, 1)."""
        return word_to_unit(self._stream.words(step)[0])


class Batch(NamedTuple):
    """All draws of some steps, for the compiled loop."""

    exploration: Floats  # (steps,) uniform
    masks: Floats  # (steps, iterations)
    places: Words64  # (steps, iterations, arms)
    waits: Words64  # (steps, iterations, arms or 0)


class Streams:
    """All streams of one run, for a simulation, which holds every key."""

    def __init__(
        self, controller_secret: bytes, comp_secret: bytes, arms: int, comparisons: tuple[int, ...]
    ) -> None:
        keys = ControllerKeys.derive(controller_secret)
        self._iterations, self._arms = len(comparisons), arms
        self._exploration = KeyStream(keys.exploration, 1)
        self._masks = KeyStream(keys.masks, 1)
        self._places = KeyStream(keys.places, arms)
        self._waits = KeyStream(waits_key(comp_secret), arms)
        self._matches = IN_PROPORTION in comparisons

    def batch(self, first: int, steps: int) -> Batch:
        """Draws of steps ``first`` … ``first + steps - 1``."""
        start, count = position(first, 1, self._iterations), steps * self._iterations
        shape = (steps, self._iterations, self._arms)
        masks = np.empty((steps, self._iterations))
        fill_masks(self._masks.block(start, count)[:, 0], masks.reshape(-1))
        exploration = np.empty(steps)
        _fill_units(self._exploration.block(first, steps)[:, 0], exploration)
        places = self._places.block(start, count).reshape(shape)
        waits = (
            self._waits.block(start, count).reshape(shape)
            if self._matches
            else np.empty((steps, self._iterations, 0), np.uint64)
        )
        return Batch(exploration, masks, places, waits)


def waits_key(comp_secret: bytes) -> bytes:
    """Comp's own key, for probability matching."""
    return derive_key(comp_secret, "waits")


@compiled
def fill_masks(words: Words64, masks: Floats) -> None:
    """:func:`word_to_mask` of every word."""
    for i in range(masks.size):
        masks[i] = word_to_mask(words[i])


@compiled
def _fill_units(words: Words64, units: Floats) -> None:
    for i in range(units.size):
        units[i] = word_to_unit(words[i])
