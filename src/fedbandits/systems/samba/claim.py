"""What a SAMBA variant promises, and what it does not."""

from __future__ import annotations

import math

from fedbandits.privacy.accounting import Clear, Encrypted
from fedbandits.privacy.claims import Limit, PrivacyClaim
from fedbandits.systems.samba.config import (
    UCB,
    DecreasingEpsilonGreedy,
    EpsilonGreedy,
    Pursuit,
    Samba,
    Softmax,
    Thompson,
)
from fedbandits.systems.samba.plan import SambaPlan

_MEANS = (
    "Comp learns the ratios of all empirical means, without names, and which steps explore. From "
    "the ratios it can follow every arm. With few arms it learns up to every arm's rewards sᵢ and "
    "pulls nᵢ: in 93% of steps with 5 arms (measured, docs/samba.md)."
)
#: What Comp learns beyond the paper's Figure 7, by algorithm; see docs/samba.md and :mod:`.audit`.
COMP_LEARNS: dict[type, str] = {
    UCB: (
        "UCB scores have a public form, known up to one factor a step. From its own transcript "
        "Comp recovers every arm's rewards sᵢ and pulls nᵢ, hence the cumulative reward, in 99.9% "
        "of steps or more (measured, docs/samba.md). Only whose they are stays hidden."
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
        "cumulative reward: in 97% of steps with 10 arms (measured, docs/samba.md)."
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
_ONE_MACHINE = Limit("anything, from whoever runs the one machine", "It holds everything in clear.")
_DISTRIBUTED = Limit(
    "anything", "Both servers and every observer read scores, bits and sums in clear."
)


def claim(plan: SambaPlan) -> PrivacyClaim:
    """The claim of a data owner towards everyone else. No ε: SAMBA encrypts, it adds no noise."""
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
    return f"encrypted, no ε: {_ciphers(config)}; Comp sees masked, permuted scores"


def _ciphers(config: Samba) -> str:
    cipher = "AES-256-GCM" if config.cipher == "aes-gcm" else "AES-256-CTR, not authenticated"
    return f"scores and bits {cipher}, sums Paillier {config.paillier_bits} bits"


def _conditions(config: Samba) -> tuple[str, ...]:
    if config.execution != "secure":
        return ()
    return (_FOLLOWED, _PLACES, _BEAT, _HARD, _PUBLIC, _SECURE_KEYS)


def _not_protected(config: Samba, arms: int) -> tuple[Limit, ...]:
    if config.execution == "plain":
        return (_ONE_MACHINE,)
    if config.execution == "distributed":
        return (_DISTRIBUTED,)
    comp = Limit("what Comp computes from masked scores", COMP_LEARNS[type(config.algorithm)])
    limits = [comp, _ZERO, _RESULT, _TOGETHER, _PULLS_ELSEWHERE]
    if config.explores:
        limits.append(_EXPLORES)
        if config.exploration_shortcut != "none":
            limits.append(_SHORTER)
        if config.controller_draws:
            limits.append(_DRAWN)
    if config.tie_breaking == "first":
        limits.append(_FIRST)
    if arms == 2:
        limits.append(_TWO_OWNERS)
    if config.cipher == "stream":
        limits.append(_STREAM)
    return tuple(limits)
