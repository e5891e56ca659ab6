"""Claims: promises of a SAMBA variant, and what it does not promise."""

from __future__ import annotations

import math

from fedbandits.privacy.accounting import Clear, Encrypted
from fedbandits.privacy.claims import Limit, PrivacyClaim
from fedbandits.systems.samba.config import (
    KLUCB,
    UCB,
    DecreasingEpsilonGreedy,
    EpsilonGreedy,
    Pursuit,
    Samba,
    Softmax,
    Thompson,
    UCBTuned,
)
from fedbandits.systems.samba.plan import SambaPlan

_MEANS = (
    "Comp learns the ratios of all empirical means, without names, and which steps explore. From "
    "the ratios it can follow every arm. With few arms it learns up to every arm's rewards sᵢ and "
    "pulls nᵢ: with 5 arms in 93% of steps on average, and 85.7% at least (measured, "
    "docs/samba.md)."
)
#: What Comp learns beyond the paper's Figure 7, by algorithm; see docs/samba.md and :mod:`.audit`.
COMP_LEARNS: dict[type, str] = {
    UCB: (
        "UCB scores have a public form, known up to one factor a step. From its own transcript "
        "Comp recovers every arm's rewards sᵢ and pulls nᵢ, hence the cumulative reward, in 99.9% "
        "of steps or more (measured, docs/samba.md). Only whose they are stays hidden."
    ),
    UCBTuned: (
        "UCB1-Tuned scores have a public form, as those of UCB. From its own transcript Comp "
        "recovers every arm's rewards sᵢ and pulls nᵢ, hence the cumulative reward, in 99.9% of "
        "steps or more (measured, docs/samba.md). Only whose they are stays hidden."
    ),
    KLUCB: (
        "KL-UCB scores have a public form, known up to one factor a step. With few arms Comp "
        "learns every arm's rewards sᵢ and pulls nᵢ, hence the cumulative reward: in 97% of steps "
        "on average with 10 arms (measured, docs/samba.md)."
    ),
    Thompson: (
        "Comp learns the ratios of all posterior draws of a step, without names. They narrow down "
        "the means of the arms and how often each was pulled."
    ),
    EpsilonGreedy: _MEANS,
    DecreasingEpsilonGreedy: _MEANS,
    Softmax: (
        "A common factor cancels, so Comp learns the exact probability of every arm in every step, "
        "without names. With few arms it learns every arm's rewards sᵢ and pulls nᵢ too, hence the "
        "cumulative reward: in 97% of steps on average with 10 arms (measured, docs/samba.md)."
    ),
    Pursuit: (
        "Comp learns the exact probability of every arm in every step and the ratios of all "
        "empirical means, without names. From that it can follow every arm."
    ),
}
_FOLLOWED = (
    "All parties follow the protocol, and no two of them pool what they see (honest but curious, "
    "section 2.1). Comp has the owners' key, and the customer can decrypt every sum: neither "
    "of them listens on the links of others."
)
_PLACES = (
    "The Controller gives every owner a place of its own, and every run a fresh name. Keys, masks, "
    "places and draws are derived from a secret and that name."
)
_BEAT = (
    "Owners answer on a beat. It is the same for all, and lasts at least as long as the longest "
    "pull. An answer that comes later tells who pulled."
)
_HARD = (
    "AES is a pseudo-random permutation, and deciding composite residuosity is hard. The "
    "customer's modulus is the product of two large primes (refused: a prime, a power, a factor "
    "below 65,536)."
)
_PUBLIC = (
    "These are public: who takes part, the budget N, the number of arms K, and the algorithm with "
    "its parameters."
)
_SECURE_KEYS = (
    "Keys are secret and unpredictable. In a simulation they come from the seed, which protects "
    "nobody."
)
_STREAM = Limit(
    "packets from whoever can change them",
    "The stream cipher does not authenticate packets, so a change is not found.",
)
_ZERO = Limit("a score of zero, from Comp", "No factor hides it.")
_RESULT = Limit(
    "the cumulative reward, from the customer", "It is the result, exact and without noise."
)
_TOGETHER = Limit(
    "everything, from the Controller and one owner together",
    "The owner's key opens every score and bit, and the Controller knows whose each is and gave "
    "out the masks. So they read every owner's statistics, pulls and rewards by name. So do Comp "
    "and the Controller together.",
)
_PULLS_ELSEWHERE = Limit(
    "a pull that shows elsewhere than in messages",
    "Examples: the load of an owner's machine, or whoever its arm serves.",
)
_EXPLORES = Limit(
    "which steps explore, from the Controller and the owners",
    "They share the draw that decides it.",
)
_FIRST = Limit(
    "the arm of an exploring step, from the Controller, which knows its place",
    "Comp takes the first place of an order. The Controller knows that order, and so does whoever "
    "reads what it tells owners (measured: 76 of 76 such steps, and 18% of UCB's with 100 arms, "
    "which are ties). The setting tie_breaking = random ends it.",
)
_DRAWN = Limit(
    "the arm of an exploring step, from the Controller, which draws its scores",
    "The Controller draws these scores, as section 5.4 prints it, and knows their order. So does "
    "whoever reads what it tells Comp and owners (measured: 79 of 79 such steps). The setting "
    "exploration_shortcut = empty ends it.",
)
_SHORTER = Limit(
    "which steps explore, from whoever sees the messages",
    "In such steps nothing is sealed in the scores.",
)
_TWO_OWNERS = Limit(
    "the other owner's sums, from an owner, as there are two",
    "An owner's own bits count the other's pulls, and compare its score with the other's. With "
    "UCB they give the exact sum before 99% of steps in most runs (measured, docs/samba.md).",
)
_NOTHING = (
    "From what they are sent, Comp and the Controller learn nothing about rewards, pulls and "
    "scores. What they see can be made from the budget N, the number of arms K, the algorithm and "
    "the setting arity alone (docs/samba-silent.md)."
)
_APART = (
    "All parties follow the protocol (honest but curious). Comp and the Controller do not pool "
    "what they see. Their machines, stores and backups are apart, too."
)
_DEALER = (
    "The dealer does not pool what it knows with Comp or the Controller. It neither hosts one of "
    "them nor reads what they send each other."
)
_LINKS = (
    "Every link between two parties is sealed from all others, by keys that only these two have. "
    "So neither server reads what the other one exchanges with data owners."
)
_NEVER_BACK = (
    "No party is restored to a state that is older than what it has sent. After such a loss the "
    "run ends, and a new one begins, whose name and keys are fresh."
)
_HARD_SILENT = "AES is a pseudo-random permutation."
_PUBLIC_SILENT = (
    "These are public: who takes part, the budget N, the number of arms K, the algorithm with its "
    "parameters, and all other settings."
)
_SERVERS_TOGETHER = Limit(
    "everything, from Comp and the Controller together",
    "Each has one share of every score. With both they read all scores, by name.",
)
_DEALER_TOGETHER = Limit(
    "everything, from the dealer and one server together",
    "The dealer knows the masks of both servers. With Comp or the Controller, or with a record of "
    "what these send each other, it reads all scores, by name.",
)
_OWNER_TOGETHER = Limit(
    "one owner's own scores and bits, from a server together with that owner",
    "The two learn nothing about the other owners, but for what that owner learns by itself.",
)
_DEVIATION = Limit(
    "anything, from a server that does not follow the protocol",
    "Nothing proves that shares and openings are right. A server that lies can choose the arm, and "
    "can find out how far apart scores are.",
)
_EXPLORES_SILENTLY = Limit(
    "which steps explore, from the owners",
    "They share the draw that decides it. It depends on nobody's data.",
)
_SUMS_LISTENED = Limit(
    "every owner's sum, from a customer who listens between owners and Controller",
    "Sums are encrypted for the customer. The setting total = shares ends it.",
)
_TWO_OWNERS_SILENT = Limit(
    "the other owner's sums, from an owner, as there are two",
    "The owner that is not chosen knows that the other one is. So its own bits count the other's "
    "pulls, and compare its score with the other's.",
)
_ONE_MACHINE = Limit("anything, from whoever runs the one machine", "It holds everything in clear.")
_DISTRIBUTED = Limit(
    "anything", "Both servers and every observer read scores, bits and sums in clear."
)


