"""The algorithms that SAMBA can run, the configuration of a variant, and named variants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from fedbandits._checked import Checked
from fedbandits.learners.kernels import index_rules
from fedbandits.systems.base import Preset

if TYPE_CHECKING:  # a configuration is read without ciphers
    from fedbandits.crypto.aead import CipherName

Share = Annotated[float, Meta(ge=0.0, le=1.0)]


class _Part(Checked, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    #: The index rule of compiled code that takes these parameters.
    RULE: ClassVar[type]

    def rule(self) -> Any:
        """Return the index rule with its parameters, for compiled code."""
        return self.RULE(*msgspec.structs.astuple(self))


class UCB(_Part, frozen=True, tag="ucb"):
    """Index μ̂ + √(scale · ln t / n).

    Parameters
    ----------
    scale
        Weight of exploration; 2 in the paper. A larger value favours arms that were pulled rarely.
    """

    RULE = index_rules.UCB
    scale: Annotated[float, Meta(ge=0.0, le=1e6)] = 2.0


class UCBTuned(_Part, frozen=True, tag="ucb-tuned"):
    """UCB1-Tuned: an index by the arm's own variance, which is less where rewards vary less.

    μ̂ + √(ln t / n · min(1/4, V)), V = μ̂ (1 - μ̂) + √(2 ln t / n). Source: Auer, Cesa-Bianchi &
    Fischer 2002, section 4.
    """

    RULE = index_rules.UCBTuned


class KLUCB(_Part, frozen=True, tag="kl-ucb"):
    """KL-UCB: the largest mean q that the rewards do not rule out: n · d(μ̂, q) ≤ ln t + c ln ln t.

    d is the Kullback-Leibler divergence of two Bernoulli laws. Source: Garivier & Cappé 2011.

    Parameters
    ----------
    c
        Weight of ln ln t. The theorem has 3. The authors recommend 0 in practice.
    """

    RULE = index_rules.KLUCB
    c: Annotated[float, Meta(ge=0.0, le=10.0)] = 0.0


class Thompson(_Part, frozen=True, tag="thompson"):
    """Thompson sampling: one draw from the Beta posterior of each arm."""

    RULE = index_rules.Thompson


class EpsilonGreedy(_Part, frozen=True, tag="epsilon-greedy"):
    """ε-greedy: with probability ε a random arm, otherwise the best mean so far.

    Parameters
    ----------
    epsilon
        ε, the probability of a random arm. It has nothing to do with privacy.
    """

    RULE = index_rules.EpsilonGreedy
    epsilon: Share = 0.1


class DecreasingEpsilonGreedy(_Part, frozen=True, tag="decreasing-epsilon-greedy"):
    """Decreasing ε-greedy: a random arm with a probability that falls, otherwise the best mean.

    The probability is min(1, (scale · f)^power), with f = K / t (``schedule = "harmonic"``) or f =
    1 / log₂ t (``"logarithmic"``). The paper does not give a function. The authors' code uses 1 /
    log₂ t.

    Parameters
    ----------
    scale
        Factor of f. With a larger value random arms are pulled for longer.
    power
        Exponent. With a larger value the probability falls faster.
    schedule
        The function f. ``harmonic``: K / t. ``logarithmic``: 1 / log₂ t.
    """

    RULE = index_rules.DecreasingEpsilonGreedy
    scale: Annotated[float, Meta(gt=0.0, le=1e9)] = 1.0
    power: Annotated[float, Meta(gt=0.0, le=10.0)] = 1.0
    schedule: Literal["harmonic", "logarithmic"] = "harmonic"

    def rule(self) -> index_rules.DecreasingEpsilonGreedy:
        return self.RULE(self.scale, self.power, self.schedule == "logarithmic")


class Softmax(_Part, frozen=True, tag="softmax"):
    """Softmax: an arm is pulled with a probability in proportion to e^(μ̂ / τ).

    Parameters
    ----------
    temperature
        τ. With a smaller value the best arm so far is pulled more often.
    """

    RULE = index_rules.Softmax
    temperature: Annotated[float, Meta(ge=0.002, le=1e6)] = 0.06


class Pursuit(_Part, frozen=True, tag="pursuit"):
    """Pursuit: probabilities of arms move towards the best mean so far at rate β.

    Parameters
    ----------
    rate
        β, the share of the remaining distance that a probability moves in one step.
    """

    RULE = index_rules.Pursuit
    rate: Annotated[float, Meta(gt=0.0, lt=1.0)] = 0.1


#: Keys that a comparison has no use for: what they must be, and why.
_FIXED: dict[str, dict[str, tuple[Any, str]]] = {
    "silent": {
        "exploration_shortcut": ("empty", "all steps look the same, so none is shortened"),
        "tie_breaking": ("random", "no two scores are equal, so no server breaks ties"),
    },
    "published": {
        "arity": (8, "Comp compares all scores at once"),
        "total": ("paillier", "only a silent run has sums shared between two servers"),
    },
}

Algorithm = (
    UCB | UCBTuned | KLUCB | Thompson | EpsilonGreedy | DecreasingEpsilonGreedy | Softmax | Pursuit
)


class Samba(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of SAMBA (Ciucanu et al. 2022): owners with one arm each, two servers, a customer.

    Parameters
    ----------
    algorithm
        The bandit algorithm: ``ucb``, ``thompson``, ``epsilon-greedy(0.1)``,
        ``decreasing-epsilon-greedy(1, 1, harmonic)``, ``softmax(0.06)``, ``pursuit(0.1)``. The
        paper does not have ``ucb-tuned`` and ``kl-ucb``, which make fewer mistakes than ``ucb``.
    execution
        How the algorithm is run. ``secure``: the protocol. ``distributed``: the same messages
        without encryption. ``plain``: one machine that has all data. All three pull the same arms
        (Theorem 2).
    cipher
        Cipher of the ``secure`` protocol: ``aes-gcm`` or ``stream``. ``stream`` is equally
        confidential and many times faster in simulation, but does not detect changes of messages.
    paillier_bits
        Length of the customer's Paillier key, in bits; the paper's key has 2048.
    exploration_shortcut
        What is sent in a step that explores. ``empty``: owners send empty packets, and Comp draws
        the arm. ``none``: owners send equal scores (section 4.1.2). ``published``: as printed in
        section 5.4. Owners send nothing. The Controller draws one number and uses it as the score
        of all arms. Comp takes the first of these equal scores, so the Controller knows the arm.
        ``published-each``: another reading of the same text. The Controller draws one number for
        each arm, and Comp takes the largest, so the Controller knows the arm.
    tie_breaking
        How Comp chooses among equal scores or empty packets. ``random``: at random, with its own
        draws. ``first``: the first in the order of the Controller, as in the paper. The Controller
        then knows the arm of every step that explores.
    comparison
        How servers find the arm. ``published``: Comp compares masked scores, as in the paper, and
        learns their ratios. ``silent``: both servers compare scores that are shared between them.
        They learn only the budget, the number of arms and the algorithm.
    arity
        Only for ``comparison = "silent"``: how many scores are compared all with all in a group, at
        most. With a larger value there are fewer rounds between the servers, and mostly more bytes.
    total
        How the customer gets the cumulative reward. ``paillier``: owners encrypt their sums, as in
        the paper. ``shares``: owners split their sums between both servers. It needs ``comparison =
        "silent"``.
    """

    algorithm: Algorithm = msgspec.field(default_factory=UCB)
    execution: Literal["secure", "distributed", "plain"] = "secure"
    cipher: Literal["aes-gcm", "stream"] = "aes-gcm"
    paillier_bits: Literal[2048, 3072, 4096] = 3072
    exploration_shortcut: Literal["empty", "none", "published", "published-each"] = "empty"
    tie_breaking: Literal["random", "first"] = "random"
    comparison: Literal["published", "silent"] = "published"
    arity: Annotated[int, Meta(ge=2, le=64)] = 8
    total: Literal["paillier", "shares"] = "paillier"

    def validate(self) -> None:
        for key, (usual, why) in _FIXED[self.comparison].items():
            if getattr(self, key) != usual:
                raise ValueError(
                    f"{key}: given {getattr(self, key)!r}, allowed with comparison = "
                    f'"{self.comparison}": {usual!r}; {why}'
                )

    @property
    def is_silent(self) -> bool:
        """True if scores are compared so that no server learns anything about them."""
        return self.comparison == "silent"

    @property
    def explores(self) -> bool:
        """True if some steps pull a random arm, independent of the scores."""
        return isinstance(self.algorithm, EpsilonGreedy | DecreasingEpsilonGreedy)

    @property
    def controller_draws(self) -> bool:
        """True if the Controller draws the scores of exploring steps, and so knows their arm."""
        return self.exploration_shortcut in ("published", "published-each")

    @property
    def encrypts_sums(self) -> bool:
        """True if owners encrypt their sums for the customer, who has a Paillier key."""
        return self.execution == "secure" and self.total == "paillier"

    @property
    def packet_cipher(self) -> CipherName:
        """The cipher that is used for scores and bits."""
        return self.cipher if self.execution == "secure" else "none"


