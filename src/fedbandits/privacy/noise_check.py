"""True if every number that parties release has its planned noise.

Attacks look where a record is. Here all numbers of all parties are looked at, one by one: what is
released less what it stands for, in planned deviations, squared and added up over some runs, is
χ²-distributed with as many degrees of freedom. A number fails where that sum is too small or too
large to be; the probability that a sound mechanism has any such number is bounded (Bonferroni).

Noise that is there may be there twice. So the draws are worked out that releases are made of, and
those of any two releases must be uncorrelated: also of two parties.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import msgspec
import numpy as np
from scipy.special import betaincinv, gammaincc, gammainccinv, gammaincinv

from fedbandits._typing import Floats
from fedbandits.privacy.sizes import Tick, scaled, unheard

#: Probability with which a check of a sound mechanism fails.
ALARM = 1e-6
#: Probability with which a number is overlooked whose deviation is √2 times too small or too large.
_OVERLOOKED = 1e-3
#: Numbers that are made at once; 64 MB.
_AT_ONCE = 2**23
#: Draws of each number, at least. Missing noise shows in any number of draws.
_LEAST = 20
#: Reports of how far a check is, at least.
_REPORTS = 20
#: Numbers that fail and are named.
_NAMED = 3
#: Releases of which each is compared with each.
MOST_COMPARED = 512


class NoisyNumbers(NamedTuple):
    """Numbers that parties release, and the noise that is planned for each.

    ``noise(first, count)`` returns that of runs first … first + count - 1, (count, numbers), in
    planned deviations. Different runs are independent. What was not released is NaN.
    """

    looks_at: str  # which numbers they are, in words
    size: int  # how many
    planned: int  # how many in all; more than ``size`` where some of all releases are looked at
    noise: Callable[[int, int], Floats]
    name: Callable[[int], str]  # what the number at a place is, in words
    #: It works out the draws that some of the releases are made of: from noise (runs, numbers) to
    #: (releases, runs · size), with the numbers of a release in order. None if nobody can.
    draws: Callable[[Floats], Floats] | None = None


class NoiseFinding(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a check of noise."""

    looks_at: str  # which numbers were checked, in words
    numbers: int  # how many were checked
    planned: int  # how many there are
    runs: int  # how many draws of each
    missing: int  # how many have less noise than planned
    excessive: int  # how many have more
    unreleased: int = 0  # not released in every run; what decides about that is not noise
    shared: int = 0  # pairs of releases that have noise in common
    compared: int = 0  # how many releases were compared with each other
    named: tuple[str, ...]  # some of them, and the measured deviation as a multiple of the planned
    alarm: float  # probability with which a sound mechanism fails

    @property
    def right(self) -> bool:
        """True if every number that was checked has its planned noise."""
        return not (self.missing or self.excessive or self.unreleased or self.shared)

    @property
    def shows(self) -> float:
        """A deviation that is this multiple of the planned one, or less, is hardly overlooked."""
        low, _ = _limits(self.runs, self.alarm / (2 * max(1, self.numbers)))
        return math.sqrt(low / (2.0 * gammaincinv(0.5 * self.runs, 1.0 - _OVERLOOKED)))

    @property
    def bare(self) -> bool:
        """True if numbers are without noise of their own, or leave in some runs alone."""
        return bool(self.missing or self.unreleased or self.shared)


def runs_needed(numbers: int, alarm: float = ALARM) -> int:
    """Return after how many runs a deviation √2 times too small or large is hardly overlooked."""
    share = alarm / (2 * max(1, numbers))
    low, high = 1, 2
    while not _shows_a_root_of_two(high, share):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _shows_a_root_of_two(middle, share) else (middle, high)
    return high


def _limits(runs: int, share: float) -> tuple[float, float]:
    """Return sums of squares that are too small, and too large, each with chance ``share``."""
    return 2.0 * gammaincinv(0.5 * runs, share), 2.0 * gammainccinv(0.5 * runs, share)


