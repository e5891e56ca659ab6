"""Streams of random words that parties draw from their keys, see :mod:`.keys`.

Every stream is read by step and iteration, so that a party can make the numbers of any step again,
alone.
"""

from __future__ import annotations

import numpy as np

from fedbandits._typing import Floats, Ints, Words64
from fedbandits.crypto.kernels.words import permute, word_to_unit
from fedbandits.crypto.keystream import KeyStream
from fedbandits.learners.kernels.index_rules import IN_PROPORTION, explores, fill_arm_keys
from fedbandits.random import Key
from fedbandits.systems.samba.kernels.published import Batch, fill_masks, fill_units, word_to_mask
from fedbandits.systems.samba.kernels.silent import SilentBatch
from fedbandits.systems.samba.keys import (
    CompKeys,
    ControllerKeys,
    OwnersKeys,
    SilentControllerKeys,
    SimulatedSecrets,
    make_keys,
    owner_key,
)
from fedbandits.systems.samba.plan import Agreement


def position(step: int, iteration: int, iterations: int) -> int:
    """Return where a stream stands in a step's iteration (both counted from 1)."""
    return step * iterations + iteration - 1


class TurnWords:
    """Random words of every iteration of every step.

    Parameters
    ----------
    key
        The secret key.
    width
        Words of one iteration.
    iterations
        Iterations a step.
    """

    def __init__(self, key: bytes, width: int, iterations: int) -> None:
        self._stream, self._width = KeyStream(key, width), width
        self._iterations = iterations

    def words(self, step: int, iteration: int) -> Words64:
        """Draw the words of one iteration, (width,)."""
        return self._stream.words(position(step, iteration, self._iterations))

    def block(self, first: int, steps: int) -> Words64:
        """Draw the words of some steps, (steps, iterations, width)."""
        start, count = position(first, 1, self._iterations), steps * self._iterations
        return self._stream.block(start, count).reshape(steps, self._iterations, self._width)


class Masks(TurnWords):
    """Masks αₜ, which all owners draw."""

    def __init__(self, key: bytes, iterations: int) -> None:
        super().__init__(key, 1, iterations)

    def draw(self, step: int, iteration: int) -> float:
        """Draw the mask of one iteration, the same for all owners."""
        return word_to_mask(self.words(step, iteration)[0])


class Places(TurnWords):
    """Places σₜ, which the Controller draws."""

    def draw(self, step: int, iteration: int) -> Ints:
        """Draw the places of all owners in Comp's list, (arms,)."""
        places = np.empty(self._width, np.int64)
        permute(self.words(step, iteration), places)
        return places


class Ties(TurnWords):
    """Words by which Comp chooses among equal scores: 0, hence the first, if not ``random``."""

    def __init__(self, key: bytes, iterations: int, random: bool) -> None:
        super().__init__(key, 1, iterations)
        self._random = random

    def draw(self, step: int, iteration: int) -> np.uint64:
        """Draw the word of one iteration."""
        word: np.uint64 = self.words(step, iteration)[0]
        return word if self._random else np.uint64(0)

    def block(self, first: int, steps: int) -> Words64:
        words = super().block(first, steps)
        return words if self._random else np.zeros_like(words)


class Exploration:
    """Uniform draws that tell whether a step explores.

    Parameters
    ----------
    key
        The Controller's and the owners'; in a silent run the owners' alone.
    agreed
        What the run is about.
    """

    def __init__(self, key: bytes, agreed: Agreement) -> None:
        self._stream, self._agreed = KeyStream(key, 1), agreed
        self._can_explore = agreed.can_explore

    def draw(self, step: int) -> float:
        """Draw a number that is uniform on [0, 1)."""
        return word_to_unit(self._stream.words(step)[0])

    def block(self, first: int, steps: int) -> Floats:
        """Draw the numbers of some steps, (steps,)."""
        numbers = np.empty(steps)
        fill_units(self._stream.block(first, steps)[:, 0], numbers)
        return numbers

    def explores(self, step: int) -> bool:
        """Tell whether a step explores."""
        if not self._can_explore:
            return False
        return bool(explores(self._agreed.rule, step, self._agreed.arms, self.draw(step)))