#: Algorithms of presets: the part of a name, what a file says, and how the algorithm is called.
_ALGORITHMS = {
    "ucb": ("ucb", "UCB"),
    "ucb-tuned": ("ucb-tuned", "UCB1-Tuned"),
    "kl-ucb": ("kl-ucb", "KL-UCB"),
    "thompson": ("thompson", "Thompson sampling"),
    "egreedy": ("epsilon-greedy", "ε-greedy"),
    "egreedy-decreasing": ("decreasing-epsilon-greedy", "ε-greedy with decreasing ε"),
    "softmax": ("softmax", "Softmax"),
    "pursuit": ("pursuit", "Pursuit"),
}
_EXECUTIONS = {
    "samba": ("secure", "{} by SAMBA: scores and bits are encrypted, and servers see masked ones"),
    "distributed": (
        "distributed",
        "{} with SAMBA's messages in clear; shows the cost of encryption",
    ),
    "plain": ("plain", "{} on one machine; SAMBA must return the same"),
}

#: How the algorithm is run, and what hides it: one machine that has all data pulls the same arms.
_SHARING = (
    "execution", "cipher", "paillier_bits", "exploration_shortcut", "tie_breaking", "comparison",
    "arity", "total",
)  # fmt: skip

PRESETS: dict[str, Preset] = {
    f"{prefix}-{name}": Preset(
        description.format(title),
        {"algorithm": algorithm, "execution": execution},
        stands_for="pooled" if prefix == "plain" else "",
        sharing=_SHARING,
    )
    for prefix, (execution, description) in _EXECUTIONS.items()
    for name, (algorithm, title) in _ALGORITHMS.items()
}
PRESETS["samba-egreedy-printed"] = Preset(
    "ε-greedy by SAMBA as printed: the Controller draws the scores of exploring steps",
    {
        "algorithm": "epsilon-greedy",
        "execution": "secure",
        "exploration_shortcut": "published",
        "tie_breaking": "first",
        "paillier_bits": 2048,
    },
)

PRESETS |= {
    f"samba-silent-{name}": Preset(
        f"{title} by SAMBA with shared scores: neither server learns anything about them",
        {
            "algorithm": algorithm,
            "execution": "secure",
            "comparison": "silent",
            "total": "shares",
        },
        sharing=_SHARING,
    )
    for name, (algorithm, title) in _ALGORITHMS.items()
}
