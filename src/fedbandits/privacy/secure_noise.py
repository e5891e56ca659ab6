"""Noise for real parties: cryptographically secure, exact on a grid, each number used once.

Simulated noise comes from a seed, in floating point. Anybody with the seed can remove the noise,
and the last bits of a floating-point sum reveal its terms (Mironov 2012). A secure source *covers*
values instead. The source rounds them to a grid of 2⁻⁴⁰ standard deviations, and adds whole numbers
of grid steps from the discrete Gaussian. Releases are computed only from covered values, so later
arithmetic cannot reveal anything.

Covered values are charged as if their noise were a continuous Gaussian on the grid's scale. By a
Taylor expansion, the total variation between a discrete Gaussian of σ steps and a rounded
continuous one is ∫|f″|/48 < 1/(49 σ²). Here this is 2⁻⁸⁵ for each number. It would take 10²⁰
numbers to change the sixth digit of δ = 10⁻⁵ at ε = 1. This argument fails where e^ε is large. A
second argument, number by number, holds for every ε (:mod:`.shares`): discreteness adds less than
10⁻⁸ to ε, with a million numbers and μ = 10.

The time to draw an exact sample reveals something about the sample (Jin et al. 2022, "Are we there
yet? Timing and floating-point attacks on differential privacy systems"). So noise is drawn in
advance (:meth:`SecureNoise.draw_ahead`). Covering a value then takes one addition, which takes the
same time for all values.

There is no seed. Noise that was drawn in advance is only in memory. It is never shown, copied,
pickled or inherited by a forked process. Each number is used for one value.

**Exact samples of the discrete Gaussian**, many at once, from the operating system's randomness. A
candidate is k blocks of length σ and a rest, as in Karney (2016, "Sampling exactly from the normal
distribution"), here with a whole rest instead of a real rest:

1. k ≥ 0 with probability proportional to exp(-k/2),
2. a rest uniform in {0, …, σ - 1}, and a sign,
3. z = ±(kσ + rest) is kept with probability exp(-x), where
   x = k (k - 1)/2 + rest (2kσ + rest)/(2σ²), but never -0.

The product of these probabilities is proportional to exp(-z²/2σ²), and about half of the candidates
are kept.

The samples are exact: a sample's last bits reveal nothing of the covered value. Steps 1 and 3 ask
whether a uniform real number U is below exp(-y). U's first 64 bits and float64 arithmetic decide,
unless U and exp(-y) lie within 2⁻⁴⁴ of each other. Then more bits of U are drawn, and compared with
exp(-y) to as many digits as necessary. So every answer is that of real numbers, in spite of
float64's rounding, and 2⁻⁴⁰ of the candidates take longer.
"""

from __future__ import annotations

import decimal
import math
import os
import secrets
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._typing import Bools, Floats, Ints
from fedbandits.errors import BoundExceededError, MissingExtraError, NoiseError

#: Names for users of the package; all other names are internal.
__all__ = ["SecureNoise", "opendp_sampler", "own_sampler"]

#: A grid step is 2⁻⁴⁰ deviations of the noise.
GRID_BITS = 40
_DEVIATION = 1 << GRID_BITS
#: A function that draws a number of independent discrete Gaussian samples with deviation 2⁴⁰.
Sampler = Callable[[int], Sequence[int]]


#: Number of forks between the first process and this process.
_forks = [0]


def _count_fork() -> None:
    _forks[0] += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


