"""Checks that every released number has its planned noise: exactly, in one run.

All mechanisms here are linear in their noise. Sources of noise are injected, so a check can keep
the draws ξ of a source. Then released - exact must be L ξ, to rounding, for one matrix L:

* L is that of the stated covariance: its Cholesky factor, or the factor that a system states. Every
  number of every party is compared. A number with 1% less noise shows in one run.
* If numbers differ, L is fitted by least squares, over as many runs as the fit needs. Noise is
  sound
  too if the fit leaves no residual, and L Lᵀ is the stated covariance.
* No draw may be given twice: not for two releases, and not for two parties.

So the noise has the planned distribution if draws are independent standard normals. Draws are
tested by χ²: all together, the draws of each number, and the draws of each step.

A party is given its source, so nothing of the party changes when the source keeps its draws
(:func:`kept`). Draws are kept in deviations: a sound source gives independent standard normals.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec
import numpy as np
from scipy.special import gammainccinv, gammaincinv

from fedbandits._typing import Bools, Floats, Ints
from fedbandits.privacy.auditing import Tick, scaled, unheard

#: Probability with which draws of a sound source fail.
ALARM = 1e-6
#: Probability with which the check overlooks a source that is as far off as a finding states.
_OVERLOOKED = 1e-3
#: Smaller differences are due to floating point, and to the grid of secure noise.
ROUNDING = 1e-6
#: Number of runs for the comparison number by number, in a check of the usual size.
_RUNS = 3
#: Columns, as a multiple of the draws, for a fit of weights, and the largest number of runs.
_COLUMNS, _MOST_RUNS = 1.5, 200
#: Number of draws from the source itself, for each run.
_SOURCE_DRAWS = 2**13
#: Largest number of named failures.
_NAMED = 3
#: Number of equal draws that chance may make: draws of a sound source are on a fine grid.
_CHANCE = 1


class NoisyRun(NamedTuple):
    """The noise of one run, and the draws of its sources."""

    #: (parties, rows, columns): noise in planned deviations, with NaN for unreleased numbers. A row
    #: is a release, or a kind of number in a release; columns are alike, and independent.
    noise: Floats
    #: (parties, draws, columns): in the order of requests, with NaN where a party made fewer
    #: requests than others.
    draws: Floats
    again: int = 0  # number of repeated requests for a step

    @property
    def given(self) -> Floats:
        """The draws, with zeros for missing draws."""
        return np.nan_to_num(self.draws)


class NoisyNumbers(NamedTuple):
    """Released numbers of parties, and the stated noise of each number."""

    looks_at: str  # description of the numbers
    shape: tuple[int, int, int]  # (parties, rows, columns)
    planned: int  # number of planned numbers; larger than the shape where only some are examined
    play: Callable[
        [int], NoisyRun
    ]  # plays a run by its number; runs of different numbers are independent
    name: Callable[[int, int, int], str]  # name of a number, by its party, row and column
    #: (rows, rows): stated covariance of the noise in one column, in planned deviations, so with
    #: ones on the diagonal. None if only deviations are stated.
    covariance: Floats | None = None
    #: (rows, draws): stated weights of the draws; by default the covariance's Cholesky factor.
    weights: Floats | None = None
    kinds: int = 1  # rows of a release, and draws of a step
    #: Largest effect of rounding to whole numbers, in planned deviations.
    rounding: float = 0.0
    #: Draws a number of values from the source itself, which are in no release.
    source: Callable[[int], Floats] | None = None


class NoiseFinding(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a check of noise."""

    looks_at: str  # description of the checked numbers
    numbers: int  # number of checked numbers
    planned: int  # number of planned numbers
    runs: int  # number of runs
    missing: int  # numbers with less noise than planned
    excessive: int  # numbers with more noise than planned
    foreign: int = 0  # numbers with noise that is not made of their draws
    unreleased: int = 0  # numbers that only some runs release: data decide about their release
    shared: int = 0  # pairs of releases whose noise is correlated otherwise than stated
    again: int = 0  # repeated draws
    draws: int = 0  # number of draws that were tested for deviation 1
    uneven: int = 0  # groups of draws that fail: all draws, those of a number, or those of a step
    deployed: bool = False  # whether the source is that of a deployment
    named: tuple[str, ...]  # some failures, and how much noise there is
    alarm: float  # probability with which draws of a sound source fail

    @property
    def right(self) -> bool:
        """True if every number that was checked has its planned noise."""
        return not (self.excessive or self.bare)

    @property
    def bare(self) -> bool:
        """True if noise is missing or shared, or numbers leave in some runs only."""
        return bool(
            self.missing or self.foreign or self.unreleased or self.shared or self.again
            or self.uneven
        )  # fmt: skip

    @property
    def shows(self) -> float:
        """The largest deviation below 1 of a source that the check hardly overlooks."""
        low, _ = _limits(np.array(self.draws), self.alarm / 6.0)
        return math.sqrt(
            float(low) / (2.0 * gammaincinv(0.5 * max(1, self.draws), 1.0 - _OVERLOOKED))
        )


