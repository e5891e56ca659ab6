"""What the paper proves of SAMBA's cost: exact counts, linear in N and in K (section 5.4).

The paper's other theorems are not about numbers: Theorem 1 (what fits) is checked by
:mod:`fedbandits.learners.locality`, Theorem 2 (the plain run's rewards) and Theorem 3 (who sees
what) are held against runs by tests and by :mod:`.audit`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedbandits._typing import Floats
from fedbandits.learners.kernels.index_rules import ITERATIONS
from fedbandits.systems.samba.silent.theory import Counts
from fedbandits.systems.theory import Bound

if TYPE_CHECKING:
    from fedbandits.environments.base import Environment
    from fedbandits.systems.samba.plan import SambaPlan

_PAPER = "Ciucanu et al. 2022, Theorem 4"


class Operations(NamedTuple):
    """Cryptographic operations of a whole run."""

    aes_encryptions: int
    aes_decryptions: int
    paillier_encryptions: int
    paillier_decryptions: int

    def seconds(self, costs: Costs) -> float:
        """What they take by themselves, with nothing around them."""
        return sum(count * cost for count, cost in zip(self, costs, strict=True))


class Costs(NamedTuple):
    """Seconds that one bare operation takes, each as :class:`Operations` counts it."""

    aes_encryption: float
    aes_decryption: float
    paillier_encryption: float
    paillier_decryption: float


def operations(budget: int, arms: int, iterations: int = 1, silent: int = 0) -> Operations:
    """Theorem 4.1: how many cryptographic operations a run takes.

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
    """The same for a run in which no server learns anything; the dealer's packets count too."""
    seals = Counts(plan).seals
    shared = plan.config.total == "shares"
    return Operations(seals, seals, 0 if shared else plan.arms, 0 if shared else 1)


def messages(rounds: Floats, budget: int, arms: int, iterations: int = 1) -> Floats:
    """Theorem 4.2: how many messages have been sent after some rounds, where a list is one message.

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
    """Theorem 4.2 for whoever exchanges messages: measured ÷ bound is 1.

    Less where the Controller draws the scores of steps that explore, since owners send nothing.
    """
    del environment
    config, rounds, arms = plan.config, plan.rounds, plan.arms
    if config.execution == "plain":
        return ()
    if config.is_silent:
        return (_silent_bound(plan),)
    iterations = len(ITERATIONS[type(config.algorithm.rule())])
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
    """The exact number of messages where no server learns anything."""
    counts, arms = Counts(plan), plan.arms

    def at(played: Floats) -> Floats:
        turns = np.maximum(played - arms, 0).astype(np.int64) * plan.iterations
        found = [
            float(counts.messages(int(turn), bool(done >= plan.rounds)).all) * bool(done >= arms)
            for turn, done in zip(turns, played, strict=True)
        ]
        return np.array(found)

    return Bound(
        theorem="docs/samba.md",
        statement=(
            f"2 K + {counts.rounds} messages a turn, what is dealt, K + 3 before the first and the "
            "total after the last: exact"
        ),
        quantity="messages",
        at=at,
    )
