"""The claim of a system whose parties release secure sums, from that of one mechanism."""

from __future__ import annotations

import math

import msgspec

from fedbandits.privacy import gaussian
from fedbandits.privacy.claims import Limit, PrivacyClaim, View
from fedbandits.systems.aggregation import SecureTotals

_COMPUTING = (
    "ChaCha20, HKDF with SHA-256, BLAKE2b, X25519 and AES-GCM are as hard to break as believed: a "
    "claim about sums holds against attackers who cannot break them."
)
_PART = Limit(
    "who took part in which release",
    "The controller and the helpers know the members of every sum. Members know how many there "
    "are.",
)
_LIES = "results, from one member that lies, or whose units are wrong"
_UNCHECKED = (
    "Nobody can check one release, and limits hold the sum: one member can make it anything that "
    "all together could. A sum that cannot be is refused, and all are told."
)
#: What becomes of a false sum within the limits: parties hold it to their own records, or do not.
_BELIEVED = Limit(_LIES, f"{_UNCHECKED} Any other sum is believed, whatever own records say.")
_WEIGHED = Limit(_LIES, f"{_UNCHECKED} Any other counts as far as own records agree with it.")
_INTEGRITY = Limit(
    "the sums, from the controller",
    "It can send wrong sums, the same ones to all. Members that it sends others are told so at the "
    "next sum. It learns no more by that.",
)
_STOPS = Limit(
    "sums, from a helper that spoils them",
    "False masks of a helper make a sum wrong, and one that believes nobody leaves members out. It "
    "learns no more by that.",
)
#: Who may look at sums together: never the controller and all helpers, of which there are 1 to 3.
_ALL_BUT_ONE = (
    "and either the controller or the helper",
    "the controller and any one helper",
    "the controller and any two helpers",
)
_HELPERS = Limit(
    "sums, from helpers that stay away",
    "Without an answer of every helper no sum comes. All else goes on.",
)


def claim_sums(
    claim: PrivacyClaim, totals: SecureTotals, parties: int, word: str, weighed: bool = False
) -> PrivacyClaim:
    """Return the claim where nobody sees more than sums.

    Parameters
    ----------
    claim
        The claim of one party whose releases had the noise of the whole sum. Its texts say already
        that one noise covers all parties.
    totals
        The numbers that secure sums go by.
    parties
        How many parties there are.
    word
        What they are called, in the plural.
    weighed
        Whether a sum counts only as far as a party's own records agree with it.

    Notes
    -----
    A party's share has a deviation of s/√h. The controller and all helpers together see it alone.
    So do all other parties together, if each tells its release and its noise: they are in the sum
    beside one. Both are told μ√h.
    """
    share = gaussian.epsilon_of(claim.mu * math.sqrt(totals.honest), claim.delta)
    helpers = ("the helper", "both helpers", "all three helpers")[totals.helpers - 1]
    sums = (
        f"any of the other {word}, outsiders, {_ALL_BUT_ONE[totals.helpers - 1]}, also together, "
        f"while at most {totals.colluding} of the {word} tell others their noise"
    )
    views = (
        View(sums, claim.epsilon_contents),
        View(f"the controller and {helpers} together, who see single releases", share),
        View(f"all other {word} together, if each of them tells its noise", share),
        View("whoever sees times and sizes of messages, which depend on no record", 0.0),
    )
    conditions = (
        f"The controller and {helpers} are not one hand. The authority could admit keys of its own "
        "for helpers: members compare them (fedbandits party fingerprints).",
        f"A sum has the releases of at least {totals.least_parties} of the {parties} {word}. At "
        f"most {totals.colluding} of all {word} are faulty or tell others their noise, during the "
        "whole life of the federation. These numbers are in the terms.",
        _COMPUTING,
    )
    return msgspec.structs.replace(
        claim,
        from_whom=sums,
        views=views,
        conditional_on=(*claim.conditional_on, *conditions),
        not_protected=(
            *claim.not_protected,
            _PART,
            _WEIGHED if weighed else _BELIEVED,
            _INTEGRITY,
            _HELPERS,
            _STOPS,
        ),
        one_noise=True,
    )
