"""The algorithms that SAMBA can run, and the configuration of a variant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta

from fedbandits._checked import Checked
from fedbandits.learners import index_rules

if TYPE_CHECKING:  # a configuration is read without ciphers
    from fedbandits.crypto.aead import CipherName

Share = Annotated[float, Meta(ge=0.0, le=1.0)]


class _Part(Checked, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    def rule(self) -> Any:
        """The index rule with its parameters, for compiled code."""
        raise NotImplementedError


class UCB(_Part, frozen=True, tag="ucb"):
    """μ̂ + √(scale · ln t / n); the paper's scale is 2.

    Parameters
    ----------
    scale
        How much an arm gains from having been pulled rarely; 2 in the paper.
    """

    scale: Annotated[float, Meta(ge=0.0, le=1e6)] = 2.0

    def rule(self) -> index_rules.UCB:
        return index_rules.UCB(self.scale)


class Thompson(_Part, frozen=True, tag="thompson"):
    """A draw from each arm's Beta posterior."""

    def rule(self) -> index_rules.Thompson:
        return index_rules.Thompson()


class EpsilonGreedy(_Part, frozen=True, tag="epsilon-greedy"):
    """The best mean so far, or with probability ε a random arm.

    Parameters
    ----------
    epsilon
        ε, the probability of a random arm. It has nothing to do with privacy.
    """

    epsilon: Share = 0.1

    def rule(self) -> index_rules.EpsilonGreedy:
        return index_rules.EpsilonGreedy(self.epsilon)


class DecreasingEpsilonGreedy(_Part, frozen=True, tag="decreasing-epsilon-greedy"):
    """The best mean so far, or with a probability that falls a random arm.

    It is min(1, (scale · f)^power), with f = K / t (``schedule = "harmonic"``) or f = 1 / log₂ t
    (``"logarithmic"``). The paper names no function; the authors' code has 1 / log₂ t.

    Parameters
    ----------
    scale
        Multiplies f: the larger it is, the longer random arms are pulled.
    power
        Exponent: the larger it is, the faster the probability falls.
    schedule
        Which f: ``harmonic``, K / t, or ``logarithmic``, 1 / log₂ t.
    """

    scale: Annotated[float, Meta(gt=0.0, le=1e9)] = 1.0
    power: Annotated[float, Meta(gt=0.0, le=10.0)] = 1.0
    schedule: Literal["harmonic", "logarithmic"] = "harmonic"

    def rule(self) -> index_rules.DecreasingEpsilonGreedy:
        logarithmic = self.schedule == "logarithmic"
        return index_rules.DecreasingEpsilonGreedy(self.scale, self.power, logarithmic)


class Softmax(_Part, frozen=True, tag="softmax"):
    """In proportion to e^(μ̂ / τ).

    Parameters
    ----------
    temperature
        τ: the smaller it is, the more often the best arm so far is pulled.
    """

    temperature: Annotated[float, Meta(ge=0.002, le=1e6)] = 0.06

    def rule(self) -> index_rules.Softmax:
        return index_rules.Softmax(self.temperature)


class Pursuit(_Part, frozen=True, tag="pursuit"):
    """In proportion to probabilities that move towards the best mean so far at rate β.

    Parameters
    ----------
    rate
        β, the share of the way that a probability moves in one step.
    """

    rate: Annotated[float, Meta(gt=0.0, lt=1.0)] = 0.1

    def rule(self) -> index_rules.Pursuit:
        return index_rules.Pursuit(self.rate)


Algorithm = UCB | Thompson | EpsilonGreedy | DecreasingEpsilonGreedy | Softmax | Pursuit


class Samba(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """SAMBA (Ciucanu et al. 2022): one arm a data owner, two servers, a customer with a budget.

    Parameters
    ----------
    algorithm
        ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``,
        ``decreasing-epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``.
    execution
        ``secure``: the protocol. ``distributed``: the same messages in clear. ``plain``: one
        machine that holds everything. All three pull the same arms (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm``, or ``stream``, which hides as much, is many
        times faster in simulation, and notices no tampering.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: an owner's packet is empty, Comp chooses by
        draws of its own. ``none``: owners send equal scores (section 4.1.2). ``published``: as
        section 5.4 prints it: owners send nothing, the Controller draws one number as the score of
        all arms, Comp takes the first of equals, whose arm the Controller knows.
        ``published-each``: the same, reading "a random number as score for all arms" as one for
        each arm; Comp takes the largest, whose arm the Controller knows.
    tie_breaking
        How Comp chooses among equal scores, and where owners' packets are empty. ``random``:
        uniformly, by draws of its own. ``first``: the first place of the Controller's order, as in
        the paper, from which the Controller knows the arm of every step that explores.
    """

    algorithm: Algorithm = msgspec.field(default_factory=UCB)
    execution: Literal["secure", "distributed", "plain"] = "secure"
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm"
    paillier_bits: Literal[2048, 3072, 4096] = 3072
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty"
    tie_breaking: Literal["random", "first"] = "random"

    @property
    def explores(self) -> bool:
        """Whether some steps play a random arm whatever the scores."""
        return isinstance(self.algorithm, EpsilonGreedy | DecreasingEpsilonGreedy)

    @property
    def controller_draws(self) -> bool:
        """Whether the Controller draws the scores of steps that explore, and so knows their arm."""
        return self.exploration_shortcut in ("published", "published-each")

    @property
    def packet_cipher(self) -> CipherName:
        """The cipher of scores and bits, as it is really used."""
        return self.cipher if self.execution == "secure" else "none"
