"""Error rates of tests on a private release: lower bounds on ε, and the most power.

Where encryption protects and no ε is claimed, guesses of a run's participants are counted.
"""

from __future__ import annotations

import math

import msgspec
from scipy.special import betaincinv, ndtr, ndtri

from fedbandits.privacy import gaussian


def rate_bound(errors: int, runs: int, failure: float) -> float:
    """Bound a probability from above, from a count; that fails with probability ``failure``."""
    if errors >= runs:
        return 1.0
    return float(betaincinv(errors + 1.0, float(runs - errors), 1.0 - failure))


def direct_bound(positives: tuple[float, float], delta: float) -> float:
    """Return ε from upper bounds of FPR and FNR, whatever the mechanism."""
    false_positive, false_negative = positives
    best = 0.0
    for one, other in ((false_positive, false_negative), (false_negative, false_positive)):
        hit = 1.0 - other - delta
        if hit > one > 0.0:
            best = max(best, math.log(hit / one))
    return best


def gaussian_bound(positives: tuple[float, float], delta: float) -> float:
    """Return ε from bounds on both error rates of a mechanism that is priced as Gaussian."""
    false_positive, false_negative = positives
    # Φ⁻¹(1 - FPR), which rounding would spoil where FPR is small.
    mu = -(float(ndtri(false_positive)) + float(ndtri(false_negative)))
    return gaussian.epsilon_of(mu, delta) if mu > 0.0 and math.isfinite(mu) else 0.0


def most_power(false_alarms: float, epsilon: float, delta: float) -> float:
    """Return the most power that any test has against an (ε, δ)-private release.

    A test decides from what was released which of two neighbouring data sets it came from. With α
    for its false alarms, its power is at most min(e^ε α + δ, 1 - e^(-ε) (1 - α - δ)) (Kairouz, Oh
    & Viswanath 2015). It is α if ε = δ = 0: the release then tells nothing. ε may be infinite.

    >>> round(most_power(0.05, epsilon=1.0, delta=1e-5), 3)
    0.136
    """
    other = 1.0 - math.exp(-epsilon) * max(0.0, 1.0 - false_alarms - delta)
    if false_alarms == 0.0:
        return min(1.0, delta, other)
    # e^ε alone overflows from ε ≈ 710 on; above 1 the other bound is the smaller one.
    scaled = math.exp(min(0.0, epsilon + math.log(false_alarms)))
    return min(1.0, scaled + delta, other)


def gaussian_power(false_alarms: float, mu: float) -> float:
    """Return the most power that any test has against a release that is μ-Gaussian private.

    It is Φ(Φ⁻¹(α) + μ), where α is ``false_alarms`` (Dong, Roth & Su 2022). With the same ε and δ
    it is less than :func:`most_power` allows, because more is known about the release.

    >>> round(gaussian_power(0.05, mu=0.268), 3)
    0.084
    """
    return float(ndtr(ndtri(false_alarms) + mu))


class Guess(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of right guesses about a value that the guesser was not told."""

    who: str  # who guessed, in words
    what: str  # what was guessed, in words
    right: int  # how many guesses were right
    of: int  # how many guesses there were
    chance: float  # share of right guesses that needs no attack
    stated: bool  # whether the claim says that this is not protected

    def beats_chance(self, confidence: float) -> bool:
        """Tell whether right guesses are more than chance makes (Clopper & Pearson 1934)."""
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
    participants: tuple[str, ...]  # columns of the table: who looked
    table: tuple[tuple[str, ...], ...]  # rows: a datum, and how each participant sees it
    excess: tuple[str, ...]  # cells that show more than the claim says, in words

    def broken(self, confidence: float) -> tuple[str, ...]:
        """Return findings that show more than the claim says, all with this confidence."""
        each = 1.0 - (1.0 - confidence) / max(1, len(self.guesses))
        return self.excess + tuple(
            guess.text for guess in self.guesses if not guess.stated and guess.beats_chance(each)
        )