class DrawnScores:
    """Scores that the Controller draws for steps that explore, as section 5.4 prints it.

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
        """Draw the words of one step that the scores are made of, (count,)."""
        return self._stream.words(step)[: self._count]

    def block(self, first: int, steps: int) -> Words64:
        """Draw the words of some steps, (steps, count)."""
        if self._count == 0:
            return np.empty((steps, 0), np.uint64)
        return self._stream.block(first, steps)


def fill_owner_keys(key: Key, run: bytes, keys: Words64) -> None:
    """Write the keys of all owners' own draws in a simulation's run, (arms, 2)."""
    fill_arm_keys(key, keys)
    for i, brought in enumerate(keys.tolist()):
        keys[i] = owner_key(Key(*brought), run)


class Streams:
    """All streams of one run, for a simulation, which holds every key.

    Comp chooses among equal scores at random if ``random_ties``, and takes the first place
    otherwise. ``drawn_scores`` is how many scores the Controller draws in a step that explores.
    """

    def __init__(
        self,
        secrets: SimulatedSecrets,
        agreed: Agreement,
        random_ties: bool,
        drawn_scores: int = 0,
    ) -> None:
        keys = make_keys(ControllerKeys, secrets.controller, agreed)
        own = make_keys(CompKeys, secrets.comp, agreed)
        arms, iterations = agreed.arms, agreed.iterations
        self._exploration = Exploration(keys.exploration, agreed)
        self._masks, self._places = (
            Masks(keys.masks, iterations),
            Places(keys.places, arms, iterations),
        )
        self._waits = TurnWords(own.waits, arms, iterations)
        self._ties = Ties(own.ties, iterations, random_ties)
        self._drawn = DrawnScores(keys.scores, drawn_scores if agreed.can_explore else 0)
        self._matches = IN_PROPORTION in agreed.comparisons

    def batch(self, first: int, steps: int) -> Batch:
        """Make the draws of steps ``first`` … ``first + steps - 1``."""
        words, places = self._masks.block(first, steps), self._places.block(first, steps)
        masks = np.empty(words.shape[:2])
        fill_masks(words.reshape(-1), masks.reshape(-1))
        nothing = np.empty((*words.shape[:2], 0), np.uint64)
        waits = self._waits.block(first, steps) if self._matches else nothing
        return Batch(
            self._exploration.block(first, steps), masks, places, waits,
            self._ties.block(first, steps)[:, :, 0], self._drawn.block(first, steps),
        )  # fmt: skip


class SilentStreams:
    """All streams of one silent run, for a simulation, which holds every key.

    They are the same however the run is executed: what hides the scores changes no draw.
    """

    def __init__(self, secrets: SimulatedSecrets, agreed: Agreement) -> None:
        controllers = make_keys(SilentControllerKeys, secrets.controller, agreed)
        owners = make_keys(OwnersKeys, secrets.owners, agreed)
        self._places = Places(controllers.ties, agreed.arms, agreed.iterations)
        self._exploration = Exploration(owners.exploration, agreed)

    def batch(self, first: int, steps: int) -> SilentBatch:
        """Make the draws of steps ``first`` … ``first + steps - 1``."""
        return SilentBatch(self._exploration.block(first, steps), self._places.block(first, steps))


def turn_number(agreed: Agreement, step: int, iteration: int) -> int:
    """Count the turns before this one; selections are dealt in this order."""
    return position(step - agreed.arms - 1, iteration, agreed.iterations)


class Pads:
    """A word a turn, of one owner and one purpose: its share at Comp, or its answer's pad."""

    def __init__(self, key: bytes, agreed: Agreement) -> None:
        self._stream, self._agreed = KeyStream(key, 1), agreed

    def draw(self, step: int, iteration: int) -> np.uint64:
        """Draw the word of one turn."""
        word: np.uint64 = self._stream.words(turn_number(self._agreed, step, iteration))[0]
        return word


def total_pad(key: bytes) -> np.uint64:
    """Draw Comp's share of one owner's sum, from ``total`` of :class:`.PadKeys`."""
    word: np.uint64 = KeyStream(key, 1).words(0)[0]
    return word