def check_noise(
    numbers: NoisyNumbers, alarm: float = ALARM, scale: float = 1.0, tick: Tick = unheard
) -> NoiseFinding:
    """Compare the noise of all numbers with the stated noise.

    ``alarm`` is the probability with which draws of a sound source fail; all other tests are exact.
    The number of runs is ``scale`` times the usual number, but at least 1.
    """
    wanted, runs = scaled(_RUNS, scale, 1), list[NoisyRun]()
    for run in range(wanted):
        runs.append(numbers.play(run))
        tick((run + 1) / (wanted + 1))
    wrong, shared = _compared(numbers, runs), list[tuple[int, int, float]]()
    if wrong.any.any() and not wrong.unreleased.any():
        runs = _enough(numbers, runs)
        fitted = _fitted(numbers, runs)
        shared = fitted.shared
        wrong = _compared(numbers, runs) if fitted.wrong else _without_noise(wrong)
    draws = _draws_of(numbers, runs, wanted)
    again = max(sum(run.again for run in runs), _equal(draws.every))
    uneven = _uneven(draws, alarm)
    tick(1.0)
    named = (
        *(_named(numbers, wrong, place) for place in np.argwhere(wrong.any)[:_NAMED].tolist()),
        *(_pair(numbers, *pair) for pair in shared[:_NAMED]),
        *((f"{again:,} draws were given again",) if again else ()),
        *uneven[:_NAMED],
    )
    parties, rows, columns = numbers.shape
    return NoiseFinding(
        looks_at=numbers.looks_at, numbers=parties * rows * columns, planned=numbers.planned,
        runs=len(runs), missing=int(wrong.missing.sum()), excessive=int(wrong.excessive.sum()),
        foreign=int(wrong.foreign.sum()), unreleased=int(wrong.unreleased.sum()),
        shared=len(shared), again=again, draws=draws.every.size, uneven=len(uneven),
        deployed=numbers.source is not None, named=named[:_NAMED], alarm=alarm,
    )  # fmt: skip


# ---------------------------------------------------------------- number by number


class _Wrong(NamedTuple):
    """Numbers whose noise differs from the stated noise, (parties, rows, columns) each."""

    missing: Bools
    excessive: Bools
    foreign: Bools
    unreleased: Bools
    ratio: Floats  # noise, as a multiple of the stated noise

    @property
    def any(self) -> Bools:
        return self.missing | self.excessive | self.foreign | self.unreleased


def _without_noise(wrong: _Wrong) -> _Wrong:
    """Keep only numbers without any noise: no weights explain these."""
    nothing, none = np.zeros_like(wrong.missing), wrong.missing & (wrong.ratio == 0.0)
    return wrong._replace(missing=none, excessive=nothing, foreign=nothing, unreleased=nothing)


def _compared(numbers: NoisyNumbers, runs: list[NoisyRun]) -> _Wrong:
    """Compare each number with the stated weights, or with a deviation alone.

    Noise that is a multiple of the stated noise is missing or excessive. Other noise is foreign.
    """
    noise = np.stack([run.noise for run in runs])
    unreleased = np.asarray(np.isnan(noise).any(axis=0), dtype=np.bool_)
    noise = np.where(np.isnan(noise), 0.0, noise)
    planned = np.stack([_planned(numbers, run) for run in runs])
    norm = np.maximum((planned**2).sum(axis=0), np.finfo(np.float64).tiny)
    ratio = (noise * planned).sum(axis=0) / norm
    near = (ROUNDING + numbers.rounding) * (1.0 + np.abs(planned).max(axis=0))
    off = np.abs(noise - planned).max(axis=0) > near
    foreign = np.abs(noise - ratio * planned).max(axis=0) > near
    # Zero noise is missing noise, also where all draws are zero.
    bare = (np.abs(noise).max(axis=0) == 0.0) | (off & ~foreign & (ratio < 1.0))
    bare &= ~unreleased
    excessive = off & ~foreign & ~bare & ~unreleased
    ratio = np.where(foreign, np.sqrt((noise**2).sum(axis=0) / norm), ratio)
    return _Wrong(bare, excessive, off & foreign & ~bare & ~unreleased, unreleased, ratio)


def _planned(numbers: NoisyNumbers, run: NoisyRun) -> Floats:
    """Return the noise that the draws of a run should make, (parties, rows, columns)."""
    weights, (parties, rows, columns) = _weights(numbers), numbers.shape
    used = min(weights.shape[1], run.draws.shape[1])
    planned = np.zeros((parties, rows, columns))
    if used:
        planned = np.matmul(weights[:, :used], run.given[:, :used])
    return planned