def claim(plan: SambaPlan) -> PrivacyClaim:
    """Return a data owner's claim towards all others: no ε, as SAMBA encrypts and adds no noise."""
    config = plan.config
    return PrivacyClaim(
        unit="one reward of one data owner",
        from_whom="everyone else" if config.execution == "secure" else "nobody",
        relation="replace-one",
        holds_for="nothing",
        epsilon=math.inf,
        epsilon_contents=math.inf,
        delta=0.0,
        mu=math.inf,
        conditional_on=_conditions(config),
        not_protected=_not_protected(config, plan.arms),
        events=(Encrypted(_ciphers(config)),) if config.execution == "secure" else (Clear(),),
        encrypted=_encrypted(config),
    )


def _encrypted(config: Samba) -> str:
    if config.execution != "secure":
        return ""
    if config.is_silent:
        return f"encrypted, no ε: {_ciphers(config)}; Comp and Controller learn nothing"
    return f"encrypted, no ε: {_ciphers(config)}; Comp sees masked, permuted scores"


def _ciphers(config: Samba) -> str:
    cipher = "AES-256-GCM" if config.cipher == "aes-gcm" else "AES-256-CTR, not authenticated"
    if config.is_silent:
        sums = "too" if config.total == "shares" else f"Paillier {config.paillier_bits} bits"
        return f"scores and bits shared by two servers, links {cipher}, sums {sums}"
    return f"scores and bits {cipher}, sums Paillier {config.paillier_bits} bits"


