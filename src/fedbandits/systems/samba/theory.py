"""Costs of a run: exact counts, which the paper proves for a published run (section 5.4).

The counts are linear in N and K; for a silent run linear in K but for logarithms. The paper's other
theorems are not about numbers. :mod:`fedbandits.learners.open_rules` checks Theorem 1 (algorithms
that fit). Tests, and :mod:`.audit`, compare runs with Theorem 2 (equal rewards) and Theorem 3 (the
table of sight).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedbandits._typing import Floats
from fedbandits.crypto.aead import overhead_of
from fedbandits.systems.samba.ciphers import BIT_BYTES, SCORE_BYTES, WORD_BYTES
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.silent import Deals, make_turn
from fedbandits.systems.theory import Bound

if TYPE_CHECKING:
    from fedbandits.environments.base import Environment


class Traffic(NamedTuple):
    """Messages or bytes of a run, by sender and receiver."""

    setup: int  # order, starts and setups, in which nothing is sealed
    owners: int  # words to the Controller, and answers
    servers: int  # Controller and Comp
    dealt: int  # questions to the dealer, and blocks
    total: int  # sums on their way to the customer

    @property
    def all(self) -> int:
        """The sum."""
        return sum(self)


class PublishedCounts:
    """Counts of the messages of a published run; ``plan`` is not of a plain run."""

    def __init__(self, plan: SambaPlan) -> None:
        config, self._arms = plan.config, plan.arms
        self._overhead = overhead_of(config.packet_cipher)
        #: Bytes of an owner's sum.
        self.number = config.paillier_bits // 4 if config.execution == "secure" else WORD_BYTES
        self._draws, self._skips = plan.drawn_scores > 0, config.exploration_shortcut != "none"

    def messages(self, turns: int, summed: bool, explored: int = 0) -> Traffic:
        """Count messages after so many turns, ``explored`` of them by draws, and after the sum.

        Owners send no scores in steps whose scores the Controller draws.
        """
        arms, drawn = self._arms, explored * self._draws
        return Traffic(arms + 2, arms * (2 * turns - drawn), 2 * turns, 0, (arms + 1) * summed)

    def bytes(self, turns: int, summed: bool, explored: int = 0) -> Traffic:
        """Count bytes of ciphertexts after so many turns, and after the sum.

        Owners may leave out their scores in exploring steps; drawn scores travel in clear.
        """
        arms, drawn = self._arms, explored * self._draws
        scores = (turns - explored * self._skips) * (SCORE_BYTES + self._overhead)
        packets = arms * (scores + turns * (BIT_BYTES + self._overhead))
        total = (arms + 1) * self.number * summed
        return Traffic(0, packets, packets + arms * WORD_BYTES * drawn, 0, total)


class Counts:
    """Counts of the messages of a silent run; ``plan`` is not of a plain run."""

    def __init__(self, plan: SambaPlan) -> None:
        config, self._arms = plan.config, plan.arms
        self._shared = config.total == "shares"
        self._turn, self._deals = make_turn(plan.arms, config.arity), Deals(plan)
        #: Turns of the whole run.
        self.turns = self._deals.turns
        self._overhead = overhead_of(config.packet_cipher)
        self._number = PublishedCounts(plan).number

    @property
    def rounds(self) -> int:
        """Messages between the servers in a turn; every message waits for the message before."""
        return 2 * self._turn.parts

    @property
    def server_bytes(self) -> int:
        """Bytes that servers send each other in a turn, not sealed."""
        return sum(sum(self._turn.message_bytes(first)) for first in (True, False))

    @property
    def dealt_bytes(self) -> int:
        """Bytes that are dealt to both servers for a turn, not sealed."""
        return sum(self._deals.bytes)

    def messages(self, turns: int, summed: bool, explored: int = 0) -> Traffic:
        """Count messages after so many turns, and after the sum."""
        del explored
        arms, begun, asked = self._arms, self.turns > 0, self._deals.asked(turns)
        return Traffic(
            setup=arms + 3,
            owners=2 * arms * turns,
            servers=begun + self.rounds * turns,
            dealt=3 * asked - begun,
            total=(arms + 1 + self._shared) * summed,
        )

    def bytes(self, turns: int, summed: bool, explored: int = 0) -> Traffic:
        """Count bytes of ciphertexts after so many turns, and after the sum."""
        del explored
        arms, overhead, word = self._arms, self._overhead, WORD_BYTES + self._overhead
        begun = self.turns > 0
        # Comp's shares ahead of a turn leave before the first turn, and not in the last.
        ahead = WORD_BYTES * arms * (begun and turns < self.turns)
        asked = self._deals.asked(turns)
        dealt = sum(map(self._deals.length, range(asked)))
        servers = turns * self.server_bytes + ahead + overhead * (begun + self.rounds * turns)
        number = word if self._shared else self._number
        return Traffic(
            setup=0,
            owners=2 * arms * turns * word,
            servers=servers,
            dealt=dealt * self.dealt_bytes + 2 * asked * overhead,
            total=(arms + 1 + self._shared) * number * summed,
        )

    @property
    def seals(self) -> int:
        """Packets of a whole run; every packet is sealed once and opened once."""
        counts = self.messages(self.turns, True)
        sums = counts.total if self._shared else 0
        return counts.owners + counts.servers + 2 * self._deals.count + sums


def counts_of(plan: SambaPlan) -> Counts | PublishedCounts:
    """Return the counts of a run, by its comparison."""
    return Counts(plan) if plan.config.is_silent else PublishedCounts(plan)


class Operations(NamedTuple):
    """Cryptographic operations of a whole run."""

    aes_encryptions: int
    aes_decryptions: int
    paillier_encryptions: int
    paillier_decryptions: int

    def seconds(self, costs: Costs) -> float:
        """Return the seconds of the bare operations."""
        return sum(count * cost for count, cost in zip(self, costs, strict=True))


class Costs(NamedTuple):
    """Seconds of a bare operation, for every count of :class:`Operations`."""

    aes_encryption: float
    aes_decryption: float
    paillier_encryption: float
    paillier_decryption: float


def operations(budget: int, arms: int, iterations: int = 1, silent: int = 0) -> Operations:
    """Count the cryptographic operations of a run (Theorem 4.1).

    "A′ requires O(NK) AES-GCM encryptions and decryptions, K Paillier encryptions, and one Paillier
    decryption." The proof gives the constants: each iteration takes 2 K AES-GCM encryptions and 2 K
    decryptions (K scores, K bits), and there are (N - K) nb_A of them.

    Parameters
    ----------
    budget, arms
        N and K.
    iterations
        nb_A, iterations a step: 2 for Pursuit, else 1.
    silent
        Steps in which no scores are sealed, of those that explore (section 5.4, "Algorithm-specific
        optimizations"): K encryptions and K decryptions fewer each.
    """
    each = arms * (2 * (budget - arms) * iterations - silent)
    return Operations(each, each, arms, 1)


def messages(plan: SambaPlan, rounds: Floats) -> Floats:
    """Count the messages after some rounds, where a list is a message (Theorem 4.2).

    "A′ has communication cost of O(NK) messages." Setup: 1 to the Controller, 1 to Comp, K to the
    owners ("a constant number", says the proof), once every arm was pulled. An iteration: K scores,
    2 lists, K bits. The end: K sums and the total.

    Parameters
    ----------
    plan
        The plan of a published or of a silent run.
    rounds : (n,) float64
        Pulls made.

    Returns
    -------
    (n,) float64
    """
    counts, arms = counts_of(plan), plan.arms
    turns = np.maximum(rounds - arms, 0).astype(np.int64) * plan.iterations
    counted = [
        counts.messages(int(turn), bool(done >= plan.rounds)).all * bool(done >= arms)
        for turn, done in zip(turns, rounds, strict=True)
    ]
    return np.array(counted, np.float64)


def bounds(plan: SambaPlan, environment: Environment) -> Sequence[Bound]:
    """Return Theorem 4.2 for a run with messages: measured ÷ bound is 1.

    The ratio is less where the Controller draws scores of exploring steps: owners send nothing.
    """
    del environment
    config = plan.config
    if config.execution == "plain":
        return ()
    if config.is_silent:
        theorem = "docs/samba.md"
        statement = (
            f"2 K + {Counts(plan).rounds} messages a turn, what is dealt, K + 3 before the first "
            "and the total after the last: exact"
        )
    else:
        theorem = "Ciucanu et al. 2022, Theorem 4.2"
        fewer = "; K fewer in a step that explores" if plan.drawn_scores and config.explores else ""
        statement = (
            "K + 2 + (N - K) nb_A (2 K + 2) + K + 1 messages, a list being one: exact, "
            f"nb_A = {plan.iterations}{fewer}"
        )
    at = functools.partial(messages, plan)
    return (Bound(theorem=theorem, statement=statement, quantity="messages", at=at),)