def _weights(numbers: NoisyNumbers) -> Floats:
    """Return the stated weights of draws, (rows, draws); each row has length 1."""
    rows = numbers.shape[1]
    if numbers.weights is not None:
        weights = numbers.weights
    elif numbers.covariance is not None:
        weights = np.asarray(np.linalg.cholesky(numbers.covariance), dtype=np.float64)
    else:
        return np.eye(rows)
    lengths: Floats = np.linalg.norm(weights, axis=1, keepdims=True)
    return np.asarray(weights / lengths, dtype=np.float64)


# ---------------------------------------------------------------- fitted weights


class _Fit(NamedTuple):
    wrong: bool  # whether no weights explain the noise, or other weights than stated
    shared: list[tuple[int, int, float]]  # pairs of rows, and their correlation


def _enough(numbers: NoisyNumbers, runs: list[NoisyRun]) -> list[NoisyRun]:
    """Play enough runs for a fit of weights."""
    draws, columns = runs[0].draws.shape[1], numbers.shape[0] * numbers.shape[2]
    count = min(_MOST_RUNS, math.ceil((_COLUMNS * draws + 4) / columns))
    return [*runs, *(numbers.play(run) for run in range(len(runs), count))]


def _fitted(numbers: NoisyNumbers, runs: list[NoisyRun]) -> _Fit:
    """Fit weights by least squares, the same for all columns of all parties."""
    rows = numbers.shape[1]
    noise = np.concatenate([_columns_of(run.noise, rows) for run in runs], axis=1)
    count = max(run.draws.shape[1] for run in runs)
    drawn = np.concatenate([_columns_of(run.given, count) for run in runs], axis=1)
    weights, *_ = np.linalg.lstsq(drawn.T, noise.T, rcond=None)
    left = float(np.abs(noise - weights.T @ drawn).max())
    covariance = weights.T @ weights
    stated = _weights(numbers)
    stated = stated @ stated.T
    off = np.abs(covariance - stated)
    near, unknown = ROUNDING + numbers.rounding, numbers.covariance is None
    if unknown and numbers.weights is None:
        off = np.diag(np.diag(off))  # no covariance between releases is stated
        stated = covariance
    if left > near * (1.0 + float(np.abs(noise).max())):
        return _Fit(True, [])  # the comparison number by number names the numbers
    deviation = np.sqrt(np.maximum(np.diag(covariance), np.finfo(np.float64).tiny))
    correlation = covariance / np.outer(deviation, deviation)
    apart = np.abs(correlation - stated / np.sqrt(np.outer(np.diag(stated), np.diag(stated))))
    noisy = np.diag(covariance) > near  # a number without noise shares none
    apart *= np.outer(noisy, noisy)
    pairs = [] if unknown else np.argwhere(np.triu(apart, 1) > near).tolist()
    return _Fit(bool(off.max() > near), [(i, j, float(correlation[i, j])) for i, j in pairs])


def _columns_of(values: Floats, rows: int) -> Floats:
    """Return values (parties, rows, columns) as (rows, parties · columns), padded with zeros."""
    parties, given, columns = values.shape
    whole = np.zeros((parties, rows, columns))
    whole[:, :given] = values
    return np.ascontiguousarray(whole.transpose(1, 0, 2)).reshape(rows, parties * columns)


# ---------------------------------------------------------------- draws


class _Draws(NamedTuple):
    every: Floats  # (n,): all draws
    groups: list[tuple[str, Floats]]  # a name, and draws (…, n) of which each row is tested by χ²


def _draws_of(numbers: NoisyNumbers, runs: list[NoisyRun], wanted: int) -> _Draws:
    """Return all draws, further draws of the source itself, and groups by number and step."""
    size = min(run.draws.shape[1] for run in runs)
    stacked = np.stack([run.draws[:, :size] for run in runs])  # (runs, parties, draws, columns)
    shape = len(runs), numbers.shape[0], size // numbers.kinds, numbers.kinds, numbers.shape[2]
    stacked = stacked.reshape(shape)
    every = [run.draws.reshape(-1) for run in runs]
    if numbers.source is not None:
        every.append(numbers.source(_SOURCE_DRAWS * wanted).reshape(-1))
    whole = np.concatenate(every)
    whole = whole[~np.isnan(whole)]
    groups = [("all draws", whole[None])]
    if size:
        groups.append(("the draws of one number", _as_rows(stacked, (1, 3, 4))))
        groups.append(("the draws of one step", _as_rows(stacked, (2,))))
    return _Draws(whole, groups)


def _as_rows(values: Floats, kept: tuple[int, ...]) -> Floats:
    """Return values with the axes ``kept`` as rows, and all other axes as columns."""
    moved = np.moveaxis(values, kept, range(len(kept)))
    return moved.reshape(math.prod(moved.shape[: len(kept)]), -1)