def _conditions(config: Samba) -> tuple[str, ...]:
    if config.execution != "secure":
        return ()
    if config.is_silent:
        hard = (_HARD_SILENT,) if config.total == "shares" else (_HARD_SILENT, _HARD)
        return (
            _NOTHING, _APART, _DEALER, _LINKS, _PLACES, _BEAT, _NEVER_BACK, *hard, _PUBLIC_SILENT,
            _SECURE_KEYS,
        )  # fmt: skip
    return (_FOLLOWED, _PLACES, _BEAT, _HARD, _PUBLIC, _SECURE_KEYS)


def _not_protected(config: Samba, arms: int) -> tuple[Limit, ...]:
    if config.execution == "plain":
        return (_ONE_MACHINE,)
    if config.execution == "distributed":
        return (_DISTRIBUTED,)
    limits: tuple[Limit | bool, ...]
    if config.is_silent:
        limits = (
            _RESULT, _SERVERS_TOGETHER, _DEALER_TOGETHER, _OWNER_TOGETHER, _PULLS_ELSEWHERE,
            _DEVIATION, config.explores and _EXPLORES_SILENTLY,
            config.total == "paillier" and _SUMS_LISTENED, arms == 2 and _TWO_OWNERS_SILENT,
        )  # fmt: skip
    else:
        shorter = config.explores and config.exploration_shortcut != "none"
        limits = (
            Limit("what Comp computes from masked scores", COMP_LEARNS[type(config.algorithm)]),
            _ZERO, _RESULT, _TOGETHER, _PULLS_ELSEWHERE, config.explores and _EXPLORES,
            shorter and _SHORTER, config.explores and config.controller_draws and _DRAWN,
            config.tie_breaking == "first" and _FIRST, arms == 2 and _TWO_OWNERS,
        )  # fmt: skip
    stream = config.cipher == "stream" and _STREAM
    return tuple(limit for limit in (*limits, stream) if isinstance(limit, Limit))