class SecureNoise:
    """A source of secure noise with standard deviation 1.

    Parameters
    ----------
    sampler
        The sampler. By default the exact one of this package; :func:`opendp_sampler` is another.
    """

    __slots__ = ("_ahead", "_drawn_after", "_sampler", "_whole")

    def __init__(self, sampler: Sampler | None = None) -> None:
        self._sampler = own_sampler if sampler is None else sampler
        # Popping from a deque is atomic: two threads never get the same number.
        self._ahead: deque[float] = deque()
        #: Whole noise drawn ahead, by its deviation.
        self._whole: defaultdict[int, deque[float]] = defaultdict(deque)
        self._drawn_after = _forks[0]

    def draw_ahead(self, count: int) -> None:
        """Draw noise ahead until noise for ``count`` values is ready.

        The numbers are only in memory. If the process ends, they are lost, and the next process
        draws new numbers.

        Raises
        ------
        NoiseError
            If the sampler returns a wrong number of samples.
        """
        self._drop_what_a_parent_drew()
        missing = count - len(self._ahead)
        if missing > 0:
            self._ahead.extend(self._drawn(missing))

    def cover(self, step: int, values: Floats) -> Floats:
        """Round values to the grid, and add noise that is used only for this call.

        Noise that was not drawn in advance is drawn now. The time of the draw reveals something
        about the noise.

        Parameters
        ----------
        step : int
            Number of the release, unused here. A ledger stores the draw under this number
            (:mod:`fedbandits.privacy.ledger`).
        values : float64, any shape
            The values, in standard deviations of the noise. Values of any size are accepted,
            because a refusal that depends on data would reveal data.

        Returns
        -------
        float64, of the same shape
            The sums. They are exact whole numbers of grid steps, which are then rounded to float64.

        Raises
        ------
        BoundExceededError
            If a value is not a finite number. No noise is used up then.
        NoiseError
            If the sampler returns a wrong number of samples.
        """
        del step
        steps = np.rint(values * _DEVIATION)
        if not np.isfinite(steps).all():
            raise BoundExceededError("a value to be released is not a finite number")
        # Both arrays are whole numbers that float64 holds, so their sum is the exact sum, rounded
        # once. The time of this addition does not depend on the values, unlike that of Python's
        # integers.
        noise = np.array(self._taken(steps.size)).reshape(steps.shape)
        covered: Floats = (steps + noise) / _DEVIATION
        return covered

    def draw_whole_ahead(self, deviations: Floats) -> None:
        """Draw whole noise of these deviations ahead, until it is ready; see :meth:`draw_ahead`.

        ``deviations`` (size,) are whole numbers, one for each value of the next release.
        """
        self._drop_what_a_parent_drew()
        for deviation, count in zip(*np.unique(deviations, return_counts=True), strict=True):
            kept = self._whole[int(deviation)]
            missing = int(count) - len(kept)
            if missing > 0:
                kept.extend(map(float, discrete_gaussians(int(deviation), missing)))

    def cover_whole(self, step: int, values: Floats, deviations: Floats) -> Floats:
        """Add whole noise to whole numbers; the noise is used only for this call.

        Parameters
        ----------
        step : int
            Number of the release, unused here.
        values : (size,) float64
            Whole numbers below 2⁵².
        deviations : (size,) float64
            Deviations of the discrete Gaussian noise, whole numbers from 1 to 2⁵⁰.

        Returns
        -------
        (size,) float64
            The exact sums.

        Raises
        ------
        BoundExceededError
            If a value is not a finite number. No noise is used up then.
        """
        del step
        if not np.isfinite(values).all():
            raise BoundExceededError("a value to be released is not a finite number")
        self._drop_what_a_parent_drew()
        noise = np.array([self._taken_whole(int(deviation)) for deviation in deviations])
        covered: Floats = values + noise
        return covered

    def _taken_whole(self, deviation: int) -> float:
        """Take one number of this deviation from the stock, or draw one."""
        try:
            return self._whole[deviation].popleft()
        except IndexError:
            return float(discrete_gaussians(deviation, 1)[0])

    def _taken(self, count: int) -> list[float]:
        """Take numbers from the stock, and draw missing ones."""
        self._drop_what_a_parent_drew()
        taken: list[float] = []
        try:
            while len(taken) < count:
                taken.append(self._ahead.popleft())
        except IndexError:
            taken += self._drawn(count - len(taken))
        return taken

    def _drawn(self, count: int) -> list[float]:
        # A sample is within 2⁵³ except with a chance of e^(-2²⁵): float64 holds it.
        drawn = [float(sample) for sample in self._sampler(count)]
        if len(drawn) != count:
            raise NoiseError(f"a sampler was asked for {count} samples but returned {len(drawn)}")
        return drawn

    def _drop_what_a_parent_drew(self) -> None:
        """Drop, in a forked process, the noise that was drawn by its parent."""
        if self._drawn_after != _forks[0]:
            self._ahead.clear()
            self._whole.clear()
            self._drawn_after = _forks[0]

    def __repr__(self) -> str:
        return "SecureNoise()"

    def __reduce__(self) -> tuple[Any, ...]:
        """Make a copy without the drawn noise."""
        return SecureNoise, (self._sampler,)


def own_sampler(count: int) -> Sequence[int]:
    """Draw ``count`` samples with :func:`.discrete_gaussians`."""
    return discrete_gaussians(_DEVIATION, count)


