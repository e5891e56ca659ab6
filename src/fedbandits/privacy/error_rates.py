"""Error rates of tests on a private release: lower bounds on ε, and the largest power.

Where encryption protects and no ε is claimed, guesses of a run's participants are counted.
"""

from __future__ import annotations

import math

import msgspec
from scipy.special import betaincinv, ndtr, ndtri

from fedbandits.privacy import gaussian


def rate_bound(errors: int, runs: int, failure: float) -> float:
    """Return an upper bound of a probability from a count, wrong with probability ``failure``."""
    if errors >= runs:
        return 1.0
    return float(betaincinv(errors + 1.0, float(runs - errors), 1.0 - failure))


def direct_bound(positives: tuple[float, float], delta: float) -> float:
    """Return ε from upper bounds of FPR and FNR, for every mechanism."""
    false_positive, false_negative = positives
    best = 0.0
    for one, other in ((false_positive, false_negative), (false_negative, false_positive)):
        hit = 1.0 - other - delta
        if hit > one > 0.0:
            best = max(best, math.log(hit / one))
    return best


def gaussian_bound(positives: tuple[float, float], delta: float) -> float:
    """Return ε from bounds on both error rates of a mechanism with a Gaussian price."""
    false_positive, false_negative = positives
    # Φ⁻¹(1 - FPR) is computed as -Φ⁻¹(FPR), without rounding of 1 - FPR.
    mu = -(float(ndtri(false_positive)) + float(ndtri(false_negative)))
    return gaussian.epsilon_of(mu, delta) if mu > 0.0 and math.isfinite(mu) else 0.0


def most_power(false_alarms: float, epsilon: float, delta: float) -> float:
    """Return the largest power of any test against an (ε, δ)-private release.

    A test decides, from a release, between two neighbouring data sets. With α for its false alarms,
    its power is at most min(e^ε α + δ, 1 - e^(-ε) (1 - α - δ)) (Kairouz, Oh & Viswanath 2015). The
    power is α if ε = δ = 0: the release then reveals nothing. ε may be infinite. α is
    ``false_alarms``, and the other parameters are ``epsilon`` and ``delta``.

    >>> round(most_power(0.05, epsilon=1.0, delta=1e-5), 3)
    0.136
    """
    other = 1.0 - math.exp(-epsilon) * max(0.0, 1.0 - false_alarms - delta)
    if false_alarms == 0.0:
        return min(1.0, delta, other)
    # e^ε overflows from ε ≈ 710 on; above 1 the other bound is smaller.
    scaled = math.exp(min(0.0, epsilon + math.log(false_alarms)))
    return min(1.0, scaled + delta, other)


def gaussian_power(false_alarms: float, mu: float) -> float:
    """Return the largest power of any test against a μ-Gaussian private release.

    The power is Φ(Φ⁻¹(α) + μ), where α is ``false_alarms`` (Dong, Roth & Su 2022). With the same ε
    and δ it is below :func:`most_power`, because more is known about the release.

    >>> round(gaussian_power(0.05, mu=0.268), 3)
    0.084
    """
    return float(ndtr(ndtri(false_alarms) + mu))


class Guess(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of right guesses about a value that the guesser does not receive."""

    who: str  # the guesser, in words
    what: str  # the guessed value, in words
    right: int  # number of right guesses
    of: int  # number of guesses
    chance: float  # share of right guesses without any attack
    stated: bool  # whether the claim lists the value as not protected

    def beats_chance(self, confidence: float) -> bool:
        """Tell whether right guesses exceed chance (Clopper & Pearson 1934)."""
        return 1.0 - rate_bound(self.of - self.right, self.of, 1.0 - confidence) > self.chance

    @property
    def share(self) -> str:
        """Right guesses, in words."""
        return f"{self.right:,} of {self.of:,} ({100 * self.right / max(1, self.of):.1f}%)"

    @property
    def text(self) -> str:
        """The guess in one line."""
        said = "the claim says so" if self.stated else f"by chance {100 * self.chance:.1f}%"
        return f"{self.who}: {self.what}: {self.share}, {said}"


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """Result of an examination of a run's participants."""

    guesses: tuple[Guess, ...]
    participants: tuple[str, ...]  # columns of the table: the participants
    table: tuple[tuple[str, ...], ...]  # rows: a datum, and the view of each participant
    excess: tuple[str, ...]  # cells that show more than the claim states, in words

    def broken(self, confidence: float) -> tuple[str, ...]:
        """Return findings that exceed the claim, all with this ``confidence``."""
        confidence_each = 1.0 - (1.0 - confidence) / max(1, len(self.guesses))
        return self.excess + tuple(
            guess.text
            for guess in self.guesses
            if not guess.stated and guess.beats_chance(confidence_each)
        )