def _shows_a_root_of_two(runs: int, share: float) -> bool:
    low, high = _limits(runs, share)
    # Half the variance stays above the lower limit, or twice the variance below the upper one.
    quiet = gammaincc(0.5 * runs, low)
    loud = 1.0 - gammaincc(0.5 * runs, 0.25 * high)
    return bool(max(quiet, loud) < _OVERLOOKED)


def check_noise(
    numbers: NoisyNumbers, alarm: float = ALARM, scale: float = 1.0, tick: Tick = unheard
) -> NoiseFinding:
    """Draw the noise of all numbers so often that a factor of √2 in a deviation shows.

    ``alarm`` is the probability with which the check of a sound mechanism fails, whatever the
    scale. There are ``scale`` times as many draws: with fewer, only larger differences show.
    """
    runs = scaled(runs_needed(numbers.size, alarm), scale, _LEAST)
    squares, unreleased = np.zeros(numbers.size), np.zeros(numbers.size, np.int64)
    at_once = max(1, _AT_ONCE // max(1, numbers.size))
    at_once = min(at_once, math.ceil(runs / _REPORTS))
    products, draws = np.zeros((0, 0)), 0
    for first in range(0, runs, at_once):
        drawn = numbers.noise(first, min(at_once, runs - first))
        squares += np.einsum("ri,ri->i", drawn, drawn)
        unreleased += np.isnan(drawn).sum(axis=0)
        if numbers.draws is not None:
            made = numbers.draws(np.nan_to_num(drawn))
            products = made @ made.T + (products if draws else 0.0)
            draws += made.shape[1]
        tick(min(1.0, (first + at_once) / runs))
    alarm_each = alarm if numbers.draws is None else 0.5 * alarm
    low, high = _limits(runs, alarm_each / (2 * max(1, numbers.size)))
    missing, excessive = squares <= low, squares >= high
    wrong = np.flatnonzero(missing | excessive | (unreleased > 0))
    shared = _shared(products, draws, alarm_each)
    return NoiseFinding(
        looks_at=numbers.looks_at,
        numbers=numbers.size,
        planned=numbers.planned,
        runs=runs,
        missing=int(missing.sum()),
        excessive=int(excessive.sum()),
        unreleased=int((unreleased > 0).sum()),
        shared=len(shared),
        compared=len(products),
        named=(
            *(
                f"{numbers.name(int(i))}: {_what_is_wrong(squares[i], unreleased[i], runs)}"
                for i in wrong[:_NAMED]
            ),
            *(_who_share(numbers, draws // runs, *pair) for pair in shared[:_NAMED]),
        ),
        alarm=alarm,
    )


def _shared(products: Floats, draws: int, alarm: float) -> list[tuple[int, int, float]]:
    """Return releases whose draws are correlated, with their correlation.

    The squared correlation of n independent normal draws is beta-distributed, with 1/2 and
    (n - 1)/2. What has no noise is not correlated.
    """
    if len(products) < 2:
        return []
    size = np.sqrt(np.maximum(np.diag(products), np.finfo(np.float64).tiny))
    correlation = products / np.outer(size, size)
    pairs = len(products) * (len(products) - 1) // 2
    most = math.sqrt(1.0 - betaincinv(0.5 * (draws - 1), 0.5, alarm / pairs))
    found = np.argwhere(np.triu(np.abs(correlation) >= most, 1))
    return [(int(i), int(j), float(correlation[i, j])) for i, j in found]


def _who_share(numbers: NoisyNumbers, size: int, one: int, other: int, much: float) -> str:
    """Return which two releases of ``size`` numbers have noise in common, in words."""
    return f"{numbers.name(one * size)}, and {numbers.name(other * size)}: correlation {much:.2g}"


def _what_is_wrong(square: float, unreleased: int, runs: int) -> str:
    if unreleased:
        return f"not released in {unreleased} of {runs} runs"
    return f"{math.sqrt(square / runs):.3g} × planned"
