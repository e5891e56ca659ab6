"""Costs of a run: exact counts, which the paper proves for a published one (section 5.4).

They are linear in N and K; for a silent run linear in K but for logarithms. The paper's other
theorems are not about numbers: Theorem 1 (what fits) is checked by
:mod:`fedbandits.learners.open_rules`, Theorem 2 (the plain run's rewards) and Theorem 3 (who sees
what) are compared with runs by tests and by :mod:`.audit`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedbandits._typing import Floats
from fedbandits.crypto.aead import overhead_of
from fedbandits.systems.samba.ciphers import WORD_BYTES
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.silent import Deals, make_turn
from fedbandits.systems.theory import Bound

if TYPE_CHECKING:
    from fedbandits.environments.base import Environment
_PAPER = "Ciucanu et al. 2022, Theorem 4"


class Traffic(NamedTuple):
    """Messages or bytes of a run, by who exchanges them."""

    setup: int  # order, starts and setups; they hold nothing that is sealed
    owners: int  # words to the Controller, and answers
    servers: int  # Controller and Comp
    dealt: int  # what is asked of the dealer, and blocks
    total: int  # sums on their way to the customer

    @property
    def all(self) -> int:
        """The sum."""
        return sum(self)


class Counts:
    """Counts of what the parties of a silent run exchange; ``plan`` is not of a plain run."""

    def __init__(self, plan: SambaPlan) -> None:
        config, self._arms = plan.config, plan.arms
        self._shared = config.total == "shares"
        self._turn, self._deals = make_turn(plan.arms, config.arity), Deals(plan)
        #: Turns of the whole run.
        self.turns = self._deals.turns
        self._overhead = overhead_of(config.packet_cipher)
        self._number = config.paillier_bits // 4 if config.execution == "secure" else WORD_BYTES

    @property
    def rounds(self) -> int:
        """Messages between the servers in a turn, each of which waits for the one before."""
        return 2 * self._turn.parts

    @property
    def server_bytes(self) -> int:
        """Bytes that servers send each other in a turn, not sealed."""
        return sum(sum(self._turn.message_bytes(first)) for first in (True, False))

    @property
    def dealt_bytes(self) -> int:
        """Bytes that are dealt to both servers for a turn, not sealed."""
        return sum(self._deals.bytes)

    def messages(self, turns: int, summed: bool) -> Traffic:
        """Count messages after so many turns, and after the sum has left."""
        arms, begun, asked = self._arms, self.turns > 0, self._deals.asked(turns)
        return Traffic(
            setup=arms + 3,
            owners=2 * arms * turns,
            servers=begun + self.rounds * turns,
            dealt=3 * asked - begun,
            total=(arms + 1 + self._shared) * summed,
        )

    def bytes(self, turns: int, summed: bool) -> Traffic:
        """Count bytes of ciphertexts after so many turns, and after the sum has left."""
        arms, overhead, word = self._arms, self._overhead, WORD_BYTES + self._overhead
        begun = self.turns > 0
        # What Comp makes ahead of a turn is sent before the first one, and not in the last.
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
        """Packets of a whole run; every one is sealed once and opened once."""
        counts = self.messages(self.turns, True)
        sums = counts.total if self._shared else 0
        return counts.owners + counts.servers + 2 * self._deals.count + sums


class Operations(NamedTuple):
    """Cryptographic operations of a whole run."""

    aes_encryptions: int
    aes_decryptions: int
    paillier_encryptions: int
    paillier_decryptions: int

    def seconds(self, costs: Costs) -> float:
        """Return the seconds that they take by themselves, with nothing around them."""
        return sum(count * cost for count, cost in zip(self, costs, strict=True))


class Costs(NamedTuple):
    """Seconds that one bare operation takes, each as :class:`Operations` counts it."""

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


def silent_operations(plan: SambaPlan) -> Operations:
    """Count those of a silent run, with the dealer's packets."""
    seals = Counts(plan).seals
    shared = plan.config.total == "shares"
    return Operations(seals, seals, 0 if shared else plan.arms, 0 if shared else 1)


def messages(rounds: Floats, budget: int, arms: int, iterations: int = 1) -> Floats:
    """Count the messages after some rounds, where a list is one message (Theorem 4.2).

    "A′ has communication cost of O(NK) messages." Setup: 1 to the Controller, 1 to Comp, K to the
    owners ("a constant number", says the proof), once every arm was pulled. An iteration: K scores,
    2 lists, K bits. The end: K sums and the total.

    Parameters
    ----------
    rounds : (n,) float64
        Pulls made.
    budget, arms, iterations
        N, K and nb_A.

    Returns
    -------
    (n,) float64
    """
    steps = np.maximum(rounds - arms, 0.0)
    core = steps * iterations * (2 * arms + 2)
    end = np.where(rounds >= budget, arms + 1.0, 0.0)
    total: Floats = np.where(rounds >= arms, arms + 2 + core + end, 0.0)
    return total


def bounds(plan: SambaPlan, environment: Environment) -> Sequence[Bound]:
    """Return Theorem 4.2 for whoever exchanges messages: measured ÷ bound is 1.

    It is less where the Controller draws scores of steps that explore: owners send nothing then.
    """
    del environment
    config, rounds, arms = plan.config, plan.rounds, plan.arms
    if config.execution == "plain":
        return ()
    if config.is_silent:
        return (_silent_bound(plan),)
    iterations = plan.iterations
    fewer = "; K fewer in a step that explores" if plan.drawn_scores and config.explores else ""
    return (
        Bound(
            theorem=f"{_PAPER}.2",
            statement=(
                "K + 2 + (N - K) nb_A (2 K + 2) + K + 1 messages, a list being one: exact, "
                f"nb_A = {iterations}{fewer}"
            ),
            quantity="messages",
            at=lambda played: messages(played, rounds, arms, iterations),
        ),
    )


def _silent_bound(plan: SambaPlan) -> Bound:
    """Return the exact number of messages of a silent run."""
    counts, arms = Counts(plan), plan.arms

    def at(played: Floats) -> Floats:
        turns = np.maximum(played - arms, 0).astype(np.int64) * plan.iterations
        counted = [
            float(counts.messages(int(turn), bool(done >= plan.rounds)).all) * bool(done >= arms)
            for turn, done in zip(turns, played, strict=True)
        ]
        return np.array(counted)

    return Bound(
        theorem="docs/samba.md",
        statement=(
            f"2 K + {counts.rounds} messages a turn, what is dealt, K + 3 before the first and the "
            "total after the last: exact"
        ),
        quantity="messages",
        at=at,
    )