def _uneven(draws: _Draws, alarm: float) -> tuple[str, ...]:
    """Name groups of draws whose sum of squares is too small or too large for chance."""
    return tuple(_outside(draws, alarm / len(draws.groups)))


def _outside(draws: _Draws, alarm: float) -> Iterator[str]:
    for words, rows in draws.groups:
        counts = np.count_nonzero(~np.isnan(rows), axis=1)
        low, high = _limits(counts, alarm / (2 * len(rows)))
        squares = np.nansum(rows * rows, axis=1)
        off = (counts > 0) & ((squares <= low) | (squares >= high))
        for deviation in np.sqrt(squares[off] / counts[off]):
            yield f"{words}: deviation {deviation:.3g} instead of 1"


def _limits(counts: Ints, share: float) -> tuple[Floats, Floats]:
    """Return sums of squares that are too small, and too large, each with chance ``share``.

    ``counts`` has the number of draws in each sum.
    """
    half = 0.5 * np.maximum(1, counts)
    return 2.0 * gammaincinv(half, share), 2.0 * gammainccinv(half, share)


def _equal(draws: Floats) -> int:
    """Return the number of draws that equal another draw; draws of zero are left out."""
    ordered = np.sort(draws[draws != 0.0])
    equal = int((np.diff(ordered) == 0.0).sum())
    return equal if equal > _CHANCE else 0


# ---------------------------------------------------------------- words


def _named(numbers: NoisyNumbers, wrong: _Wrong, place: list[int]) -> str:
    at = tuple(place)
    if wrong.unreleased[at]:
        what = "not released in every run"
    elif wrong.foreign[at]:
        what = f"noise of other draws than its own, {wrong.ratio[at]:.3g} × planned"
    else:
        what = f"{wrong.ratio[at]:.4g} × planned"
    return f"{numbers.name(*place)}: {what}"


def _pair(numbers: NoisyNumbers, row: int, other_row: int, correlation: float) -> str:
    """Name two rows that are correlated otherwise than stated, with their correlation."""
    names = numbers.name(0, row, 0), numbers.name(0, other_row, 0)
    return f"{names[0]}, and {names[1]}: correlation {correlation:.2g}"


# ---------------------------------------------------------------- sources that keep their draws


class KeptNoise:
    """A source of noise that keeps its draws, by the step of each request.

    Attributes
    ----------
    given
        The draws of each request, (n,) each, in deviations and in order, by the name of the step.
    """

    def __init__(self) -> None:
        self.given: defaultdict[tuple[int, ...], list[Floats]] = defaultdict(list)

    @property
    def again(self) -> int:
        """Number of repeated requests for a step."""
        return sum(len(asked) - 1 for asked in self.given.values())

    def draws(self, size: int) -> Floats:
        """Return the draws by step, (steps, size); a step with fewer draws is padded with NaN."""
        draws = np.full((len(self.given), size), np.nan)
        for row, (_, asked) in zip(draws, sorted(self.given.items()), strict=True):
            used = asked[0][:size]
            row[: used.size] = used
        return draws

    def _keep(self, name: tuple[int, ...], draws: Floats) -> None:
        self.given[name].append(np.array(draws, dtype=np.float64).reshape(-1))


class KeptSimulated(KeptNoise):
    """A simulated source that keeps its draws."""

    def __init__(self, source: Any) -> None:
        super().__init__()
        self._source = source

    def __call__(self, *name: int) -> Floats:
        """Return the draws of a step."""
        drawn: Floats = self._source(*name)
        self._keep(name, drawn)
        return drawn


class KeptSecure(KeptNoise):
    """A source that keeps the noise it adds, with the methods of :class:`.SecureNoise`."""

    def __init__(self, source: Any) -> None:
        super().__init__()
        self._source = source

    def draw_ahead(self, count: int) -> None:
        """Let the source draw in advance."""
        self._source.draw_ahead(count)

    def draw_whole_ahead(self, deviations: Floats) -> None:
        """Let the source draw whole noise in advance."""
        self._source.draw_whole_ahead(deviations)

    def cover(self, step: int, values: Floats) -> Floats:
        """Add noise of deviation 1, and keep the noise."""
        covered: Floats = self._source.cover(step, values)
        self._keep((step,), covered - values)
        return covered

    def cover_whole(self, step: int, values: Floats, deviations: Floats) -> Floats:
        """Add whole noise, and keep the noise in the deviations of the request."""
        covered: Floats = self._source.cover_whole(step, values, deviations)
        self._keep((step,), (covered - values) / deviations)
        return covered


def kept(source: Any) -> KeptNoise:
    """Return a source of the same kind as ``source`` that keeps the draws."""
    return KeptSecure(source) if hasattr(source, "cover") else KeptSimulated(source)
