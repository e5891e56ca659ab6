"""Exact samples of the discrete Gaussian, many at once, from the operating system's randomness.

A candidate is k blocks of length σ and a rest, as in Karney (2016, "Sampling exactly from the
normal distribution"), here with a whole rest instead of a real one:

1. k ≥ 0 with probability proportional to exp(-k/2),
2. a rest uniform in {0, …, σ - 1}, and a sign,
3. z = ±(kσ + rest) is kept with probability exp(-x), where
   x = k (k - 1)/2 + rest (2kσ + rest)/(2σ²), but never -0.

The product of these probabilities is proportional to exp(-z²/2σ²), and about half of the candidates
are kept.

It is exact: nothing in a sample's last bits tells of what it was added to. Steps 1 and 3 ask
whether a uniform real number U is below some exp(-y). U's first 64 bits and float64 arithmetic
decide, unless they lie within 2⁻⁴⁴ of each other. Then more bits of U are drawn, and compared with
exp(-y) to as many digits as it takes. So every answer is that of real numbers, whatever float64
rounds, and 2⁻⁴⁰ of the candidates take longer.
"""

from __future__ import annotations

import decimal
import math
import secrets
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._typing import Bools, Floats, Ints

#: A sample and its square stay within what the arithmetic below holds.
LARGEST_DEVIATION = 1 << 50
#: What float64 says of U and of exp(-y) is off by less than 2⁻⁵⁰: exp(-y) y stays below 1, so a
#: relative error of y of some 2⁻⁵² moves exp(-y) by no more than that.
TOLERANCE = 2.0**-44
_WORD = np.dtype("<u8")
#: exp(-j/2), j = 1, 2, …; k is how many of them are above U. The last one is within the tolerance.
_BLOCK_ODDS = np.exp(-0.5 * np.arange(1, 64))


class _Candidates(NamedTuple):
    """Words that the steps start from: the first bits of the U of steps 1 and 3."""

    block: NDArray[np.uint64]
    rest: Ints
    negative: Bools
    keep: NDArray[np.uint64]


def discrete_gaussians(deviation: int, count: int, tolerance: float = TOLERANCE) -> list[int]:
    """Draw whole numbers z, each with probability proportional to exp(-z²/2σ²), independent.

    Their variance is σ², but for a relative error of order exp(-2π²σ²). Below a distance of
    ``tolerance`` float64 does not decide: a larger one gives the same samples from the same bits,
    later. Raises ValueError if σ, the ``deviation``, is no whole number from 1 to 2⁵⁰.
    """
    whole = isinstance(deviation, int | np.integer)
    if not (whole and 1 <= deviation <= LARGEST_DEVIATION):
        raise ValueError(f"deviation must be at least 1 and at most 2^50, and whole: {deviation}")
    deviation = int(deviation)
    samples: list[int] = []
    while len(samples) < count:
        samples += _kept(deviation, _draw(deviation, 2 * (count - len(samples)) + 8), tolerance)
    return samples[:count]


def _draw(deviation: int, count: int) -> _Candidates:
    """Draw words for so many candidates, or fewer: those whose rest is no rest are left out."""
    words = np.frombuffer(secrets.token_bytes(3 * 8 * count), _WORD).astype(np.uint64)
    block, keep, spread = words.reshape(3, count)
    mask = np.uint64((1 << (deviation - 1).bit_length()) - 1)
    rest, negative = (spread & mask).astype(np.int64), spread >> np.uint64(63) == 1
    possible = rest < deviation
    return _Candidates(block[possible], rest[possible], negative[possible], keep[possible])


def _kept(deviation: int, drawn: _Candidates, tolerance: float) -> list[int]:
    """Return the samples that candidates come to."""
    u, v = (words.astype(np.float64) * 2.0**-64 for words in (drawn.block, drawn.keep))
    k, other = (_count_above(u + shift) for shift in (tolerance, -tolerance))
    share = drawn.rest / float(deviation)
    odds = np.exp(-0.5 * (k * (k - 1) + share * (2 * k + share)))
    kept = v < odds
    size = k * deviation + drawn.rest
    for i in np.flatnonzero((k != other) | (np.abs(v - odds) <= tolerance)):
        rest = int(drawn.rest[i])
        blocks = _blocks(Uniform(int(drawn.block[i])))
        size[i] = blocks * deviation + rest
        kept[i] = Uniform(int(drawn.keep[i])).is_below_exp(
            blocks * (blocks - 1) * deviation**2 + rest * (2 * blocks * deviation + rest),
            2 * deviation**2,
        )
    kept &= (size > 0) | ~drawn.negative  # or zero would come twice as often
    samples: list[int] = np.where(drawn.negative, -size, size)[kept].tolist()
    return samples


def _count_above(u: Floats) -> Ints:
    """Count how many of exp(-1/2), exp(-1), … are above numbers."""
    return len(_BLOCK_ODDS) - np.searchsorted(_BLOCK_ODDS[::-1], u, side="right")


def _blocks(u: Uniform) -> int:
    """Count them for a real number: k with probability proportional to exp(-k/2)."""
    k = 0
    while u.is_below_exp(k + 1, 2):
        k += 1
    return k


class Uniform:
    """A real number that is uniform in [0, 1), whose bits are drawn when they are asked for.

    ``word`` holds its first 64 bits.
    """

    def __init__(self, word: int) -> None:
        self._value, self._bits = word, 64

    def is_below_exp(self, numerator: int, denominator: int) -> bool:
        """Tell whether it is below exp(-numerator/denominator), for a fraction of at least 0."""
        if numerator == 0:
            return True
        while True:
            least, most = _exp_between(numerator, denominator, self._bits)
            if self._value + 1 <= least:
                return True
            if self._value >= most:
                return False
            self._value = self._value << 64 | secrets.randbits(64)
            self._bits += 64


def _exp_between(numerator: int, denominator: int, bits: int) -> tuple[int, int]:
    """Return whole numbers on both sides of 2^bits exp(-numerator/denominator), three apart.

    A decimal context rounds its exponential correctly. With d digits the fraction, the exponential
    and the product are off by 10^(1 - d) of themselves each, and what the fraction is off by
    counts as often as it is large. The digits are enough for all of that to stay below one.
    """
    digits = math.ceil(bits * math.log10(2.0)) + len(str(numerator // denominator + 3)) + 5
    exact = decimal.Context(prec=digits, Emin=-999_999, Emax=999_999, traps=[decimal.Overflow])
    fraction = exact.divide(decimal.Decimal(-numerator), decimal.Decimal(denominator))
    scaled = exact.multiply(exact.exp(fraction), decimal.Decimal(1 << bits))
    below = math.floor(scaled)
    return below - 1, below + 2
