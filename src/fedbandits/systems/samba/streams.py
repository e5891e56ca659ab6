"""Streams of random words that parties draw from their keys, see :mod:`.keys`.

Every stream is read by step and iteration, so that a party can make the numbers of any step again,
alone.
"""

from __future__ import annotations

import numpy as np

from fedbandits._typing import Floats, Ints, Words64
from fedbandits.crypto.kernels.dealing import permute, word_to_unit
from fedbandits.crypto.keystream import KeyStream
from fedbandits.learners.kernels.index_rules import IN_PROPORTION, fill_arm_keys
from fedbandits.learners.open_rules import OneArm
from fedbandits.random import Key
from fedbandits.systems.samba.kernels import (
    Batch,
    SilentBatch,
    fill_masks,
    fill_units,
    list_drawn,
    word_to_mask,
)
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
    """Return a stream's position in a step's iteration (both counted from 1)."""
    return step * iterations + iteration - 1


class TurnWords:
    """Random words of every iteration of every step, ``width`` of each, by a secret key."""

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
    """Words by which Comp chooses among equal scores: 0, so the first score, if not ``random``."""

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
    """Uniform draws that decide whether a step explores.

    The Controller and the owners have the key; in a silent run the owners alone.
    """

    def __init__(self, key: bytes, agreed: Agreement) -> None:
        self._stream, self._arms = KeyStream(key, 1), agreed.arms
        self._rule, self._can_explore = OneArm(agreed.rule), agreed.can_explore

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
        return self._can_explore and self._rule.explores(step, self._arms, self.draw(step))


class ControllerDraws:
    """Draws of the Controller in a published run, which follow from its secret.

    In a step that explores the Controller may draw scores, as section 5.4 has it: ``drawn_scores``
    is their number, 1 for all arms together or the number of arms.
    """

    def __init__(self, secret: bytes, agreed: Agreement, drawn_scores: int) -> None:
        #: The agreement of all parties on the run.
        self.agreed = agreed
        #: All keys of the Controller: some are for owners too, none for Comp.
        self.keys = make_keys(ControllerKeys, secret, agreed)
        self._exploration = Exploration(self.keys.exploration, agreed)
        #: Tells whether a step explores; the owners know that too.
        self.explores = self._exploration.explores
        self._masks = Masks(self.keys.masks, agreed.iterations)
        self._places = Places(self.keys.places, agreed.arms, agreed.iterations)
        self._scores = KeyStream(self.keys.scores, max(1, drawn_scores))
        self._drawn = drawn_scores

    def places(self, step: int, iteration: int) -> Ints:
        """Return each owner's place in Comp's list, (arms,); only the Controller knows."""
        return self._places.draw(step, iteration)

    def mask(self, step: int, iteration: int) -> float:
        """Draw αₜ, as the Controller could, which hands out the key of masks."""
        return self._masks.draw(step, iteration)

    def scores(self, step: int) -> tuple[float, ...]:
        """Draw the scores of a step, by place."""
        scores, words = np.empty(self.agreed.arms), self._scores.words(step)
        list_drawn(words[: self._drawn], self.places(step, 1), scores)
        return tuple(scores.tolist())

    def block(self, first: int, steps: int) -> tuple[Floats, Floats, Words64, Words64]:
        """Draw exploration, masks, words of places and words of drawn scores for some steps."""
        words = self._masks.block(first, steps)
        masks, scores = np.empty(words.shape[:2]), np.empty((steps, 0), np.uint64)
        fill_masks(words.reshape(-1), masks.reshape(-1))
        if self._drawn:
            scores = self._scores.block(first, steps)
        places = self._places.block(first, steps)
        return self._exploration.block(first, steps), masks, places, scores


class CompDraws:
    """Draws of Comp in a published run: waits for probability matching, and ties."""

    def __init__(self, secret: bytes, agreed: Agreement, random_ties: bool) -> None:
        keys = make_keys(CompKeys, secret, agreed)
        self.waits = TurnWords(keys.waits, agreed.arms, agreed.iterations)
        self.ties = Ties(keys.ties, agreed.iterations, random_ties)


def fill_owner_keys(key: Key, run: bytes, keys: Words64) -> None:
    """Write the keys of all owners' own draws in a simulation's run, (arms, 2)."""
    fill_arm_keys(key, keys)
    for i, brought in enumerate(keys.tolist()):
        keys[i] = owner_key(Key(*brought), run)


class Streams:
    """All streams of a published run, for a simulation, which holds every key.

    Comp chooses among equal scores at random if ``random_ties``, and takes the first place
    otherwise. ``drawn_scores`` is the number of scores that the Controller draws in a step that
    explores.
    """

    def __init__(
        self,
        secrets: SimulatedSecrets,
        agreed: Agreement,
        random_ties: bool,
        drawn_scores: int = 0,
    ) -> None:
        drawn = drawn_scores if agreed.can_explore else 0
        self._controller = ControllerDraws(secrets.controller, agreed, drawn)
        self._comp = CompDraws(secrets.comp, agreed, random_ties)
        self._matches = IN_PROPORTION in agreed.comparisons

    def batch(self, first: int, steps: int) -> Batch:
        """Make the draws of steps ``first`` … ``first + steps - 1``."""
        exploration, masks, places, scores = self._controller.block(first, steps)
        waits = np.empty((*masks.shape, 0), np.uint64)
        if self._matches:
            waits = self._comp.waits.block(first, steps)
        ties = self._comp.ties.block(first, steps)[:, :, 0]
        return Batch(exploration, masks, places, waits, ties, scores)


class SilentStreams:
    """All streams of a silent run, for a simulation, which holds every key.

    They are the same for every execution: the protection of scores changes no draw.
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
    """Count the turns before a turn. Selections are dealt in this order."""
    return position(step - agreed.arms - 1, iteration, agreed.iterations)


class Pads:
    """Words of an owner for one purpose, a word a turn: Comp's shares, or pads of answers."""

    def __init__(self, key: bytes, agreed: Agreement) -> None:
        self._stream, self._agreed = KeyStream(key, 1), agreed

    def draw(self, step: int, iteration: int) -> np.uint64:
        """Draw the word of one turn."""
        word: np.uint64 = self._stream.words(turn_number(self._agreed, step, iteration))[0]
        return word


def total_pad(key: bytes) -> np.uint64:
    """Draw Comp's share of an owner's sum, from ``total`` of :class:`.PadKeys`."""
    word: np.uint64 = KeyStream(key, 1).words(0)[0]
    return word
