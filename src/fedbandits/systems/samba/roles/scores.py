"""What a data owner computes with in one run: its score, masked, and the ciphers for it."""

from __future__ import annotations

import msgspec
import numpy as np

from fedbandits.crypto.aead import Channel
from fedbandits.learners.kernels.index_rules import explores, note_bit, score_arm
from fedbandits.systems.samba.agreement import Agreement, channel_cipher
from fedbandits.systems.samba.packets import BIT_BYTES, BITS, SCORE_BYTES, SCORES
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles.supplies import OwnerSupply
from fedbandits.systems.samba.streams import Exploration, Masks, owner_key
from fedbandits.systems.samba.sums import SumCipher


class Given(msgspec.Struct, frozen=True):
    """What the Controller has given an owner for a run, see :class:`.messages.Setup`."""

    run: bytes
    public_key: bytes
    mask_key: bytes
    exploration_key: bytes


class OwnerTools:
    """All that follows from an owner's keys, and from what it was given.

    Parameters
    ----------
    name
        The owner's, for errors.
    plan
        What all parties go by.
    supply
        The keys that it brings.
    given
        What it was given.

    Raises
    ------
    WeakKeyError
        If the customer's key is not as the terms have it.
    """

    def __init__(self, name: str, plan: SambaPlan, supply: OwnerSupply, given: Given) -> None:
        #: What the run is about.
        self.agreed: Agreement = plan.agreement(given.run)
        #: The cipher of its sum.
        self.sums = SumCipher.agreed(name, plan.config, given.public_key)
        cipher = channel_cipher(plan.config.packet_cipher, supply.key, self.agreed)
        #: Its packets to Comp, and Comp's to it.
        self.scores = Channel(cipher, SCORES, SCORE_BYTES)
        self.bits = Channel(cipher, BITS, BIT_BYTES)
        self._draws = owner_key(supply.draws, given.run)
        self._masks = Masks(given.mask_key, self.agreed.iterations)
        self._exploration = Exploration(given.exploration_key)
        self._can_explore = self.agreed.can_explore

    def explores(self, step: int) -> bool:
        """Whether a step explores, which the Controller and all owners know."""
        rule, arms = self.agreed.rule, self.agreed.arms
        return self._can_explore and bool(explores(rule, step, arms, self._exploration.draw(step)))

    def masked_score(
        self, step: int, iteration: int, pulls: int, rewards: int, memory: float
    ) -> float:
        """The score of an arm, times αₜ; zero in a step that explores."""
        score = 0.0
        if not self.explores(step):
            rule, kept = self.agreed.rule, np.full(1, memory)
            score = score_arm(rule, iteration, step, pulls, float(rewards), kept, self._draws)
        return score * self._masks.draw(step, iteration)

    def remembered(self, iteration: int, chosen: bool, memory: float) -> float:
        """What its rule keeps after a bit."""
        kept = np.full(1, memory)
        note_bit(self.agreed.rule, iteration, chosen, kept)
        return float(kept[0])