def opendp_sampler() -> Sampler:
    """Return the sampler of OpenDP's discrete Gaussian, which needs the extra ``noise``.

    Raises
    ------
    MissingExtraError
        If the extra is not installed.
    """
    try:
        import opendp.prelude as opendp
    except ImportError as error:
        raise MissingExtraError(
            "OpenDP is not installed; install the extra 'noise' as docs/install.md says"
        ) from error
    opendp.enable_features("contrib")
    domain = opendp.vector_domain(opendp.atom_domain(T=opendp.i64))
    gaussian = opendp.m.then_gaussian(scale=float(_DEVIATION))
    measurement = (domain, opendp.l2_distance(T=float)) >> gaussian

    def sample(count: int) -> Sequence[int]:
        samples: Sequence[int] = measurement([0] * count)
        return samples

    return sample


# ---------------------------------------------------------------- the discrete Gaussian


#: Largest deviation: a sample and its square stay within the range of the arithmetic below.
LARGEST_DEVIATION = 1 << 50
#: Bound on the errors of U and of exp(-y) in float64. Both errors are below 2⁻⁵⁰: exp(-y) y stays
#: below 1, so a relative error of y of some 2⁻⁵² moves exp(-y) by no more than 2⁻⁵².
TOLERANCE = 2.0**-44
_WORD = np.dtype("<u8")
#: exp(-j/2), j = 1, 2, …; k is the number of entries above U. The last entry is within the
#: tolerance.
_BLOCK_ODDS = np.exp(-0.5 * np.arange(1, 64))


class _Candidates(NamedTuple):
    """Random words of candidates: first bits of the U of steps 1 and 3, rests and signs."""

    block: NDArray[np.uint64]
    rest: Ints
    negative: Bools
    keep: NDArray[np.uint64]


def discrete_gaussians(deviation: int, count: int, tolerance: float = TOLERANCE) -> list[int]:
    """Draw whole numbers z, each with probability proportional to exp(-z²/2σ²), independent.

    Their variance is σ², up to a relative error of order exp(-2π²σ²). Where numbers differ by less
    than ``tolerance``, float64 does not decide: a larger tolerance gives the same samples from the
    same bits, but more slowly. Raises ValueError if σ, the ``deviation``, is no whole number from 1
    to 2⁵⁰.
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
    """Draw words for ``count`` candidates; candidates with a rest of σ or more are left out."""
    words = np.frombuffer(secrets.token_bytes(3 * 8 * count), _WORD).astype(np.uint64)
    block, keep, spread = words.reshape(3, count)
    mask = np.uint64((1 << (deviation - 1).bit_length()) - 1)
    rest, negative = (spread & mask).astype(np.int64), spread >> np.uint64(63) == 1
    possible = rest < deviation
    return _Candidates(block[possible], rest[possible], negative[possible], keep[possible])


def _kept(deviation: int, drawn: _Candidates, tolerance: float) -> list[int]:
    """Return the samples of the accepted candidates."""
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
    kept &= (size > 0) | ~drawn.negative  # else zero would come twice as often
    samples: list[int] = np.where(drawn.negative, -size, size)[kept].tolist()
    return samples


def _count_above(u: Floats) -> Ints:
    """Count, for each number, the values of exp(-1/2), exp(-1), … above it."""
    return len(_BLOCK_ODDS) - np.searchsorted(_BLOCK_ODDS[::-1], u, side="right")


def _blocks(u: Uniform) -> int:
    """Return k for a real number U: k has probability proportional to exp(-k/2)."""
    k = 0
    while u.is_below_exp(k + 1, 2):
        k += 1
    return k


class Uniform:
    """A real number, uniform in [0, 1), whose bits are drawn on demand.

    ``word`` holds its first 64 bits.
    """

    def __init__(self, word: int) -> None:
        self._value, self._bits = word, 64

    def is_below_exp(self, numerator: int, denominator: int) -> bool:
        """Tell whether the number is below exp(-numerator/denominator), for a fraction ≥ 0."""
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
    and the product have a relative error of 10^(1 - d) each, and the error of the fraction counts
    as many times as the fraction is large. The digits are enough to keep the sum below one.
    """
    digits = math.ceil(bits * math.log10(2.0)) + len(str(numerator // denominator + 3)) + 5
    exact = decimal.Context(prec=digits, Emin=-999_999, Emax=999_999, traps=[decimal.Overflow])
    fraction = exact.divide(decimal.Decimal(-numerator), decimal.Decimal(denominator))
    scaled = exact.multiply(exact.exp(fraction), decimal.Decimal(1 << bits))
    below = math.floor(scaled)
    return below - 1, below + 2
